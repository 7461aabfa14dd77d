"""How a number gets from the package onto a page.

source   a page's Markdown as blocks and inline values; a listing as sections
depends  which project modules a block's code imports, and a hash of their content
store    results on disk, each under a key of everything that it depends on
run      runs one page's code and catches what it prints (in a process of its own)
execute  decides what must run, runs it, gathers every failure
weave    puts the results into the page
formulas TeX to HTML at build time
twins    compares the two languages
hooks    the events of mkdocs, in order
"""
