"""What stands beside the pages: index, numbers, copies, archive, what others find the site by."""
