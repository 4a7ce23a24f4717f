"""Array types used in annotations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int32]
IndexArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
