"""How fast and how exact Pliant is, measured.

`tasks/` holds the named tasks of `pliant bench NAME`; `peers/` scripts that run the same tasks in other simulators, each
in their own environment; the modules beside them are studies, run as ``python -m benchmarks.NAME`` at the root of the
checkout, whose tables stand in docs/results.md.
"""
