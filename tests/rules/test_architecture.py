"""docs/architecture.md agrees with the code: its pictures are drawn from it, and what it links to exists."""

import ast
import importlib.util
import re

import pytest

LINK = re.compile(r"\[`([\w./]+)`\]\((\.\./[^)]+)\)")


@pytest.fixture(scope="module")
def architecture(root):
    spec = importlib.util.spec_from_file_location("architecture", root / "docs" / "architecture.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("picture", ["rooms.svg", "step.svg"])
def test_the_pictures_are_up_to_date(picture, architecture, root):
    drawn = (root / "docs" / "images" / picture).read_text(encoding="utf-8")
    assert architecture.drawings(root)[picture] == drawn, f"{picture} is out of date: run python docs/architecture.py"


def test_every_stage_of_the_step_is_drawn(architecture, root):
    names = [stage.function for stage in architecture.stages(root)]
    wanted = ["detect", "assemble", "linearize", "factorize", "solve", "condense", "correct"]
    assert names == ["begin", *wanted, "newton.apply", "finish"]


@pytest.mark.parametrize(
    ("file", "function"),
    [
        ("implicit_midpoint.py", "ImplicitMidpoint.solved"),
        ("regularized_solves.py", "RegularizedSolves._plain_solve"),
    ],
)
def test_the_other_steppers_call_the_same_stages_in_the_same_order(file, function, architecture, root):
    wanted = [stage.function for stage in architecture.stages(root) if stage.repeated and "." not in stage.function]
    assert architecture.calls(root / "src" / "pliant" / "stepping" / file, function, wanted) == wanted


def test_every_function_linked_to_exists(root):
    text = (root / "docs" / "architecture.md").read_text(encoding="utf-8")
    links = LINK.findall(text)
    assert len(links) > 40
    missing = [f"{name} in {target}" for name, target in links if not _exists(name, (root / "docs" / target).resolve())]
    assert not missing, f"docs/architecture.md links to {missing}"


def _exists(name, path):
    """Whether `path` is there and, where it is a module, holds the class, function or method `name`."""
    if not path.exists():
        return False
    if path.suffix != ".py" or name == path.name:
        return path.is_dir() or name == path.name
    body = ast.parse(path.read_text(encoding="utf-8")).body
    for part in name.split("."):
        found = next((node for node in body if part in _names(node)), None)
        if found is None:
            return False
        body = getattr(found, "body", [])
    return True


def _names(node):
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return [target.id for target in targets if isinstance(target, ast.Name)]
    return [getattr(node, "name", "")]
