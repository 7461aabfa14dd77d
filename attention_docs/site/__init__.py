"""How a number gets from the package onto a page. Data goes one way.

read      what stands on disk
    page      a page: front matter, headings, blocks, values, everything between
    listing   a listing as sections, its comments in the language of a page
    honest    what a listing may not hold: typed results
    isolation what a listing may use: no files, no clock, nothing of the package in another form
    translations  a page against its original; stamps: what is out of date; confirm: ask about it
    settings  languages, names and order of the pages in mkdocs.yml
    failure   what went wrong, and where
run       what the code of the pages gives
    execute   what must run; a pool of fresh processes
    worker    one page's code, in a process of its own; calls: which functions it calls
    imports   which modules a block depends on
    live      a page in a reader's browser
    (How a block runs, and what it gives, stands in attention_docs/running: a reader may verify a
    site without the engine.)
render    pages as HTML, made inside of Markdown
    weave     a page with its results, on its way
    extension what this site adds to Markdown
    blocks    code, output, and where it comes from
    boxes     depth that folds, numbered results, exercises; the page of all results
    terms     the first use of a term or symbol links to its entry
    formulas  TeX to MathML; mathml: as a page wants it; mathfont: the font for it
    requests  parts made from several pages (chapters): mistakes, citations, notes
    theme     what the theme's HTML lacks
    documentation  what is said of modules, found out once for all languages
    shelf     finished pages of earlier builds
publish   what stands beside the pages
    catalogue where each page and its copies stand
    head      what a page says of itself; card: its picture
    numbers   numbers.json; review: the same for a reviewer's diff
    search    the index of each language
    markdown  a page as plain Markdown; notebook: as a notebook
    offline   the site as a zip
    live      what live pages load; runtime: Python for them, bytecode: its library compiled
    styles    one style sheet for every page
    site      all of these; place: how the new site takes the place of the old; guard: what must not
              survive into HTML
store     records on disk
addresses of pages, and relative to each other
target    where a site will be
content   all pages as they were read, and compared
fingerprints  what a finished page depends on
build     pages in, pages with results out, without a site generator
plugin    the events of mkdocs; adapter: what each of them means for a build
export    the woven Markdown for another generator
"""
