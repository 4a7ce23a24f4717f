"""Rigid-body contact as a hybrid differential-algebraic system: simulate, linearise, design with it.

Bortoff, "Modeling contact and collisions for robotic assembly control", American Modelica Conference 2020.
"""

from pliant.hybrid.ball import bouncing_ball
from pliant.hybrid.controllers import Continuous, Sampled, compensator
from pliant.hybrid.integrate import integrate
from pliant.hybrid.laws import Friction, Grip, Mode, Restitution, RestitutionLaw
from pliant.hybrid.linearize import equilibrium, linearize
from pliant.hybrid.solution import Event, Outcome, Point, Solution
from pliant.hybrid.system import Contact, Joint, Machine, System, Transition

__all__ = [
    "Contact",
    "Continuous",
    "Event",
    "Friction",
    "Grip",
    "Joint",
    "Machine",
    "Mode",
    "Outcome",
    "Point",
    "Restitution",
    "RestitutionLaw",
    "Sampled",
    "Solution",
    "System",
    "Transition",
    "bouncing_ball",
    "compensator",
    "equilibrium",
    "integrate",
    "linearize",
]
