"""Bodies: volume, beam, rod and rigid body, each with everything that depends on its kind.

A model is a compiled body. Models are linearised and factorized one by one, and are coupled by constraints only.
"""
