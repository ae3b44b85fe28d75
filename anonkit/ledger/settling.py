# SPDX-License-Identifier: Apache-2.0
"""The end of a release whose process is gone: committed, rolled back, or counted as spent where the state is unknown.

Files are prepared aside, then the ledger gets the state `publishing`, then they are marked complete, then each is put
in place, the data last. So whoever died before the mark has published nothing, and the prepared data are still aside to
show it; whoever died after it is brought to the end. Only when the data are neither aside nor in place the state is
unknown: they may have been in place, and have been carried away.

Of several who release to one place at a time one is let in (`refuse_taken`): the others wait, and look at what it made.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from enum import Enum, auto
from pathlib import Path

from anonkit.bundle.atomic import cleared, finish, is_marked, recover, unmarked
from anonkit.bundle.data_files import sha256
from anonkit.bundle.liveness import Process
from anonkit.bundle.release_names import DATA
from anonkit.bundle.release_place import Place
from anonkit.errors import AnonkitError, LedgerError, ReleaseFormatError
from anonkit.ledger.standing import Entry, ReleaseState
from anonkit.redaction import is_address

_OPEN = (ReleaseState.RESERVED, ReleaseState.PUBLISHING)
_PATIENCE = timedelta(minutes=2)
"""For how long a release of another machine is believed to be at work: whether it lives cannot be seen from here."""


class PlaceTakenError(LedgerError):
    """Somebody else is making a release in the same place."""


def data_path(place: Place) -> str:
    """Return by which path the ledger knows a release: that of its data."""
    return str(place.file(DATA).absolute()) if place.store is None else place.shown(DATA)


def is_in_place(entry: Entry, output: str) -> bool:
    """Return True if a release was made in the place of a data file, whatever its path is spelled like."""
    return entry.output is not None and os.path.realpath(entry.output) == os.path.realpath(output)


def at_work(output: str, entries: Iterable[Entry]) -> Entry | None:
    """Return the release that somebody is making in a place now, if anybody is.

    Parameters
    ----------
    output : str
        Path of the data file.
    entries : iterable of Entry
    """
    for entry in entries:
        if entry.state in _OPEN and is_in_place(entry, output):
            process = Process.from_text(entry.process)
            # one from the future was written by a clock that was wrong, and says nothing of now
            is_recent = abs(datetime.now(UTC) - datetime.fromisoformat(entry.created)) < _PATIENCE
            if not process.is_surely_dead() and (process.is_on_this_machine or is_recent):
                return entry
    return None


def refuse_taken(output: str | None, entries: Iterable[Entry]) -> None:
    """Refuse to make a release in a place where somebody else is making one.

    Raises
    ------
    PlaceTakenError
        Two at once would both be charged, and the files of one would replace those of the other.
    """
    entry = None if output is None else at_work(output, entries)
    if entry is not None:
        raise PlaceTakenError(
            f"release {entry.number} is being made in {output!r} by another process", "run it again when that is done"
        )


def settled(entry: Entry, *, ended_here: bool = False) -> ReleaseState:
    """Return the state of a release on which its process works no more; files that it left halfway are settled too.

    Parameters
    ----------
    entry : Entry
    ended_here : bool
        True: this process failed to put the files in place and saw so itself, which is believed. After a dead process
        they may have been there.
    """
    staged = None if entry.staging is None else Path(entry.staging)
    if entry.state is ReleaseState.RESERVED:
        # `publishing` is durable before the first file is put in place; but what was prepared is a whole release
        return ReleaseState.ROLLED_BACK if staged is None or cleared(staged) else entry.state
    if entry.state is not ReleaseState.PUBLISHING or entry.output is None or entry.data_sha256 is None:
        return entry.state
    if is_address(entry.output):
        # files on their way into a store may have been seen there before their descriptor: they count in any case
        return ReleaseState.COMMITTED if ended_here or _is_in_store(entry.output, entry.data_sha256) else entry.state
    data = _whereabouts(Path(entry.output), entry.data_sha256, staged)
    if data is _Data.IN_PLACE:
        return ReleaseState.COMMITTED
    never = data is _Data.ASIDE or (data is _Data.ELSEWHERE and ended_here)
    return ReleaseState.ROLLED_BACK if never else entry.state


class _Data(Enum):
    """The place of the data file of a release."""

    IN_PLACE = auto()
    ASIDE = auto()
    """It was prepared and never put in place; it is gone now."""
    ELSEWHERE = auto()
    """It is not there: it never was, or was carried away or replaced."""
    UNKNOWN = auto()
    """Its folder cannot be read."""


def _is_in_store(output: str, data_sha256: str) -> bool:
    """Return True if the descriptor in a store states these data; False where the store does not answer."""
    try:
        return Place.of(output).data_digest() == data_sha256
    except AnonkitError:
        return False


def _whereabouts(output: Path, data_sha256: str, staged: Path | None) -> _Data:
    """Look for a data file; interrupted renames are finished, and what was not complete is deleted."""
    place = Place.of(output)
    try:
        if staged is None:  # a ledger of an earlier version does not say where the files were prepared
            prepared = [folder / place.name(DATA) for folder in unmarked(place.folder, place.stem)]
            is_aside = any(data.exists() and sha256(data) == data_sha256 for data in prepared)
            recover(place.folder, place.stem)
        else:
            finish(place.folder, place.stem)
            is_aside = staged.is_dir() and not is_marked(staged)
            if is_aside and not cleared(staged):
                return _Data.UNKNOWN
        if place.file(DATA).exists() and sha256(place.file(DATA)) == data_sha256:
            return _Data.IN_PLACE
    except (OSError, ReleaseFormatError):
        return _Data.UNKNOWN
    return _Data.ASIDE if is_aside else _Data.ELSEWHERE
