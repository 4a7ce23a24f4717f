"""The public contract: names, signatures and documentation of what scripts outside rely on."""

import dataclasses
import inspect
import re
import textwrap

import pytest

import pliant as pl

ROOMS = {
    "pl": pl,
    "pl.control": pl.control,
    "pl.errors": pl.errors,
    "pl.geometric": pl.geometric,
    "pl.hybrid": pl.hybrid,
    "pl.mesh": pl.mesh,
    "pl.materials": pl.materials,
    "pl.recordings": pl.recordings,
    "pl.reduction": pl.reduction,
    "pl.robots": pl.robots,
    "pl.sections": pl.sections,
    "pl.solvers": pl.solvers,
    "pl.values": pl.values,
}
PUBLIC = {f"{room}.{name}": getattr(module, name) for room, module in ROOMS.items() for name in module.__all__}
PUBLIC |= {
    f"pl.regions.{name}": getattr(pl.regions, name) for name in ("box", "plane", "sphere", "nodes", "everything")
}

SIGNATURES = {
    "pl.mesh.box": "(size, cells, *, element='tet4', symmetric=None)",
    "pl.mesh.load": "(path, *, unit…)",
    "pl.regions.box": "(lower, upper)",
    "pl.regions.sphere": "(center, radius)",
    "pl.materials.Corotated": "(*, density, young, poisson)",
    "pl.materials.StVenantKirchhoff": "(*, density, young, poisson)",
    "pl.materials.NeoHookean": "(*, density, young, poisson, volumetric='logarithmic')",
    "pl.Volume": "(mesh, material, *, clamp=None, anti_locking=True, mass=None, …)",
    "pl.ImplicitEuler": "(dt, *, newton_iterations=1, tolerance=None, solver=None, threads=1)",
    "pl.QuasiStatic": "(*, tolerance=1e-08, newton_iterations=None, solver=None, dt=None, threads=1, …)",
    "pl.recordings.load_c3d": "(path, *, unit=None)",
    "pl.reduction.nnmf": "(snapshots, *, rank, seed, …)",
    "pl.reduction.ramps": "(world, amplitude=0.02, steps=200, …)",
    "pl.simulate": "(world, stepper, *, until, control=None, callback=None, …)",
    "pl.Displacement": "(value)",
    "pl.Force": "(value)",
    "pl.Pressure": "(value)",
    "pl.VolumeGrowth": "(value)",
    "pl.hybrid.bouncing_ball": "(*, alpha=(100.0, 20.0, 1000000.0), mass=1.0, height=1.0, …)",
    "pl.hybrid.integrate": "(system, *, until, sample=0.001, …)",
    "pl.hybrid.linearize": "(system, point, active='contact', …)",
    "pl.VolumeRatio": "(value)",
    "pl.Geometric": "(*, tolerance=1e-05, growth=1.15, …)",
}
MEMBERS = {
    pl.Scene: ("add", "compile"),
    pl.World: ("initial_state",),
    pl.State: ("points",),
    pl.StepInfo: ("status", "residual", "iterations", "stage_times"),
    pl.Run: ("times", "points", "save", "load"),
    pl.hybrid.Solution: ("times", "q", "v", "lam", "modes", "events", "final"),
    pl.mesh.Mesh: ("translated", "rotated", "scaled"),
}
UNIT = re.compile(r"(?<![\w'’])(m|kg|s|N|Pa|kPa|J|rad|m/s|m/s²|1/s|m²|m³|kg/m³|N·m)(?![\w'’])")
SHAPE = re.compile(r"\((\w+|…|\d+)?(, ?[\w…·+* −-]+)*,?\)|\bshape\b|\d×\d")


@pytest.mark.parametrize("room", ROOMS)
def test_the_names_are_sorted_and_exist(room):
    names = ROOMS[room].__all__
    assert list(names) == sorted(names, key=_order), f"sort {room}.__all__"
    assert all(hasattr(ROOMS[room], name) for name in names)


