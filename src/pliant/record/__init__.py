"""Recording: `simulate`, the recorded run, its curves, files and exports."""

from pliant.record.bodies import RecordedBody
from pliant.record.recorder import Recorder
from pliant.record.run import Run
from pliant.record.simulate import simulate
from pliant.record.storage import load

__all__ = ["RecordedBody", "Recorder", "Run", "load", "simulate"]
