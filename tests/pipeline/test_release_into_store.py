"""A release into an object store: charged before anything is put, drawn once, whole or not at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from objects_in_memory import Bucket, bucket_in_memory

import anonkit
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.errors import AnonkitError, EngineError, GuaranteeError, ParameterError
from anonkit.ledger import Ledger
from anonkit.ledger.account import Where
from anonkit.ledger.ledger_place import users_ledger

OUT = "s3://bucket/out.parquet"
KEY = "out.datapackage.json"
POINTER_KEY = ".anonkit-ledger.json"
TESTS = Path(__file__).parents[1]
TABLE = bank_customers(200, seed=1)


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Bucket:
    """A bucket in memory."""
    return bucket_in_memory(monkeypatch)


def _release(
    ledger: Path | Where | None, output: str = OUT, table: pa.Table = TABLE, **options: Any
) -> anonkit.Release:
    policy = bank_customers_policy()
    how = {"part_rows": 100, "dataset": "customers", "utility": False, **options}
    return anonkit.release(table, method="ppnb", p_keep=0.5, policy=policy, output=output, ledger=ledger, **how)


def _counted(ledger: Path) -> list[bool]:
    return [entry.counts for entry in Ledger(ledger).standing("customers").entries]


def test_a_release_is_put_found_again_and_replaced_only_when_asked(bucket: Bucket, tmp_path: Path) -> None:
    """As a release on this machine: requested again it is handed back, another one is in the way."""
    ledger = tmp_path / "ledger.sqlite"
    made = _release(ledger)
    assert anonkit.validate(made).passed
    assert made.place is not None
    assert made.place.shown_files()["descriptor"] == f"s3://bucket/{KEY}"
    before = dict(bucket.objects)

    again = _release(ledger)
    assert again.reused
    assert bucket.objects == before
    assert _counted(ledger) == [True]
    with pytest.raises(ParameterError, match=r"'s3://bucket/out.datapackage.json' exists"):
        _release(ledger, table=bank_customers(200, seed=2))
    new = _release(ledger, table=bank_customers(200, seed=2), force=True, budget=float("inf"))
    assert anonkit.validate(new).passed
    assert len(bucket.objects) == len(before)
    assert not set(before) & set(bucket.objects) - {KEY, POINTER_KEY}


def test_one_file_is_a_release_too(bucket: Bucket, tmp_path: Path) -> None:
    """Without parts; with entries for catalogues."""
    made = _release(tmp_path / "ledger.sqlite", part_rows=None, emit=["croissant"])
    assert {key.partition("/")[2] for key in bucket.objects} == {
        "", "out.parquet", "out.params.json", "out.report.json", "out.report.html", "out.croissant.json",
    }  # fmt: skip
    assert anonkit.validate(OUT).passed
    assert made.to_arrow().num_rows == 200


@pytest.mark.slow
def test_copies_stay_on_this_machine(bucket: Bucket, tmp_path: Path) -> None:
    """In a store the data have one form: a release with a CSV file is put there without it, and validates."""
    there = anonkit.release(
        TABLE, method="mondrian", k=5, policy=bank_customers_policy(), output=tmp_path / "out.csv", ledger=None
    )
    assert anonkit.validate(there.save(OUT)).passed
    assert not any(key.endswith(".csv") for key in bucket.objects)


def test_what_is_signed_is_signed_in_the_store_too(
    bucket: Bucket, tmp_path: Path, signing_keys: tuple[Path, Path]
) -> None:
    """The signature is over the files as they are fetched."""
    private, public = signing_keys
    _release(tmp_path / "ledger.sqlite", sign=private)
    assert anonkit.validate(OUT, signed_by=public).passed
    key = next(key for key in bucket.objects if key.endswith("signature.json"))
    del bucket.objects[key]
    assert not anonkit.validate(OUT, signed_by=public).passed
    with pytest.raises(ParameterError, match="entries for catalogues are written with a release in a store"):
        _release(tmp_path / "ledger.sqlite", emit=["croissant"])


@pytest.fixture
def signing_keys(tmp_path: Path) -> tuple[Path, Path]:
    """A private key and its public one."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    key, private, public = Ed25519PrivateKey.generate(), tmp_path / "owner.pem", tmp_path / "owner.pub"
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return private, public


