# SPDX-License-Identifier: Apache-2.0
"""The earlier release whose recoding `anonkit apply` uses: the ledger has to know it, or to adopt it.

What a batch and the earlier release show together cannot be compared with a bound by a ledger that does not know the
earlier one. It is known by the digest of its params, so that copies of its files are found.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from anonkit.bundle.release_place import Place
from anonkit.errors import ParameterError, option, spoken
from anonkit.ledger.fingerprint import Fingerprint
from anonkit.ledger.ledger_place import LedgerPlace
from anonkit.ledger.ledger_pointer import Pointer, ledger_beside
from anonkit.ledger.packed_params import digest_of_packed, pack
from anonkit.ledger.settling import data_path
from anonkit.ledger.standing import PlannedSpending
from anonkit.ledger.store import Ledger

ADOPTED = "adopted"
"""Remark of a release that was booked afterwards, on the owner's word that it was handed out."""


@dataclass(frozen=True, kw_only=True)
class AppliedRecoding:
    """The earlier release whose recoding is applied."""

    place: Place
    """Place of its params."""
    params: Mapping[str, Any] = field(repr=False)
    """Content of its `params.json`."""
    dataset: str | None = None
    """Name of the dataset in its report."""
    adopt: bool = False
    """True: a ledger that does not know it books it as handed out."""

    @property
    def digest(self) -> bytes:
        """By what a ledger knows it."""
        packed = pack(self.params)
        assert packed is not None  # noqa: S101 - the params of a recoding
        return digest_of_packed(packed)

    def found(self, ledger: LedgerPlace, *, is_named: bool) -> LedgerPlace:
        """Return the ledger that knows the earlier release: the one given, else one beside its params.

        Parameters
        ----------
        ledger : LedgerPlace
            Where the batch would be booked.
        is_named : bool
            Whether the caller has named it: then no other is looked for.

        Raises
        ------
        ParameterError
            None knows it, and it is not to be adopted.
        LedgerError
            A ledger that is there cannot be used.
        """
        if self._is_in(ledger):
            return ledger
        if not is_named:
            for other in self._beside():
                if self._is_in(other):
                    return other
        if self.adopt:
            return ledger
        raise ParameterError(
            f"no ledger knows the release whose recoding is applied: {str(ledger)!r} does not hold it",
            f"{option('ledger', 'PLACE')} names the one that does; {option('adopt', True)} books it there as handed "
            f"out; {spoken(python='ledger=None', typed='--no-ledger')} keeps no record",
        )

    def _is_in(self, ledger: LedgerPlace) -> bool:
        return ledger.may_be_there and Ledger(ledger).holds(self.digest)

    def _beside(self) -> list[LedgerPlace]:
        """Return the ledgers beside the params, or those that the pointer there names."""
        pointer = Pointer.beside(self.place)
        pointed = None if pointer is None else pointer.opened()
        found = [] if pointed is None else [pointed.place]
        if self.place.store is not None:  # no ledger is in a store
            return found
        beside = LedgerPlace(file=ledger_beside(self.place))
        return [*([beside] if beside.may_be_there else []), *found]

    def adopted_by(self, ledger: Ledger) -> None:
        """Book the earlier release as handed out, where the ledger does not know it and it is to be adopted."""
        if not self.adopt or ledger.holds(self.digest):
            return
        ledger.adopt(
            PlannedSpending(
                dataset=self.dataset or self.place.stem,
                method=str(self.params["method"]),
                kind="k-anonymity",
                epsilon=None,
                delta=None,
                k=int(self.params["model"]["k"]),
                redrawn=False,
                output=data_path(self.place),
                params=pack(self.params),
                # its rows are not here: the mark is that of no table
                fingerprint=Fingerprint(rows=0, exact=secrets.token_bytes(16), whole=secrets.token_bytes(16)),
                params_digest=self.digest,
                remark=ADOPTED,
            )
        )
