# SPDX-License-Identifier: Apache-2.0
"""lock-step: every column one level up at a time, all together."""

from dataclasses import dataclass
from typing import ClassVar

from anonkit.k_anonymity.coded_axes import global_recoding
from anonkit.k_anonymity.preparing import Preparation, Prepared
from anonkit.k_anonymity.recoding_method import RecodingMethod, SearchResult, refuse_too_many
from anonkit.k_anonymity.search.full_domain import Lattice
from anonkit.parameters import parameter
from anonkit.policy.declaration import TargetUse
from anonkit.protocols import Progress
from anonkit.randomness import Randomness


@dataclass(frozen=True, kw_only=True)
class LockStep(RecodingMethod):
    """All columns at one level of their hierarchies, the finest that leaves few enough rows out."""

    name: ClassVar[str] = "lock-step"
    paper: ClassVar[str] = "none: an example"
    summary: ClassVar[str] = "k-anonymity by one level for all columns"
    target_use: ClassVar[TargetUse] = TargetUse.OPTIONAL

    max_suppression: float = parameter(default=0.01, range="[0, 1]", help="largest share of rows that may be left out")

    @property
    def preparation(self) -> Preparation:
        """Categories without a hierarchy are kept or dropped; no forest is asked."""
        return Preparation(pool=False, guided=False)

    def find_recoding(self, prepared: Prepared, *, rng: Randomness, progress: Progress) -> SearchResult:
        """Climb until the rows of small classes are few enough."""
        limit = int(self.max_suppression * prepared.n_rows)
        lattice = Lattice(prepared.columns, prepared.full_domain_levels(), prepared.requirements, limit)
        node, step = lattice.bottom, 0
        while not lattice.meets(node) and node != lattice.heights:
            step += 1
            node = tuple(min(step, height) for height in lattice.heights)
        refuse_too_many(lattice.n_suppressed(node), prepared.n_rows, limit)
        return SearchResult(recoding=global_recoding(prepared, lattice.groups(node)), details={"name": self.name})
