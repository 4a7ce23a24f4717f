"""Continuous collision detection: the first time within a motion at which two sides would pass into each other."""
