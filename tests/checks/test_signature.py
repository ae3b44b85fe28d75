"""Signatures as a receiver verifies them: whose key, which files, and nothing that was not signed."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

import anonkit
from anonkit.bundle.release_place import SIGNATURE
from anonkit.bundle.signing import Signer
from anonkit.checks.signature import Envelope
from anonkit.cli import anonkit as program
from anonkit.cli.boundary import run
from anonkit.errors import ParameterError, ReleaseFormatError
from tests.bundle import test_signing
from tests.bundle.test_signing import SIDECARS, make_keys, release

keys, signed = test_signing.keys, test_signing.signed
"""The owner's private and public key, and a signed release on disk."""


def copy_of(release: anonkit.Release, folder: Path) -> Path:
    """Return the data file of a copy of a release, its signature included."""
    assert release.place is not None
    shutil.copytree(release.place.folder, folder, dirs_exist_ok=True)
    return folder / release.place.name(".parquet")


def failed(found: anonkit.checks.validation.Validation) -> set[str]:
    """Return the names of the checks that failed."""
    return {check.name for check in found.checks if not check.passed}


@pytest.mark.quick_cases("True-out.parquet", "True-out.report.json", "False-*")
@pytest.mark.parametrize("name", ["out.parquet", *(f"out.{name}" for name in SIDECARS)])
@pytest.mark.parametrize("with_key", [True, False])
def test_a_changed_byte_in_any_file_is_refused(
    signed: anonkit.Release, keys: tuple[Path, Path], tmp_path: Path, name: str, with_key: bool
) -> None:
    """The file list no longer agrees, with the key and without it."""
    data = copy_of(signed, tmp_path)
    content = (tmp_path / name).read_bytes()
    at = content.rindex(b"0" if b"0" in content else b"a")
    (tmp_path / name).write_bytes(content[:at] + b"1" + content[at + 1 :])
    try:
        found = failed(anonkit.validate(data, signed_by=keys[1] if with_key else None))
    except ReleaseFormatError:  # not readable any more is a refusal, too
        return
    assert "signed_files" in found


def test_a_forger_who_rewrites_all_files_lacks_the_key(
    signed: anonkit.Release, small_customers: pa.Table, keys: tuple[Path, Path], tmp_path: Path
) -> None:
    """A sound release under the owner's old signature, and under one of another key, are both refused."""
    assert signed.place is not None
    other, _ = make_keys(tmp_path, "other")
    forged = release(small_customers, tmp_path / "a" / "out.parquet")
    assert forged.place is not None
    shutil.copy(signed.place.file(SIGNATURE), forged.place.file(SIGNATURE))
    assert failed(anonkit.validate(forged, signed_by=keys[1])) == {"signed_files"}

    resigned = release(small_customers, tmp_path / "b" / "out.parquet", sign=other)
    assert failed(anonkit.validate(resigned, signed_by=keys[1])) == {"signature"}
    assert resigned.place is not None
    assert run(program, ["validate", str(resigned.place.file(".parquet")), "--signed-by", str(keys[1])], "anonkit") == 1


@pytest.mark.parametrize(
    "content",
    [
        None,
        b"",
        b"{}",
        b"[]",
        b'{"payloadType": "application/vnd.in-toto+json", "payload": 7, "signatures": []}',
        b'{"payloadType": "text/plain", "payload": "", "signatures": []}',
        b"[" * 100_000,
    ],
)
def test_a_missing_or_damaged_signature_is_a_failed_check(
    signed: anonkit.Release, keys: tuple[Path, Path], tmp_path: Path, content: bytes | None
) -> None:
    """A required signature that is absent is never a pass."""
    data = copy_of(signed, tmp_path)
    signature = tmp_path / "out.signature.json"
    signature.unlink()
    if content is not None:
        signature.write_bytes(content)
    assert failed(anonkit.validate(data, signed_by=keys[1])) == {"signature", "signed_files"}


def test_a_payload_of_another_kind_is_no_statement(
    signed: anonkit.Release, keys: tuple[Path, Path], tmp_path: Path
) -> None:
    """A payload that the owner signed for another purpose is refused, though the signature is right."""
    data = copy_of(signed, tmp_path)
    signature = tmp_path / "out.signature.json"
    statement = json.loads(base64.b64decode(json.loads(signature.read_text())["payload"]))
    signer = Signer.load(keys[0])
    for edit in ({"predicateType": "https://slsa.dev/provenance/v1"}, {"subject": statement["subject"][:-1]}, {}):
        payload = json.dumps({**statement, **edit}).encode()
        kind = b"application/vnd.in-toto+json"
        signed_bytes = b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)
        sig = base64.b64encode(signer.key.sign(signed_bytes)).decode()
        envelope = {"payloadType": kind.decode(), "payload": base64.b64encode(payload).decode()}
        signature.write_text(json.dumps({**envelope, "signatures": [{"sig": sig}]}))
        assert failed(anonkit.validate(data, signed_by=keys[1])) == ({"signed_files"} if edit else set())


def test_files_of_a_data_folder_are_signed_one_by_one(
    small_customers: pa.Table, keys: tuple[Path, Path], tmp_path: Path
) -> None:
    """A part that is taken away, or any file that is added, is seen."""
    made = release(small_customers, tmp_path / "out.parquet", sign=keys[0], part_rows=150)
    assert anonkit.validate(made, signed_by=keys[1]).passed
    (tmp_path / "out.parquet" / "notes.txt").write_text("hidden")
    assert failed(anonkit.validate(made, signed_by=keys[1])) == {"signed_files"}


def test_a_copy_under_the_same_names_keeps_the_signature(
    signed: anonkit.Release, keys: tuple[Path, Path], tmp_path: Path
) -> None:
    """Under other names the descriptor is another file, so the copy is unsigned."""
    assert anonkit.validate(signed.save(tmp_path / "a" / "out.parquet"), signed_by=keys[1]).passed
    renamed = signed.save(tmp_path / "b" / "other.parquet")
    assert anonkit.validate(renamed).passed
    assert failed(anonkit.validate(renamed, signed_by=keys[1])) == {"signature", "signed_files"}


def test_only_releases_are_signed(keys: tuple[Path, Path], small_customers: pa.Table) -> None:
    """A signature cannot be required of a plain table."""
    with pytest.raises(ParameterError, match="plain table"):
        anonkit.validate(small_customers, quasi_identifiers=["age"], k=1, signed_by=keys[1])


@pytest.mark.parametrize("payload", [b"no JSON", b"[]", b"{}", b'{"subject": [{"name": "x"}]}', b"[" * 100_000])
def test_what_is_no_statement_lists_no_files(payload: bytes) -> None:
    """A signed payload of any other kind gives neither a traceback nor an empty list that nothing differs from."""
    assert Envelope(payload=payload, signatures=()).files() is None
