"""Solvers of δ = δ_free + W λ under the laws of the rows. Arrays in, arrays out."""
