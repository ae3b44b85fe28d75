# SPDX-License-Identifier: Apache-2.0
"""Columns of booleans in a release of noise: what their domain says, and the type that their cells have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from anonkit.errors import ReleaseFormatError

_KEY = "truth_values"


def says_truth_values(domain: Mapping[str, Any]) -> bool:
    """Return True if a domain is that of booleans.

    Raises
    ------
    ReleaseFormatError
        It says so in another way than anonkit, or of other categories than false and true.
    """
    if _KEY not in domain:
        return False
    if domain[_KEY] is not True or domain.get("categories") != ["false", "true"]:
        raise ReleaseFormatError("a domain of the params calls other categories than false and true truth values")
    return True


def are_of_type(cells: pa.Array, *, truth_values: bool) -> bool:
    """Return True if cells of categories are booleans exactly where their domain says so."""
    return bool(pa.types.is_boolean(cells.type)) is truth_values
