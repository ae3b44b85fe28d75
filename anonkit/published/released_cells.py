# SPDX-License-Identifier: Apache-2.0
"""Codes of public domains as the cells of a released column, as owner and receiver write them alike."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.domains.attribute_domains import Categories, Grid


def cells_of_codes(codes: NDArray[np.int64], domain: Categories | Grid) -> pa.Array:
    """Return codes as cells: bin midpoints for numbers, dictionary-encoded strings for categories."""
    if isinstance(domain, Grid):
        numbers = domain.decode(codes)
        return pa.array(numbers, pa.float64(), mask=np.isnan(numbers))
    return labelled(codes, domain)


def labelled(codes: NDArray[np.int64], domain: Categories) -> pa.Array:
    """Return codes as the categories of a domain, dictionary-encoded."""
    absent = codes >= len(domain.values)
    indices = pa.array(np.where(absent, 0, codes).astype(np.int32), mask=absent)
    return pa.DictionaryArray.from_arrays(indices, pa.array(domain.values, pa.string()))
