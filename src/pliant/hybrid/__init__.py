"""Rigid-body contact as a hybrid differential-algebraic system: simulate, linearise, design with it.

Bortoff, "Modeling contact and collisions for robotic assembly control", American Modelica Conference 2020.
"""

from pliant.hybrid.ball import bouncing_ball
from pliant.hybrid.controllers import Continuous, Sampled, compensator
from pliant.hybrid.design import Regulator, close_loop, lead, lead_for, lqr, root_locus
from pliant.hybrid.integrate import integrate
from pliant.hybrid.laws import Friction, Grip, Mode, Restitution, RestitutionLaw
from pliant.hybrid.linearize import equilibrium, linearize
from pliant.hybrid.maze import ball_maze, maze_controller
from pliant.hybrid.returns import LimitCycle, Return, limit_cycle, return_map, saltation, variation
from pliant.hybrid.solution import Event, Outcome, Point, Solution
from pliant.hybrid.system import Contact, Joint, Machine, System, Transition

__all__ = [
    "Contact",
    "Continuous",
    "Event",
    "Friction",
    "Grip",
    "Joint",
    "LimitCycle",
    "Machine",
    "Mode",
    "Outcome",
    "Point",
    "Regulator",
    "Restitution",
    "RestitutionLaw",
    "Return",
    "Sampled",
    "Solution",
    "System",
    "Transition",
    "ball_maze",
    "bouncing_ball",
    "close_loop",
    "compensator",
    "equilibrium",
    "integrate",
    "lead",
    "lead_for",
    "limit_cycle",
    "linearize",
    "lqr",
    "maze_controller",
    "return_map",
    "root_locus",
    "saltation",
    "variation",
]
