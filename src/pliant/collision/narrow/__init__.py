"""Narrow phase: nearest points, normals and signed gaps of the candidates, one file for each kind of pair."""
