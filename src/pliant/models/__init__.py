"""Models: what has unknowns of its own. Each is linearised and factorized alone; they meet only through rows."""
