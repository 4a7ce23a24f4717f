"""Scene files that `pliant new` writes; each runs as it is."""
