# SPDX-License-Identifier: Apache-2.0
"""A release's rules for its sensitive columns, compared with its promise: bounds, caps, and the list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from anonkit.checks.counted_as import LEAST_CAP
from anonkit.checks.disclosure import Disclosure
from anonkit.checks.sameness import differing, named, none_of, same
from anonkit.errors import UncheckedError
from anonkit.promises.anonymous_classes import ALL_ROWS, CAP, EXEMPT_ABOVE
from anonkit.promises.guarantee import Check
from anonkit.promises.no_values import FOLDING, NO_VALUES

_NAMES = {"l": "l_diversity", "t": "t_closeness", "alpha": "alpha_k_anonymity"}
"""Requirements that a column may have on its own values, with the name in a report."""
_ALL = ("l_diversity", "entropy_l_diversity", "recursive_c_l_diversity", "t_closeness", "alpha_k_anonymity")
_HIGHEST = 0.9
"""Cap of a value that a share of `EXEMPT_ABOVE` has."""


def refuse_earlier(params: Mapping[str, Any], report: Mapping[str, Any]) -> None:
    """Refuse a release that does not say what counts as a sensitive value, as of version 0.1.

    Raises
    ------
    UncheckedError
        It has a sensitive column and no list.
    """
    if "no_values" not in params and report["guarantee"]["parameters"]["sensitive"]:
        raise UncheckedError(
            "the release has sensitive columns and does not say what counts as a value of them",
            "it is of version 0.1, which checks it; or release the table anew",
        )


def sensitive_checks(params: Mapping[str, Any], report: Mapping[str, Any]) -> Iterator[Check]:
    """Check that params and promise require the same of each sensitive column, and cap those without requirements.

    The list of strings that are no value and the folding are the published ones.
    """
    promised = report["guarantee"]["parameters"]
    sensitive = {name: entry for name, entry in named(params["columns"]) if entry["sensitive"]}
    own = {name: {_NAMES[key]: entry[key] for key in _NAMES if key in entry} for name, entry in sensitive.items()}
    stated = promised.get("of_columns", {})
    expected = {name: asked for name, asked in own.items() if asked}
    wrong = len(set(stated) ^ set(expected)) + sum(
        differing(stated[name], asked) for name, asked in expected.items() if name in stated
    )
    for_all = any(name in promised for name in _ALL) or promised.get("rows_known") == ALL_ROWS
    bare = [] if for_all else [name for name, asked in own.items() if not asked]
    cap = promised.get(CAP, {"columns": [], "exempt_above": EXEMPT_ABOVE})
    wrong += not same(cap, {"columns": bare, "exempt_above": EXEMPT_ABOVE}) or (CAP in promised) != bool(bare)
    wrong += sum(("caps" in entry) != (name in bare) for name, entry in sensitive.items())
    wrong += sum(not _is_list_of_caps(entry["caps"]) for entry in sensitive.values() if "caps" in entry)
    listed = (list(NO_VALUES), FOLDING) if sensitive else (None, None)
    wrong += not same([params.get("no_values"), params.get("folding")], list(listed))
    keys = {*_NAMES, "tolerance", "width", "caps", "missing_is_value"}
    wrong += sum(bool(keys & set(entry)) for _, entry in named(params["columns"]) if not entry["sensitive"])
    wrong += sum(not _is_number(entry.get("width")) for entry in sensitive.values())
    yield none_of("sensitive_columns", wrong)


def _is_list_of_caps(listed: Sequence[Any]) -> bool:
    """Return True if caps are pairs of a value and a possible share, each value once, numbers ascending."""
    values = [value for value, _ in listed]
    numbers = [value for value in values if _is_number(value)]
    others = [value for value in values if not _is_number(value)]
    return (
        all(value is None or isinstance(value, str) for value in others)
        and len(set(others)) == len(others)
        and all(one < another for one, another in pairwise(numbers))
        and all(cap is None or (_is_number(cap) and LEAST_CAP <= cap <= _HIGHEST) for _, cap in listed)
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def value_checks(disclosure: Disclosure, sensitive: Sequence[str]) -> Iterator[Check]:
    """Check that widths and caps can follow by the rule from the table and the rows that were left out."""
    for name in sensitive:
        strange = int(disclosure.sensitive[name]["strange"])
        yield Check(name=f"sensitive_values:{name}", passed=strange == 0, observed=strange, required=0)
