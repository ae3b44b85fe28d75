# SPDX-License-Identifier: Apache-2.0
"""Incognito: the full-domain generalization of least loss along declared hierarchies (LeFevre et al. 2005)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from anonkit.errors import ChoiceError, option
from anonkit.k_anonymity.coded_axes import global_recoding
from anonkit.k_anonymity.preparing import Preparation, Prepared
from anonkit.k_anonymity.recoding_method import RecodingMethod, SearchResult, unreachable
from anonkit.k_anonymity.search.full_domain import LOSSES, Lattice, incognito
from anonkit.parameters import check_choice, parameter
from anonkit.policy.declaration import TargetUse
from anonkit.protocols import Progress
from anonkit.randomness import Randomness


@dataclass(frozen=True, kw_only=True)
class Incognito(RecodingMethod):
    """Release every column at the level of its hierarchy that loses least, all combinations of levels considered.

    Numbers without a hierarchy have levels of parts of k rows and more; other columns without one are kept or dropped.
    The target has no part in it.

    Privacy
    -------
    k rows (people) share every released combination of quasi-identifiers. Nothing keeps the members of a class from
    sharing a secret: declare it sensitive and ask for l or t.
    """

    name: ClassVar[str] = "incognito"
    paper: ClassVar[str] = "LeFevre, DeWitt, Ramakrishnan: Incognito: efficient full-domain k-anonymity, SIGMOD 2005"
    summary: ClassVar[str] = "k-anonymity by one level of a hierarchy a column, the best of all combinations"
    target_use: ClassVar[TargetUse] = TargetUse.OPTIONAL
    search_steps: ClassVar[tuple[str, ...]] = ("searching the levels",)

    example: ClassVar[Mapping[str, Any]] = MappingProxyType({"k": 50})

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType({"paper": {"max_suppression": 0.0}})

    max_suppression: float = parameter(default=0.01, range="[0, 1]", help="largest share of rows that may be left out")
    loss: str = parameter(
        default="granularity",
        range=" | ".join(LOSSES),
        choices=tuple(LOSSES),
        help="what is made as small as it can be",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("loss", self.loss, tuple(LOSSES))

    @property
    def preparation(self) -> Preparation:
        """Categories without a hierarchy are kept or dropped, not pooled."""
        return Preparation(pool=False, guided=False)

    def find_recoding(self, prepared: Prepared, *, rng: Randomness, progress: Progress) -> SearchResult:
        """Search the lattice of levels."""
        progress("searching the levels", 0.0)
        limit = int(self.max_suppression * prepared.n_rows)
        if self.loss == "discernibility" and prepared.detail_weights:
            raise ChoiceError(
                "loss=discernibility counts rows that are alike: no column has a detail_weight there",
                f"{option('loss', 'granularity')}, or leave detail_weight out of the policy",
            )
        lattice = Lattice(
            prepared.columns,
            prepared.full_domain_levels(),
            prepared.requirements,
            limit,
            kept_columns=prepared.kept_columns,
            detail_weights=prepared.detail_weights,
        )
        best = incognito(lattice, LOSSES[self.loss])
        if best is None:
            raise unreachable(kept_columns=prepared.kept_columns)
        return SearchResult(
            recoding=global_recoding(prepared, lattice.groups(best.node)),
            details={"name": self.name, "loss": self.loss},
            owner={"loss": best.loss, "nodes": lattice.n_nodes, "nodes_that_meet_the_model": best.satisfying},
        )
