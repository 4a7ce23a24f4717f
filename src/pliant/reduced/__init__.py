"""Reduced bodies and contacts, the online half of `pliant.reduction`: what a world of few unknowns steps with.

A `Subspace` turns a volume into a model of a few modes, a `ContactBasis` a contact pair into a constraint of a few
modes. Both are models and constraints like all others. How the modes are found (offline) is `pliant.reduction`.
"""

from pliant.reduced.contact_basis import ContactBasis
from pliant.reduced.contact_points import ContactPoints, contact_points
from pliant.reduced.reduced_pair import ReducedPair
from pliant.reduced.subspace import Subspace
from pliant.reduced.subspace_model import SubspaceModel
from pliant.reduced.subspace_trial import SubspaceTrial

__all__ = [
    "ContactBasis",
    "ContactPoints",
    "ReducedPair",
    "Subspace",
    "SubspaceModel",
    "SubspaceTrial",
    "contact_points",
]
