"""Broad phase: which features of two surfaces may be near each other, by bounding-volume trees."""
