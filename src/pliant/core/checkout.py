"""Packages that stand beside `src/` in the source checkout and are not part of the wheel.

`pliant demo`, `bench`, `reproduce` and `validate` run code of the root folders `demos/`, `benchmarks/`, `experiments/`
and `validation/`, and the studio shows hybrid systems of `experiments/`. They are found by the path of this file; an
installed wheel does not have them.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

from pliant.core.errors import MissingExtraError

ROOT = Path(__file__).resolve().parents[3]
"""Root of the checkout, if this file stands in one."""


def checkout_package(name: str, *, command: str) -> ModuleType:
    """The package `name` of the source checkout, which goes on the path of modules with its first use.

    `command` is what needs it, for the message. Raises MissingExtraError outside a checkout, and where another package
    of that name was imported before.
    """
    file = ROOT / name.replace(".", "/") / "__init__.py"
    if not file.is_file() or not (ROOT / "pyproject.toml").is_file():
        raise MissingExtraError(
            f"`{command}` needs the folder {name.partition('.')[0]}/ of the source checkout, which the "
            f"installation in {Path(__file__).parents[1]} does not have; clone the repository of Pliant and run "
            "`pip install --editable .` in it"
        )
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    package = import_module(name)
    if package.__file__ is None or Path(package.__file__).resolve() != file:
        raise MissingExtraError(
            f"`{command}` needs the package {name!r} of {ROOT}, but {package.__file__} was imported under that "
            "name; run the command in a process of its own"
        )
    return package


def checkout_names(name: str, table: str) -> list[str]:
    """Keys of the dict `table` of a package of the checkout, none where it is absent: for completion."""
    try:
        return list(getattr(checkout_package(name, command="completion"), table))
    except MissingExtraError:
        return []
