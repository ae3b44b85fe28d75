# SPDX-License-Identifier: Apache-2.0
"""Aliases of the array types used in the whole package; this is the lowest layer, so that all can import them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
"""Shares, probabilities, estimates, values of numeric columns (NaN: missing)."""
IntArray = NDArray[np.int64]
"""Counts, and codes that are computed with."""
BoolArray = NDArray[np.bool_]
"""Marks of rows, codes or classes."""
Codes = NDArray[np.integer[Any]]
"""Codes of a domain, in whatever integer type holds them."""
