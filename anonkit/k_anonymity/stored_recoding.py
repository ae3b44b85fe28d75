# SPDX-License-Identifier: Apache-2.0
"""The recoding of an earlier release on the next batch: `anonkit apply`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.domains.arrow_values import is_ordered
from anonkit.errors import GuaranteeError, PolicyError, ReleaseFormatError
from anonkit.k_anonymity.preparing import requirements
from anonkit.k_anonymity.privacy_model import AnonymityModel
from anonkit.k_anonymity.recoded_draft import (
    anonymity_params,
    column_entry,
    describe_columns,
    draft_recoded,
    other_columns,
)
from anonkit.k_anonymity.sampled_search import apply_recoding, merged_where_rows_are
from anonkit.k_anonymity.search.equivalence import Partition, Requirement, suppressed_rows
from anonkit.k_anonymity.unit_keys import nobody_notes, unit_codes
from anonkit.parameters import check_number, parameter
from anonkit.policy.declaration import Column, ColumnType, Missing, Outside, Policy, Role, TargetUse
from anonkit.promises.anonymous_classes import KAnonymity
from anonkit.protocols import Draft, Engine, Progress, Source, is_too_large, no_progress
from anonkit.published.recoding import (
    UNKNOWN,
    GlobalRecoding,
    IntervalAxis,
    KeptAxis,
    LocalRecoding,
    Recoding,
    recoding_from_dict,
)
from anonkit.randomness import Randomness
from anonkit.report.blocks import Action, ReportColumn

_NOTES = ("The recoding was taken from an earlier release; k was counted in this table alone.",)


@dataclass(frozen=True, kw_only=True, eq=False)
class RecodedRows:
    """What a recoding does to the rows of one table; every array has shape (n_rows,)."""

    recoding: Recoding
    """As it was applied: boxes too small in this table are merged."""
    rows: NDArray[np.bool_]
    """Rows that the treatment of missing values keeps; where people are counted, those of somebody."""
    unknown: NDArray[np.bool_]
    """Rows with a value the recoding says nothing about."""
    kept: NDArray[np.bool_]
    """Rows that are released."""
    classes: NDArray[np.int64]
    """Equivalence class of each row; UNKNOWN where it has none."""
    n_nobody: int
    """Rows that are left out because they have no unit."""


@dataclass(frozen=True, kw_only=True)
class Recoded(AnonymityModel):
    """Recode a table as an earlier release was.

    Rows whose class is too small here are left out, within the limit; boxes of a local recoding that are too small
    here are merged with their neighbours instead.

    Privacy
    -------
    The promise is the earlier release's, counted in this table alone. Values the earlier table did not have join
    the group of all values that are not listed, or their row is left out.
    """

    name: ClassVar[str] = "recoded"
    paper: ClassVar[str] = "the method of the earlier release"
    summary: ClassVar[str] = "the next batch, recoded like an earlier k-anonymous release"

    target_use: ClassVar[TargetUse] = TargetUse.AS_DECLARED

    max_suppression: float = parameter(default=0.01, range="[0, 1]", help="largest share of rows that may be left out")
    earlier_method: str = parameter(default="rfka", range="a method's name", help="method that made the recoding")
    recoding: Recoding = field(default_factory=lambda: GlobalRecoding(columns=()))
    declared: tuple[Column, ...] = ()
    missing_values: tuple[str, ...] = ("",)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("max_suppression", self.max_suppression, 0, 1)

    @classmethod
    def from_params(cls, params: Mapping[str, Any], *, max_suppression: float | None = None) -> Recoded:
        """Build the method from the `params.json` of a k-anonymous release.

        Raises
        ------
        ReleaseFormatError
            The file is damaged or of a release that has no recoding.
        """
        if "recoding" not in params:
            raise ReleaseFormatError("this release has no recoding to apply", "only k-anonymous releases have one")
        try:
            model = params["model"]
            return cls(
                k=model["k"],
                l=model["l"],
                entropy_l=model["entropy_l"],
                recursive=model["recursive"],
                t=model["t"],
                alpha=model["alpha"],
                max_suppression=params["max_suppression"] if max_suppression is None else max_suppression,
                earlier_method=params.get("earlier_method", params["method"]),
                recoding=recoding_from_dict(params["recoding"]),
                declared=tuple(_column(raw) for raw in params["columns"]),
                missing_values=tuple(params["missing_values"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, ReleaseFormatError | PolicyError):
                raise
            raise ReleaseFormatError("the params.json of the earlier release is damaged") from None

    def policy(self) -> Policy:
        """Return the roles and types of the earlier release; identifiers and target may be absent."""
        absent = (Role.IDENTIFIER, Role.TARGET)
        return Policy(
            columns={column.name: column for column in self.declared},
            missing_values=self.missing_values,
            optional=frozenset(column.name for column in self.declared if column.role in absent),
        )

    def guarantee(self, policy: Policy) -> KAnonymity:
        """State the promise of the earlier release, for this table."""
        return self.promise(policy, ("The quasi-identifiers are all that an attacker knows about a person.",))

    def release(
        self, source: Source, policy: Policy, *, engine: Engine, rng: Randomness, progress: Progress = no_progress
    ) -> Draft:
        """Recode the table and leave out the rows of classes that are too small."""
        self._refuse_strangers(source, policy)
        if is_too_large(source, engine):
            return self._where_rows_are(source, policy, engine, progress)
        progress("recoding", 0.0)
        done = self.recoded_rows(source, policy, engine)
        rows, unknown, kept = done.rows, done.unknown, done.kept
        counts = {
            "in": source.n_rows,
            "dropped_missing": int((~rows).sum()) - done.n_nobody,
            **({"dropped_without_unit": done.n_nobody} if done.n_nobody else {}),
            "suppressed": int((rows & ~kept).sum()),
            "suppression_limit": self.max_suppression,
        }
        self._refuse_too_many(counts, int((rows & unknown).sum()), int(rows.sum()), bool(kept.any()))
        counts["suppressed_fraction"] = counts["suppressed"] / max(int(rows.sum()), 1)
        return draft_recoded(
            source,
            policy,
            engine,
            done.recoding,
            kept,
            params=self._params(source, policy, done.recoding),
            columns=[*_entries(policy, done.recoding), *other_columns(policy)],
            rows=counts,
            details={},
            owner={},
            notes=(*_NOTES, *nobody_notes(policy, done.n_nobody)),
        )

    def recoded_rows(self, source: Source, policy: Policy, engine: Engine) -> RecodedRows:
        """Return the class of every row under the recoding, and whether it would be released.

        Parameters
        ----------
        policy : Policy
            Roles and treatment of missing values, resolved for this table.
        """
        rows, unknown = self._usable(source, policy, list(policy.quasi_identifiers))
        whose = unit_codes(source, engine, policy)
        n_nobody = 0
        if whose is not None:
            n_nobody = int((rows & whose[1]).sum())
            rows &= ~whose[1]
        usable = rows & ~unknown
        units = None if whose is None else whose[0][usable]
        asked = requirements(source, policy, engine, self, usable, units)
        recoding = self.recoding
        if isinstance(recoding, LocalRecoding):
            recoding, boxes = _merged_boxes(recoding, source, usable, asked)
            partition = Partition.of([boxes], int(usable.sum()))
        else:
            partition = _global_classes(recoding, source, engine, usable)
        kept = usable.copy()
        kept[usable] = ~suppressed_rows(partition, asked)
        classes = np.full(usable.size, UNKNOWN, dtype=np.int64)
        classes[usable] = partition.classes
        return RecodedRows(recoding=recoding, rows=rows, unknown=unknown, kept=kept, classes=classes, n_nobody=n_nobody)

    def _where_rows_are(self, source: Source, policy: Policy, engine: Engine, progress: Progress) -> Draft:
        """Recode a table whose rows stay in the engine."""
        recoding = self.recoding
        if isinstance(recoding, LocalRecoding):
            recoding = merged_where_rows_are(self, source, policy, engine, recoding)
        applied = apply_recoding(
            self,
            source,
            policy,
            engine=engine,
            progress=progress,
            recoding=recoding,
            max_suppression=self.max_suppression,
        )
        return Draft(
            data=applied.data,
            params=self._params(source, policy, recoding),
            columns=[*_entries(policy, recoding), *other_columns(policy)],
            rows=applied.rows,
            notes=(*_NOTES, *applied.notes),
        )

    def _params(self, source: Source, policy: Policy, recoding: Recoding) -> dict[str, Any]:
        return {
            **anonymity_params(policy, source.schema, self, recoding, self.max_suppression),
            "earlier_method": self.earlier_method,
        }

    def _refuse_strangers(self, source: Source, policy: Policy) -> None:
        known = {column.name for column in self.declared}
        for name in policy.columns:
            if name not in known:
                raise PolicyError(
                    f"column {name!r} was not in the table of the earlier release", "leave it out, or release anew"
                )
        axes = self.recoding.columns if isinstance(self.recoding, GlobalRecoding) else self.recoding.axes
        for column in axes:
            axis = getattr(column, "axis", column)
            ordered = is_ordered(source.schema.field(column.name).type)
            if not isinstance(axis, KeptAxis) and ordered is not isinstance(axis, IntervalAxis):
                kind = "numbers or dates" if isinstance(axis, IntervalAxis) else "categories"
                raise PolicyError(f"column {column.name!r} does not hold {kind}, as the earlier release did")

    def _usable(self, source: Source, policy: Policy, names: list[str]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return the rows the policy's treatment of missing keeps, and the rows with a value nothing is said about."""
        present, unknown = [], []
        for batch in source.batches(names):
            ok = np.ones(batch.num_rows, dtype=bool)
            for name in names:
                if policy.missing_of(name) is Missing.DROP:
                    ok &= batch.column(name).is_valid().to_numpy(zero_copy_only=False)
            present.append(ok)
            unknown.append(self.recoding.apply(batch)[1])
        empty = [np.zeros(0, dtype=bool)]
        return np.concatenate(present or empty), np.concatenate(unknown or empty)

    def _refuse_too_many(self, counts: Mapping[str, Any], unknown: int, n_rows: int, any_left: bool) -> None:
        if any_left and counts["suppressed"] <= self.max_suppression * n_rows:
            return
        raise GuaranteeError(
            f"{counts['suppressed']} of {n_rows} rows would have to be left out ({unknown} of them for values the "
            f"earlier table did not have), {self.max_suppression:g} of the rows may be",
            "raise --max-suppression, wait for a larger batch, or release anew",
        )


