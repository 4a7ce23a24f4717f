"""Where a source can be mutated, and to what: one edit for each operator that applies to a node of its syntax tree."""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Iterator
from pathlib import Path

from benchmarks.mutate.edit import ROOMS, ROOT, Edit

_COMPARED = {
    ast.Lt: (ast.LtE, ast.Gt), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.Lt), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,), ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}  # fmt: skip
_EXCHANGED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult}
_COMPILED = ("kernel", "inline")
_CLAMPS = {"min", "max", "minimum", "maximum", "clip", "fmin", "fmax", "abs"}
_UNSEEN = (ast.Raise, ast.JoinedStr, ast.Assert, ast.Import, ast.ImportFrom, ast.Global)
"""What is not mutated: the words of messages, checks that `-O` drops, names."""
_WORDS = {"unit", "what", "strict", "stacklevel"}
"""Keywords that are words of messages, the line that a warning is shown with, or checks of what cannot happen: they are
neither dropped nor changed.
"""
_COPIED = (
    "src/pliant/hybrid/fmu_slaves/", "src/pliant/solvers/linear/blas.py", "src/pliant/solvers/linear/lapack.py",
    "src/pliant/models/volume/lanes.py",
)  # fmt: skip
"""Files that are copied into units, or run while kernels compile: a trial does not reach them."""


def edits_of(path: str, source: str, *, kernels: bool = True) -> list[Edit]:
    """Every mutation of a source, in the order of its text; with those of its `kernels` or without."""
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for node, operator, new in _mutations(ast.parse(source), kernels):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        text = new if isinstance(new, str) else ast.unparse(new)
        if isinstance(new, ast.expr) and not isinstance(new, ast.Call | ast.Name | ast.Constant | ast.Attribute):
            text = f"({text})"
        found.append(Edit(path, start, end, text, operator, source))
    return found


def _mutations(tree: ast.AST, kernels: bool) -> Iterator[tuple[ast.AST, str, ast.AST | str]]:
    """Nodes inside functions and in values at the top of a module, with the operator and what it makes of them."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield from _mutations(node, kernels)
        elif isinstance(node, ast.FunctionDef) and node.name not in ("__repr__", "__getattr__"):
            if not kernels and any(isinstance(one, ast.Name) and one.id in _COMPILED for one in node.decorator_list):
                continue
            body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
            for statement in body:
                yield from _within(statement)
        elif isinstance(tree, ast.Module) and isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            yield from _within(node.value)


def _within(node: ast.AST) -> Iterator[tuple[ast.AST, str, ast.AST | str]]:
    if isinstance(node, _UNSEEN) or (isinstance(node, ast.keyword) and node.arg in _WORDS):
        return
    yield from ((node, operator, new) for operator, new in _of_node(node))
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "args") and not isinstance(node, ast.Call):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _within(child)


def _of_node(node: ast.AST) -> Iterator[tuple[str, ast.AST | str]]:
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            yield "sign", operand
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "boolean", operand
        case ast.BinOp(left=left, op=ast.Pow()):
            yield "squared", left
        case ast.BinOp(op=op) if type(op) in _EXCHANGED:
            yield "arithmetic", _with(node, op=_EXCHANGED[type(op)]())
        case ast.Compare(ops=[op]) if type(op) in _COMPARED:
            for other in _COMPARED[type(op)]:
                yield "comparison", _with(node, ops=[other()])
        case ast.BoolOp(op=op):
            yield "boolean", _with(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
        case ast.Constant(value=bool(value)):
            yield "boolean", ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield "constant", ast.Constant(2 * value if value else value + 1)
            if value:
                yield "constant", ast.Constant(type(value)(0))
        case ast.Call():
            yield from _of_call(node)
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield "dropped return value", "return None"
        case ast.Expr(value=ast.Call()) | ast.AugAssign():
            yield "dropped statement", "pass"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield "dropped statement", "pass"


def _of_call(node: ast.Call) -> Iterator[tuple[str, ast.AST]]:
    for index in range(len(node.keywords)):
        yield "dropped keyword", _with(node, keywords=node.keywords[:index] + node.keywords[index + 1 :])
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    plain = node.args and not any(isinstance(one, ast.Starred) for one in node.args[:2])
    if name in _CLAMPS and plain and not isinstance(node.args[0], ast.GeneratorExp):
        yield "dropped clamp", node.args[0]
    elif name == "sqrt" and plain:
        yield "squared", node.args[0]
    elif len(node.args) > 1 and plain and name not in ("isinstance", "getattr", "hasattr", "setattr"):
        yield "argument order", _with(node, args=[node.args[1], node.args[0], *node.args[2:]])


def _with(node: ast.AST, **changes: object) -> ast.AST:
    new = copy.copy(node)
    for name, value in changes.items():
        setattr(new, name, value)
    return new


def _says_something_else(edit: Edit) -> bool:
    """Whether the program differs, in more than the words of a message, where a trial can change it."""
    if edit.path.startswith(_COPIED) or (edit.name == "dropped keyword" and _WORDS & _dropped(edit)):
        return False
    return ast.dump(ast.parse(edit.changed)) != ast.dump(ast.parse(edit.source))


def _dropped(edit: Edit) -> set[str | None]:
    """Keywords of a call that its mutation lacks."""
    call = ast.parse(edit.source.encode()[edit.start : edit.end].decode().strip(), mode="eval").body
    mutated = ast.parse(edit.text, mode="eval").body
    assert isinstance(call, ast.Call)
    assert isinstance(mutated, ast.Call)
    return {one.arg for one in call.keywords} - {one.arg for one in mutated.keywords}


def drawn(room: str, count: int, seed: int, *, kernels: bool = True, root: Path = ROOT) -> list[Edit]:
    """`count` mutations of a room, at random but always the same for a seed: the file first (by the root of its size),
    then the operator, then the site, so that neither long files nor constants take all.
    """
    source = root / "src/pliant"
    paths = [p for p in sorted(source.rglob("*.py")) if p.relative_to(source).as_posix().startswith(ROOMS[room])]
    chance = random.Random(f"{room} {seed}")
    sites = {}
    for path in paths:
        name = path.relative_to(root).as_posix()
        by_operator: dict[str, list[Edit]] = {}
        for edit in edits_of(name, path.read_text(encoding="utf-8"), kernels=kernels):
            by_operator.setdefault(edit.name, []).append(edit)
        if by_operator:
            sites[name] = by_operator
    result: dict[str, Edit] = {}
    names = list(sites)
    weights = [sum(map(len, sites[name].values())) ** 0.5 for name in names]
    for _ in range(20 * count):
        by_operator = sites[chance.choices(names, weights)[0]]
        edit = chance.choice(by_operator[chance.choice(sorted(by_operator))])
        if _says_something_else(edit):
            result.setdefault(edit.key, edit)
        if len(result) == count:
            break
    return list(result.values())
