# SPDX-License-Identifier: Apache-2.0
"""A profile: the requirements of a rule or standard, each with what the files of a release show of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from anonkit.errors import in_python

NO_VERDICT = "It is evidence for a person who decides, and no verdict of law."


class EvidenceState(StrEnum):
    """The evidence of a release's files on a requirement."""

    EVIDENCE = "evidence"
    """They speak for it."""
    OPEN = "open"
    """They cannot show it: a person has to."""
    AGAINST = "against"
    """They speak against it."""


@dataclass(frozen=True, kw_only=True)
class Item:
    """One requirement."""

    requirement: str
    state: EvidenceState
    evidence: str
    """One or two sentences; names of columns and figures of the report, no cell."""

    @classmethod
    def shown(cls, requirement: str, evidence: str) -> Item:
        """Return a requirement that the files speak for."""
        return cls(requirement=requirement, state=EvidenceState.EVIDENCE, evidence=evidence)

    @classmethod
    def open(cls, requirement: str, evidence: str) -> Item:
        """Return a requirement that a person has to show."""
        return cls(requirement=requirement, state=EvidenceState.OPEN, evidence=evidence)

    @classmethod
    def against(cls, requirement: str, evidence: str) -> Item:
        """Return a requirement that the files speak against."""
        return cls(requirement=requirement, state=EvidenceState.AGAINST, evidence=evidence)


@dataclass(frozen=True, kw_only=True)
class Profile:
    """A checklist with evidence."""

    name: str
    title: str
    source: str
    """The text that the requirements are from."""
    items: Sequence[Item]

    def count(self, state: EvidenceState) -> int:
        """Return the number of requirements in a state."""
        return sum(item.state is state for item in self.items)

    def to_dict(self, spoken: Callable[[str], str] = in_python) -> dict[str, Any]:
        """Return the profile as plain JSON types; options are named as its reader writes them."""
        return {
            "name": self.name,
            "title": self.title,
            "source": self.source,
            "note": NO_VERDICT,
            "counts": {state.value: self.count(state) for state in EvidenceState},
            "items": [
                {**asdict(item), "state": item.state.value, "evidence": spoken(item.evidence)} for item in self.items
            ],
        }


def listed(names: Iterable[str], *, most: int = 6) -> str:
    """Return names as a list in a sentence, cut where they are many."""
    names = [repr(name) for name in names]
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


def figure(report: Mapping[str, Any], *keys: str) -> Any:
    """Return an entry of a nested report; None where one of the keys is not there."""
    value: Any = report
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
