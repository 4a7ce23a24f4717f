"""Measurements of real robots: motion capture from files, its registration, and markers bound to simulated bodies."""

from pliant.recordings.c3d import load_c3d
from pliant.recordings.csv_file import load_csv
from pliant.recordings.markers import BoundMarkers
from pliant.recordings.recording import Recording
from pliant.recordings.registration import Registration, register

__all__ = ["BoundMarkers", "Recording", "Registration", "load_c3d", "load_csv", "register"]
