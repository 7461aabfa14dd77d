"""The engine: how a number gets from the package onto a page. README.md explains it."""
