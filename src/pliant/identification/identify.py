"""`pl.identify`: parameters of a model from measurements, by nonlinear least squares.

    min Σ ρ((y(p) − ŷ)²/σ²) + Σ ((p − p̄)/σ_p)²

y are the read-outs of runs with the parameters p, ŷ the data, σ their noise, ρ the loss, and the second sum the priors.
Frames of measuring systems and offsets of markers are unknowns beside the parameters.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from pliant.core.checks import finite_number, positive, positive_count
from pliant.core.declared import declared
from pliant.core.errors import InputError, PliantWarning
from pliant.core.singular import named_singular
from pliant.core.types import FloatArray
from pliant.identification.experiment import Experiment
from pliant.identification.frames import Frame
from pliant.identification.measurements import Markers
from pliant.identification.problem import Problem
from pliant.identification.result import Identified, at_bounds
from pliant.identification.robust import LOSSES
from pliant.identification.solve import Found, solve
from pliant.identification.uncertainty import Uncertainty, open_text, uncertainty
from pliant.identification.unknowns import Unknown
from pliant.recordings import Registration
from pliant.world import World

_EXPLAINED = 0.9
"""A measurement whose residuals are larger than this fraction of its data is not explained by the model."""


@declared
@named_singular
def identify(
    world: World,
    data: Any,
    parameters: Any,
    *,
    loss: str = "squares",
    level: float = 0.95,
    known_noise: bool = False,
    tolerance: float = 1e-8,
    max_iterations: int = 50,
) -> Identified:
    """The values of `parameters` with which `world` explains `data` best, with intervals.

    data, parameters
        An `Experiment` of `pl.identification`, or a list of them. One or several of `pl.parameters`, or of
        `pl.identification.Unknown`, with start, bounds, a prior, a logarithmic scale.
    loss
        "squares"; "huber" or "cauchy" where some values may be wrong by more than the noise.
    level
        Probability with which an interval covers the true value, where the model is right.
    known_noise
        The given noise is exact. Otherwise it weighs the measurements, and its common factor is estimated.
    tolerance
        Relative change of the cost and of the parameters at which the search ends; usually 1e-6 … 1e-10.
    max_iterations
        Trial points at most.

    Warns of parameters at their bounds, of combinations that the data cannot tell apart, and of measurements that the
    model does not explain. `ConvergenceError` where the search does not end.
    """
    experiments = (data,) if isinstance(data, Experiment) else tuple(data) if isinstance(data, Sequence) else (data,)
    unknowns = tuple(parameters) if isinstance(parameters, Sequence) else (parameters,)
    _check(experiments, unknowns, loss, level)
    positive("tolerance of identify()", tolerance)
    problem = Problem(world, experiments, unknowns)
    if problem.data_count + int(problem.known.sum()) < problem.vector.size:
        raise InputError(
            f"{problem.data_count} values cannot determine {problem.vector.size} unknowns "
            f"({', '.join(problem.vector.names[:6])}…): measure more, or give priors"
        )
    found = solve(
        problem, loss=loss, tolerance=tolerance, max_iterations=positive_count("max_iterations", max_iterations)
    )
    count = problem.data_count
    precision = np.where(problem.known, 1.0 / problem.prior_deviation**2, 0.0)
    known = uncertainty(
        found.jacobian[:count], found.residual[:count], loss, precision, level, known_noise=known_noise,
        parameter_count=problem.parameter_count,
    )  # fmt: skip
    return _result(problem, found, known, loss, level)


def _check(experiments: tuple[Any, ...], unknowns: tuple[Any, ...], loss: str, level: float) -> None:
    for each in experiments:
        if not isinstance(each, Experiment):
            raise InputError(f"data of identify() must be pl.identification.Experiment, got {each!r:.60}")
    if not experiments or not unknowns:
        raise InputError("identify() needs one experiment and one parameter at least")
    if loss not in LOSSES:
        raise InputError(f"loss of identify() must be one of {', '.join(map(repr, LOSSES))}, got {loss!r}")
    if not 0.0 < finite_number("level of identify()", level) < 1.0:
        raise InputError(f"level of identify() must be between 0 and 1, such as 0.95, got {level}")
    given = [getattr(each, "parameter", each) for each in unknowns]
    if len({id(each) for each in given}) < len(given):
        raise InputError("a parameter of identify() is given twice")
    measured = [one for each in experiments for one in each.measurements]
    if len({id(one) for one in measured}) < len(measured):
        raise InputError("a measurement of identify() is in two experiments; make one for each")


def _result(problem: Problem, found: Found, known: Uncertainty, loss: str, level: float) -> Identified:
    z, vector = found.z, problem.vector
    deviation = np.sqrt(np.diag(known.covariance))
    values, intervals, deviations, labels = vector.values(z), {}, {}, {}
    for part, own in zip(vector.parts, vector.slices, strict=True):
        if isinstance(part.key, (Frame, Markers)):
            continue
        low, high = (
            np.clip(part.to_value(z[own] + side * known.quantile * deviation[own]), part.lower, part.upper)
            for side in (-1.0, 1.0)
        )
        intervals[part.key] = (part.shaped(low), part.shaped(high))
        deviations[part.key] = part.shaped(np.abs(part.slope(z[own])) * deviation[own])
        labels[part.key] = part.key.label if isinstance(part.key, Unknown) else part.names[0].split("[")[0]
    residuals = problem.differences(z)
    change = vector.relative_change(z)
    undetermined = [open_text(vector.names, change, *each) for each in known.open_directions]
    said = _warnings(problem, found, undetermined, residuals)
    for text in said:
        warnings.warn(text, PliantWarning, stacklevel=4)
    return Identified(
        values={key: values[key] for key in labels}, intervals=intervals, deviations=deviations,
        residuals=residuals, frames=_registrations(problem, z, residuals),
        offsets={key: each for key, each in values.items() if isinstance(key, Markers)},
        names=vector.names, labels=labels, covariance=known.covariance, level=level, loss=loss,
        noise_factor=known.noise_factor, iterations=found.iterations, runs=problem.runs, failed=found.failed,
        method=problem.method, warnings=tuple(said), undetermined=tuple(undetermined),
        experiments=problem.experiments, world=problem.world_at(z),
    )  # fmt: skip


def _warnings(
    problem: Problem, found: Found, undetermined: list[str], residuals: dict[Any, FloatArray]
) -> list[str]:  # fmt: skip
    vector, said = problem.vector, []
    bound = at_bounds(found.z, *(vector.gathered(side) for side in ("lower", "upper")))
    for i in np.flatnonzero(bound):
        said.append(f"{vector.names[i]} ended at its bound: the data want it beyond, or the model is wrong")
    said += undetermined
    for one, left in residuals.items():
        spread = float(np.nanstd(one.instants)) or float(np.nanmax(np.abs(one.instants)))
        rms = float(np.sqrt(np.nanmean(left**2)))
        if not isinstance(one, Markers) and rms > _EXPLAINED * spread and rms > 3.0 * one.noise:
            said.append(
                f"the model does not explain {one.label!r}: its residuals, {rms:.3g} {one.unit} rms, are as large as "
                f"the data; check its unit ({one.unit}) and sign"
            )
    return said


def _registrations(problem: Problem, z: FloatArray, residuals: dict[Any, FloatArray]) -> dict[Frame, Registration]:
    made: dict[Frame, Registration] = {}
    for frame, (motion, own) in problem.motions().items():
        left = [residuals[one].reshape(-1, 3) for one in residuals if getattr(one, "frame", None) is frame]
        rows = np.concatenate(left)
        seen = np.isfinite(rows).all(axis=1)
        rms = float(np.sqrt(np.mean(np.sum(rows[seen] ** 2, axis=1))))
        made[frame] = motion.registration(z[own], rms, int(seen.sum()), int((~seen).sum()))
    return made
