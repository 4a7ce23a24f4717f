"""Rigid-body contact as a hybrid differential-algebraic system: simulate, linearise, design with it.

Bortoff, "Modeling contact and collisions for robotic assembly control", American Modelica Conference 2020.
"""

from pliant.core.one_line import one_line
from pliant.hybrid.ball import bouncing_ball
from pliant.hybrid.contact_laws import Friction, Grip, Mode, Restitution, RestitutionLaw
from pliant.hybrid.control_design import Regulator, close_loop, lead, lead_for, lqr, root_locus
from pliant.hybrid.controllers import Continuous, Sampled, compensator
from pliant.hybrid.cubes import falling_cubes
from pliant.hybrid.delta import DeltaArms, delta_robot
from pliant.hybrid.delta_control import circle_margin, soft_touch
from pliant.hybrid.fmu import export_fmu
from pliant.hybrid.integrate import integrate
from pliant.hybrid.jerk_profile import JerkProfile, rest_to_rest
from pliant.hybrid.limit_cycles import LimitCycle, Return, limit_cycle, return_map
from pliant.hybrid.linearize import equilibrium, linearize
from pliant.hybrid.maze import ball_maze, maze_controller
from pliant.hybrid.solution import Event, HybridState, Outcome, Solution
from pliant.hybrid.system import Contact, HybridSystem, Joint, Machine, Transition
from pliant.hybrid.variation import saltation, variation

__all__ = [
    "Contact",
    "Continuous",
    "DeltaArms",
    "Event",
    "Friction",
    "Grip",
    "HybridState",
    "HybridSystem",
    "JerkProfile",
    "Joint",
    "LimitCycle",
    "Machine",
    "Mode",
    "Outcome",
    "Regulator",
    "Restitution",
    "RestitutionLaw",
    "Return",
    "Sampled",
    "Solution",
    "Transition",
    "ball_maze",
    "bouncing_ball",
    "circle_margin",
    "close_loop",
    "compensator",
    "delta_robot",
    "equilibrium",
    "export_fmu",
    "falling_cubes",
    "integrate",
    "lead",
    "lead_for",
    "limit_cycle",
    "linearize",
    "lqr",
    "maze_controller",
    "rest_to_rest",
    "return_map",
    "root_locus",
    "saltation",
    "soft_touch",
    "variation",
]

one_line(DeltaArms)  # here: its file holds kernels, which a change of a class would recompile
