# SPDX-License-Identifier: Apache-2.0
"""Earlier releases of a dataset: their recoding applied to the next batch, and their people left out.

`anonkit apply` releases the next batch with the recoding of an earlier release, which is a method like any other.

Of a growing table the people who are in no earlier release are released alone. Two k-anonymous releases of a table that
has grown give away, by subtraction, who came in between. Releases that have nobody in common do not: each is
k-anonymous by itself, and neither discloses anything of the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from anonkit.bundle.json_documents import read_json
from anonkit.bundle.private_files import PrivateFolder
from anonkit.bundle.release_place import PARAMS, REPORT, Place
from anonkit.bundle.stored_release import refuse_changed
from anonkit.engines.reading.declared_tables import with_unit
from anonkit.engines.snapshots.addresses import source_at
from anonkit.engines.snapshots.dispatch import Snapshot
from anonkit.errors import GuaranteeError, ParameterError, ReleaseFormatError, option
from anonkit.k_anonymity.stored_recoding import Recoded
from anonkit.ledger.account import Account
from anonkit.ledger.booked_releases import Entry
from anonkit.ledger.earlier_releases import AppliedRecoding
from anonkit.ledger.intersection_check import numbers
from anonkit.ledger.people_marks import OfNewPeople, PeopleMarks, people_marks
from anonkit.ledger.store import Ledger
from anonkit.pipeline.declared_source import DeclaredSource
from anonkit.policy.bookkeeping import Bookkeeping
from anonkit.policy.declaration import Policy
from anonkit.protocols import Source


def earlier_recoding(params: str | Path, *, max_suppression: float | None = None) -> Recoded:
    """Return the recoding of an earlier k-anonymous release, its files checked against their hashes.

    Parameters
    ----------
    params : path
        The `params.json` of the earlier release, or any other file of it.
    max_suppression : float, optional
        Share of rows that may be left out, in [0, 1]; the earlier release's by default.

    Raises
    ------
    GuaranteeError
        `params.json` was changed after the release.
    ReleaseFormatError
        It is missing or damaged, or not that of a k-anonymous release.
    """
    place = Place.of(params)
    refuse_changed(place, PARAMS)
    return Recoded.from_params(read_json(place.file(PARAMS)), max_suppression=max_suppression)


def applied_recoding(params: str | Path, *, adopt: bool = False) -> AppliedRecoding:
    """Return the earlier release as a ledger has to know it; `adopt`: one that does not know it books it.

    Raises
    ------
    ReleaseFormatError
        Its params are missing or damaged.
    """
    place = Place.of(params)
    try:
        dataset = read_json(place.file(REPORT)).get("dataset")
    except ReleaseFormatError:  # the params alone may have been carried here
        dataset = None
    return AppliedRecoding(place=place, params=read_json(place.file(PARAMS)), dataset=dataset, adopt=adopt)


def batch_policy(method: Recoded, declared: Policy | None, encoding: str | None) -> Policy:
    """Return the policy of the next batch: roles and types of the earlier release, and its owner's declarations.

    Parameters
    ----------
    method : Recoded
    declared : Policy, optional
        Of it hold where the ledger is and whether one is required, `joint_k`, the encoding and the recipients. Not its
        budget, since nothing is spent, and not its name for the data: the next batch is of other people, and a dataset
        of its own.
    encoding : str, optional
        Of the batch, when it is a text file; the declared one, else UTF-8, by default.
    """
    if declared is None:
        return method.policy(encoding)
    bookkeeping = Bookkeeping(
        ledger=declared.bookkeeping.ledger,
        required=declared.bookkeeping.required,
        remember_people=declared.bookkeeping.remember_people,
    )
    read = method.policy(declared.encoding if encoding is None else encoding)
    with_books = replace(read, bookkeeping=bookkeeping, joint_k=declared.joint_k)
    return with_books.meant_for(declared.publication.recipients)


NOTE = "Only people who are in no earlier release of this dataset are released, and k is counted among them."
"""Public note."""


def with_new_people(opened: DeclaredSource, account: Account, private: PrivateFolder) -> tuple[DeclaredSource, Account]:
    """Return a table with the rows of new people alone, and the account that knows what was looked at for it.

    Parameters
    ----------
    opened : DeclaredSource
    account : Account
        With its ledger found.
    private : PrivateFolder
        Where the earlier table is copied to, if it must be.

    Raises
    ------
    ParameterError
        The promise has a loss, no unit or no name of the dataset is declared, or there is no ledger.
    GuaranteeError
        The people of an earlier release are not known, or there are fewer new ones than k.
    """
    classes, unit = opened.promise.counted_classes, opened.policy.unit
    only = option("only_new", True)
    if classes is None or opened.promise.loss() is not None:
        raise ParameterError(f"{only} is for k-anonymous releases", "losses of all releases add up instead")
    if unit is None:
        raise ParameterError(
            f"{only} needs a column that says whose a row is: people are known again by it", option("unit", "NAME")
        )
    dataset = account.dataset or opened.policy.dataset
    if account.place is None:
        raise ParameterError(f"{only} needs the ledger that knows the earlier releases", option("ledger", "PLACE"))
    if dataset is None:
        raise ParameterError(f"{only} needs the name of the dataset that grows", option("dataset", "NAME"))
    ledger = Ledger(account.place)
    key, earlier = ledger.key, ledger.standing(dataset).counted
    rows = opened.rows
    table = with_unit(rows.table, opened.policy, opened.engine)
    today = people_marks(table, opened.engine, key, unit, ())
    if today is None:
        raise ParameterError(f"no row names a person in column {unit!r}", option("unit", "NAME"))
    known = _remembered(ledger, earlier, today, is_given=account.released_before is not None)
    if account.released_before is not None:
        before = _table_before(opened, account, private)
        marks = people_marks(before, opened.engine, key, unit, ())
        known = [*known, *([] if marks is None else [marks])]
    seen = np.unique(np.concatenate([np.zeros(0, np.uint64), *(marks.tags for marks in known)]))
    is_new = ~np.isin(today.tags, seen)
    n_new = int(is_new.sum())
    if n_new < classes.k:
        raise GuaranteeError(
            f"people who are new since the earlier releases of dataset {dataset!r}: {n_new}, and k is {classes.k}",
            f"wait for {classes.k - n_new} more; people who are known are in an earlier release",
        )
    function = OfNewPeople(key=key, unit=unit, seen=seen)
    new_rows = opened.engine.map_batches(table, function, table.schema)
    figures = {
        "new_people": n_new,
        "known_people": int((~is_new).sum()),
        "known_people_whose_rows_changed": _changed(today, known),
        "rows_of_known_people": table.n_rows - new_rows.n_rows,
    }
    changed = replace(
        opened,
        rows=replace(rows, table=new_rows),
        notes=[*opened.notes, NOTE],
        joined={**opened.joined, "only_new": figures},
    )
    return changed, replace(account, disjoint_from=tuple(entry.number for entry in earlier))


def _remembered(ledger: Ledger, earlier: Sequence[Entry], today: PeopleMarks, *, is_given: bool) -> list[PeopleMarks]:
    """Return the people of earlier releases; where a table of them is given, of those that are remembered."""
    found, unknown = [], []
    for entry in earlier:
        marks = [one for one in ledger.people(entry.number) if one.column == today.column and one.exponent == 0]
        found += marks[:1]
        unknown += [] if marks else [entry.number]
    if (unknown and not is_given) or today.exponent:
        what = numbers(unknown) if unknown else "a table as large as this"
        raise GuaranteeError(
            f"the ledger does not know who is in {what}: not all people are remembered by this column",
            f"{option('released_before', 'FILE')} names the table that was released before",
        )
    return found


def _table_before(opened: DeclaredSource, account: Account, private: PrivateFolder) -> Source:
    """Return the table whose people were released before: read like today's, for the columns that name them."""
    policy = opened.policy
    unit = policy.column(policy.unit or "")
    names = unit.together or (unit.name,)
    declared = replace(policy, columns={name: policy.column(name) for name in (*names, unit.name)})
    before = Snapshot(source=source_at(account.released_before), private=private).scan(opened.engine, declared)
    missing = [name for name in names if name not in before.schema.names]
    if missing:
        raise ParameterError(
            f"the table that was released before has no column {missing[0]!r}", "it has to name its people as today's"
        )
    return with_unit(before, declared, opened.engine)


def _changed(today: PeopleMarks, known: Sequence[PeopleMarks]) -> int:
    """Return the number of known people with other rows than in every earlier table."""
    same = np.zeros(today.tags.size, dtype=bool)
    met = np.zeros(today.tags.size, dtype=bool)
    for marks in known:
        _, at, there = np.intersect1d(today.tags, marks.tags, assume_unique=True, return_indices=True)
        met[at] = True
        same[at] |= today.contents[at] == marks.contents[there]
    return int((met & ~same).sum())
