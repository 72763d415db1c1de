"""Scripts that make the project's datasets, pages and pictures; run from a checkout only."""
