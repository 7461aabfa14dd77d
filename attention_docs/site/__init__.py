"""How a number gets from the package onto a page.

source   a page's Markdown as blocks and inline values; a listing as sections
depends  which project modules a block's code imports, and a hash of their content
store    results on disk, each under a key of everything that it depends on
run      runs one page's code and catches what it prints (in a process of its own)
execute  decides what must run, runs it, gathers every failure
weave    puts the results into the page
formulas TeX to MathML at build time
mathml   what Temml renders, as a page wants it
mathfont makes the font of the formulas, by hand
twins    compares the two languages
terms    the first use of a term or symbol links to its entry
gallery  the mistakes, with code and outputs of their chapters
works    the works and reports that the pages name
tables   puts the gallery, the works and the notes where a page asks for them
numbers  numbers.json: every output and inline value, for machines
review   what each chapter prints, for a reviewer's diff
plain    a page as plain Markdown, with code and results apart
takeaway notebooks, Markdown copies, llms.txt
offline  the whole site as a zip that opens from disk
refresh  what an unchanged page was rendered to, kept between refreshes of `mkdocs serve`
found    hreflang, what is shown where a page is shared, sitemap, the page for 404
hooks    the events of mkdocs, in order
"""
