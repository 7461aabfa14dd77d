"""The adapter to mkdocs: what each of its events means for a build of this site."""
