"""Small array operations that NumPy spells in a way that hides their meaning."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.types import FloatArray


def sum_by(index: Any, values: Any, count: int) -> FloatArray:
    """total[i] = Σ values[k] over the k with index[k] = i, shape (count,); both are read flat."""
    total: FloatArray = np.bincount(np.ravel(index), np.ravel(values), count)  # type: ignore[assignment]
    return total
