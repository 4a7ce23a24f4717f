"""The `pliant` command."""

from pliant.cli.app import main

__all__ = ["main"]