@pytest.mark.slow
@pytest.mark.parametrize("at", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(5, marks=pytest.mark.slow)])
def test_killed_on_the_way_is_charged_and_nothing_is_released(bucket: Bucket, tmp_path: Path, at: int) -> None:
    """A reader of the store may have seen files; the next run makes a release of its own, charged too."""
    ledger = tmp_path / "ledger.sqlite"
    code = (
        "import os, sys; from pathlib import Path; import pytest, objects_in_memory as memory\n"
        "from pipeline.test_release_into_store import _release\n"
        "bucket = memory.bucket_in_memory(pytest.MonkeyPatch())\n"
        "bucket.killed_at, bucket.dies = int(sys.argv[2]), lambda: os._exit(9)\n"
        "_release(Path(sys.argv[1]))\n"
    )
    path = os.pathsep.join([str(TESTS), str(TESTS.parent)])
    killed = subprocess.run(
        [sys.executable, "-c", code, str(ledger), str(at)], env={**os.environ, "PYTHONPATH": path}, check=False
    )
    assert killed.returncode == 9
    assert _counted(ledger) == [True]
    with pytest.raises(GuaranteeError, match="its files are gone"):  # a published draw is not drawn a second time
        _release(ledger)
    assert bucket.objects == {}
    assert anonkit.validate(_release(ledger, force=True, budget=float("inf"))).passed
    assert _counted(ledger) == [True, True]


def test_a_put_that_fails_says_that_it_is_charged(bucket: Bucket, tmp_path: Path) -> None:
    """At the first file and at the descriptor."""
    for at in (2, 7):  # the first put is that of the pointer
        bucket.revive()
        bucket.objects.clear()
        bucket.fails_at, ledger = at, tmp_path / f"ledger{at}.sqlite"
        with pytest.raises(EngineError, match="the store does not answer; it counts as handed out"):
            _release(ledger)
        assert set(bucket.objects) == {POINTER_KEY}
        assert _counted(ledger) == [True]


def test_a_lost_answer_is_settled_by_what_stands_there(bucket: Bucket, tmp_path: Path) -> None:
    """The release was put: it is found again, and charged once."""
    bucket.loses_answer = True
    with pytest.raises(EngineError, match="the answer was lost"):
        _release(tmp_path / "ledger.sqlite")
    bucket.revive()
    assert _release(tmp_path / "ledger.sqlite").reused
    assert _counted(tmp_path / "ledger.sqlite") == [True]


def test_of_two_with_ledgers_of_their_own_one_wins(bucket: Bucket, tmp_path: Path) -> None:
    """The other gets an error, and is charged: its files were in the store. The pointer is not what decides it."""
    bucket.before_the_last = lambda: _release(tmp_path / "one.sqlite", new_ledger=True)
    with pytest.raises(EngineError, match=r"another release was put in .* meanwhile; it counts"):
        _release(tmp_path / "two.sqlite")
    assert anonkit.validate(OUT).passed
    assert _counted(tmp_path / "one.sqlite") == [True]
    assert _counted(tmp_path / "two.sqlite") == [True]


def test_nothing_is_drawn_for_a_store_that_is_unfit(bucket: Bucket, tmp_path: Path) -> None:
    """The store is tested before the table is read."""
    bucket.heeds = frozenset()
    with pytest.raises(EngineError, match="puts an object on no condition"):
        _release(tmp_path / "ledger.sqlite")
    assert not (tmp_path / "ledger.sqlite").exists() or _counted(tmp_path / "ledger.sqlite") == []


def test_a_release_in_a_store_is_booked_in_the_users_ledger(bucket: Bucket) -> None:
    """None can be beside it."""
    anonkit.release(TABLE, method="ppnb", p_keep=0.5, policy=bank_customers_policy(), output=OUT)
    (standing,) = Ledger(users_ledger()).datasets()
    assert [entry.output for entry in standing.counted] == [OUT]


def test_no_secret_of_an_address_is_told(bucket: Bucket, tmp_path: Path) -> None:
    """Credentials come from the environment alone; one in an address is refused unsaid."""
    for address in ("s3://key:SECRET@bucket/out.parquet", "s3://bucket/out.parquet?X-Amz-Signature=SECRET"):
        with pytest.raises(AnonkitError) as caught:
            _release(tmp_path / "ledger.sqlite", output=address)
        assert "SECRET" not in str(caught.value)
        assert bucket.objects == {}


