"""How the code of a page runs: in a build, in a reader's browser, and where a site is verified."""
