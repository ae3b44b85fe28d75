# SPDX-License-Identifier: Apache-2.0
"""The rows of a source for the ledger: their tags, and the columns that several releases publish of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from anonkit.engines.reading.settled_tables import with_unit
from anonkit.ledger.fingerprint import Likeness, spelled_rows
from anonkit.ledger.joint_view import JointView, joint_view
from anonkit.ledger.recognition import Known, Sighting
from anonkit.ledger.standing import Entry
from anonkit.policy.column_declarations import Role
from anonkit.policy.declaration import Policy
from anonkit.protocols import Engine, Source

_MOST_KEYS = 3
"""Identifiers by which people are remembered, where no column is their unit."""


@dataclass(kw_only=True, eq=False)
class SourceRows:
    """The rows of a source in the engine that reads them. The ledger knows the source by this object alone."""

    table: Source
    """As it was read, before cells were settled: the fingerprint is that of the rows themselves."""
    engine: Engine
    policy: Policy
    """With a role for every column."""
    _sighting: Sighting | None = field(default=None, init=False)

    @property
    def keys(self) -> tuple[str, ...]:
        """Columns that name people: the unit, else the first identifiers."""
        if self.policy.unit is not None:
            return (self.policy.unit,)
        names = self.table.schema.names
        identifiers = [name for name in self.policy.names(Role.IDENTIFIER) if name in names]
        return tuple(identifiers[:_MOST_KEYS])

    def sighting(self, key: bytes, known: Sequence[tuple[str, Known]]) -> Sighting:
        """Return the tags of the rows under the key of a ledger.

        The rows are read for it once: a release asks before the work is done and once more when it is booked.
        """
        if self._sighting is None:
            people = with_unit(self.table, self.policy, self.engine)
            self._sighting = Sighting.of(self.table, self.engine, key, known, people, self.keys)
        return self._sighting

    def spelled(self, key: bytes) -> bytes:
        """Return the mark by which the very same rows are known again, and nothing else of them."""
        if self._sighting is not None:
            return self._sighting.found.spelled
        return spelled_rows(self.table, self.engine, key)

    def is_same_table(self, entry: Entry) -> bool:
        """Return True if an earlier release was made of this table, so that rows of today are rows of then."""
        return self._sighting is not None and self._sighting.likeness(entry.fingerprint) is Likeness.SAME

    def joint_view(self, params: Mapping[str, Any], before: Sequence[Entry]) -> JointView | None:
        """Count the groups that a release forms with earlier ones; None where nothing can be counted."""
        return joint_view(self.table, self.policy, self.engine, params, before)
