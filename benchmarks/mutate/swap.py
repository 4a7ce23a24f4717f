"""The code of a mutated source put into the running process, for every reference to the functions that it changes.

Functions keep their identity and get another `__code__`, so that imports, methods and tables that hold them all see the
change. Kernels forget their machine code, with all kernels that contain them, and compile when they are next called;
they neither read nor write the folder of compiled kernels. A changed value at the top of a module is evaluated again
and replaces the old one wherever it was imported. Class bodies and defaults of arguments are not exchanged.
"""

from __future__ import annotations

import ast
import gc
import hashlib
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from types import CodeType, FunctionType, ModuleType
from typing import Any

from numba.core.caching import NullCache
from numba.core.dispatcher import Dispatcher

from benchmarks.mutate.edit import ROOT, Edit
from pliant.core.kernels import _add_code


class UnswappableError(Exception):
    """A change that a running process cannot take over: a class body, a default value, a closure."""


@cache
def functions() -> list[FunctionType]:
    """The functions of the library and of its tests that exist now."""
    return [one for one in gc.get_objects() if isinstance(one, FunctionType) and is_own(one.__code__)]


def is_own(code: CodeType) -> bool:
    """Whether code is that of the checkout, so not of Python or of an installed package."""
    return code.co_filename.startswith(_OWN)


_OWN = (str(ROOT / "src"), str(ROOT / "tests"))


def swap(edit: Edit) -> None:
    """Make the change in this process."""
    filename = str(ROOT / edit.path)
    old = compile(edit.source, filename, "exec", dont_inherit=True)
    new = compile(edit.changed, filename, "exec", dont_inherit=True)
    changed = {(code.co_qualname, code.co_firstlineno): other for code, other in _changed(old, new)}
    if not any(getattr(one, "__file__", None) == filename for one in _modules()):
        import_module(edit.path.removeprefix("src/").removesuffix(".py").replace("/", "."))  # imported where it is used
        for known in (functions, kernels, users):
            known.cache_clear()
    done = []
    for function in functions():
        code = function.__code__
        other = changed.get((code.co_qualname, code.co_firstlineno)) if code.co_filename == filename else None
        if other is None:
            continue
        if other.co_freevars != code.co_freevars:
            raise UnswappableError("the change needs another closure")
        function.__code__ = other
        done.append(function)
    _reset_kernels({id(function) for function in done})
    values = _replace_values(edit, filename)
    if not done and not values:
        raise UnswappableError("nothing that runs would change")


def _modules() -> list[ModuleType]:
    return [one for one in list(sys.modules.values()) if isinstance(one, ModuleType)]


def _changed(old: CodeType, new: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """Pairs of code of the functions that differ, also of those around them; they stand in the same order."""
    before, after = (list(_inner(code)) for code in (old, new))
    for name in dict.fromkeys(code.co_qualname for code in before):
        ours, theirs = ([code for code in codes if code.co_qualname == name] for codes in (before, after))
        if len(ours) == len(theirs):
            yield from ((a, b) for a, b in zip(ours, theirs) if _print(a) != _print(b))


def _inner(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _inner(constant)


def _print(code: CodeType) -> str:
    digest = hashlib.sha1(usedforsecurity=False)
    _add_code(digest, code)
    return digest.hexdigest()


def _reset_kernels(changed: set[int], names: frozenset[str] = frozenset()) -> None:
    """Forget the machine code of kernels that are changed or contain what is."""
    stale = [one for one in kernels() if id(one.py_func) in changed or names & set(one.py_func.__code__.co_names)]
    seen = {id(one) for one in stale}
    while stale:
        kernel = stale.pop()
        kernel._cache = NullCache()
        kernel.overloads.clear()
        kernel._reset_overloads()
        for user in users().get(id(kernel), ()):
            if isinstance(user, Dispatcher) and id(user) not in seen:
                seen.add(id(user))
                stale.append(user)


@cache
def kernels() -> list[Any]:
    """The kernels of the library."""
    return [one for one in gc.get_objects() if isinstance(one, Dispatcher) and is_own(one.py_func.__code__)]


@cache
def users() -> dict[int, list[Any]]:
    """Of each kernel, by its id, the kernels and the functions whose code names it."""
    own = {id(one.py_func): one for one in kernels()}
    found: dict[int, list[Any]] = {}
    for function in functions():
        for kernel in _named(function):
            found.setdefault(id(kernel), []).append(own.get(id(function), function))
    return found


def _named(function: FunctionType) -> list[Any]:
    """Kernels that the code of a function reaches by a name, an attribute of a module, or a table at the top."""
    names = {name for code in (function.__code__, *_inner(function.__code__)) for name in code.co_names}
    values = [function.__globals__[name] for name in names if name in function.__globals__]
    values += [cell.cell_contents for cell in function.__closure__ or () if cell != type(cell)()]
    reached = []
    for value in values:
        if isinstance(value, ModuleType):
            reached += [vars(value)[name] for name in names if name in vars(value)]
        elif isinstance(value, dict):
            reached += value.values()
        elif isinstance(value, tuple | list):
            reached += value
        else:
            reached.append(value)
    return list({id(one): one for one in reached if isinstance(one, Dispatcher)}.values())


def _replace_values(edit: Edit, filename: str) -> list[str]:
    """Evaluate the assignments at the top of the module that differ; names of what they replaced."""
    old, new = ast.parse(edit.source).body, ast.parse(edit.changed).body
    (module,) = (one for one in _modules() if getattr(one, "__file__", None) == filename)
    names = []
    for a, b in zip(old, new):
        if isinstance(b, ast.FunctionDef | ast.ClassDef) or ast.dump(a) == ast.dump(b):
            continue
        if not isinstance(b, ast.Assign | ast.AnnAssign) or b.value is None:
            raise UnswappableError("only assignments at the top of a module can change")
        target = b.targets[0] if isinstance(b, ast.Assign) else b.target
        code = compile(ast.Expression(b.value), filename, "eval", dont_inherit=True)
        value, was = eval(code, vars(module)), vars(module)[target.id]
        for other in _modules():
            if vars(other).get(target.id) is was:
                setattr(other, target.id, value)
        names.append(target.id)
    _reset_kernels(set(), frozenset(names))
    return names