def _order(name):
    """Constants, then classes, then functions, each by alphabet: the order of ruff's RUF022."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures_stay(name):
    wanted = SIGNATURES[name]
    parameters = [p.replace(annotation=p.empty) for p in inspect.signature(PUBLIC[name]).parameters.values()]
    given = str(inspect.Signature(parameters))
    open_end = wanted.endswith("…)") and given.startswith(wanted[:-2])
    assert given == wanted or open_end, f"{name}{given}"


def test_a_mesh_file_is_never_loaded_without_its_unit(tmp_path):
    with pytest.raises(pl.UnitError, match="unit"):
        pl.mesh.load(tmp_path / "mesh.vtu")


@pytest.mark.parametrize("owner", MEMBERS, ids=lambda owner: owner.__name__)
def test_members_stay(owner):
    fields = {field.name for field in dataclasses.fields(owner)} if dataclasses.is_dataclass(owner) else set()
    assert not [name for name in MEMBERS[owner] if name not in fields and not hasattr(owner, name)]


def test_add_places_by_keyword():
    assert str(inspect.signature(pl.Scene.add)).startswith("(self, thing: 'Thing', *, position")


@pytest.mark.parametrize("name", PUBLIC)
def test_public_things_are_documented(name):
    thing = PUBLIC[name]
    if not callable(thing) and not inspect.ismodule(thing):
        pytest.skip("a constant; its documentation stands below it in the source")
    assert (thing.__doc__ or "").strip(), f"{name} has no docstring"
    assert not thing.__doc__.startswith(f"{getattr(thing, '__name__', '')}("), f"{name} has only a generated docstring"
    if inspect.isclass(thing):
        bare = [member for member, value in vars(thing).items() if _is_public_code(member, value) and not value.__doc__]
        assert not bare, f"{name} has undocumented members {bare}"


def _is_public_code(member, value):
    return not member.startswith("_") and (inspect.isfunction(value) or isinstance(value, (property, classmethod)))


def _arrays():
    """Public callables and fields that hand arrays in or out, each with the text that describes it."""
    for name, thing in PUBLIC.items():
        if inspect.isfunction(thing):
            yield name, thing, thing.__doc__ or ""
        elif inspect.isclass(thing) and not issubclass(thing, BaseException):
            for member, value in vars(thing).items():
                code = value.fget if isinstance(value, property) else value
                if inspect.isfunction(code) and not member.startswith("_"):
                    yield f"{name}.{member}", code, f"{code.__doc__}\n{thing.__doc__}"


ARRAY_CODE = [(name, text) for name, code, text in _arrays() if "FloatArray" in str(inspect.signature(code))]


@pytest.mark.parametrize(("name", "text"), ARRAY_CODE, ids=[name for name, _ in ARRAY_CODE])
def test_public_arrays_state_unit_or_shape(name, text):
    assert UNIT.search(text) or SHAPE.search(text), f"say the unit and shape of the arrays of {name}"


ARRAY_CLASSES = [
    (name, thing)
    for name, thing in PUBLIC.items()
    if inspect.isclass(thing)
    and dataclasses.is_dataclass(thing)
    and any("FloatArray" in str(f.type) for f in dataclasses.fields(thing))
]


@pytest.mark.parametrize(("name", "thing"), ARRAY_CLASSES, ids=[name for name, _ in ARRAY_CLASSES])
def test_array_fields_state_unit_or_shape(name, thing):
    source = textwrap.dedent(inspect.getsource(thing))
    for field in dataclasses.fields(thing):
        own = field.name in thing.__annotations__  # what a class inherits, its base describes
        if own and "FloatArray" in str(field.type) and not field.name.startswith("_"):
            below = re.search(rf"^    {field.name}:[^\n]*\n    \"\"\"(.*?)\"\"\"", source, re.MULTILINE | re.DOTALL)
            text = below.group(1) if below else _about(field.name, thing.__doc__)
            assert UNIT.search(text) or SHAPE.search(text), f"say the unit and shape of {name}.{field.name}"


def _about(field, docstring):
    """The part of a class docstring from the first mention of `field` on."""
    match = re.search(rf"\b{field}\b", docstring)
    return docstring[match.start() :] if match else ""


def test_errors_and_values_are_gathered_and_reached_from_the_top():
    for gathered in (pl.errors, pl.values):
        for name in gathered.__all__:
            assert getattr(pl, name) is getattr(gathered, name)
