# SPDX-License-Identifier: Apache-2.0
"""Requests that the ledger knows: a repeated release is distinguished from a new one.

A release is the same as an earlier one when the same was requested (a digest of the request, under the ledger's key) of
the very same rows (`Fingerprint.spelled`). Of every release that has files both are kept, sealed under that key
together with the SHA-256 of its data. So its files are known again wherever they are, and whoever edits them cannot
make them another release's; nor can whoever edits the ledger's lines without its key.

Privacy
-------
That a release is known again, or is not, discloses whether the table has changed: a fact about its rows that no promise
covers. It is for the owner, and is in no file of a release.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from time import monotonic, sleep

from anonkit.bundle.release_place import Place
from anonkit.ledger.fingerprint import Fingerprint, SpelledRows
from anonkit.ledger.settling import Entry, PlaceTakenError, ReleaseState, at_work, data_path, is_in_place
from anonkit.ledger.store import Ledger

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
