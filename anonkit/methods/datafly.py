# SPDX-License-Identifier: Apache-2.0
"""Datafly: greedy full-domain generalization along declared hierarchies (Sweeney 2002)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from anonkit.k_anonymity.coded_axes import global_recoding
from anonkit.k_anonymity.preparing import Preparation, Prepared
from anonkit.k_anonymity.recoding_method import RecodingMethod, SearchResult, refuse_too_many
from anonkit.k_anonymity.search.full_domain import Lattice, datafly
from anonkit.parameters import parameter
from anonkit.policy.declaration import TargetUse
from anonkit.protocols import Progress
from anonkit.randomness import Randomness


@dataclass(frozen=True, kw_only=True)
class Datafly(RecodingMethod):
    """Generalize the column with most distinct values, level by level, until few enough rows are left out.

    Every column is released at one level of its hierarchy. Numbers without one have levels of parts of k rows and
    more; other columns without one are kept or dropped. The target has no part in it.

    Privacy
    -------
    k rows (people) share every released combination of quasi-identifiers. Nothing keeps the members of a class from
    sharing a secret: declare it sensitive and ask for l or t.
    """

    name: ClassVar[str] = "datafly"
    paper: ClassVar[str] = (
        "Sweeney: Achieving k-anonymity privacy protection using generalization and suppression, 2002"
    )
    summary: ClassVar[str] = "k-anonymity by one level of a hierarchy a column, found greedily: the peers' reference"
    target_use: ClassVar[TargetUse] = TargetUse.OPTIONAL
    search_steps: ClassVar[tuple[str, ...]] = ("generalizing",)

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType({"paper": {"max_suppression": 0.0}})

    max_suppression: float = parameter(default=0.01, range="[0, 1]", help="largest share of rows that may be left out")

    @property
    def preparation(self) -> Preparation:
        """Categories without a hierarchy are kept or dropped, not pooled."""
        return Preparation(pool=False, guided=False)

    def find_recoding(self, prepared: Prepared, *, rng: Randomness, progress: Progress) -> SearchResult:
        """Climb the levels."""
        progress("generalizing", 0.0)
        limit = int(self.max_suppression * prepared.n_rows)
        lattice = Lattice(
            prepared.columns,
            prepared.full_domain_levels(),
            prepared.requirements,
            limit,
            kept_columns=prepared.kept_columns,
            detail_weights=prepared.detail_weights,
        )
        node = datafly(lattice)
        refuse_too_many(lattice.n_suppressed(node), prepared.n_rows, limit, kept_columns=prepared.kept_columns)
        return SearchResult(
            recoding=global_recoding(prepared, lattice.groups(node)),
            details={"name": self.name},
            owner={"steps": sum(node)},  # levels that distinguish nothing are none, and the rows decide which these are
        )
