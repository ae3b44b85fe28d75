"""`--encoding`, wherever a command reads a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.csv as pacsv
import pytest

from anonkit import load
from anonkit.datasets import bank_customers
from anonkit.policy.declaration import Policy


@pytest.mark.slow
def test_every_command_that_reads_takes_the_encoding(cli: Any, tmp_path: Path) -> None:
    """A draft, a release under it, the next batch, and the attacks on it, of a table in UTF-16."""
    pacsv.write_csv(bank_customers(400, seed=3), tmp_path / "plain.csv")
    source = tmp_path / "in.csv"
    source.write_bytes((tmp_path / "plain.csv").read_text().encode("utf-16"))
    out, named = tmp_path / "out.parquet", ("--encoding", "utf-16")
    target = ("--target", "customer_value")
    ran = [
        cli("init", source, *named, *target, "-o", tmp_path / "policy.toml"),
        cli("release", "--policy", tmp_path / "policy.toml", "--k", "5", "--no-ledger", source, out),
        cli("release", *named, *target, "--k", "5", "--no-ledger", "--force", source, out),
        cli("apply", tmp_path / "out.params.json", source, tmp_path / "next.parquet", *named, "--no-ledger"),
        cli("audit", out, "--original", source, *named, "--attacks", "10"),
    ]
    assert [each.code for each in ran] == [0] * 5, ran
    assert Policy.load(tmp_path / "policy.toml").encoding == "utf-16"
    assert load(tmp_path / "next.parquet").report["rows"]["in"] == 400


def test_a_wrong_encoding_names_the_option(cli: Any, tmp_path: Path) -> None:
    """The hint has the option to type; an unknown name is refused with the list."""
    source = tmp_path / "in.csv"
    source.write_bytes("a,b\nä,u\n".encode("cp1252"))
    refused = cli("release", source, tmp_path / "out.parquet")
    assert refused.code == 3
    assert "is not UTF-8 text" in refused.err
    assert '--encoding cp1252, or encoding = "cp1252" in the policy' in refused.err
    unknown = cli("release", "--encoding", "latin-99", source, tmp_path / "out.parquet")
    assert unknown.code != 0
    assert "encoding 'latin-99' is not known" in unknown.err
    assert "utf-16-le, utf-16-be, cp1252" in unknown.err
