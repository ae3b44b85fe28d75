# SPDX-License-Identifier: Apache-2.0
"""Words of the expectations in data docs: the requirement, its row condition and the finding, in words and counts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

Words = tuple[str, dict[str, Any]]
"""A template with `$names`, and their values."""

UNKNOWN = "not evaluated"
_HIDDEN = "not told (BOOLEAN_ONLY)"
_COLUMN = re.compile(r"""col\(\s*(?:"([^"]*)"|'([^']*)')\s*\)""")
"""A column in the string form of a condition, which versions before 1.9 of Great Expectations had alone."""
_SIGNS = {"IN": "in", "NOT_IN": "not in", "==": "="}


def anonymity_words(kwargs: Mapping[str, Any]) -> Words:
    """Return the requirement of `ExpectTableToBeKAnonymous` in words."""
    columns, params = _listed(kwargs["columns"])
    unit = kwargs.get("unit")
    whose = "rows" if unit is None else "people (values of $unit)"
    return _where(
        kwargs,
        f"every combination of {columns} must be shared by at least $k {whose}.",
        {**params, "k": figure(kwargs["k"]), **({} if unit is None else {"unit": unit})},
    )


def diversity_words(kwargs: Mapping[str, Any]) -> Words:
    """Return the requirement of `ExpectTableToBeLDiverse` in words."""
    columns, params = _listed(kwargs["columns"])
    many = "be as diverse as with $l equally frequent values" if kwargs.get("entropy") else "have $l different values"
    return _where(
        kwargs,
        f"in every combination of {columns}, $sensitive must {many} or more{_counted(kwargs)}.",
        {**params, "sensitive": kwargs["sensitive"], "l": figure(kwargs["l"]), **_unit(kwargs)},
    )


def closeness_words(kwargs: Mapping[str, Any]) -> Words:
    """Return the requirement of `ExpectTableToBeTClose` in words."""
    columns, params = _listed(kwargs["columns"])
    return _where(
        kwargs,
        f"in every combination of {columns}, $sensitive must be distributed as in all of "
        f"{'the table' if kwargs.get('row_condition') is None else 'these rows'}, up to an earth mover's distance of $t"
        f"{_counted(kwargs)}.",
        {**params, "sensitive": kwargs["sensitive"], "t": figure(kwargs["t"]), **_unit(kwargs)},
    )


def promise_words(kwargs: Mapping[str, Any]) -> Words:
    """Return the requirement of `ExpectReleaseToKeepItsPromise` in words."""
    return (
        "The table must have the columns and the number of rows of the release $release, whose files must validate: "
        "the cells of the table are not compared.",
        {"release": kwargs["release"]},
    )


def figure(value: object) -> str:
    """Return the words of a k, l or t: a figure, or the name of the parameter that brings it."""
    if isinstance(value, Mapping):
        return f"the run's parameter {value.get('$PARAMETER', '')!r}"
    return f"{value:,g}" if isinstance(value, int | float) else str(value)


def found_words(kind: str, kwargs: Mapping[str, Any], result: Mapping[str, Any] | None) -> str:
    """Return the finding in a few words; `kind` is k, l, t or promise."""
    if not result:
        return _HIDDEN
    details = result.get("details", {})
    if "missing_columns" in details:
        return f"not in the table: {', '.join(details['missing_columns'])}"
    if "alike_columns" in details:
        return f"several columns are called {', '.join(details['alike_columns'])}"
    if details.get("rows") == 0 or result.get("observed_value") is None:
        return "no rows"
    if kind == "promise":
        return f"{result['observed_value']} hold"
    return f"{'entropy l' if kwargs.get('entropy') else kind} = {result['observed_value']:.6g}"


def shortfall_words(kind: str, kwargs: Mapping[str, Any], result: Mapping[str, Any] | None) -> str | None:
    """Return the shortfall of a table that fails; None where nothing more is known than that it does."""
    details = (result or {}).get("details", {})
    if "missing_columns" in details:
        return "Nothing was counted: a named column is not in the table."
    if "alike_columns" in details:
        return "Nothing was counted: several columns of the table have one of the names."
    if details.get("rows") == 0 or (result and result.get("observed_value") is None):
        return "Nothing was counted: there is no row."
    if not details:
        return None
    if kind == "k":
        few = f"{details['classes_below_k']:,} of {details['classes']:,} combinations are shared by fewer than"
        if "people" in details:  # one person can be in several combinations: a sum of people would say too many
            return f"{few} {figure(kwargs['k'])} people."
        return f"{few} {figure(kwargs['k'])} rows; {details['rows_below_k']:,} of {details['rows']:,} rows are in them."
    if kind == "promise":
        return f"These checks do not hold: {', '.join(details['failed'])}."
    worst = "the least diverse" if kind == "l" else "the most distant"
    found = found_words(kind, kwargs, result)
    return f"{worst.capitalize()} combination has {found}; {figure(kwargs[kind])} was required."


def _listed(columns: Sequence[str]) -> Words:
    names = [f"$column_{at}" for at in range(len(columns))]
    listed = ", ".join(names[:-1]) + (" and " if names[1:] else "") + names[-1]
    return listed, {f"column_{at}": name for at, name in enumerate(columns)}


def _counted(kwargs: Mapping[str, Any]) -> str:
    return "" if kwargs.get("unit") is None else ", counted in people (values of $unit)"


def _unit(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    return {} if kwargs.get("unit") is None else {"unit": kwargs["unit"]}


def _where(kwargs: Mapping[str, Any], template: str, params: dict[str, Any]) -> Words:
    """Put the row condition before a sentence, which otherwise begins it."""
    condition = kwargs.get("row_condition")
    if condition is None:
        return template[0].upper() + template[1:], params
    return f"In the rows with $condition, {template}", {**params, "condition": condition_words(condition)}


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
