"""Writes what a new chapter or a new language needs: `make chapter`, `make language`."""
