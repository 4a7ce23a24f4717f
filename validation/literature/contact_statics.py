"""The rows of contacts with a closed form; tests/verification/test_contact_closed_forms.py looks at their solves."""

from __future__ import annotations

from collections.abc import Callable

from validation.literature import indentation, plane_contact
from validation.literature.pressed import Solved
from validation.row import Row

SOLVED: dict[str, Callable[..., Solved]] = {
    "hertz-ball": indentation.sphere,
    "blunt-cone": indentation.cone,
    "circular-load": indentation.circular_load,
    "partial-slip-of-a-ball": indentation.partial_slip,
    "punch-in-plane-strain": plane_contact.flat_punch,
    "two-cylinders": plane_contact.two_cylinders,
    "partial-slip-of-a-roller": plane_contact.partial_slip,
    "ironing": plane_contact.ironing,
}
"""Problems by the name of their case."""


def _rows(name: str) -> Callable[[], list[Row]]:
    return lambda: SOLVED[name]()[0]


hertz_ball, blunt_cone, circular_load, partial_slip_of_a_ball = map(_rows, list(SOLVED)[:4])
punch_in_plane_strain, two_cylinders, partial_slip_of_a_roller, ironing = map(_rows, list(SOLVED)[4:])
