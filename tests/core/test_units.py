"""Units of length."""

import pytest

from pliant.core.errors import UnitError
from pliant.core.units import metres_per


@pytest.mark.parametrize(
    ("unit", "metres"), [("m", 1.0), ("mm", 1e-3), ("cm", 1e-2), ("um", 1e-6), ("in", 0.0254), ("inch", 0.0254)]
)
def test_metres(unit, metres):
    assert metres_per(unit) == metres


@pytest.mark.parametrize("unit", ["MM", "metre", "", None, ["mm"]])
def test_unknown_units_list_the_known_ones(unit):
    with pytest.raises(UnitError, match="'mm'"):
        metres_per(unit)


@pytest.mark.parametrize(
    ("unit", "metres"), [("m", 1.0), ("dm", 0.1), ("cm", 0.01), ("mm", 0.001), ("um", 1e-6), ("in", 0.0254)]
)
def test_every_unit_has_its_length(unit, metres):
    assert metres_per(unit) == pytest.approx(metres, rel=1e-15)
