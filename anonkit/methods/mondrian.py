# SPDX-License-Identifier: Apache-2.0
"""Workload-aware Mondrian: local recoding into boxes, guided by a forest (LeFevre, DeWitt, Ramakrishnan, KDD 2006)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from anonkit.k_anonymity.coded_axes import boxes_of
from anonkit.k_anonymity.declared_detail import Hierarchy
from anonkit.k_anonymity.preparing import Prepared, prepare
from anonkit.k_anonymity.privacy_model import AnonymityModel
from anonkit.k_anonymity.recoded_draft import anonymity_params, column_entry, draft_recoded, other_columns
from anonkit.k_anonymity.sampled_search import draft_from_sample
from anonkit.k_anonymity.search.box_tree import grow_boxes
from anonkit.policy.declaration import Policy, TargetUse
from anonkit.promises.anonymous_classes import KAnonymity
from anonkit.protocols import Draft, Engine, Progress, Source, is_too_large, no_progress
from anonkit.published.recoding import LocalRecoding
from anonkit.randomness import Randomness
from anonkit.report.blocks import ReportColumn


@dataclass(frozen=True, kw_only=True)
class Mondrian(AnonymityModel):
    """Cut the table into boxes of at least k rows, where a forest says that a cut keeps what predicts the target.

    Every row shows the box it is in: an interval or a set of values a column. No row is suppressed. One column may
    be fine in one part of the table and coarse in another (local recoding), so more detail survives than with one
    recoding a column; the released columns are harder to read.

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
    target_use: ClassVar[TargetUse] = TargetUse.OPTIONAL

    def guarantee(self, policy: Policy) -> KAnonymity:
        """State the promise: k-anonymity and the diversity asked for."""
        return self.promise(policy, ("The quasi-identifiers are all that an attacker knows about a person.",))

    def release(
        self, source: Source, policy: Policy, *, engine: Engine, rng: Randomness, progress: Progress = no_progress
    ) -> Draft:
        """Recode the table box by box."""
        if is_too_large(source, engine):
            return draft_from_sample(
                self,
                lambda sample: self.release(sample, policy, engine=engine, rng=rng, progress=progress),
                source,
                policy,
                engine=engine,
                rng=rng,
                progress=progress,
                max_suppression=0.0,
            )
        progress("coding", 0.0)
        prepared = prepare(source, policy, engine, self, pool=True, cut=True)
        hierarchies = {
            column.name: hierarchy
            for column in prepared.columns
            if (hierarchy := Hierarchy.of(column, policy.column(column.name))) is not None
        }
        progress("cutting boxes", 0.0)
        ladders = {name: hierarchy.ladder for name, hierarchy in hierarchies.items()}
        tree, boxes = grow_boxes(prepared.columns, prepared.labels, prepared.requirements, ladders)
        recoding = boxes_of(prepared.columns, tree, hierarchies)
        return draft_recoded(
            source,
            policy,
            engine,
            recoding,
            prepared.rows,
            params=anonymity_params(policy, source.schema, self, recoding, 0.0),
            columns=[*_entries(policy, prepared, recoding), *other_columns(policy)],
            rows={
                "in": source.n_rows,
                "suppressed": 0,
                "suppressed_fraction": 0.0,
                "suppression_limit": 0.0,
                **prepared.left_out,
            },
            details={"search": {"name": "mondrian", "boxes": boxes.n_classes}},
            owner={},
            notes=prepared.notes,
        )


def _entries(policy: Policy, prepared: Prepared, recoding: LocalRecoding) -> list[ReportColumn]:
    boxes = list(recoding.boxes().values())
    cuts = np.bincount([node.axis for node in recoding.nodes if node is not None], minlength=len(recoding.axes))
    by_name = {axis.name: at for at, axis in enumerate(recoding.axes)}
    out = []
    for column in prepared.columns:
        at = by_name.get(column.name)
        if at is None:
            reason = "no cut on it kept more of the target or of the detail than a cut elsewhere"
            out.append(column_entry(policy, column.name, "dropped", reason=reason))
            continue
        labels = {box[at] for box in boxes}
        reason = f"{cuts[at]} of {cuts.sum()} cuts are on it"
        out.append(
            column_entry(
                policy,
                column.name,
                "generalized",
                detail="generalized",
                importance=float(cuts[at] / max(cuts.sum(), 1)),
                reason=reason,
                released_values=len(labels),
            )
        )
    return out
