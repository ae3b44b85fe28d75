# SPDX-License-Identifier: Apache-2.0
"""Workload-aware Mondrian: local recoding into boxes, guided by a forest (LeFevre, DeWitt, Ramakrishnan, KDD 2006)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from anonkit.k_anonymity.coded_axes import boxes_of
from anonkit.k_anonymity.held_out_labels import all_labels_parameter
from anonkit.k_anonymity.preparing import Preparation, Prepared
from anonkit.k_anonymity.recoding_method import RecodingMethod, SearchResult
from anonkit.k_anonymity.search.box_tree import grow_boxes
from anonkit.k_anonymity.supported_parts import NarrowedColumn, box_facts, narrowed_columns
from anonkit.policy.declaration import TargetUse
from anonkit.protocols import Progress
from anonkit.randomness import Randomness


@dataclass(frozen=True, kw_only=True)
class Mondrian(RecodingMethod):
    """Cut the table into boxes of at least k rows, where a forest says that a cut keeps what predicts the target.

    Every row shows the box it is in: an interval or a set of values a column. Without a target a box is as narrow as
    its rows and k allow. No row is suppressed. One column may be fine in one part of the table and coarse in another
    (local recoding), so more detail survives than with one recoding a column; the released columns are harder to read.

    Privacy
    -------
    k rows (people) share every released combination of quasi-identifiers. The boxes are chosen by the target, so
    members of a box tend to share it: when the target is itself a secret, declare it sensitive and ask for l or t.
    """

    name: ClassVar[str] = "mondrian"
    paper: ClassVar[str] = "LeFevre, DeWitt, Ramakrishnan: Workload-aware anonymization, KDD 2006"
    summary: ClassVar[str] = (
        "k-anonymity by local recoding into boxes that keep what predicts the target; nothing suppressed"
    )
    shows_boxes: ClassVar[bool] = True
    target_use: ClassVar[TargetUse] = TargetUse.OPTIONAL
    search_steps: ClassVar[tuple[str, ...]] = ("cutting boxes",)

    all_labels: bool = all_labels_parameter()

    in_brief: ClassVar[bool] = False
    """True where a forest of few rounds guides; a preview notes so."""

    @property
    def preparation(self) -> Preparation:
        """Dates are cut where a cut is worth most, at the roundest day there, unless their levels are declared."""
        return Preparation(calendar=False)

    def find_recoding(self, prepared: Prepared, *, rng: Randomness, progress: Progress) -> SearchResult:
        """Cut the table into boxes."""
        progress("cutting boxes", 0.0)
        ladders = {name: hierarchy.ladder for name, hierarchy in prepared.hierarchies.items()}
        tree, boxes = grow_boxes(
            prepared.columns,
            prepared.labels,
            prepared.requirements,
            ladders,
            numbers=prepared.numbers,
            jointly=prepared.jointly,
            kept_columns=prepared.kept_columns,
            detail_weights=prepared.detail_weights,
            hidden=prepared.hidden,
            brief=self.in_brief,
        )
        narrowed: list[NarrowedColumn] = []
        if prepared.jointly:
            codes = [column.codes for column in prepared.columns]
            narrowed = narrowed_columns(
                prepared.columns, tree, tree.assign(codes), prepared.hierarchies, prepared.k, prepared.holders
            )
        recoding = boxes_of(prepared.columns, tree, prepared.hierarchies, narrowed)
        facts = box_facts([column.name for column in prepared.columns], recoding)
        return SearchResult(
            recoding=recoding, column_facts=facts, details={"name": "mondrian", "boxes": boxes.n_classes}
        )
