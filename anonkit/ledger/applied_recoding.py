# SPDX-License-Identifier: Apache-2.0
"""The earlier release whose recoding `anonkit apply` uses: the ledger has to know it, or to adopt it.

What a batch and the earlier release show together cannot be compared with a bound by a ledger that does not know the
earlier one. It is known by the digest of its params, so that copies of its files are found.

The pointer that every release of real people leaves beside its files: the ledger in which it is booked.

It holds the random id of the ledger and its place, and no figure. So it is noticed when a release goes into a folder
whose earlier releases are in another ledger, or in one that is gone with the home of a container. In an object store
it is an object beside those of the release.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from anonkit.bundle.object_store_reading import StorePlace
from anonkit.bundle.release_place import Place
from anonkit.bundle.s3_store import SCHEME
from anonkit.documents import ParamsPart
from anonkit.errors import EngineError, LedgerError, ParameterError, ReleaseFormatError, option, spoken
from anonkit.ledger.fingerprint import Fingerprint
from anonkit.ledger.ledger_place import LedgerPlace
from anonkit.ledger.packed_params import digest_of_packed, pack
from anonkit.ledger.settling import PlannedSpending, data_path
from anonkit.ledger.store import NAME, Ledger

POINTER = ".anonkit-ledger.json"
"""In the place of a ledger beside the release."""
SIMULATED_NAME = ".anonkit-ledger-simulated.sqlite"
"""Of the ledger of simulated people, in the same place. Under the name of the other one, real people released into this
folder would be booked among them, where nothing of the user's ledger is known."""
_UNREADABLE = "unreadable"


@dataclass(frozen=True, kw_only=True)
class Pointer(ParamsPart, keys=("format", "ledger", "place")):
    """The content of the pointer of a folder."""

    format: ClassVar[str] = "anonkit-ledger-pointer/1"
    ledger: str
    """Random id of the ledger."""
    place: str
    """Place of the ledger then, for people: a path, or an address without what is secret."""

    @classmethod
    def beside(cls, place: Place) -> Pointer | None:
        """Return the pointer beside a release; None where there is none.

        Raises
        ------
        EngineError
            The object store of the release does not answer.
        """
        if place.store is None:
            return cls.read(pointer_beside(place))
        found = place.store.objects.read(_key(place.store))
        return None if found is None else cls._of(found[0], f"{SCHEME}://{place.store.bucket}/{_key(place.store)}")

    @classmethod
    def read(cls, path: Path) -> Pointer | None:
        """Read a pointer; None where there is none. One that cannot be read names a ledger that nobody has."""
        try:
            return cls._of(path.read_bytes(), str(path))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError:
            return cls._of(b"", str(path))

    @classmethod
    def _of(cls, content: bytes, shown: str) -> Pointer:
        try:
            return cls.from_params(json.loads(content))
        except (ValueError, ReleaseFormatError):
            return cls(ledger=_UNREADABLE, place=f"the one that {shown!r} cannot say")

    def opened(self) -> Ledger | None:
        """Return the ledger, which is opened for it; None where it is not there, or is another one."""
        try:
            place = LedgerPlace.of(self.place)
            ledger = Ledger(place) if place.may_be_there else None
        except (LedgerError, ParameterError):
            return None
        return ledger if ledger is not None and ledger.name == self.ledger else None

    def names(self, ledger: LedgerPlace) -> bool:
        """Return True if it names a ledger, which is opened for it.

        Raises
        ------
        LedgerError
            The ledger is there, and cannot be used.
        """
        return ledger.may_be_there and Ledger(ledger).name == self.ledger

    def refusal(self, ledger: LedgerPlace) -> ParameterError:
        """Return the error for a release that would be booked elsewhere than the earlier ones of its folder."""
        known = self.opened()
        is_there = "" if known is not None else ", which cannot be opened"
        way = f"{option('ledger', self.place if known is not None else 'PLACE')} names the earlier one"
        return ParameterError(
            f"earlier releases of this folder are in the ledger {self.place!r}{is_there}; this one would be booked "
            f"in {str(ledger)!r}, which knows nothing of them",
            f"{way}; {option('new_ledger', True)} goes on without what it knows, and the report says so",
        )


def pointer_beside(place: Place) -> Path:
    """Return the path of the pointer of a release: beside its files, or beside its folder."""
    return ledger_beside(place).with_name(POINTER)


def ledger_beside(place: Place) -> Path:
    """Return the path of a ledger beside a release: beside its files, or beside its folder."""
    handed_out = place.folder.name == place.stem  # OUT/ is handed out as a whole
    return (place.folder.absolute().parent if handed_out else place.folder) / NAME


def simulated_ledger_beside(place: Place) -> Path:
    """Return the path of the ledger of simulated people beside a release of theirs."""
    return ledger_beside(place).with_name(SIMULATED_NAME)


def leave_pointer(place: Place, ledger: Ledger) -> None:
    """Leave the pointer of a release; where its folder, or its store, takes no further file, none is left."""
    pointer = Pointer(ledger=ledger.name, place=_absolute(ledger.place))
    content = (json.dumps(pointer.to_params(), indent=2) + "\n").encode()
    with suppress(OSError, EngineError):
        if Pointer.beside(place) == pointer:
            return
        if place.store is not None:
            place.store.objects.put(_key(place.store), content)
            return
        path = pointer_beside(place)
        aside = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
        try:
            aside.write_bytes(content)
            os.replace(aside, path)
        finally:
            aside.unlink(missing_ok=True)


def _key(store: StorePlace) -> str:
    """Return the key of the pointer of a release in a store: beside its objects, or beside its folder."""
    return f"{store.beside}{POINTER}"


def _absolute(place: LedgerPlace) -> str:
    return str(place) if place.file is None else str(place.file.absolute())


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
