"""Copies of a world on a card, through JAX: `lowering` writes a world as arrays, `step` reads them without the rest."""
