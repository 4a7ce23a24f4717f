"""The tasks, one in each file."""

from pliant.gym.task import Task
from pliant.gym.tasks.grasp_lift import GraspLift
from pliant.gym.tasks.push import Push
from pliant.gym.tasks.reach import Reach

TASKS: dict[str, type[Task]] = {task.__name__: task for task in (Reach, GraspLift, Push)}
"""The tasks by name."""
