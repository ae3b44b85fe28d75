# SPDX-License-Identifier: Apache-2.0
"""The public parameters of a k-anonymous release that the ledger stores, and the digest that recognizes it."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping
from typing import Any

_STORED_KEYS = (
    "method", "earlier_method", "target", "unit", "missing_values", "model", "max_suppression", "columns", "recoding",
    "rows_of_people", "independent_rows", "candidates", "keys", "weight", "households", "means", "surrogate",
)  # fmt: skip
_DIGEST = 16


def pack(params: Mapping[str, Any]) -> bytes | None:
    """Return the part of a release's public parameters that the ledger stores; None when it has no recoding."""
    if "recoding" not in params or "model" not in params:
        return None
    return zlib.compress(json.dumps({key: params[key] for key in _STORED_KEYS if key in params}).encode())


def unpacked(packed: bytes) -> dict[str, Any]:
    """Return the parameters that `pack` kept."""
    params: dict[str, Any] = json.loads(zlib.decompress(packed))
    return params


def digest_of_packed(packed: bytes) -> bytes:
    """Return by what a release is known again, 16 bytes, wherever its files are copied to: what was kept of it.

    Two releases with the same digest recode and leave out the same: what the one shows of a row the other does, too.
    """
    text = json.dumps(unpacked(packed), sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=_DIGEST, person=b"release params").digest()
