"""Problems of the literature within a few per cent of their published values, on coarse meshes.

The problems and their sources are in `validation/literature`; `pliant validate literature` prints the same numbers.
"""

from importlib import import_module

import pytest

from validation.literature.cases import PROBLEMS

pytestmark = pytest.mark.filterwarnings("ignore:cells of .* as long as its walls")  # membranes and plane strain

REFINED = {
    "rivlin-torsion": ({"cells": (7, 7)}, 0.01),
    "bubble-in-a-large-body": ({"cells": (16, 4)}, 0.015),
    "curved-beam": ({"cells": (30, 2, 4)}, 0.02),
    "twisted-beam": ({"cells": (20, 3, 1)}, 0.006),
    "circular-membrane": ({"cells": (16, 1)}, 0.02),
    "flat-punch": ({"cells": 7}, 0.035),
    "twisted-disc": ({"cells": 7}, 0.03),
    "struck-bar": ({"count": 120}, 0.012),
    "deep-arch": ({"count": 96}, 0.002),
    "euler-columns": ({"count": 48}, 0.005),
    "ring-vibration": ({"count": 80}, 0.002),
}
"""Options of the finer model, and the largest relative error of any quantity."""


def rows_of(name, **options):
    module, _, function = PROBLEMS[name].rows.partition(":")
    rows = getattr(import_module(module), function)(**options)
    for row in rows:
        print(f"{name}, {row.quantity}: {row.ours:.6g} of {row.reference:.6g} {row.unit}, {row.measure(row.error)}")
    return rows


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_problem_of_the_literature(name):
    rows = rows_of(name)
    assert rows
    assert all(row.allowed is not None and row.met for row in rows)


@pytest.mark.slow
@pytest.mark.parametrize("name", REFINED)
def test_a_finer_model_is_nearer(name):
    options, within = REFINED[name]
    assert all(row.error < within for row in rows_of(name, **options))
