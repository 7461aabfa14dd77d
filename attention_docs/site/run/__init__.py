"""The code of the pages: what must run, the process that runs it, what it gave."""
