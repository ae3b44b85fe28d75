# SPDX-License-Identifier: Apache-2.0
"""Undeclared columns: those that look like identifiers are treated as identifiers, and every output states so.

A column for which a role, a domain or a hierarchy is declared is never judged by its cells.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from anonkit.drafting.identifying.verdicts import NOTHING_COMMON, IdentifierVerdict
from anonkit.drafting.profiling import ColumnProfile, ValueKind, looked_at
from anonkit.policy.column_declarations import Role
from anonkit.policy.declaration import Policy
from anonkit.protocols import Engine, Source
from anonkit.report.blocks import ReportColumn


@dataclass(frozen=True, kw_only=True)
class Undeclared:
    """The findings on the undeclared columns of a table."""

    taken: Mapping[str, ColumnProfile] = field(default_factory=dict)
    """Columns that are taken for identifiers."""
    nearly_unique: Sequence[str] = ()
    """Measured quantities that nearly identify rows; they keep their role."""
    profiles: Mapping[str, ColumnProfile] = field(default_factory=dict)
    """Every profiled column, in the given order."""

    def declared(self, policy: Policy) -> Policy:
        """Return the policy with the role of an identifier for the columns that look like one."""
        return policy.with_roles(identifiers=self.taken)

    def with_rare(self, names: Iterable[str]) -> Undeclared:
        """Return it with the columns from which no domain could be read, since no value is common enough."""
        rare = {
            name: ColumnProfile(name=name, kind=ValueKind.TEXT, filled=0, distinct=0, verdict=NOTHING_COMMON)
            for name in names
            if name not in self.taken
        }
        return replace(self, taken={**self.taken, **rare})

    def notes(self, policy: Policy) -> list[str]:
        """Return notes on columns taken for identifiers: the rule, and the remedy if one is none; no values.

        Under differential privacy there is no note that no condition of the claim names: how unique a column is.

        Parameters
        ----------
        policy : Policy
            With the role of every column.
        """
        return [
            *(self._taken_note(profile, policy.unit) for profile in self.taken.values()),
            *(
                f"Column {name!r} has nearly as many values as rows. If it is an identifier, declare it: "
                f"{_declared_as(name, Role.IDENTIFIER)}."
                for name in self.nearly_unique
                if policy.column(name).role is Role.QUASI_IDENTIFIER and not policy.is_conditional
            ),
        ]

    @staticmethod
    def _taken_note(profile: ColumnProfile, unit: str | None) -> str:
        name, verdict = profile.name, profile.verdict
        reason = "it looks like one" if verdict is None else verdict.reason
        note = (
            f"Column {name!r} looks like an identifier and was left out: {reason}. To keep it, give it a role in the "
            f"policy; the safe one is {_declared_as(name, Role.QUASI_IDENTIFIER)}."
        )
        if unit is None and profile.may_be_unit:
            note += (
                f" Its values repeat: if each is a person with several rows, {_declared_as(name, Role.UNIT)} protects "
                "people, not rows."
            )
        return note

    def marked(self, entries: Iterable[ReportColumn]) -> list[ReportColumn]:
        """Return the `columns` block of a report with the rule by which a column was taken for an identifier."""
        return [self._marked(entry) for entry in entries]

    def _marked(self, entry: ReportColumn) -> ReportColumn:
        profile = self.taken.get(entry["name"])
        if profile is None or profile.verdict is None:
            return entry
        verdict: IdentifierVerdict = profile.verdict
        return {
            **entry,
            "reason": f"looks like an identifier: {verdict.reason}",
            "taken_for": str(Role.IDENTIFIER),
            "rule": verdict.rule,
        }


def judge_undeclared(source: Source, names: Sequence[str], engine: Engine) -> Undeclared:
    """Judge the columns of a table that nobody declared, by their names and cells.

    Parameters
    ----------
    names : sequence of str
        The columns, at least one.

    Privacy
    -------
    What is left out depends on cells. A promise of differential privacy must name that as a condition.
    """
    profiles = profiles_of(source, names, engine)
    return Undeclared(
        taken={profile.name: profile for profile in profiles if profile.verdict is not None},
        nearly_unique=tuple(profile.name for profile in profiles if profile.verdict is None and profile.nearly_unique),
        profiles={profile.name: profile for profile in profiles},
    )


def profiles_of(source: Source, names: Sequence[str], engine: Engine) -> list[ColumnProfile]:
    """Profile columns, declared or not; one at a time, in the given order.

    Privacy
    -------
    As for `judge_undeclared`: what is found depends on cells.
    """
    rows = looked_at(source, engine)
    return [ColumnProfile.of_codes(column) for name in names for column in engine.encode(rows, [name])]


def _declared_as(name: str, role: Role) -> str:
    """Return the line of a policy that gives a column a role."""
    key = name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)
    return f'{key} = {{ role = "{role.value}" }}'
