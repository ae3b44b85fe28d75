# SPDX-License-Identifier: Apache-2.0
"""Column names: the rules by which they must differ."""

from __future__ import annotations

from collections.abc import Sequence

from anonkit.errors import SourceError


def check_names(names: Sequence[object]) -> None:
    """Refuse a table whose columns cannot be distinguished by name.

    Messages give positions: in a file without a header line the names are cells.

    Raises
    ------
    SourceError
        No columns, or a name that is no string, is blank, or occurs twice.
    """
    if not names:
        raise SourceError("the table has no columns")
    first: dict[object, int] = {}
    for number, name in enumerate(names, start=1):
        if not isinstance(name, str):
            raise SourceError(f"the name of column {number} is not a text", "rename the columns of the data frame")
        if not name.strip():
            raise SourceError(f"column {number} has no name", "give every column its own name")
        if first.setdefault(name, number) != number:
            raise SourceError(
                f"columns {first[name]} and {number} have the same name", "give every column its own name"
            )
