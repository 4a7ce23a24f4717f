"""Agreement with measurements, with published values and with other programs, run by `pliant validate [NAME]`.

A case is a line of `CASES` (`validation.cases`) and a function that returns rows (`validation.row`). The page
docs/validation.md is written by ``python -m validation.page --data DIR``.
"""

from __future__ import annotations

from validation.cases import CASES, GROUPS, Case
from validation.row import Row
from validation.runner import Outcome, draw, validate

__all__ = ["CASES", "GROUPS", "Case", "Outcome", "Row", "draw", "validate"]
