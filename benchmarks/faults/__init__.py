"""Faults that happen to a program: killed, interrupted, out of disk, with a damaged cache, in strange surroundings.

``make faults`` makes the trials of every kind and writes the table of docs/reliability.md. A trial has a number, which
is its seed, and fails with a text. Trials that were made stand in a folder; the next call makes the missing ones.
"""
