"""Files beside the pages: search index, numbers.json, copies, archive, sitemap."""
