# SPDX-License-Identifier: Apache-2.0
"""Signing a release: an Ed25519 signature over the SHA-256 of every file, as a DSSE envelope with an in-toto statement.

`out.signature.json` is the envelope (DSSE 1.0, `application/vnd.in-toto+json`). Its statement lists the files of the
release by name with their SHA-256 and says nothing else: no digest of the source, of private trees, of the ledger. Any
tool that reads DSSE can check it; no part of anonkit is needed.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonkit.bundle.data_files import digests_of
from anonkit.bundle.json_documents import to_json
from anonkit.bundle.key_files import read_key
from anonkit.bundle.release_names import DATA, SIDECARS, SIGNATURE
from anonkit.bundle.release_place import Place
from anonkit.errors import EngineError, ReleaseFormatError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

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