def _entries(policy: Policy, recoding: Recoding) -> list[ReportColumn]:
    """Return what the report says of the quasi-identifiers, as the recoding was applied."""
    facts, out = describe_columns(recoding), []
    for name in policy.quasi_identifiers:
        if name in facts:
            action: Action = "kept" if facts[name]["detail"] == "full" else "generalized"
            out.append(column_entry(policy, name, action, **facts[name]))
        else:
            out.append(column_entry(policy, name, "dropped", reason="dropped in the earlier release"))
    return out


def _global_classes(recoding: GlobalRecoding, source: Source, engine: Engine, usable: NDArray[np.bool_]) -> Partition:
    """Return the equivalence classes of the usable rows under a global recoding."""
    schema = pa.schema(list(recoding.types(source.schema).items()))

    def recode(batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays(list(recoding.apply(batch)[0].values()), schema=schema)

    coded = engine.encode(engine.map_batches(source, recode, schema), schema.names)
    return Partition.of([column.codes[usable] for column in coded], int(usable.sum()))


def _merged_boxes(
    recoding: LocalRecoding, source: Source, usable: NDArray[np.bool_], asked: Sequence[Requirement]
) -> tuple[LocalRecoding, NDArray[np.int64]]:
    """Merge boxes with their neighbours until each holds enough rows of this table; return the box of every row."""
    names = [axis.name for axis in recoding.axes]
    parts = [[axis.codes(batch.column(axis.name)) for axis in recoding.axes] for batch in source.batches(names)]
    codes = [np.concatenate([part[at] for part in parts])[usable] for at in range(len(names))] if parts else []
    while True:
        leaves = recoding.leaves(codes) if codes else np.zeros(int(usable.sum()), dtype=np.int64)
        small = np.unique(leaves[suppressed_rows(Partition.of([leaves], leaves.size), asked)])
        if small.size == 0 or recoding.nodes[0] is None:
            return recoding, leaves
        recoding = recoding.without(small.tolist())


def _column(raw: Mapping[str, Any]) -> Column:
    domain = raw.get("domain", {})
    bounds, categories = domain.get("bounds"), domain.get("categories")
    kind = _column_type(raw["type"])
    if categories is not None:  # its cells are compared with them, whatever type they were written in
        kind = ColumnType.TEXT if domain.get("texts_alone") else None
    column = Column(
        name=raw["name"],
        role=Role(raw["role"]),
        type=kind,
        missing=Missing(raw["missing"]),
        bounds=None if bounds is None else (float(bounds[0]), float(bounds[1])),
        categories=None if categories is None else tuple(map(str, categories)),
        outside=None if "outside" not in domain else Outside(domain["outside"]),
    )
    if not column.is_sensitive and not raw["sensitive"]:
        return column
    treatment = Missing.CATEGORY if raw["missing_is_value"] else None
    return replace(column, missing=treatment, sensitive=column.role is Role.TARGET)


def _column_type(arrow: str) -> ColumnType | None:
    """Return the type text cells are read as, from the name of an Arrow type."""
    if arrow.startswith(("int", "uint")):
        return ColumnType.INTEGER
    if arrow.startswith(("float", "double", "halffloat", "decimal")):
        return ColumnType.NUMBER
    if arrow == "bool":
        return ColumnType.BOOLEAN
    return ColumnType.DATE if arrow.startswith("date") else ColumnType.STRING
