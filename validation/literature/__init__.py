"""Verification problems of the literature, each with its published value or closed form.

A problem is a function without required arguments that returns rows; its keyword arguments refine it. `cases` lists
them with their sources. The tests in tests/verification and `pliant validate literature` call the same functions.
"""
