"""Pliant."""
