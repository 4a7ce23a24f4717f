"""Draws the two pictures of architecture.md from the code: `python docs/architecture.py` writes them to docs/images.

The rooms are the layers of the import contract in pyproject.toml, each with the first sentence of its docstring. The
step is the body of `ImplicitEuler.__call__` and `solved`, each stage with the first sentence of its docstring and its
timer.
"""

import ast
import textwrap
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
PACKAGE = Path("src") / "pliant"
STEPPER = PACKAGE / "stepping" / "implicit_euler.py"
STAGES = PACKAGE / "stepping" / "stages.py"

WIDTH = 920
_STYLE = (
    "text { font: 13px sans-serif; fill: #223; } .code { font: 600 13px monospace; } .quiet { fill: #667; } "
    "rect { fill: #eef3f9; stroke: #8aa4c0; } .outside { fill: #fff; stroke-dasharray: 4 3; } "
    "path { fill: none; stroke: #8aa4c0; stroke-width: 1.5; }"
)


@dataclass(frozen=True)
class Stage:
    """One call in the step: the name it is bound to, the function, its arguments, what it does, its timers, and whether
    Newton's iteration repeats it.
    """

    result: str
    function: str
    arguments: tuple[str, ...]
    text: str
    timers: tuple[str, ...]
    repeated: bool


def main() -> None:
    """Write both pictures."""
    for name, drawing in drawings(ROOT).items():
        (IMAGES / name).write_text(drawing, encoding="utf-8")
        print(f"docs/images/{name}")


def drawings(root: Path) -> dict[str, str]:
    """The pictures of the repository `root`, by file name."""
    return {"rooms.svg": rooms_drawing(root), "step.svg": step_drawing(root)}


def rooms(root: Path) -> list[tuple[str, str]]:
    """Rooms of the import contract from top to bottom, and what each is for."""
    contract = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    layers = next(each for each in contract["contracts"] if each["type"] == "layers")["layers"]
    names = [name.strip() for layer in layers for name in layer.split("|")]
    folders = {name: root / PACKAGE / name for name in names}
    return [(name, _first_sentence(at / "__init__.py")) for name, at in folders.items() if at.is_dir()]


def outside(root: Path) -> list[tuple[str, str]]:
    """Packages of the checkout that the wheel leaves out, and what they are for."""
    contract = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    names = [name for name in contract["root_packages"] if name != "pliant"]
    return [(name, _first_sentence(root / name / "__init__.py")) for name in names]


def stages(root: Path) -> list[Stage]:
    """The calls of one step of `ImplicitEuler` in the order in which they are evaluated."""
    described = _described(root)
    functions = _functions(root / STEPPER)
    solved = functions["ImplicitEuler.solved"]
    loop = next(node for node in ast.walk(solved) if isinstance(node, ast.While))
    repeated = set(ast.walk(loop))
    found = []
    for target, call in _in_order(functions):
        function = ast.unparse(call.func)
        if function in described:
            node = described[function]
            arguments = tuple("…" if isinstance(each, ast.Call) else ast.unparse(each) for each in call.args)
            text, timers = _sentence(ast.get_docstring(node) or ""), tuple(dict.fromkeys(_timers(node, described)))
            found.append(Stage(target, function, arguments, text, timers, call in repeated))
    return found


def _in_order(functions: dict[str, ast.FunctionDef]) -> Iterator[tuple[str, ast.Call]]:
    """The calls of one step, those of `solved` where it is made or repeated."""
    for target, call in _calls(functions["ImplicitEuler.__call__"]):
        if ast.unparse(call.func) == "without_crossing":
            yield from _calls(functions["ImplicitEuler.solved"])
        else:
            yield target, call


def calls(path: Path, function: str, wanted: list[str]) -> list[str]:
    """Which of the `wanted` functions `function` of a module calls, in the order of evaluation."""
    names = (ast.unparse(call.func) for _, call in _calls(_functions(path)[function]))
    return [name for name in names if name in wanted]


def loop_condition(root: Path) -> str:
    """What the step repeats its stages on."""
    step = _functions(root / STEPPER)["ImplicitEuler.solved"]
    return "while " + next(ast.unparse(node.test) for node in ast.walk(step) if isinstance(node, ast.While))


def _described(root: Path) -> dict[str, ast.FunctionDef]:
    """The functions that a step calls, by the name under which it calls them."""
    newton = _functions(root / PACKAGE / "stepping" / "newton.py")
    finish = _functions(root / PACKAGE / "stepping" / "info.py")["finish"]
    return _functions(root / STAGES) | {"newton.apply": newton["NewtonIteration.apply"], "finish": finish}


def _functions(path: Path) -> dict[str, ast.FunctionDef]:
    """Functions and methods of a module, by name and by Class.name."""
    found = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        for each in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(each, ast.FunctionDef):
                found[f"{node.name}.{each.name}" if isinstance(node, ast.ClassDef) else each.name] = each
    return found


