# SPDX-License-Identifier: Apache-2.0
"""The recoding of an earlier release as a method: `anonkit apply` releases the next batch with it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from anonkit.bundle.json_documents import read_json
from anonkit.bundle.release_place import PARAMS, REPORT, Place
from anonkit.bundle.stored_release import refuse_changed
from anonkit.errors import ReleaseFormatError
from anonkit.k_anonymity.stored_recoding import Recoded
from anonkit.ledger.applied_recoding import AppliedRecoding
from anonkit.policy.bookkeeping import Bookkeeping
from anonkit.policy.declaration import Policy


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
