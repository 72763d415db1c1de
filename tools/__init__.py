"""Tools: scripts that make what the project ships, run from a checkout and never installed."""
