# SPDX-License-Identifier: Apache-2.0
"""Combinations of quasi-identifiers with a k of their own: `[[keys]]` of a policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anonkit.errors import PolicyError, did_you_mean
from anonkit.policy.toml_values import expect, refuse_unknown, texts


@dataclass(frozen=True, kw_only=True)
class KeyCombination:
    """Quasi-identifiers that an attacker may know by themselves, and how many rows share what is shown of them."""

    columns: tuple[str, ...]
    k: int
    """Rows, 2 or more."""


def key_combinations_of(raw: Mapping[str, Any]) -> tuple[KeyCombination, ...]:
    """Read the `[[keys]]` of a policy.

    Raises
    ------
    PolicyError
        One has other keys than `columns` and `k`, no column, one twice, or a k below 2; or two name the same columns.
    """
    found = []
    for entry in expect("policy", "keys", raw.get("keys", []), list):
        refuse_unknown("policy: keys", expect("policy", "keys", entry, dict), ("columns", "k"))
        columns, k = tuple(texts("policy: keys", "columns", entry.get("columns"))), entry.get("k")
        if not columns or len(set(columns)) < len(columns):
            raise PolicyError(
                "policy: keys: columns must name quasi-identifiers, each once", 'columns = ["age", "sex"]'
            )
        if isinstance(k, bool) or not isinstance(k, int) or k < 2:
            raise PolicyError("policy: keys: k must be a whole number, 2 or more", "k = 20")
        found.append(KeyCombination(columns=columns, k=k))
    if len({frozenset(each.columns) for each in found}) < len(found):
        raise PolicyError("policy: two keys name the same columns", "leave the smaller k out")
    return tuple(found)


def refuse_strange_keys(keys: Sequence[KeyCombination], names: Sequence[str], quasi_identifiers: Sequence[str]) -> None:
    """Refuse keys of columns that the table does not have, or that are no quasi-identifiers.

    Raises
    ------
    PolicyError
        There is one.
    """
    for name in (name for each in keys for name in each.columns):
        if name in quasi_identifiers:
            continue
        if name not in names:
            raise PolicyError(f"keys: column {name!r} is not in the table", did_you_mean(name, quasi_identifiers))
        raise PolicyError(
            f"keys: column {name!r} is no quasi-identifier", "give it the role, or leave it out of the key"
        )
