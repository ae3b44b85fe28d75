"""Signed releases: Ed25519 over every file, readable without anonkit, refused when anything was touched."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import pyarrow as pa
import pytest

import anonkit
from anonkit.bundle.release_place import SIGNATURE, Place
from anonkit.bundle.signing import PASSWORD, Signer
from anonkit.cli import anonkit as program
from anonkit.cli.boundary import run
from anonkit.errors import GuaranteeError, ParameterError, ReleaseFormatError

SIDECARS = ("params.json", "report.json", "report.html", "datapackage.json")


def openssl(*args: object) -> bytes:
    """Run OpenSSL, the tool owners make their keys with."""
    done = subprocess.run(["openssl", *map(str, args)], capture_output=True, check=True)
    return done.stdout


def make_keys(folder: Path, name: str = "owner", algorithm: str = "ed25519") -> tuple[Path, Path]:
    """Return a fresh private and public key, made as the pages say."""
    private, public = folder / f"{name}.pem", folder / f"{name}.pub"
    openssl("genpkey", "-algorithm", algorithm, "-out", private)
    openssl("pkey", "-in", private, "-pubout", "-out", public)
    return private, public


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The owner's private and public key."""
    if shutil.which("openssl") is None:
        pytest.skip("OpenSSL is not installed")
    return make_keys(tmp_path_factory.mktemp("keys"))


@pytest.fixture(scope="module")
def signed(
    tmp_path_factory: pytest.TempPathFactory, small_customers: pa.Table, keys: tuple[Path, Path]
) -> anonkit.Release:
    """A signed release on disk."""
    output = tmp_path_factory.mktemp("signed") / "out.parquet"
    return release(small_customers, output, sign=keys[0])


def release(table: pa.Table, output: Path | None, **settings: object) -> anonkit.Release:
    """Release a table the quick way."""
    return anonkit.release(table, method="mondrian", k=20, target="customer_value", output=output, **settings)


def test_a_signed_release_is_accepted_by_the_public_key(signed: anonkit.Release, keys: tuple[Path, Path]) -> None:
    """Both checks are made and pass, and the exit code is 0."""
    assert signed.place is not None
    found = anonkit.validate(signed.place.file(".parquet"), signed_by=keys[1])
    assert found.passed
    assert {"signature", "signed_files"} <= {check.name for check in found.checks}
    assert run(program, ["validate", str(signed.place.file(".parquet")), "--signed-by", str(keys[1])], "anonkit") == 0


def test_the_envelope_is_checked_without_anonkit(
    signed: anonkit.Release, keys: tuple[Path, Path], tmp_path: Path
) -> None:
    """OpenSSL verifies the bytes that DSSE says are signed, and hashlib the files of the in-toto statement."""
    assert signed.place is not None
    envelope = json.loads(signed.place.file(SIGNATURE).read_text())
    payload = base64.b64decode(envelope["payload"])
    kind = envelope["payloadType"]
    (tmp_path / "signed").write_bytes(f"DSSEv1 {len(kind)} {kind} {len(payload)} ".encode() + payload)
    (tmp_path / "sig").write_bytes(base64.b64decode(envelope["signatures"][0]["sig"]))

    answer = openssl(
        *("pkeyutl", "-verify", "-pubin", "-inkey", keys[1], "-rawin"),
        *("-in", tmp_path / "signed", "-sigfile", tmp_path / "sig"),
    )
    assert b"Verified Successfully" in answer
    statement = json.loads(payload)
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    for subject in statement["subject"]:
        content = (signed.place.folder / subject["name"]).read_bytes()
        assert subject["digest"] == {"sha256": hashlib.sha256(content).hexdigest()}


