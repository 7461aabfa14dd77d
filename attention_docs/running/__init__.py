"""Run the code of a page: in a build, in a reader's browser, and when a site is verified."""
