"""How fast and how exact Pliant is, measured.

`tasks/` holds the named tasks of `pliant bench NAME`; `peers/` holds scripts that run the same tasks in other
simulators, in an environment of their own. The modules beside them are studies, run as ``python -m benchmarks.NAME`` at
the root of the checkout; docs/results.md shows their tables.
"""
