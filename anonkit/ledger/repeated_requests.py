# SPDX-License-Identifier: Apache-2.0
"""Requests that the ledger knows: a release that is asked for again is told from any other.

A release is the same as an earlier one when the same was asked (a digest of the request, under the ledger's key) of the
very same rows (`Fingerprint.spelled`). Both are kept of every release that has files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

_DIGEST = 16

Asked = Callable[[int], bytes | None]
"""Given the rows of the table: what is asked, in its one form, the rows apart; None when it is not known again."""


def never_again(n_rows: int) -> None:
    """Say that a release is not known again."""


def request_digest(key: bytes, asked: bytes | None) -> bytes | None:
    """Return by what a ledger knows a request again, 16 bytes; None where it does not.

    Parameters
    ----------
    key : bytes
        Of the ledger, 32 bytes.
    asked : bytes, optional
        As `Asked` returns it.
    """
    return None if asked is None else hashlib.blake2b(asked, key=key, digest_size=_DIGEST, person=b"request").digest()
