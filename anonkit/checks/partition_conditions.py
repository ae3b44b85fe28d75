# SPDX-License-Identifier: Apache-2.0
"""A row condition as a validation's configuration holds it: the columns it names, and how it is read."""

from __future__ import annotations

import re
from collections.abc import Mapping

_COLUMN = re.compile(r"""col\(\s*(?:"([^"]*)"|'([^']*)')\s*\)""")
"""A column in the string form of a condition, which versions before 1.9 of Great Expectations had alone."""
_SIGNS = {"IN": "in", "NOT_IN": "not in", "==": "="}


def condition_columns(condition: object) -> list[str]:
    """Return the columns that a condition names; none of a string in pandas' or Spark's own language.

    These engines raise where a column is not there. SQLite takes the name for a string, and compares that.
    """
    if not isinstance(condition, Mapping):
        return [double or single for double, single in _COLUMN.findall(str(condition))]
    parts = [name for part in condition.get("conditions", ()) for name in condition_columns(part)]
    return [*parts, condition["column"]["name"]] if "column" in condition else parts


def condition_words(condition: object) -> str:
    """Return a condition as a reader of data docs takes it."""
    if not isinstance(condition, Mapping):
        return _COLUMN.sub(lambda found: found[1] or found[2], str(condition))
    kind = condition["type"]
    if kind in ("and", "or"):
        return f" {kind} ".join(condition_words(part) for part in condition["conditions"])
    if kind == "pass_through":
        return str(condition["pass_through_filter"])
    name = condition["column"]["name"]
    if kind == "nullity":
        return f"{name} {'missing' if condition['is_null'] else 'not missing'}"
    value = condition["parameter"]
    listed = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return f"{name} {_SIGNS.get(condition['operator'], condition['operator'])} {listed}"
