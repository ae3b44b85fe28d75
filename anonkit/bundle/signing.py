# SPDX-License-Identifier: Apache-2.0
"""Signing a release: an Ed25519 signature over the SHA-256 of every file, as a DSSE envelope with an in-toto statement.

`out.signature.json` is the envelope (DSSE 1.0, `application/vnd.in-toto+json`). Its statement lists the files of the
release by name with their SHA-256 and says nothing else: no digest of the source, of private trees, of the ledger. Any
tool that reads DSSE can check it; no part of anonkit is needed.

Key files as their bytes: never more than a key can have, and no word of them in an error.

Guards against writing over what is read: sources, batches, test tables, releases, ledgers; and one file twice.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonkit.bundle.data_files import digests_of
from anonkit.bundle.json_documents import to_json
from anonkit.bundle.release_place import DATA, SIDECARS, SIGNATURE, Place
from anonkit.errors import EngineError, ParameterError, ReleaseFormatError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey


_LARGEST = 1 << 16
"""Bytes of a key file that are read."""


def read_key(path: Path, hint: str) -> bytes:
    """Return the bytes of a key file.

    Raises
    ------
    ReleaseFormatError
        It cannot be read; `hint` says how such a key is made.
    """
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST)
    except OSError:
        raise ReleaseFormatError(f"the key {str(path)!r} cannot be read", hint) from None


_HINT = "name another output"
_UNREAD = (".", "_")  # beginnings of names in a folder of data that are not read as data
_WILD = re.compile(r"[*?[]")


def refuse_replacing(written: Iterable[Path], read: Iterable[Path]) -> None:
    """Refuse, before any work is done, to put a file where it would take the place of what is read.

    Two names of one file are one file, and a folder is all that lies in it: what is put into a folder that is read
    whole would be read as a part of it the next time, and so would be what a pattern finds then.

    Parameters
    ----------
    written : iterable of Path
        Files, and folders of files, that would be put in place; they need not be there.
    read : iterable of Path
        Files, folders of files, and patterns: names with wildcards under which there is nothing.

    Raises
    ------
    ParameterError
        One of the first is one of the second, or lies in it or is found by it, or the other way round.
    """
    inputs = [(path, _real(path), is_pattern(path)) for path in read]
    for path in written:
        for named, place, is_wild in inputs:
            if is_wild and _is_found(_real(path).parts, place.parts):
                raise ParameterError(f"{str(path)!r} would be read by {str(named)!r} the next time", _HINT)
            if not _is_touched(_real(path), place):
                continue
            if not os.path.exists(path) and place in _real(path).parents:
                raise ParameterError(f"{str(path)!r} would be in {str(named)!r}, which is read whole", _HINT)
            same = "" if path == named else f" as {str(named)!r}"
            raise ParameterError(f"{str(path)!r} is read{same}, and is not written over", _HINT)


def refuse_one_place(written: Sequence[Path]) -> None:
    """Refuse, before any work is done, two outputs of which one would take the place of the other, or lie in it.

    Raises
    ------
    ParameterError
        Two names are of one file, however they are spelt, or one is of a folder above the other.
    """
    for at, path in enumerate(written):
        for other in written[:at]:
            place, taken = _real(path), _real(other)
            if place == taken or _are_one_file(place, taken):
                same = "" if path == other else f" (as {str(other)!r} too)"
                raise ParameterError(f"{str(path)!r} would be written twice{same}, and one of both lost", _HINT)
            if place in taken.parents or taken in place.parents:
                raise ParameterError(f"{str(path)!r} and {str(other)!r} cannot both be written", _HINT)


def _is_touched(written: Path, read: Path) -> bool:
    if written == read or _are_one_file(written, read):
        return True
    if os.path.isdir(written) and written in read.parents:
        return True
    if not os.path.isdir(read) or read not in written.parents:
        return False
    return not any(part.startswith(_UNREAD) for part in written.relative_to(read).parts)


def is_pattern(path: str | Path) -> bool:
    """Return True if it is a pattern of paths; a file of that very name goes first."""
    return _WILD.search(str(path)) is not None and not os.path.lexists(path)


def _is_found(path: Sequence[str], pattern: Sequence[str]) -> bool:
    """Return True if a pattern finds a path once there is one, by their parts; wildcards match no hidden name."""
    if not pattern or not path:
        return not path and set(pattern) <= {"**"}
    first, name = pattern[0], path[0]
    if name.startswith(".") and not first.startswith("."):
        return False
    if first == "**":
        return _is_found(path, pattern[1:]) or _is_found(path[1:], pattern)
    return (name == first or fnmatchcase(name, first)) and _is_found(path[1:], pattern[1:])


def _are_one_file(path: Path, other: Path) -> bool:
    with suppress(OSError, ValueError):
        return os.path.samefile(path, other)
    return False


def _real(path: Path) -> Path:
    """Return a path without links; one that is none stays as it is, and whoever reads or writes there says so."""
    with suppress(OSError, ValueError):
        return Path(os.path.realpath(path))
    return path


PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:anonkit:release:1"
PASSWORD = "ANONKIT_SIGN_PASSWORD"  # noqa: S105 - the name of a variable, not a password
"""Environment variable with the password of an encrypted private key."""
_MAKE = "openssl genpkey -algorithm ed25519 -out owner.pem"


@dataclass(frozen=True, kw_only=True, eq=False)
class Signer:
    """A private key that is ready to sign.

    Privacy
    -------
    Neither the key nor its path reaches a file of the release. The envelope's `keyid` is the SHA-256 of the *public*
    key; two releases signed with one key can be linked by it.
    """

    key: Ed25519PrivateKey = field(repr=False)

    @classmethod
    def load(cls, path: str | Path) -> Signer:
        """Read a private key: Ed25519 in PEM (PKCS #8), as `openssl genpkey -algorithm ed25519` writes it.

        An encrypted key is opened with the password in the environment variable `ANONKIT_SIGN_PASSWORD`.

        Raises
        ------
        ReleaseFormatError
            It cannot be read, is encrypted with another password, or is a key of another kind.
        """
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        password = os.environ.get(PASSWORD)
        pem = read_key(Path(path), _MAKE)
        try:
            key = load_pem_private_key(pem, None if password is None else password.encode())
        except TypeError:  # a password is missing, or given for a key that has none
            needs_password = password is None
            message = f"the key {str(path)!r} is {'' if needs_password else 'not '}encrypted"
            raise ReleaseFormatError(message, f"{'set' if needs_password else 'unset'} {PASSWORD}") from None
        except (ValueError, UnsupportedAlgorithm):
            raise ReleaseFormatError(f"{str(path)!r} is not a private key that can be read", _MAKE) from None
        if not isinstance(key, Ed25519PrivateKey):
            raise ReleaseFormatError(f"the key {str(path)!r} is not an Ed25519 key", _MAKE)
        return cls(key=key)

    def sign(self, files: Mapping[str, str]) -> bytes:
        """Return the envelope over some files, as the bytes of `out.signature.json`.

        Parameters
        ----------
        files : mapping
            Name of each file, seen from the folder of the release, to its SHA-256 in hexadecimal.
        """
        payload = json.dumps(_statement(files), separators=(",", ":"), sort_keys=True, ensure_ascii=False).encode()
        signature = self.key.sign(_pre_authentication_encoding(payload))
        return to_json(
            {
                "payload": base64.b64encode(payload).decode(),
                "payloadType": PAYLOAD_TYPE,
                "signatures": [{"keyid": _key_id(self.key.public_key()), "sig": base64.b64encode(signature).decode()}],
            }
        )


def write_signature(place: Place, signer: Signer, known: Mapping[str, str] | None = None) -> None:
    """Write the signature of a release whose files all exist already.

    Parameters
    ----------
    known : mapping, optional
        The SHA-256 of files that were hashed when they were written, by name: a table is not read for it once more.

    Raises
    ------
    ReleaseFormatError
        One of the files is absent.
    EngineError
        It cannot be written.
    """
    standing, read = place.files(), dict(known or {})
    files = digests_of({name: path for name, path in standing.items() if name not in read}) | {
        name: read[name] for name in standing if name in read
    }
    absent = [suffix for suffix in (DATA, *SIDECARS) if not place.file(suffix).exists()]
    if absent:
        raise ReleaseFormatError(f"{str(place.file(absent[0]))!r} does not exist", "a whole release is signed, or none")
    try:
        place.file(SIGNATURE).write_bytes(signer.sign(files))
    except OSError:
        raise EngineError(f"cannot write to {str(place.folder)!r}") from None


def digests(place: Place) -> dict[str, str]:
    """Return the SHA-256 of every file of a release by its name, the signature apart."""
    return digests_of(place.files())


def _statement(files: Mapping[str, str]) -> dict[str, Any]:
    return {
        "_type": STATEMENT_TYPE,
        "subject": [{"name": name, "digest": {"sha256": files[name]}} for name in sorted(files)],
        "predicateType": PREDICATE_TYPE,
        "predicate": {},
    }


def _pre_authentication_encoding(payload: bytes) -> bytes:
    """Return the bytes that are signed (PAE of DSSE 1.0), so that a payload is never taken for one of another type."""
    kind = PAYLOAD_TYPE.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def _key_id(key: Ed25519PublicKey) -> str:
    """Return the SHA-256 of a public key (DER, SubjectPublicKeyInfo): a hint which key to look for, no proof."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).hexdigest()
