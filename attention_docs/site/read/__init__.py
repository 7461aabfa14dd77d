"""Pages and listings as they stand on disk: read once, compared with their twins."""
