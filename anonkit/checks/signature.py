# SPDX-License-Identifier: Apache-2.0
"""Verification of a signature: whether a key signed the release, and whether the files are the signed ones.

This reads the envelope with code of its own: it shares none with the signing.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from anonkit.bundle.data_files import digests_of
from anonkit.bundle.json_documents import parse_json, read_capped
from anonkit.bundle.release_place import COPIES, SIGNATURE, Place
from anonkit.bundle.signing import read_key
from anonkit.errors import ReleaseFormatError
from anonkit.promises.guarantee import Check

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

_PAYLOAD_TYPE = "application/vnd.in-toto+json"
_KINDS = ("https://in-toto.io/Statement/v1", "urn:anonkit:release:1")
_PUBLIC = "openssl pkey -in owner.pem -pubout -out owner.pub"


@dataclass(frozen=True, kw_only=True, eq=False)
class Envelope:
    """The content of `out.signature.json`: read, not yet believed."""

    payload: bytes
    signatures: tuple[bytes, ...]

    @classmethod
    def read(cls, place: Place) -> Envelope | None:
        """Read the signature of a release; None when it has none, or one that is no DSSE envelope."""
        try:
            document = parse_json(read_capped(place.file(SIGNATURE)), "the signature")
            if not isinstance(document, dict) or document["payloadType"] != _PAYLOAD_TYPE:
                return None
            return cls(
                payload=base64.b64decode(document["payload"], validate=True),
                signatures=tuple(
                    base64.b64decode(signature["sig"], validate=True) for signature in document["signatures"]
                ),
            )
        except (OSError, ReleaseFormatError, ValueError, KeyError, TypeError, binascii.Error):
            return None

    def is_signed_by(self, key: Ed25519PublicKey) -> bool:
        """Return True if one of the signatures is by this key."""
        from cryptography.exceptions import InvalidSignature

        signed = _signed_bytes(self.payload)
        for signature in self.signatures:
            try:
                key.verify(signature, signed)
            except InvalidSignature:
                continue
            return True
        return False

    def files(self) -> dict[str, str] | None:
        """Return the SHA-256 of every file the statement lists, by name; None when it is no statement of a release."""
        try:
            statement = parse_json(self.payload, "the statement that was signed")
            subjects = statement["subject"]
            files = {str(subject["name"]): str(subject["digest"]["sha256"]) for subject in subjects}
            kinds = (statement["_type"], statement["predicateType"])
        except (ReleaseFormatError, KeyError, TypeError):
            return None
        whole = len(files) == len(subjects) and kinds == _KINDS
        return files if whole else None


def read_public_key(path: str | Path) -> Ed25519PublicKey:
    """Read a public key: Ed25519 in PEM, as `openssl pkey -pubout` writes it.

    Raises
    ------
    ReleaseFormatError
        It cannot be read, or is a key of another kind.
    """
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    pem = read_key(Path(path), _PUBLIC)
    try:
        key = load_pem_public_key(pem)
    except (ValueError, UnsupportedAlgorithm):
        what = "a private key: give the public one" if b"PRIVATE KEY-----" in pem else "not a public key"
        raise ReleaseFormatError(f"{str(path)!r} is {what}", _PUBLIC) from None
    if not isinstance(key, Ed25519PublicKey):
        raise ReleaseFormatError(f"the key {str(path)!r} is not an Ed25519 key", _PUBLIC)
    return key


def signature_checks(place: Place, key: Ed25519PublicKey | None) -> Iterator[Check]:
    """Check the signature of a release.

    Parameters
    ----------
    place : Place
    key : Ed25519PublicKey, optional
        Who must have signed. Without it the signer is not checked; the files of a release that has a signature
        are compared with it all the same.

    Yields
    ------
    Check
        `signature`: the key signed what the envelope holds. `signed_files`: the files are those that are listed, no
        other, none changed, none missing; what is observed is the number of files that differ.
    """
    if key is None and not place.file(SIGNATURE).exists():
        return
    envelope = Envelope.read(place)
    if key is not None:
        state = "absent" if not place.file(SIGNATURE).exists() else "unreadable" if envelope is None else None
        if envelope is not None:
            state = "by this key" if envelope.is_signed_by(key) else "not by this key"
        yield Check(name="signature", passed=state == "by this key", observed=state, required="by this key")
    listed = None if envelope is None else envelope.files()
    # the statement says which copies there are: the descriptor is not read before it is known to be the signed one
    standing = digests_of(
        place.files([form for form, suffix in COPIES.items() if place.name(suffix) in (listed or ())])
    )
    if listed is None:
        yield Check(name="signed_files", passed=False, observed="no list of files", required=0)
        return
    differ = sum(listed.get(name) != standing.get(name) for name in listed.keys() | standing.keys())
    yield Check(name="signed_files", passed=differ == 0, observed=differ, required=0)


def _signed_bytes(payload: bytes) -> bytes:
    """Return the bytes a signature is over: the pre-authentication encoding of DSSE 1.0."""
    parts = (_PAYLOAD_TYPE.encode(), payload)
    return b" ".join([b"DSSEv1", *(part for field in parts for part in (str(len(field)).encode(), field))])