def test_the_statement_lists_every_file_and_nothing_else(signed: anonkit.Release) -> None:
    """No digest of the source, of private trees or of the ledger; no other claim."""
    assert signed.place is not None
    statement = json.loads(base64.b64decode(json.loads(signed.place.file(SIGNATURE).read_text())["payload"]))

    assert set(statement) == {"_type", "subject", "predicateType", "predicate"}
    assert statement["predicate"] == {}
    assert {subject["name"] for subject in statement["subject"]} == {
        "out.parquet",
        *(f"out.{name}" for name in SIDECARS),
    }
    assert all(set(subject) == {"name", "digest"} for subject in statement["subject"])


def test_a_seeded_release_is_not_signed(small_customers: pa.Table, keys: tuple[Path, Path], tmp_path: Path) -> None:
    """Neither is one in memory; nothing is written."""
    with pytest.raises(ParameterError, match="seeded release"):
        release(small_customers, tmp_path / "out.parquet", sign=keys[0], seed=1)
    with pytest.raises(ParameterError, match="in memory"):
        release(small_customers, None, sign=keys[0])
    assert list(tmp_path.iterdir()) == []


def test_keys_of_other_kinds_are_refused_before_anything_is_read(
    signed: anonkit.Release, keys: tuple[Path, Path], tmp_path: Path
) -> None:
    """Exit code 3 with a hint, for the private key and the public one; the table is not even opened."""
    assert signed.place is not None
    data = str(signed.place.file(".parquet"))
    private, public = make_keys(tmp_path, "other", "ED448")
    garbage = tmp_path / "garbage.pem"
    garbage.write_bytes(os.urandom(64))
    for key in (private, garbage, keys[1], tmp_path / "absent.pem", tmp_path):
        with pytest.raises(ReleaseFormatError, match="key") as told:
            anonkit.release(tmp_path / "no.csv", output=tmp_path / "out.parquet", sign=key)
        assert told.value.hint is not None
        assert "openssl" in told.value.hint
        command = ["release", str(tmp_path / "no.csv"), str(tmp_path / "out.parquet"), "--sign", str(key)]
        assert run(program, command, "anonkit") == 3
    for key in (public, garbage, keys[0], tmp_path / "absent.pub", tmp_path):
        assert run(program, ["validate", data, "--signed-by", str(key)], "anonkit") == 3


