"""Methods that are tried only where the main path stalls: slower, and robust for other reasons."""
