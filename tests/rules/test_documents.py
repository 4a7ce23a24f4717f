"""The README and docs/ name only what exists: public names, options, commands, modules, files and experiments."""

import ast
import dataclasses
import importlib
import inspect
import re

import pytest

import pliant as pl

NAME = re.compile(r"(?<![\w.])pl((?:\.[A-Za-z_]\w*)+)")
MODULE = re.compile(r"(?<![\w./'\"-])(pliant(?:\.[a-z_]\w*)+(?:\.[A-Z]\w*)?)")
COMMAND = re.compile(r"(?:^|`|/bin/)pliant ([a-z]+)", re.MULTILINE)
STUDY = re.compile(r"python -m (benchmarks\.\w+)")
FILE = re.compile(r"`((?:[\w-]+/)+[\w-]+\.py)")
INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")


@pytest.fixture
def text(document):
    return document.read_text(encoding="utf-8")


def test_every_public_name_exists(text):
    missing = sorted({f"pl{name}" for name in NAME.findall(text) if not _exists(pl, name[1:].split("."))})
    assert not missing, f"there is no {missing}"


def test_every_module_exists(text):
    missing = sorted({name for name in MODULE.findall(text) if not _is_importable(name)})
    assert not missing, f"there is no {missing}"


def test_every_command_exists(text):
    from pliant.cli.app import app

    commands = {command.name or command.callback.__name__ for command in app.registered_commands}
    missing = sorted(set(COMMAND.findall(text)) - commands)
    assert not missing, f"`pliant` has no {missing}"


def test_every_experiment_exists(text):
    from experiments import EXPERIMENTS

    named = set(re.findall(r"pliant reproduce ([a-z][a-z-]*[a-z])(?![\w-])", text))
    assert named <= set(EXPERIMENTS), f"there is no experiment {sorted(named - set(EXPERIMENTS))}"


def test_every_study_and_file_exists(text, root):
    studies = [name for name in STUDY.findall(text) if not _study(root, name)]
    places = (root, root / "src" / "pliant", root / "tests")
    files = [name for name in FILE.findall(text) if not any((place / name).exists() for place in places)]
    assert not studies + files, f"there is no {sorted({*studies, *files})}"


def test_every_option_exists(text):
    wrong = []
    for code in INLINE.findall(text):
        for call in _calls(code):
            chain = ast.unparse(call.func).split(".")
            thing = _found(pl, chain[1:])
            options = inspect.signature(thing).parameters
            if not any(option.kind is option.VAR_KEYWORD for option in options.values()):
                wrong += [f"{ast.unparse(call.func)}({each.arg}=)" for each in call.keywords if each.arg not in options]
    assert not wrong, f"there is no option {wrong}"


def _calls(code):
    """Calls of public names in an inline snippet; dots stand for arguments left out."""
    try:
        tree = ast.parse(code.replace("…", "..."), mode="eval")
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("pl."):
            yield node


def _found(thing, chain):
    for part in chain:
        thing = getattr(thing, part)
    return thing


def _exists(thing, chain):
    for part in chain:
        if dataclasses.is_dataclass(thing) and part in {field.name for field in dataclasses.fields(thing)}:
            return True
        try:
            thing = getattr(thing, part)
        except AttributeError:
            return False
    return True


def _is_importable(name):
    chain = name.split(".")
    for count in range(len(chain), 0, -1):
        try:
            module = importlib.import_module(".".join(chain[:count]))
        except ModuleNotFoundError:
            continue
        return _exists(module, chain[count:])
    return False


def _study(root, name):
    path = root.joinpath(*name.split("."))
    return path.with_suffix(".py").exists() or path.is_dir() or name == "benchmarks.NAME"
