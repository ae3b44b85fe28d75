# SPDX-License-Identifier: Apache-2.0
"""All kinds of promise by their name in a report, and the promise read back from a report.

A file knows a promise by its `kind` alone. This is where the word becomes a value again; whoever has read it asks the
value (`anonkit.promises.guarantee`), and nobody compares words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from anonkit.errors import ReleaseFormatError, refusing_damage
from anonkit.promises.anonymous_classes import KAnonymity
from anonkit.promises.approximate_dp import AnonymousDP, ApproximateDP
from anonkit.promises.guarantee import Guarantee, NoGuarantee
from anonkit.promises.noise_promises import CentralDP, LocalDP

KINDS: Mapping[str, type[Guarantee]] = {
    promise.kind: promise for promise in (KAnonymity, LocalDP, CentralDP, ApproximateDP, AnonymousDP, NoGuarantee)
}
"""A new promise is added here, and to the three tables that `anonkit.promises.guarantee` names."""

Entry = TypeVar("Entry")


def read_promise(block: Mapping[str, Any]) -> Guarantee:
    """Read a promise back from the `guarantee` block of a report.

    Raises
    ------
    ReleaseFormatError
        There is no such promise, or its parameters are not those of one.
    """
    with refusing_damage("the guarantee of the report is damaged"):
        return of_kind(KINDS, block).from_dict(block)


def of_kind(table: Mapping[str, Entry], block: Mapping[str, Any]) -> Entry:
    """Return the entry of a promise in a table with one entry per kind.

    Parameters
    ----------
    table : mapping
        By kind.
    block : mapping
        The `guarantee` block of a report.

    Raises
    ------
    ReleaseFormatError
        anonkit knows no such promise: the report is damaged, or of a later version.
    """
    kind = block.get("kind")
    if not isinstance(kind, str) or kind not in table:
        raise ReleaseFormatError(
            "the report states a promise that this version of anonkit does not know",
            "a later version may have made the release",
        )
    return table[kind]
