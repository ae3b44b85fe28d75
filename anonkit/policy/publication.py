# SPDX-License-Identifier: Apache-2.0
"""Publication as the policy declares it: who receives the release, for what purpose, until when, and who answers.

Combinations of quasi-identifiers with a k of their own: `[[keys]]` of a policy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from anonkit.documents import ReportPart
from anonkit.errors import PolicyError, did_you_mean
from anonkit.policy.side_files import expect, optional_text, refuse_unknown, texts


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


_KEYS = ("recipients", "purpose", "legal_basis", "contact", "retain_until")
_WHERE = "publication"


@dataclass(frozen=True, kw_only=True)
class Publication(ReportPart):
    """The owner's declaration of the publication of a release, for the page that is signed.

    Privacy
    -------
    Nothing of it is read from a table. Of it the recipients alone enter the files of the release.
    """

    recipients: tuple[str, ...] = ()
    """Recipients of the release: the one declaration of these that report and page of the release repeat."""
    purpose: str | None = None
    """Purpose for which they may use it."""
    legal_basis: str | None = None
    """Legal basis of the disclosure to them."""
    contact: str | None = None
    """Contact for questions about it."""
    retain_until: str | None = None
    """Day until which it may be kept: ISO 8601."""

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> Publication:
        """Read the table `[publication]` of a policy.

        Raises
        ------
        PolicyError
            A key is unknown or of the wrong kind.
        """
        refuse_unknown(_WHERE, raw, _KEYS)
        recipients = raw.get("recipients", [])
        return cls(
            recipients=recipients_of(_WHERE, recipients),
            purpose=optional_text(_WHERE, "purpose", raw),
            legal_basis=optional_text(_WHERE, "legal_basis", raw),
            contact=optional_text(_WHERE, "contact", raw),
            retain_until=None if "retain_until" not in raw else _day(raw["retain_until"]),
        )


def declared_publication(raw: Mapping[str, Any]) -> Publication:
    """Return the publication of a parsed policy file; an empty one where it has none."""
    return Publication.from_dict(expect("policy", _WHERE, raw.get(_WHERE, {}), dict))


def recipients_of(where: str, given: object) -> tuple[str, ...]:
    """Return the recipients of a table: one string, or several.

    Raises
    ------
    PolicyError
        It is anything else, or a string of blanks.
    """
    listed = [given] if isinstance(given, str) else list(given) if isinstance(given, tuple) else given
    named = tuple(texts(where, "recipients", listed))
    if any(not name.strip() for name in named):
        raise PolicyError(f"{where}: recipients has an empty text", 'recipients = ["University of Example"]')
    return named


def _day(value: object) -> str:
    """Return a day of TOML, or a string that is one."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    try:
        return date.fromisoformat(value if isinstance(value, str) else "").isoformat()
    except ValueError:
        raise PolicyError(f"{_WHERE}: retain_until must be a day", "retain_until = 2031-12-31") from None