def test_a_dry_run_puts_nothing(bucket: Bucket, tmp_path: Path) -> None:
    """It makes no request that changes the store."""
    assert _release(tmp_path / "ledger.sqlite", dry_run=True).is_dry_run
    assert bucket.objects == {}
    assert bucket.puts == 0


@pytest.mark.parametrize(
    ("output", "key"),
    [
        (OUT, POINTER_KEY),
        ("s3://bucket/2024/out.parquet", f"2024/{POINTER_KEY}"),
        ("s3://bucket/2024/out/", f"2024/{POINTER_KEY}"),
        ("s3://bucket/out/", POINTER_KEY),
        ("s3://bucket/flout/out.parquet", f"flout/{POINTER_KEY}"),
    ],
)
def test_a_release_in_a_store_leaves_a_pointer(bucket: Bucket, tmp_path: Path, output: str, key: str) -> None:
    """The random id of the ledger and its place, beside the objects; beside the folder that is handed out whole."""
    ledger = tmp_path / "ledger.sqlite"
    _release(ledger, output=output, part_rows=None)
    assert [each for each in bucket.objects if each.endswith(POINTER_KEY)] == [key]
    said = json.loads(bucket.objects[key])
    assert (said["ledger"], said["place"]) == (Ledger(ledger).name, str(ledger))
    assert set(said) == {"format", "ledger", "place"}
    assert anonkit.validate(output).passed


def test_a_store_whose_pointer_names_another_ledger_is_refused(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container's lost home, or another user's ledger: `force` or not, and a plan too; until it is accepted."""
    first, other = tmp_path / "first.sqlite", tmp_path / "other.sqlite"
    monkeypatch.setenv("ANONKIT_LEDGER", str(first))
    asked: dict[str, Any] = {"table": bank_customers(200, seed=2), "dataset": "others"}
    _release(Where.FOUND)
    monkeypatch.setenv("ANONKIT_LEDGER", str(other))
    for more in ({}, {"force": True}, {"output": "s3://bucket/b.parquet"}, {"dry_run": True}):
        with pytest.raises(ParameterError, match="are in the ledger") as refused:
            _release(Where.FOUND, **{**asked, **more})
        assert refused.value.exit_code == 2
        assert str(first) in str(refused.value.hint)
    assert not other.exists()
    first.unlink()
    with pytest.raises(ParameterError, match="which cannot be opened"):
        _release(Where.FOUND, **asked, output="s3://bucket/b.parquet")
    made = _release(Where.FOUND, **asked, output="s3://bucket/b.parquet", new_ledger=True)
    assert made.report["ledger"]["new_ledger"] is True
    assert json.loads(bucket.objects[POINTER_KEY])["ledger"] == Ledger(other).name
    _release(Where.FOUND, **asked, output="s3://bucket/c.parquet", budget=float("inf"))


@pytest.mark.slow
def test_an_apply_finds_the_ledger_by_the_pointer_in_the_store(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It looks where the pointer beside the params says; an `apply` into the store of another ledger is refused."""
    first = tmp_path / "first.sqlite"
    recoded: dict[str, Any] = {"method": "mondrian", "k": 5, "policy": bank_customers_policy(), "utility": False}
    anonkit.release(TABLE, output=OUT, ledger=first, dataset="customers", **recoded)
    monkeypatch.setenv("ANONKIT_LEDGER", str(tmp_path / "other.sqlite"))
    made = anonkit.apply(OUT, TABLE, output=tmp_path / "b.parquet", dataset="customers", utility=False)
    assert made.report["ledger"]["booked"]
    assert len(Ledger(first).standing("customers").entries) == 2
    for more in ({"adopt": True}, {"adopt": True, "force": True}):
        del bucket.objects[POINTER_KEY]
        bucket.objects[POINTER_KEY] = b"no pointer at all"
        with pytest.raises(ParameterError, match="cannot say"):
            anonkit.apply(OUT, TABLE, output="s3://bucket/b.parquet", dataset="customers", utility=False, **more)


@pytest.mark.slow
def test_a_store_that_takes_no_pointer_takes_the_release(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a folder that takes no further file."""
    put = bucket.put

    def takes_no_pointer(key: str, content: Path | bytes) -> tuple[int, str]:
        if key.endswith(POINTER_KEY):
            raise EngineError("denied")
        return put(key, content)

    monkeypatch.setattr(bucket, "put", takes_no_pointer)
    _release(tmp_path / "ledger.sqlite")
    assert POINTER_KEY not in bucket.objects
    assert anonkit.validate(OUT).passed
