# SPDX-License-Identifier: Apache-2.0
"""Releases whose files workers of a cluster read: the checks are those of one machine, and it reads no row itself."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from part_workers import Elsewhere, without_rows

import anonkit
from anonkit.bundle.data_files import parts_of
from anonkit.datasets import bank_customers, bank_customers_policy_toml
from anonkit.errors import EngineError, ReleaseFormatError

METHODS: dict[str, dict[str, Any]] = {
    "ppnb": {"p_keep": 0.5},
    "rr": {"epsilon": 2.0, "allocation": "sample"},
    "dp-forest": {"epsilon": 1.0},
    "dp-nb": {"epsilon": 1.0},
    "mondrian": {"k": 5},
    "safepub": {"k": 5, "epsilon": 4.0, "delta": 1e-3},
    "bounds": {"method": "mondrian", "k": 5, "cells": "bounds"},
}


Released = Callable[[str], Path]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Releases that were made already, by method."""
    return {"": tmp_path_factory.mktemp("releases")}


@pytest.fixture
def released(made: dict[str, Path], tmp_path: Path) -> Released:
    """Return a signed release of 400 customers in four files: the folder of its data, a copy for each test."""

    def copy(method: str) -> Path:
        if method not in made:
            made[method] = _release(method, made[""] / method)
        shutil.copytree(made[method], tmp_path / "release")
        return tmp_path / "release" / "out.parquet"

    return copy


def _release(method: str, folder: Path) -> Path:
    folder.mkdir()
    policy, private = folder.with_suffix(".toml"), folder.with_suffix(".pem")
    policy.write_text(bank_customers_policy_toml(), encoding="utf-8")
    key = Ed25519PrivateKey.generate()
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    anonkit.release(
        bank_customers(400, seed=1),
        policy=policy,
        target="customer_value",
        output=folder / "out.parquet",
        part_rows=100,
        sign=private,
        emit=["croissant"],
        ledger=None,
        **{"method": method, **METHODS[method]},
    )
    return folder


@pytest.mark.quick_cases("rr", "dp-nb")
@pytest.mark.parametrize("method", METHODS)
def test_the_checks_are_the_same_and_no_row_is_read_here(method: str, released: Released, tmp_path: Path) -> None:
    """The files that this machine has are footers without rows; what workers find is what it found itself before."""
    data = released(method)
    alone = anonkit.validate(data)
    workers = without_rows(data, tmp_path / "there")
    together = anonkit.validate(data, workers=workers)

    assert alone.passed
    assert {"hash:data", "signed_files", "croissant"} <= {check.name for check in alone.checks}
    assert together.checks == alone.checks
    assert together.disclosure == alone.disclosure
    assert len(workers.calls) >= 4


def _a_class_of_one(part: pa.Table) -> pa.Table:
    """Give the first row a combination that no other has."""
    at = part.column_names.index("age")
    return part.set_column(at, "age", pa.array(["[17, 18)", *part.column("age").to_pylist()[1:]]))


def _an_unknown_answer(part: pa.Table) -> pa.Table:
    """Give the first row an answer that no mechanism gives."""
    at = part.column_names.index("occupation")
    return part.set_column(at, "occupation", pa.array(["spy", *part.column("occupation").to_pylist()[1:]]))


def _without_a_column(part: pa.Table) -> pa.Table:
    return part.drop_columns(["age"])


def _forged(data: Path, edit: Callable[[pa.Table], pa.Table]) -> None:
    """Change the last file of a folder of data, and nothing that is stated of it."""
    part = parts_of(data)[-1]
    table = pq.read_table(part)
    pq.write_table(edit(table).replace_schema_metadata(table.schema.metadata), part)


@pytest.mark.slow_cases("mondrian-_a_class_of_one-checks0")
@pytest.mark.parametrize(
    ("method", "edit", "checks"),
    [
        ("mondrian", _a_class_of_one, {"k_anonymity", "boxes", "class_sizes", "disclosure_risk"}),
        ("ppnb", _an_unknown_answer, {"domain:occupation"}),
        ("dp-nb", _an_unknown_answer, {"domain:occupation"}),
    ],
)
def test_one_forged_file_is_refused(
    method: str, edit: Callable[[pa.Table], pa.Table], checks: set[str], released: Released, tmp_path: Path
) -> None:
    """By the counts of the workers, besides the hashes that they read."""
    data = released(method)
    _forged(data, edit)
    found = anonkit.validate(data, workers=without_rows(data, tmp_path / "there")).checks

    assert {"hash:data", "signed_files", "croissant", *checks} <= {check.name for check in found if not check.passed}


@pytest.mark.quick_cases("ppnb", "mondrian")
@pytest.mark.parametrize("method", ["mondrian", "ppnb"])
def test_a_file_that_lacks_a_column_is_refused(method: str, released: Released) -> None:
    """A file that lacks a column is refused by its hash, with any message of the worker."""
    data = released(method)
    _forged(data, _without_a_column)
    found = anonkit.validate(data, workers=Elsewhere())

    assert "hash:data" in {check.name for check in found.checks if not check.passed}


@pytest.mark.parametrize(
    ("method", "error"), [("mondrian", EngineError), ("ppnb", EngineError), ("dp-nb", ReleaseFormatError)]
)
def test_a_file_that_cannot_be_read_is_reported(
    method: str, error: type[Exception], released: Released, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the worker that was given it: a footer is left, and its rows are nothing."""
    data = released(method)
    without_rows(data, tmp_path / "there")
    for files in ("hash_checks", "signature_checks"):  # else it is these that fail, and no other error is shown
        monkeypatch.setattr(f"anonkit.checks.validation.{files}", lambda place, other: ())

    with pytest.raises(error):
        anonkit.validate(data, workers=Elsewhere())
