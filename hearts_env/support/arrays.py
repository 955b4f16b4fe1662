"""Names for array types, by element type."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]
Ints = NDArray[np.int64]
Ints32 = NDArray[np.int32]
Bytes = NDArray[np.int8]
Numbers = NDArray[np.uint64]
Bools = NDArray[np.bool_]
