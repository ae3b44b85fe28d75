# SPDX-License-Identifier: Apache-2.0
"""Earlier releases that a ledger recognizes: one whose recoding is applied, and one that is requested again.

`AppliedRecoding` is the release whose recoding `anonkit apply` uses. What a batch and the earlier release show together
cannot be compared with a bound by a ledger that does not know the earlier one, so the ledger has to know it, or to
adopt it. It is known by the digest of its params, so that copies of its files are found.

A `Pointer` is left beside the files of every release: the random id of its ledger and the place of that, and no figure.
So it is noticed when a release goes into a folder whose earlier releases are in another ledger, or in one that is gone
with the home of a container. In an object store it is an object beside those of the release.

`Earlier` distinguishes a repeated release from a new one. A release is the same as an earlier one when the same was
requested (a digest of the request, under the ledger's key) of the very same rows (`Fingerprint.spelled`). Of every
release that has files both are kept, sealed under that key together with the SHA-256 of its data. So its files are
known again wherever they are, and whoever edits them cannot make them another release's; nor can whoever edits the
ledger's lines without its key.

Privacy
-------
That a release is known again, or is not, discloses whether the table has changed: a fact about its rows that no promise
covers. It is for the owner, and is in no file of a release.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from time import monotonic, sleep
from typing import Any, ClassVar

from anonkit.bundle.object_store import StorePlace
from anonkit.bundle.release_place import Place
from anonkit.bundle.s3_store import SCHEME
from anonkit.documents import ParamsPart
from anonkit.errors import EngineError, LedgerError, ParameterError, ReleaseFormatError, option, spoken
from anonkit.ledger.booked_releases import (
    Entry,
    PlaceTakenError,
    PlannedSpending,
    ReleaseState,
    at_work,
    data_path,
    digest_of_packed,
    is_in_place,
    pack,
)
from anonkit.ledger.fingerprint import Fingerprint, SpelledRows
from anonkit.ledger.ledger_place import LedgerPlace
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


_DIGEST = 16
_WAIT = 120.0
"""Seconds to wait for somebody who is making a release in the same place: they are at their last step."""
_PAUSE = 0.1

RequestForm = Callable[[int], bytes | None]
"""Given the rows of the table: the request, in its canonical form, the rows apart; None when it is not known again."""


def never_again(n_rows: int) -> None:
    """Log that a release is not known again."""


def request_digest(key: bytes, request: bytes | None) -> bytes | None:
    """Return the digest by which a ledger recognizes a request, 16 bytes; None where it does not.

    Parameters
    ----------
    key : bytes
        Of the ledger, 32 bytes.
    request : bytes, optional
        As `RequestForm` returns it.
    """
    return (
        None if request is None else hashlib.blake2b(request, key=key, digest_size=_DIGEST, person=b"request").digest()
    )


def sealed(key: bytes, request: bytes | None, spelled: bytes, data_sha256: str) -> bytes | None:
    """Return the seal of a request, its rows and the data made, 16 bytes; None for no request.

    Parameters
    ----------
    key : bytes
        Of the ledger, 32 bytes.
    request : bytes, optional
        As `request_digest` returns it.
    spelled : bytes
        Of the rows' fingerprint; empty in entries of older versions, which are never known again.
    data_sha256 : str
        Of the data, in hexadecimal.
    """
    if request is None or not spelled:
        return None
    parts = request + spelled + data_sha256.encode()
    return hashlib.blake2b(parts, key=key, digest_size=_DIGEST, person=b"request sealed").digest()


def wait_for(ledger: Ledger, place: Place) -> list[Entry]:
    """Wait for whoever is making a release in a place; return every release of every dataset, by number.

    Raises
    ------
    PlaceTakenError
        They are not done after two minutes.
    """
    output, begun = data_path(place), monotonic()
    entries = _entries(ledger)
    while (open_one := at_work(output, entries)) is not None:
        if monotonic() - begun > _WAIT:
            raise PlaceTakenError(f"release {open_one.number} is still being made in {output!r} by another process")
        sleep(_PAUSE)
        entries = _entries(ledger)
    return entries


def knows_requests(ledger: Ledger) -> bool:
    """Return True if a ledger could know a release again: it has its key, and the request of some release.

    Raises
    ------
    LedgerError
        The key is not there, or another's.
    """
    return any(entry.request is not None for entry in _entries(ledger)) and bool(ledger.key)


@dataclass(frozen=True, kw_only=True)
class Earlier:
    """The ledger's entries for a request, and for the place of its release."""

    key: bytes = field(repr=False)
    """Of the ledger."""
    request: bytes | None
    n_rows: int
    spelled: SpelledRows = field(repr=False)
    """Reads the rows, where it comes to that, for the mark by which they are known again."""
    published: Sequence[Entry]
    """Every release that counts and has files, oldest first."""
    here: Entry | None
    """The last of them that was made in the place."""

    @classmethod
    def of(cls, ledger: Ledger, request_form: RequestForm, n_rows: int, spelled: SpelledRows, place: Place) -> Earlier:
        """Look into a ledger, after waiting for whoever is making a release in the same place.

        Parameters
        ----------
        ledger : Ledger
        request_form : callable
            Request on the rows.
        n_rows : int
            How many there are.
        spelled : callable
            Given the key: their mark, `Fingerprint.spelled`.
        place : Place

        Raises
        ------
        PlaceTakenError
            They are not done after two minutes.
        """
        output, entries, key = data_path(place), wait_for(ledger, place), ledger.key
        published = [entry for entry in entries if entry.data_sha256 is not None and entry.state in _WITH_FILES]
        here = [entry for entry in published if is_in_place(entry, output)]
        return cls(
            key=key,
            request=request_digest(key, request_form(n_rows)),
            n_rows=n_rows,
            spelled=spelled,
            published=published,
            here=here[-1] if here else None,
        )

    @property
    def here_again(self) -> Entry | None:
        """The last release in the place, when it is the requested one."""
        return self.here if self.here is not None and self._is_same(self.here) else None

    def same(self, data_sha256: str) -> Entry | None:
        """Return the requested release, when the data with this SHA-256 are its; else None."""
        return next((e for e in self.published if e.data_sha256 == data_sha256 and self._is_same(e)), None)

    def other(self, data_sha256: str) -> Entry | None:
        """Return the release with these data when it is not the requested one."""
        return next((e for e in self.published if e.data_sha256 == data_sha256 and not self._is_same(e)), None)

    def difference(self, entry: Entry) -> str:
        """Return the differences of an earlier release from the requested one, in words for the owner."""
        if entry.request is None:
            return "made with a seed, or before the ledger recorded settings"
        why = "requested differently (method, parameters, policy or form of the data)"
        rows = "made of other rows"
        if self._has_rows_of(entry):
            return why
        return rows if self._has_same_request(entry) else f"{rows}, and {why}"

    def _is_same(self, entry: Entry) -> bool:
        return self._has_same_request(entry) and self._has_rows_of(entry)

    def _has_same_request(self, entry: Entry) -> bool:
        """Return True if a line has the same request, as it was written under the key of the ledger."""
        if self.request is None or entry.data_sha256 is None or not isinstance(entry.fingerprint, Fingerprint):
            return False
        seal = sealed(self.key, self.request, entry.fingerprint.spelled, entry.data_sha256)
        return seal is not None and entry.request == seal

    def _has_rows_of(self, entry: Entry) -> bool:
        """Return True if the rows are the very same; they are read once, and not at all where their number differs."""
        known = entry.fingerprint
        if not isinstance(known, Fingerprint) or not known.spelled or known.rows != self.n_rows:
            return False
        return known.spelled == self._mark

    @cached_property
    def _mark(self) -> bytes:
        return self.spelled(self.key)


_WITH_FILES = (ReleaseState.PUBLISHING, ReleaseState.COMMITTED)


def _entries(ledger: Ledger) -> list[Entry]:
    """Return every release of every dataset, by number, what dead processes left settled."""
    entries = [entry for standing in ledger.datasets() for entry in standing.entries]
    return sorted(entries, key=lambda entry: entry.number)
