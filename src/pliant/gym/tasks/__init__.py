"""The tasks, one in each file."""

from pliant.gym.task import Task
from pliant.gym.tasks.catheter_vessel import CatheterVessel
from pliant.gym.tasks.crawl import Crawl
from pliant.gym.tasks.follow_target import FollowTarget
from pliant.gym.tasks.grasp_lift import GraspLift
from pliant.gym.tasks.in_hand_turn import InHandTurn
from pliant.gym.tasks.oriented_reach import OrientedReach
from pliant.gym.tasks.pneumatic_reach import PneumaticReach
from pliant.gym.tasks.pose import Pose
from pliant.gym.tasks.push import Push
from pliant.gym.tasks.reach import Reach
from pliant.gym.tasks.reach_obstacles import ReachObstacles
from pliant.gym.tasks.structured_obstacles import StructuredObstacles
from pliant.gym.tasks.throw import Throw
from pliant.gym.tasks.unstructured_obstacles import UnstructuredObstacles

_ALL = (
    *(Reach, ReachObstacles, Pose, GraspLift, InHandTurn, Push, Crawl, CatheterVessel, PneumaticReach, Throw),
    *(FollowTarget, OrientedReach, StructuredObstacles, UnstructuredObstacles),
)
TASKS: dict[str, type[Task]] = {task.__name__: task for task in _ALL}
"""The tasks by name."""
