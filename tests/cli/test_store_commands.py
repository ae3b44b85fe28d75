"""Commands on releases in an object store: a real S3 server, and their page."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.csv
import pytest
from pages.blocks import blocks_of
from s3_server import BUCKET, SECRET, clear, keys, s3_server

from anonkit.datasets import bank_customers, bank_customers_policy_toml

PAGE = "docs/how-to/release-into-an-object-store.md"
OUT = f"s3://{BUCKET}/monthly/out.parquet"


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    """A server."""
    with s3_server() as client:
        yield client


@pytest.fixture
def here(server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with customers and their policy, and an empty bucket."""
    clear(server)
    monkeypatch.chdir(tmp_path)
    customers = bank_customers(400, seed=1)
    plain = [c.cast("string") if str(c.type).startswith("dictionary") else c for c in customers.columns]
    pyarrow.csv.write_csv(pyarrow.table(plain, names=customers.column_names), tmp_path / "customers.csv")
    (tmp_path / "policy.toml").write_text(bank_customers_policy_toml(), encoding="utf-8")
    return tmp_path


@pytest.fixture
def run(cli: Any, here: Path) -> Callable[[str], Any]:
    """Run one command line there."""
    return lambda line: cli(*shlex.split(line)[1:])


@pytest.mark.slow
def test_the_page_runs(here: Path, server: Any, run: Callable[[str], Any]) -> None:
    """Each command of its first block, as it is on the page; that for a cluster is the same with other options."""
    commands = blocks_of(PAGE)[0].text.replace("\\\n", " ").strip().splitlines()
    assert len(commands) == 5
    for command in commands:
        done = run(command.replace("1000000", "150"))
        assert done.code == 0, f"{command}: {done.err}"
    assert len([key for key in keys(server) if "/part-" in key]) > 1
    assert (here / "out.csv").exists()
    assert json.loads((here / "model.json").read_text())
    assert SECRET not in "".join(path.read_text(errors="replace") for path in here.iterdir() if path.is_file())


def test_what_is_forged_or_left_ends_with_its_code(here: Path, server: Any, run: Callable[[str], Any]) -> None:
    """A changed part: 1. Another release in the place: 2. No descriptor: 3, and the rest of a killed run is named."""
    command = (
        f"anonkit release customers.csv {OUT} --method ppnb --p-keep 0.5 --policy policy.toml "
        "--part-rows 150 --no-ledger --quiet"
    )
    assert run(command).code == 0
    assert run(command).code == 2
    part = next(key for key in keys(server) if "/part-" in key)
    server.put_object(Bucket=BUCKET, Key=part, Body=b"PAR1")
    forged = run(f"anonkit validate {OUT} --json")
    assert forged.code == 1
    assert "was changed after the release" in json.loads(forged.out)["message"]
    assert run(f"anonkit export {OUT} forged.csv").code == 1
    assert not (here / "forged.csv").exists()
    server.delete_object(Bucket=BUCKET, Key="monthly/out.datapackage.json")
    left = run(f"anonkit validate {OUT}")
    assert left.code == 3
    assert "6 objects are there that no descriptor lists" in left.err
    assert run(f"anonkit report {OUT}").code == 3


@pytest.mark.slow
def test_the_owner_audits_and_the_next_batch_follows(run: Callable[[str], Any]) -> None:
    """Commands that take a release and its source."""
    made = run(
        f"anonkit release customers.csv {OUT} --method mondrian --k 5 --policy policy.toml --dataset a "
        "--ledger ledger.sqlite --owner-report owner --no-utility --json"
    )
    assert made.code == 0, made.err
    told = json.loads(made.out)
    assert told["files"]["descriptor"] == f"s3://{BUCKET}/monthly/out.datapackage.json"
    audited = run(f"anonkit audit {OUT} --original customers.csv --attacks 20 --owner-report owner")
    assert audited.code == 0, audited.err
    again = run(f"anonkit apply {OUT} customers.csv s3://{BUCKET}/next.parquet --ledger other.sqlite --adopt")
    assert again.code == 0, again.err
    assert run(f"anonkit report s3://{BUCKET}/next.parquet --diff {OUT}").code == 0
    assert run(f"anonkit validate s3://{BUCKET}/next.parquet").code == 0


@pytest.mark.parametrize("line", ["release customers.csv {} --method mondrian --k 5", "validate {}", "report {}"])
def test_no_secret_of_an_address_is_shown(run: Callable[[str], Any], line: str) -> None:
    """Neither of one in the address nor of those in the environment."""
    for address in (f"s3://key:HIDDEN-WORD@{BUCKET}/out.parquet", f"s3://{BUCKET}/out.parquet?token=HIDDEN-WORD"):
        done = run(f"anonkit {line.format(address)}")
        assert done.code in (2, 3)
        assert "HIDDEN-WORD" not in done.out + done.err
        assert SECRET not in done.out + done.err
