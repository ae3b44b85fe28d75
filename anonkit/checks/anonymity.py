# SPDX-License-Identifier: Apache-2.0
"""k-anonymous releases read anew: classes recounted, and compared with the promise and the report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from anonkit.checks.disclosure import Disclosure, measure
from anonkit.checks.people import PeopleCounts
from anonkit.errors import UncheckedError
from anonkit.guarantee import Check, KAnonymity


def recounted(
    data: Path,
    schema: pa.Schema,
    promise: KAnonymity,
    quasi_identifiers: Sequence[str] | None,
    sensitive: Sequence[str],
    params: Mapping[str, Any],
) -> Disclosure:
    """Recount the classes of a release.

    Parameters
    ----------
    quasi_identifiers : sequence of str, optional
        Columns that make up the classes; those of the promise by default.
    sensitive : sequence of str
        Columns whose diversity is measured.
    params : mapping
        What `params.json` holds: where the promise is about people, how many stand in every class.

    Raises
    ------
    ReleaseFormatError
        The promise is about people, and there is no such count.
    UncheckedError
        People are not counted for these columns.
    """
    people = None
    if promise.unit is not None:
        people = PeopleCounts.from_params(params)
        if quasi_identifiers is not None and set(quasi_identifiers) != set(promise.quasi_identifiers):
            raise UncheckedError(
                "the people of this release are counted for its own quasi-identifiers only",
                "leave --qi out: rows could be counted for others, people could not",
            )
        if strangers := [name for name in sensitive if name not in promise.sensitive]:
            raise UncheckedError(
                f"who holds the values of column {strangers[0]!r} is not told by this release",
                "declare it sensitive when the table is released",
            )
        quasi_identifiers = None
    names = promise.quasi_identifiers if quasi_identifiers is None else quasi_identifiers
    recursive = promise.diversity.recursive
    return measure(
        data,
        [name for name in names if name in schema.names],
        sensitive=[name for name in sensitive if name in schema.names],
        missing_is_value=promise.missing_is_value,
        people=people,
        recursive=(2, 3) if recursive is None else tuple(sorted({2, 3, recursive[1]})),
    )


def figure_checks(
    report: Mapping[str, Any], disclosure: Disclosure, quasi_identifiers: Sequence[str] | None
) -> Iterator[Check]:
    """Compare the report's figures with the recount."""
    stated = report["rows"]["out"]
    yield Check(name="rows", passed=stated == disclosure.rows, observed=disclosure.rows, required=stated)
    if quasi_identifiers is None:
        sizes = tuple((entry["size"], entry["classes"]) for entry in report["disclosure_risk"]["class_sizes"])
        yield Check(
            name="class_sizes",
            passed=sizes == disclosure.sizes,
            observed=len(disclosure.sizes),
            required=len(sizes),
        )
