"""A page and its results as HTML, made inside of Markdown."""
