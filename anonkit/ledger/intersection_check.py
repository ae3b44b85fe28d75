# SPDX-License-Identifier: Apache-2.0
"""Admission of a k-anonymous release beside earlier ones: its joint k against the ledger's lower bound.

What is counted are the rows of today, under the recodings of all releases. So the count holds when the earlier releases
were made of the same table, every row of it; of a table that has changed since nobody can count here what both together
show, and a release that promises a joint k is refused then.

The rows of a source for the ledger: their tags, and the columns that several releases publish of them.

The joint k: the smallest group of rows left when k-anonymous releases of the same rows are combined.

Somebody who holds two releases of one table knows of a person the class in the one and the class in the other. Whoever
knows which rows of the two belong together is left with the rows that are in both classes (intersection), or in the
class of one release and missing from the other (differencing). The joint view counts these rows in the source, where it
is known which row is which: no pair of releases can be combined into smaller groups than it says.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.documents import ReportPart, named
from anonkit.domains.cell_values import cell_keys
from anonkit.engines.reading.declared_tables import settled, with_keys, with_unit
from anonkit.errors import AnonkitError, GuaranteeError, option, spoken
from anonkit.k_anonymity.recoded_rows import ReleasableRows, RowRecoding, RowRules, any_missing, is_among
from anonkit.k_anonymity.stored_recoding import Recoded
from anonkit.k_anonymity.violating_classes import WithValue, violating_classes
from anonkit.ledger.booked_releases import Entry, unpacked
from anonkit.ledger.fingerprint import Likeness, spelled_rows
from anonkit.ledger.recognition import Known, Sighting
from anonkit.policy.column_declarations import Role
from anonkit.policy.declaration import Policy
from anonkit.policy.declared_cells import SettleCells, settling
from anonkit.policy.person_candidates import Candidate, joint_keys, key_names
from anonkit.promises.guarantee import Check
from anonkit.protocols import Engine, Source

_UNIT = "unit"


@dataclass(frozen=True, kw_only=True)
class JointView(
    ReportPart, keys=("k", "classes", "rows_below_k=rows_below", "rows_alone=alone", "with_releases=releases")
):
    """Several releases of one table seen together.

    Privacy
    -------
    Counted on the source and covered by no promise: for the owner.
    """

    k: int
    """Rows (people, with a unit column; with candidates for the person their values) in the smallest joint class; 0
    when nothing is released."""
    classes: int
    rows_below: int = field(metadata=named("rows_below_k"))
    """Rows in joint classes smaller than the k of the newest release."""
    alone: int = field(metadata=named("rows_alone"))
    """Rows that are alone in their joint class."""
    releases: tuple[int, ...] = field(metadata=named("with_releases"))
    """Numbers of the earlier releases."""


def joint_view(
    table: Source, policy: Policy, engine: Engine, params: Mapping[str, Any], earlier: Sequence[Entry]
) -> JointView | None:
    """Count the joint classes of a table under several recodings.

    Parameters
    ----------
    table : Source
        The source of the newest release.
    policy : Policy
        Its resolved policy; with a unit column people are counted.
    params : mapping
        What `params.json` of the newest release holds.
    earlier : sequence of Entry
        Earlier k-anonymous releases of the same rows.

    Returns
    -------
    JointView, or None when an earlier recoding does not fit the table any more, or one of the releases left out rows
    of people that no recoding determines: which rows it shows is a secret of its draw.
    """
    every = [params, *(unpacked(entry.params) for entry in earlier if entry.params is not None)]
    if any("rows_of_people" in entry for entry in every):
        return None
    known = {column["name"] for entry in every for column in entry["columns"] if column["role"] == "quasi_identifier"}
    k = int(params["model"]["k"])
    try:
        table = _with_made_units(table, [policy, *(Recoded.from_params(entry).policy() for entry in every)], engine)
        joint = JointClasses(
            shown=tuple(shown_rows(table, engine, entry, known) for entry in every),
            unit=policy.unit,
            candidates=tuple(candidate.columns for candidate in policy.candidates),
        )
        rows = engine.map_batches(table, joint, joint.schema)
        sizes = engine.class_sizes(rows, joint.names, k, _UNIT if policy.unit else None)
        alone = engine.class_sizes(rows, joint.names, 2, _UNIT) if policy.unit else None
        fewest = [_fewest(rows, joint, key, k, engine) for key in joint.keys]
    except (AnonkitError, KeyError):
        return None
    return JointView(
        k=min([sizes.smallest, *fewest]),
        classes=sizes.classes,
        rows_below=sizes.rows_below_k,
        alone=dict(sizes.histogram).get(1, 0) if alone is None else alone.rows_below_k,
        releases=tuple(entry.number for entry in earlier if entry.params is not None),
    )


def _with_made_units(table: Source, policies: Sequence[Policy], engine: Engine) -> Source:
    """Return the rows with every unit that one of the releases makes of several columns."""
    for policy in policies:
        table = with_unit(table, policy, engine)
    return table


def _fewest(rows: Source, joint: JointClasses, key: str, k: int, engine: Engine) -> int:
    """Return the fewest values of a candidate in a joint class in which it has any."""
    keyed = engine.map_batches(rows, WithValue(key), joint.schema)
    return engine.class_sizes(keyed, joint.names, k, key).smallest


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleasedView:
    """The released view of a row: its class, or nothing where the row is not in the release."""

    recoding: RowRecoding
    types: Mapping[str, pa.DataType]
    """Released types of its quasi-identifiers."""
    needed: Sequence[str]
    """Columns whose missing cells drop their row."""
    suppressed: pa.Table
    """Classes that it leaves out."""
    clear: Mapping[str, pa.DataType]
    """Columns it shows as they are, and that another release takes for known to an attacker."""
    settle: SettleCells | None
    """Reading of cells; None where it declares none of them."""

    def of(self, batch: pa.RecordBatch) -> tuple[list[pa.Array], NDArray[np.bool_]]:
        """Return the class, and whether the row is in the release, shape (n_rows,)."""
        batch = batch if self.settle is None else self.settle(batch, 0)
        recoded, unknown = self.recoding.apply(batch)
        absent = unknown | any_missing(batch, self.needed) | is_among(recoded, self.suppressed, batch.num_rows)
        cells = [*(recoded[name] for name in self.types), *(batch.column(name) for name in self.clear)]
        return [pc.if_else(pa.array(absent), None, _plain(cell)) for cell in cells], ~absent


@dataclass(frozen=True, kw_only=True, eq=False)
class JointClasses:
    """Maps rows to what several releases show of them together; rows that are in none are left out."""

    shown: tuple[ReleasedView, ...]
    unit: str | None
    """Unit column."""
    candidates: tuple[tuple[str, ...], ...] = ()
    """Columns of each candidate for the person."""

    @property
    def keys(self) -> list[str]:
        """Columns of the keys of the candidates."""
        return [f"{_UNIT} {at}" for at in range(len(self.candidates))]

    @property
    def names(self) -> list[str]:
        """Columns of the joint class."""
        return [name for name in self.schema.names if name not in (_UNIT, *self.keys)]

    @property
    def schema(self) -> pa.Schema:
        """A column a cell of a release, one a release that marks whether it has the row, and the person of the row."""
        fields: list[tuple[str, pa.DataType]] = []
        for number, view in enumerate(self.shown):
            cells = [*view.types.values(), *view.clear.values()]
            fields += [(f"{number}.{at}", _plain_type(kind)) for at, kind in enumerate(cells)]
            fields.append((f"{number}", pa.bool_()))
        fields += [(key, pa.string()) for key in self.keys]
        return pa.schema(fields if self.unit is None else [*fields, (_UNIT, pa.string())])

    def __call__(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """Return the joint class of each row."""
        arrays: list[pa.Array] = []
        present = np.zeros(batch.num_rows, dtype=bool)
        for view in self.shown:
            cells, is_in = view.of(batch)
            arrays += [*cells, pa.array(is_in)]
            present |= is_in
        arrays += [joint_keys(batch, columns) for columns in self.candidates]
        if self.unit is not None:
            keys = cell_keys(batch.column(self.unit))
            present &= keys.is_valid().to_numpy(zero_copy_only=False)
            arrays.append(keys)
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema).filter(pa.array(present))


def shown_rows(table: Source, engine: Engine, params: Mapping[str, Any], known: Collection[str] = ()) -> ReleasedView:
    """Return the classes of a table's rows in one release.

    Parameters
    ----------
    table : Source
        Rows as they were read.
    params : mapping
        What `params.json` of a k-anonymous release holds.
    known : collection of str
        Columns that another release takes for known to an attacker: they are part of the class where this one shows
        them as they are.

    Raises
    ------
    AnonkitError
        The recoding does not fit the table.
    """
    method = Recoded.from_params(params, max_suppression=1.0)
    policy = method.policy().resolve(table.schema.names, target_use=method.target_use)
    settle = settling(table.schema, policy)
    keys = key_names(method.candidates, table.schema.names)
    candidates = tuple(
        Candidate(columns=columns, key=key) for columns, key in zip(method.candidates, keys, strict=True)
    )
    policy = replace(policy, candidates=candidates)
    table = settled(with_keys(table, candidates, engine), policy, engine)
    needed = RowRules.of(policy).needed
    required = ReleasableRows(needed=needed, rules=method.rules(policy))
    recoding = method.as_released(table, policy, engine, required)
    clear = [
        column["name"]
        for column in params["columns"]
        if column["name"] in known and column["role"] in ("target", "sensitive", "insensitive")
    ]
    return ReleasedView(
        recoding=recoding,
        types=recoding.types(table.schema),
        needed=needed,
        suppressed=violating_classes(method, table, policy, engine, recoding, required).classes,
        clear={name: table.schema.field(name).type for name in clear},
        settle=settle,
    )


def _plain(array: pa.Array) -> pa.Array:
    """Return categories as strings, whose equality does not depend on the batch."""
    return array.dictionary_decode() if isinstance(array, pa.DictionaryArray) else array


def _plain_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


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


_APPLY = "anonkit apply recodes as the earlier release did, and coarser steps of the same recoding keep groups together"


@dataclass(frozen=True, kw_only=True)
class JointFloor:
    """The least size of the groups that a release may form with earlier ones of its dataset.

    Parameters
    ----------
    k : int
        What the release promises by itself.
    requested : int, optional
        What the owner allows instead: `--accept-joint-k`, else the policy's `joint_k`. 1 allows everything.
    """

    k: int
    requested: int | None = None
    means: bool = False
    """True of the view with those earlier releases that show means, as this one does: no acceptance lowers it."""

    @property
    def required(self) -> int:
        """Smallest group allowed."""
        return self.k if self.requested is None else self.requested

    @property
    def accepted(self) -> int | None:
        """The joint k below the promise that the owner accepts, for everybody to read; None when there is none."""
        return self.requested if self.requested is not None and self.requested < self.k else None

    def check_countable(self, changed: Sequence[int]) -> None:
        """Refuse what cannot be counted, unless every joint k is allowed.

        Parameters
        ----------
        changed : sequence of int
            Earlier releases that were made of other rows or columns than today's.

        Raises
        ------
        GuaranteeError
            There are some.
        """
        if changed and self.required > 1:
            raise GuaranteeError(
                f"the table has changed since {numbers(changed)} of this dataset: what both show together cannot be "
                f"counted, and {self._rule()}",
                f"{_withdrawing(changed)}; {option('only_new', True)} releases those who are new, where a unit names "
                f"people; {option('dataset', 'NAME')} of its own when it holds other people; {self._way_out(1)}",
            )

    def check(self, view: JointView | None) -> None:
        """Refuse a joint view with smaller groups.

        Raises
        ------
        GuaranteeError
            It has some, or could not be counted.
        """
        if self.required <= 1:
            return
        if view is None:
            raise GuaranteeError(
                "the joint view with earlier releases of this dataset cannot be counted, since columns have other "
                "values than they had, too many classes are small, rows of people were left out of a release, or the "
                "groups of a release (mdav) cannot be found again, and "
                f"{self._rule()}",
                self._way_out(1),
            )
        if 0 < view.k < self.required:
            raise GuaranteeError(
                f"anyone who holds this release and {numbers(view.releases)} of this dataset finds groups of {view.k}, "
                f"and {self._rule()}",
                f"{_withdrawing(view.releases)}; {_APPLY}; {self._way_out(view.k)}",
            )

    def _way_out(self, k: int) -> str:
        """Return the remedies: a release without means, or the owner's word."""
        return f"{option('cells', 'bounds')} shows no means, of any method but mdav" if self.means else _accepting(k)

    def checks(self) -> tuple[Check, ...]:
        """Return the checks that the report states: that the floor holds, never by how much."""
        if self.requested is None or self.requested <= 1:
            return ()
        return (Check(name="joint_k", passed=True, observed=f"{self.requested} or more", required=self.requested),)

    def _rule(self) -> str:
        if self.means:
            return f"means of groups that differ by fewer than {self.k} people disclose who is in between"
        if self.requested is None:
            return f"the release promises {self.k}"
        return f"{self.requested} is required (joint_k)"


def numbers(releases: Sequence[int]) -> str:
    """Return releases by their numbers."""
    return f"release{'s' if len(releases) > 1 else ''} {', '.join(map(str, releases))}"


def _withdrawing(releases: Sequence[int]) -> str:
    """Return the way in which an owner takes back what nobody got: the first way out of a try-out."""
    ways = [
        spoken(python=f"Ledger(PATH).withdraw({number})", typed=f"anonkit ledger --withdraw {number}")
        for number in releases
    ]
    return f"{', '.join(ways)} where it was never handed out"


def _accepting(k: int) -> str:
    """Return the option by which an owner accepts smaller groups."""
    return f"{option('accept_joint_k', k)} releases it all the same, and its page says so"
