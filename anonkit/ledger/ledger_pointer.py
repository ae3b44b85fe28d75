# SPDX-License-Identifier: Apache-2.0
"""The pointer that every release leaves beside its files: the ledger in which it is booked.

It holds the random id of the ledger and its place, and no figure. So it is noticed when a release goes into a folder
whose earlier releases are in another ledger, or in one that is gone with the home of a container. In an object store
it is an object beside those of the release.
"""

from __future__ import annotations

import json
import os
import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from anonkit.bundle.release_place import Place
from anonkit.bundle.s3_store import SCHEME
from anonkit.bundle.store_reading import StorePlace
from anonkit.errors import EngineError, LedgerError, ParameterError, option
from anonkit.ledger.ledger_place import LedgerPlace
from anonkit.ledger.store import NAME, Ledger

POINTER = ".anonkit-ledger.json"
"""In the place of a ledger beside the release."""
_FORMAT = "anonkit-ledger-pointer/1"
_UNREADABLE = "unreadable"


@dataclass(frozen=True, kw_only=True)
class Pointer:
    """The content of the pointer of a folder."""

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
            said = json.loads(content)
            return cls(ledger=str(said["ledger"]), place=str(said["place"]))
        except (ValueError, KeyError, TypeError):
            return cls(ledger=_UNREADABLE, place=f"the one that {shown!r} cannot say")

    def to_bytes(self) -> bytes:
        """Return the bytes of the file, or of the object."""
        document = {"format": _FORMAT, "ledger": self.ledger, "place": self.place}
        return (json.dumps(document, indent=2) + "\n").encode()

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


def leave_pointer(place: Place, ledger: Ledger) -> None:
    """Leave the pointer of a release; where its folder, or its store, takes no further file, none is left."""
    said = Pointer(ledger=ledger.name, place=_absolute(ledger.place))
    with suppress(OSError, EngineError):
        if Pointer.beside(place) == said:
            return
        if place.store is not None:
            place.store.objects.put(_key(place.store), said.to_bytes())
            return
        path = pointer_beside(place)
        aside = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
        try:
            aside.write_bytes(said.to_bytes())
            os.replace(aside, path)
        finally:
            aside.unlink(missing_ok=True)


def _key(store: StorePlace) -> str:
    """Return the key of the pointer of a release in a store: beside its objects, or beside its folder."""
    return f"{store.beside}{POINTER}"


def _absolute(place: LedgerPlace) -> str:
    return str(place) if place.file is None else str(place.file.absolute())
