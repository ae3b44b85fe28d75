# SPDX-License-Identifier: Apache-2.0
"""Requests that the ledger knows: a release that is asked for again is told from any other.

A release is the same as an earlier one when the same was asked (a digest of the request, under the ledger's key) of the
very same rows (`Fingerprint.spelled`). Both are kept of every release that has files, beside the SHA-256 of its data.
So its files are known again wherever they stand, and whoever edits them cannot make them another release's.

Privacy
-------
That a release is known again, or is not, tells whether the table has changed: a fact about its rows that no promise
covers. It is for whoever asks, the owner, and stands in no file of a release.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic, sleep

from anonkit.bundle.stored_release import Place
from anonkit.ledger.fingerprint import Fingerprint
from anonkit.ledger.settling import PlaceTakenError, at_work, data_path, is_in_place
from anonkit.ledger.standing import Entry, State
from anonkit.ledger.store import Ledger

_DIGEST = 16
_WAIT = 120.0
"""Seconds to wait for somebody who is making a release in the same place: they are at their last step."""
_PAUSE = 0.1

Asked = Callable[[int], bytes | None]
"""Given the rows of the table: what is asked, in its one form, the rows apart; None when it is not known again."""


def never_again(n_rows: int) -> None:
    """Say that a release is not known again."""


def request_digest(key: bytes, asked: bytes | None) -> bytes | None:
    """Return by what a ledger knows a request again, 16 bytes; None where it does not.

    Parameters
    ----------
    key : bytes
        Of the ledger, 32 bytes.
    asked : bytes, optional
        As `Asked` returns it.
    """
    return None if asked is None else hashlib.blake2b(asked, key=key, digest_size=_DIGEST, person=b"request").digest()


def knows_requests(ledger: Ledger) -> bool:
    """Tell whether a ledger could know a release again: it has its key, and what was asked of some release.

    Raises
    ------
    LedgerError
        The key is not there, or another's.
    """
    return any(entry.request is not None for entry in _entries(ledger)) and bool(ledger.key)


@dataclass(frozen=True, kw_only=True)
class Earlier:
    """What the ledger knows of a request, and of the place where its release is to stand."""

    request: bytes | None
    rows: Fingerprint
    published: Sequence[Entry]
    """Every release that counts and has files, oldest first."""
    here: Entry | None
    """The last of them that was made in the place."""

    @classmethod
    def of(cls, ledger: Ledger, request: bytes | None, rows: Fingerprint, place: Place) -> Earlier:
        """Look into a ledger, after waiting for whoever is making a release in the same place.

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
        published = [entry for entry in entries if entry.data_sha256 is not None and entry.state in _WITH_FILES]
        here = [entry for entry in published if is_in_place(entry, output)]
        return cls(request=request, rows=rows, published=published, here=here[-1] if here else None)

    @property
    def here_again(self) -> Entry | None:
        """The release that stood last in the place, when it is the one that is asked for."""
        return self.here if self.here is not None and self._is_same(self.here) else None

    def same(self, data_sha256: str) -> Entry | None:
        """Return the release that is asked for, when the data with this SHA-256 are its; None: they are not."""
        return next((e for e in self.published if e.data_sha256 == data_sha256 and self._is_same(e)), None)

    def other(self, data_sha256: str) -> Entry | None:
        """Return the release with these data when it is not the one that is asked for."""
        return next((e for e in self.published if e.data_sha256 == data_sha256 and not self._is_same(e)), None)

    def difference(self, entry: Entry) -> str:
        """Return in what an earlier release differs from the one that is asked for, in words for the owner."""
        if entry.request is None:
            return "made with a seed, or before the ledger kept what was asked"
        asked = "asked for otherwise (method, parameters, policy or form of the data)"
        rows = "made of other rows"
        if self._has_rows_of(entry):
            return asked
        return rows if entry.request == self.request else f"{rows}, and {asked}"

    def _is_same(self, entry: Entry) -> bool:
        return self.request is not None and entry.request == self.request and self._has_rows_of(entry)

    def _has_rows_of(self, entry: Entry) -> bool:
        return self.rows.is_spelled_as(entry.fingerprint)


_WITH_FILES = (State.PUBLISHING, State.COMMITTED)


def _entries(ledger: Ledger) -> list[Entry]:
    """Return every release of every dataset, by number, what dead processes left settled."""
    entries = [entry for standing in ledger.datasets() for entry in standing.entries]
    return sorted(entries, key=lambda entry: entry.number)
