# SPDX-License-Identifier: Apache-2.0
"""From Arrow columns to integer codes, batch by batch: only codes and distinct values stay in memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anonkit.cells import category_value, is_ordered
from anonkit.mechanisms.coding import CodedColumn


def encode_column(name: str, chunks: Iterable[pa.Array], kind: pa.DataType) -> CodedColumn:
    """Code a column: distinct values ascending (in category order for dictionaries), missing last."""
    ordered = is_ordered(kind)
    numbers: dict[Any, int] = {}
    parts = [_provisional(chunk, numbers, ordered) for chunk in chunks]
    provisional = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int32)
    has_missing = bool((provisional < 0).any())
    values = list(numbers)
    used = np.bincount(provisional[provisional >= 0], minlength=len(values)) > 0
    occurring = [value for value, seen in zip(values, used, strict=True) if seen]  # a dictionary may hold more
    ranked = occurring if pa.types.is_dictionary(kind) else sorted(occurring)
    rank = {value: at for at, value in enumerate(ranked)}
    recode = np.array([rank.get(value, -1) for value in values] + [len(ranked)], dtype=np.int32)  # -1, missing: last
    return CodedColumn(
        name=name, codes=recode[provisional], values=[*ranked, *([None] if has_missing else [])], ordered=ordered
    )


def _provisional(chunk: pa.Array, numbers: dict[Any, int], ordered: bool) -> np.ndarray[Any, np.dtype[np.int32]]:
    """Number values in order of first sight, -1 for missing."""
    encoded = chunk if isinstance(chunk, pa.DictionaryArray) else pc.dictionary_encode(chunk)
    local = [category_value(value, ordered) for value in encoded.dictionary.to_pylist()]
    seen = np.array([numbers.setdefault(value, len(numbers)) for value in local] + [-1], dtype=np.int32)
    return seen[pc.fill_null(encoded.indices, len(local)).to_numpy(zero_copy_only=False).astype(np.int64)]