def _calls(node: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    """Every call below `node` in the order of evaluation, with the name its value is bound to."""
    for child in ast.iter_child_nodes(node):
        value = getattr(child, "value", None) if isinstance(child, (ast.Assign, ast.Return)) else None
        if isinstance(value, ast.Call):
            yield from (("", each) for each in value.args if isinstance(each, ast.Call))
            yield ast.unparse(child.targets[0]) if isinstance(child, ast.Assign) else "return", value
        else:
            yield from _calls(child)


def _timers(node: ast.FunctionDef, described: dict[str, ast.FunctionDef]) -> Iterator[str]:
    """Names of the timers that a stage runs under, its private helpers included."""
    for each in ast.walk(node):
        if not isinstance(each, ast.Call):
            continue
        name = ast.unparse(each.func)
        if name.endswith(("timers.stage", "timers.since")):
            yield ast.literal_eval(each.args[0])
        elif name.startswith("_") and name in described:
            yield from _timers(described[name], described)


def _first_sentence(path: Path) -> str:
    return _sentence(ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "")


def _sentence(text: str) -> str:
    """The first sentence of a docstring, or its first clause up to a semicolon."""
    words = " ".join(text.split("\n\n")[0].split())
    return words.split(". ")[0].split("; ")[0].rstrip(".")


def rooms_drawing(root: Path) -> str:
    """The rooms, each above those that it may import."""
    shapes, y = [_text(16, 26, "Outside the wheel: may import every room of pliant", "quiet")], 38
    for name, text in outside(root):
        y = _room(shapes, y, name, text, "outside")
    shapes.append(_text(16, y + 22, "pliant: a room imports only rooms below it", "quiet"))
    y += 34
    for name, text in rooms(root):
        y = _room(shapes, y, name, text, "")
    return _svg(y + 10, shapes)


def _room(shapes: list[str], y: int, name: str, text: str, kind: str) -> int:
    lines = textwrap.wrap(text, 110)
    height = 14 + 17 * len(lines)
    shapes += [_box(16, y, WIDTH - 32, height, kind), _text(28, y + 20, name, "code")]
    shapes += [_text(160, y + 20 + 17 * k, line) for k, line in enumerate(lines)]
    return y + height + 4


def step_drawing(root: Path) -> str:
    """The stages of a step, with a line from each to those that use its result, and the loop around them."""
    found, left, height = stages(root), 120, 46
    shapes, tops = [], {}
    for k, stage in enumerate(found):
        y = tops[k] = 20 + k * (height + 18)
        call = f"{stage.function}({', '.join(stage.arguments)})"
        shapes += [_box(left, y, WIDTH - left - 130, height), _text(left + 12, y + 19, _bound(stage, call), "code")]
        shapes.append(_text(left + 12, y + 37, textwrap.shorten(stage.text, 96, placeholder=" …")))
        if stage.timers:
            shapes.append(_text(WIDTH - 142, y + 19, f"timed as {', '.join(stage.timers)}", "quiet", "end"))
        shapes += [_arc(left, tops[first] + height - 10, y + 14, k - first) for first in _sources(found, k)]
    loop = [k for k, stage in enumerate(found) if stage.repeated]
    first, last, right = tops[loop[0]] + 10, tops[loop[-1]] + height - 10, WIDTH - 130
    shapes.append(f'<path d="M {right} {last} H {right + 24} V {first} H {right + 6}"/>' + _head(right, first, -1))
    lines = textwrap.wrap(loop_condition(root), 12)
    shapes += [_text(right + 32, (first + last) // 2 + 16 * k, line, "code") for k, line in enumerate(lines)]
    return _svg(tops[len(found) - 1] + height + 20, shapes)


def _bound(stage: Stage, call: str) -> str:
    return call if not stage.result else f"return {call}" if stage.result == "return" else f"{stage.result} = {call}"


def _sources(found: list[Stage], k: int) -> list[int]:
    """Indices of the stages whose results stage `k` takes."""
    names = {stage.result: index for index, stage in enumerate(found[:k]) if stage.result}
    sources = [names[name] for name in found[k].arguments if name in names and name != "step"]
    return [*sources, k - 1] if "…" in found[k].arguments else sources


def _arc(x: int, start: int, end: int, distance: int) -> str:
    bend = x - 14 - 16 * distance
    return f'<path d="M {x} {start} C {bend} {start}, {bend} {end}, {x - 6} {end}"/>' + _head(x, end, 1)


def _head(x: int, y: int, side: int) -> str:
    return f'<path style="fill: #8aa4c0" d="M {x} {y} l {-7 * side} -4 v 8 z"/>'


def _box(x: int, y: int, width: int, height: int, kind: str = "") -> str:
    return f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="4"/>'


def _text(x: int, y: int, text: str, kind: str = "", anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x}" y="{y}" text-anchor="{anchor}">{escape(text.replace("`", ""))}</text>'


def _svg(height: int, shapes: list[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}">'
    ground = f'<rect style="fill: white; stroke: none" width="{WIDTH}" height="{height}"/>'
    return "\n".join([head, f"<style>{_STYLE}</style>", ground, *shapes, "</svg>", ""])


if __name__ == "__main__":
    main()
