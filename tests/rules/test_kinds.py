"""What depends on the kind of a body, map, constraint or actuator stands with the kind: others call its contract."""

import ast
from collections import Counter

KINDS_LIVE_IN = ("models", "constraints", "actuators")
NO_KINDS = ("actuators/values.py", "actuators/limits.py")
"""Control values and commands: data, whose type is what they say."""
CONTRACTS = {"Body", "Model", "PointMap", "Actuator", "ActuatorRows", "Constraint"}
"""To ask whether something is a body at all is no question of its kind."""
OWN_KINDS = ("models", "hybrid")
"""Rooms that own kinds: that of the bodies, and that of event-driven systems, whose constraints are others."""
LIMIT = 40


def kinds(source):
    """Names of the classes of bodies, models, maps, constraints and actuators."""
    found = set()
    for room in KINDS_LIVE_IN:
        for path in sorted((source / room).rglob("*.py")):
            if path.relative_to(source).as_posix() not in NO_KINDS:
                found |= {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ClassDef)}
    return found - CONTRACTS


def questions(source):
    """Calls of isinstance on a kind outside `models`, as (file, line) of each."""
    known, found = kinds(source), []
    for path in sorted(source.rglob("*.py")):
        where = path.relative_to(source)
        if where.parts[0] in OWN_KINDS:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance":
                parts = [part for part in ast.walk(node.args[1]) if isinstance(part, (ast.Name, ast.Attribute))]
                if known & {part.id if isinstance(part, ast.Name) else part.attr for part in parts}:
                    found.append((where.as_posix(), node.lineno))
    return found


def test_few_places_ask_for_a_kind(root):
    """The number may fall and not grow: a new question is a member of the contract that is missing."""
    found = questions(root / "src" / "pliant")
    by_file = "\n".join(f"{count:3}  {file}" for file, count in Counter(file for file, _ in found).most_common())
    assert len(found) <= LIMIT, f"{len(found)} isinstance on kinds outside models, at most {LIMIT}:\n{by_file}"
