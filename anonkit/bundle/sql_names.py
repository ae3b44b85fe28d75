# SPDX-License-Identifier: Apache-2.0
"""Names in SQL: tables as addresses spell them, names in quotes, and columns by names of their own.

Sources and targets of exports read `?table=` by the one rule of this file: the table that was exported is the one that
is read under the same address.

DuckDB, Spark and SQLite take `Age` and `age` for one column, in quotes too. So a statement about columns addresses them
by names of its own (`own_names`); `in_quotes` is for a table in which the names are known to differ otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from anonkit.errors import ParameterError

_NAME = re.compile(r'"(?P<quoted>(?:[^"]|"")+)"|(?P<bare>[^".]+)')
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*")


def in_quotes(name: str) -> str:
    """Return a name as SQL spells it exactly."""
    return '"' + name.replace('"', '""') + '"'


def own_names(names: Sequence[str]) -> dict[str, str]:
    """Return the names c0, c1, … by which SQL addresses columns, by their place, whatever they are called."""
    return {name: f"c{at}" for at, name in enumerate(names)}


def alike_names(names: Sequence[str]) -> bool:
    """Return True if SQL may take some of these names for one."""
    return len({name.casefold() for name in names}) < len(names)


def table_parts(name: str, schema: str | None = None, *, folds: bool) -> tuple[str, ...]:
    """Return the parts of a name such as `schema.people` or `"Odd.Schema"."People"`, without quotes.

    Parameters
    ----------
    name : str
        Value of `?table=`.
    schema : str, optional
        Value of `&schema=`, which is the missing part of a name of one part.
    folds : bool
        True where the database writes a name without quotes in lower case: `People` is `people` then, as it is in the
        owner's SQL, and `"People"` is not.

    Raises
    ------
    ParameterError
        A name is not well-formed, or both name a schema.
    """
    parts = _parts(name, folds=folds)
    if schema is None:
        return parts
    above = _parts(schema, folds=folds)
    if len(parts) > 1 or len(above) > 1:
        raise ParameterError(
            f"the table ({name}) and schema ({schema}) name more than one schema", "?table=schema.people"
        )
    return (*above, *parts)


def _parts(name: str, *, folds: bool) -> tuple[str, ...]:
    parts, at = [], 0
    while (part := _NAME.match(name, at)) is not None:
        bare, at = part["bare"], part.end()
        if bare is None:
            parts.append(part["quoted"].replace('""', '"'))
        else:
            parts.append(bare.lower() if folds and _PLAIN.fullmatch(bare) else bare)
        if at == len(name):
            return tuple(parts)
        if name[at] != ".":
            break
        at += 1
    raise ParameterError(
        f"the name of the table ({name}) is not well-formed", 'such as people, schema.people or "Odd.Name"'
    )
