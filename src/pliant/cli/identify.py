"""What `pliant identify FILE.py` does: fit the parameters that the file names to its data, report, keep the result.

The file is executed from top to bottom. It defines

    world or scene          the model
    data                    an Experiment of pl.identification, or a list of them
    parameters              one or several of pl.parameters or pl.identification.Unknown
    options                 other arguments of pl.identify by name, such as {"loss": "huber"}; may be absent

or `found`, a result of `pl.identify`: then the file has fitted by itself.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import Any

from pliant.cli.errors import SceneFileError
from pliant.cli.output import Output, check_folder
from pliant.cli.run import one_value, split_settings
from pliant.cli.scene_file import SceneFile, compiled_world
from pliant.core.errors import InputError, PliantWarning
from pliant.core.extras import blank_figure

_PICTURES = (".png", ".svg", ".pdf")


def show_identification(output: Output, path: Path, *, settings: Sequence[str], plot: Path | None) -> None:
    """Fit, print the report, and draw the residuals to the file `plot`."""
    if plot is not None:
        check_folder(plot)
        if plot.suffix.lower() not in _PICTURES:
            raise InputError(f"--plot writes {', '.join(_PICTURES)}, got {plot}")
        blank_figure()  # a missing package is told before anything runs
    values = {name: one_value(name, text) for name, text in split_settings(settings)}
    found = identified(SceneFile.read(path), values)
    output.say(found.report())
    if plot is not None:
        found.plot(plot)
        output.say(f"wrote {plot}")
    output.finish({"file": str(path), "settings": values, **found.as_json(), "plot": plot})


def identified(file: SceneFile, values: Mapping[str, Any] | None = None) -> Any:
    """What `pl.identify` finds of a file, with `values` for its plain values at the top level."""
    from pliant.identification import Identified, identify

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", PliantWarning)
        module = file.execute(values)
        found = getattr(module, "found", None)
        if not isinstance(found, Identified):
            given = _problem(file, module)
            with file.errors_located():
                found = identify(*given[:3], **given[3])
    for each in told:  # those of the fit are in its report
        if str(each.message) not in found.warnings:
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
    return found


def _problem(file: SceneFile, module: ModuleType) -> tuple[Any, Any, Any, dict[str, Any]]:
    """The arguments of `pl.identify` that the file defines."""
    from pliant.identification import identify

    missing = [name for name in ("data", "parameters") if not hasattr(module, name)]
    if not hasattr(module, "world") and not hasattr(module, "scene"):
        missing.insert(0, "scene")
    if missing:
        raise SceneFileError(
            f"{file.path} does not define {' and '.join(missing)}: it needs a `scene` or `world`, `data` "
            "(pl.identification.Experiment, one or a list) and `parameters` (pl.identification.Unknown, one or a list)"
        )
    options = getattr(module, "options", {})
    known = [name for name, each in signature(identify).parameters.items() if each.kind is each.KEYWORD_ONLY]
    if not isinstance(options, Mapping) or not set(options) <= set(known):
        raise SceneFileError(
            f"{file.path}: `options` holds arguments of pl.identify by name, of {', '.join(known)}; it is "
            f"{options!r:.80}"
        )
    return compiled_world(file, module), module.data, module.parameters, dict(options)