def test_an_encrypted_key_needs_its_password(
    small_customers: pa.Table, keys: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes from the environment; a wrong or superfluous one is refused, and no message has it."""
    locked = tmp_path / "locked.pem"
    openssl("pkey", "-in", keys[0], "-aes256", "-passout", "pass:open sesame", "-out", locked)
    with pytest.raises(ReleaseFormatError, match="is encrypted"):
        Signer.load(locked)
    monkeypatch.setenv(PASSWORD, "wrong words")
    with pytest.raises(ReleaseFormatError) as wrong:
        Signer.load(locked)
    with pytest.raises(ReleaseFormatError, match="not encrypted"):
        Signer.load(keys[0])
    assert "wrong words" not in str(wrong.value)
    monkeypatch.setenv(PASSWORD, "open sesame")
    made = release(small_customers, tmp_path / "out.parquet", sign=locked)
    assert anonkit.validate(made, signed_by=keys[1]).passed


def test_an_old_signature_does_not_outlive_its_release(
    small_customers: pa.Table, keys: tuple[Path, Path], tmp_path: Path
) -> None:
    """A release that replaces a signed one is signed anew, or is there without a signature."""
    output = tmp_path / "out.parquet"
    release(small_customers, output, sign=keys[0])
    again = release(small_customers, output, force=True)
    assert again.place is not None
    assert not again.place.file(SIGNATURE).exists()
    assert anonkit.validate(again).passed
    third = release(small_customers, output, sign=keys[0], force=True)
    assert anonkit.validate(third, signed_by=keys[1]).passed


def test_a_lone_signature_is_an_output_that_exists(
    small_customers: pa.Table, keys: tuple[Path, Path], tmp_path: Path
) -> None:
    """It is not overwritten, nor left beside files it does not speak of, without --force."""
    (tmp_path / "out.signature.json").write_text("{}")
    with pytest.raises(ParameterError, match="exists"):
        release(small_customers, tmp_path / "out.parquet")


@pytest.mark.slow
def test_recipes_and_batches_are_signed_too(keys: tuple[Path, Path], tmp_path: Path) -> None:
    """The key of a recipe is looked for in its folder; `apply --sign` signs the next batch."""
    shutil.copy(keys[0], tmp_path / "owner.pem")
    (tmp_path / "recipe.toml").write_text(
        'method = "mondrian"\noutput = "out.parquet"\nsign = "owner.pem"\nsimulate = { rows = 400 }\n'
        "[parameters]\nk = 20\n"
    )
    assert run(program, ["run", str(tmp_path / "recipe.toml"), "--quiet"], "anonkit") == 0
    assert anonkit.validate(tmp_path / "out.parquet", signed_by=keys[1]).passed
    batch = anonkit.datasets.bank_customers(300, 7)
    made = anonkit.apply(
        tmp_path / "out.params.json",
        batch,
        output=tmp_path / "next.parquet",
        sign=keys[0],
        max_suppression=1.0,
        ledger=None,
    )
    assert made.place == Place.of(tmp_path / "next.parquet")
    assert anonkit.validate(made, signed_by=keys[1]).passed


def test_a_dry_run_signs_nothing_and_reads_the_key(
    small_customers: pa.Table, keys: tuple[Path, Path], tmp_path: Path
) -> None:
    """A dry run fails at the start where the release would fail at the end."""
    release(small_customers, tmp_path / "out.parquet", sign=keys[0], dry_run=True)
    with pytest.raises(ReleaseFormatError, match="cannot be read"):
        release(small_customers, tmp_path / "out.parquet", sign=tmp_path / "absent.pem", dry_run=True)
    assert list(tmp_path.iterdir()) == []


def test_apply_and_reconstruct_refuse_files_that_were_changed(small_customers: pa.Table, tmp_path: Path) -> None:
    """They compare what they read with the descriptor first; exit code 1, and nothing is written."""
    release(small_customers, tmp_path / "out.parquet")
    params = tmp_path / "out.params.json"
    params.write_text(params.read_text().replace('"k": 20', '"k": 19'))
    with pytest.raises(GuaranteeError, match=r"out\.params\.json.* was changed after the release"):
        anonkit.apply(params, small_customers, output=tmp_path / "next.parquet")
    assert not (tmp_path / "next.parquet").exists()

    policy = anonkit.datasets.bank_customers_policy()
    anonkit.release(small_customers, method="ppnb", p_keep=0.5, policy=policy, output=tmp_path / "rr.parquet")
    assert anonkit.reconstruct(tmp_path / "rr.parquet").described.rows == 400
    for name in ("rr.params.json", "rr.parquet"):
        content = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(content + b" ")
        with pytest.raises(GuaranteeError, match="was changed after the release"):
            anonkit.reconstruct(tmp_path / "rr.parquet")
        (tmp_path / name).write_bytes(content)


def test_the_signature_discloses_nothing_of_the_key_or_its_place(
    signed: anonkit.Release, keys: tuple[Path, Path]
) -> None:
    """The envelope holds the public key's hash as a hint; no path, no private bytes, no time."""
    assert signed.place is not None
    envelope = json.loads(signed.place.file(SIGNATURE).read_text())
    der = openssl("pkey", "-pubin", "-in", keys[1], "-outform", "DER")
    assert set(envelope) == {"payload", "payloadType", "signatures"}
    assert set(envelope["signatures"][0]) == {"keyid", "sig"}
    assert envelope["signatures"][0]["keyid"] == hashlib.sha256(der).hexdigest()
    assert str(keys[0]) not in repr(Signer.load(keys[0]))
    assert "key" not in repr(Signer.load(keys[0]))
