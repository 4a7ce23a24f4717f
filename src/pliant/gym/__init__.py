"""Tasks for learning: environments of Gymnasium, single and in vectors, each with a reduced twin.

``import pliant.gym`` registers them: ``gymnasium.make("Pliant/Reach-v0")``, and ``"Pliant/Reach-reduced-v0"`` its twin.
It needs Gymnasium: ``pip install 'pliant[gym]'``.
"""

from pliant.core.extras import extra

extra("gymnasium", "environments need Gymnasium", "gym")

from pliant.gym.environment import Environment  # noqa: E402  the message of a missing package comes first
from pliant.gym.registration import register_tasks  # noqa: E402
from pliant.gym.task import Channel, Moment, Seen, Shapes, Task, Variation, Verdict  # noqa: E402
from pliant.gym.tasks import TASKS  # noqa: E402
from pliant.gym.twins import Coarser, Modes, NoTwin  # noqa: E402
from pliant.gym.vector import VectorEnvironment  # noqa: E402

register_tasks()

__all__ = [
    "TASKS",
    "Channel",
    "Coarser",
    "Environment",
    "Modes",
    "Moment",
    "NoTwin",
    "Seen",
    "Shapes",
    "Task",
    "Variation",
    "VectorEnvironment",
    "Verdict",
]
