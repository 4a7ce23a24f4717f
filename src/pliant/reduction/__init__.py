"""Offline model reduction: plans of experiments, snapshots, bases of contact forces, subspaces of motions.

A basis of contact forces is non-negative; its size is chosen on held-out forces. A subspace comes with the few
integration points that it needs. The online half is `pliant.reduced`.
"""

from pliant.reduction.choose import BasisChoice, choose_basis
from pliant.reduction.choose_modes import ModeChoice, choose_modes
from pliant.reduction.cone import ConeBasis, cone_basis
from pliant.reduction.curved import curved
from pliant.reduction.ecsw import ecsw
from pliant.reduction.experiments import experiments
from pliant.reduction.nnls import fit_error, non_negative_fit
from pliant.reduction.nnmf import Factorization, nnmf, nnmf_family
from pliant.reduction.plans import Plan, fractional_factorial, full_factorial, latin_hypercube, plackett_burman, ramps
from pliant.reduction.pod import Pod, pod
from pliant.reduction.reduce import contact_bases, reduce, subspaces
from pliant.reduction.snapshots import Snapshots
from pliant.reduction.symmetry import Symmetry, closed_group, with_symmetric_forces
from pliant.reduction.validate import Validation, validate
from pliant.world.reduced import reduced

__all__ = [
    "BasisChoice",
    "ConeBasis",
    "Factorization",
    "ModeChoice",
    "Plan",
    "Pod",
    "Snapshots",
    "Symmetry",
    "Validation",
    "choose_basis",
    "choose_modes",
    "closed_group",
    "cone_basis",
    "contact_bases",
    "curved",
    "ecsw",
    "experiments",
    "fit_error",
    "fractional_factorial",
    "full_factorial",
    "latin_hypercube",
    "nnmf",
    "nnmf_family",
    "non_negative_fit",
    "plackett_burman",
    "pod",
    "ramps",
    "reduce",
    "reduced",
    "subspaces",
    "validate",
    "with_symmetric_forces",
]
