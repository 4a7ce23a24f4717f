"""Mutated files for every reader of the library: each must be read, or refused with a `PliantError`.

make fuzz                                                # 10 000 mutations of each, the table of docs/reliability.md
python -m benchmarks.fuzz --count 500 --reader run       # a part of it
python -m benchmarks.fuzz --repeat out/fuzz/run/failures/000123.npz --reader run
"""
