"""From PDF files and digests to a searchable index."""
