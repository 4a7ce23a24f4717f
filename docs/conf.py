"""Settings of the documentation; `make docs` builds it into out/docs."""

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from gallery import build_gallery  # noqa: E402

from pliant import __version__  # noqa: E402

project = "Pliant"
author = "The Pliant developers"
copyright = author
version = release = __version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
nb_execution_mode = "cache"
nb_execution_timeout = 300
nb_execution_raise_on_error = True
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
napoleon_google_docstring = False
exclude_patterns = ["_build", "**.ipynb_checkpoints"]
html_theme = "furo"
html_title = f"Pliant {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["_generated/runs"]  # pages of the runs of the gallery
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#4a35a8", "color-brand-content": "#4a35a8"},
    "dark_css_variables": {"color-brand-primary": "#ff9e6b", "color-brand-content": "#ff9e6b"},
}
suppress_warnings = ["myst.xref_missing", "ref.python"]

MODULES = {
    "pliant": "Scenes, bodies, actuators, steppers",
    "pliant.actuators.values": "Control values",
    "pliant.materials": "Materials",
    "pliant.mesh": "Meshes",
    "pliant.mesh.regions": "Regions",
    "pliant.robots": "Robots",
    "pliant.models.beam.section": "Cross-sections",
    "pliant.control": "Control",
    "pliant.control.paths": "Paths",
    "pliant.reduction": "Reduction",
    "pliant.sweep": "Sweeps",
    "pliant.stepping.minimum_energy": "Imposed chamber volumes",
    "pliant.hybrid": "Hybrid systems",
    "pliant.solvers": "Solvers on arrays",
    "pliant.actuators": "Writing actuators",
    "pliant.core.errors": "Errors",
}
"""The public modules, in the order of the reference."""

GROUPS = {
    "Scenes and worlds": "Scene World State StepInfo Status",
    "Bodies": "Volume Rod Beam RigidBody Obstacle",
    "Parts of bodies": "Fibre Support BodyLoad PointLoad PressureLoad TractionLoad RodLoad RodMoments Rayleigh Slide "
    "Turn",
    "Actuators": "Cable Tendon Cavity Hinge Slider BaseDrive ForcePoint Layer Stiffness",
    "Constraints": "Hold LinearConstraint Term Tie Channel Sheath Facing Spring",
    "Steppers": "ImplicitEuler ImplicitMidpoint DampedMidpoint QuasiStatic Geometric",
    "Inverse control": "Inverse Effector LengthEffector OrientationEffector VolumeEffector MovedSupport",
    "Runs": "simulate Run load export view",
}
"""The names of `pliant` itself by what they are for; others follow at the end."""


def write_reference(folder: Path) -> None:
    """One page for each public module, with everything that it names in ``__all__`` and no page before it had."""
    folder.mkdir(parents=True, exist_ok=True)
    described: set[int] = set()
    for name, title in MODULES.items():
        module = import_module(name)
        if name == "pliant":
            described |= _write_names(folder / "pliant.rst", module, title)
            continue
        members = getattr(module, "__all__", ())
        known = [member for member in members if id(getattr(module, member)) in described]
        described |= {id(getattr(module, member)) for member in members}
        options = ["members", *(["imported-members"] if members else [])]
        if known:
            options.append(f"exclude-members: {', '.join(known)}")
        lines = "\n".join(f"   :{option}:" if ":" not in option else f"   :{option}" for option in options)
        page = name.replace(".", "-")
        _write(folder / f"{page}.rst", f"{title}\n{'=' * len(title)}\n\n.. automodule:: {name}\n{lines}\n")
    toctree = "\n".join(f"   {name.replace('.', '-')}" for name in MODULES)
    _write(folder / "index.rst", f"Reference\n=========\n\n.. toctree::\n   :maxdepth: 1\n\n{toctree}\n")


def _write_names(path: Path, module: Any, title: str) -> set[int]:
    """The page of `pliant` itself, by groups; returns the identities of what it describes."""
    public = import_module("pliant.public").__all__
    shown = {name: getattr(module, name) for name in public if not isinstance(getattr(module, name), ModuleType)}
    grouped = {head: names.split() for head, names in GROUPS.items()}
    others = [name for name in shown if not any(name in names for names in grouped.values())]
    text = f"{title}\n{'=' * len(title)}\n\n.. py:module:: pliant\n\n"
    for head, names in {**grouped, "Others": others}.items():
        text += f"{head}\n{'-' * len(head)}\n\n"
        for name in names:
            kind = "class" if isinstance(shown[name], type) else "function"
            text += f".. auto{kind}:: pliant.{name}\n" + ("   :members:\n" if kind == "class" else "") + "\n"
    _write(path, text)
    return {id(thing) for thing in shown.values()}


def _write(path: Path, text: str) -> None:
    if not path.exists() or path.read_text() != text:  # unchanged pages are not read again
        path.write_text(text)


def plain_bars(app: object, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """|x| in a docstring is a magnitude, not a substitution."""
    lines[:] = [line.replace("|", "\\|") for line in lines]


def setup(app: Any) -> None:
    """Write the pages that come from the code itself."""
    app.connect("autodoc-process-docstring", plain_bars)
    write_reference(HERE / "_generated" / "reference")
    build_gallery(HERE.parent / "examples", HERE / "_generated")
