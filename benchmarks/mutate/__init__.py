"""Mutation testing: would the tests notice if the library did something else?

    python -m benchmarks.mutate [--room NAME] [--trials 30] [--seed 0] [--again] [--wall MINUTES] [--write FILE]

Deliberate faults (`faults.toml`, written by hand) come first, then mutations at sites drawn at random in each room. A
mutation never touches a file: pytest collects the tests once, and each trial is a forked process in which the code of
the mutated function is exchanged (`swap`) and only the tests that can notice run (`coverage`), until one fails. Kernels
that contain the mutated function are compiled in that process and stored nowhere. Results are kept in the folder, so
that a run which was ended continues there; `--again` repeats the survivors with the tests as they are now.

`sites` finds what can be mutated, `edit` is a change of source text, `trial` runs one, `progress` keeps the results,
`report` makes the tables. Survivors that are no defect of the tests are listed in `justified.toml`, with the reason.
"""
