"""Releases in parts on Spark: the driver looks at no row of what it publishes, and publishes what one machine would."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from part_workers import Forging
from s3_server import BUCKET, keys, s3_server

import anonkit
from anonkit.bundle.data_files import parts_of
from anonkit.checks import class_relation, table_scans
from anonkit.datasets import bank_customers, bank_customers_policy_toml
from anonkit.engines.spark.spark_workers import SparkWorkers
from anonkit.engines.writing import parquet_files
from anonkit.errors import GuaranteeError
from anonkit.pipeline import publishing

ROWS, EACH = 1_200, 300
CASES: dict[str, dict[str, Any]] = {
    "ppnb": {"method": "ppnb", "p_keep": 0.5},
    "mondrian": {"method": "mondrian", "k": 5},
    "dp-nb": {"method": "dp-nb", "epsilon": 1.0},
    "dp-forest": {"method": "dp-forest", "epsilon": 2.0},
    "dp-forest with a delta": {"method": "dp-forest", "epsilon": 1.0, "delta": 1e-2, "adjacency": "replace"},
    "rfka": {"method": "rfka", "k": 5, "trees": 10},
    "a column that says whose a row is": {"method": "mondrian", "k": 5, "people": "people"},
    "bounds": {"method": "mondrian", "k": 5, "cells": "bounds"},
    "noisy tables of people": {"method": "dp-nb", "epsilon": 1.0, "people": "people"},
}
SLOW = list(CASES)[1:]
"""Those that the gate can do without: the same steps in other words."""
VOLATILE = ("created",)


@pytest.fixture(scope="module")
def customers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Customers as a Parquet folder that executors read, and the policy beside it."""
    folder = tmp_path_factory.mktemp("customers")
    for name in ("in", "half"):
        (folder / name).mkdir()
    table = bank_customers(ROWS, seed=1)
    table = table.append_column("person", pa.array([f"p{at // 2}" for at in range(ROWS)]))
    for at in range(ROWS // EACH):
        pq.write_table(table.slice(at * EACH, EACH), folder / "in" / f"{at}.parquet")
        if at < 2:
            shutil.copy(folder / "in" / f"{at}.parquet", folder / "half")
    key = Ed25519PrivateKey.generate()
    (folder / "key.pem").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    declared = bank_customers_policy_toml()
    (folder / "policy.toml").write_text(f'{declared}person = {{ role = "insensitive" }}\n', encoding="utf-8")
    (folder / "people.toml").write_text(f'{declared}person = {{ role = "unit" }}\n', encoding="utf-8")
    return folder


def released(customers: Path, case: str, output: Path | str, engine: str, **more: Any) -> anonkit.Release:
    """Release in files of a few hundred rows."""
    asked = {**CASES[case], **more}
    return anonkit.release(
        customers / asked.pop("rows", "in"),
        policy=customers / f"{asked.pop('people', 'policy')}.toml",
        target="customer_value",
        output=output,
        part_rows=EACH,
        engine=engine,
        ledger=None,
        **{"seed": 3, "search_rows": ROWS // 2, **asked},
    )


@pytest.fixture
def blind(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Let this process, not the executors, fail when it reads the rows of a draft or of a release."""
    opened, scan, read, copy = (
        pq.ParquetFile.__init__,
        table_scans._scan,
        hashlib.file_digest,
        parquet_files._copy,
    )
    batches = pq.ParquetFile.iter_batches

    def refuse(path: object) -> None:
        assert not any(part in ("draft.parquet", "out.parquet") for part in Path(str(path)).parts), path

    def init(self: Any, source: Any, *args: Any, **more: Any) -> None:
        self.read_from = source
        opened(self, source, *args, **more)

    def iterate(self: Any, *args: Any, **more: Any) -> Any:
        refuse(self.read_from)
        return batches(self, *args, **more)

    def scanned(connection: Any, table: Any, database: Any) -> str:
        for path in table if isinstance(table, list | tuple) else [table]:
            refuse(path)
        return scan(connection, table, database)

    def hashed(file: Any, *args: Any) -> Any:
        refuse(file.name)
        return read(file, *args)

    def copied(source: Path, *args: Any) -> None:
        refuse(source)
        copy(source, *args)

    def close_eyes() -> None:
        monkeypatch.setattr(pq.ParquetFile, "__init__", init)
        monkeypatch.setattr(pq.ParquetFile, "iter_batches", iterate)
        monkeypatch.setattr(table_scans, "_scan", scanned)
        monkeypatch.setattr(hashlib, "file_digest", hashed)
        monkeypatch.setattr(parquet_files, "_copy", copied)

    return close_eyes


def _rows(release: anonkit.Release) -> pa.Table:
    table = release.to_arrow()
    plain = [c.cast(pa.string()) if pa.types.is_dictionary(c.type) else c for c in table.columns]
    named = pa.table(plain, names=table.column_names)
    return named.sort_by([(name, "ascending") for name in named.column_names])


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=[pytest.mark.slow] if case in SLOW else []) for case in CASES]
)
def test_the_driver_touches_no_row(
    case: str, spark: Any, customers: Path, tmp_path: Path, blind: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files and figures are those of one machine; what is published is there by a rename, whole."""
    local = released(customers, case, tmp_path / "local" / "out.parquet", "local")
    blind()
    made = released(customers, case, tmp_path / "spark" / "out.parquet", "spark", emit=["croissant"])
    monkeypatch.undo()

    assert made.params == local.params
    assert {k: v for k, v in made.report.items() if k not in VOLATILE} == {
        k: v for k, v in local.report.items() if k not in VOLATILE
    }
    assert _rows(made).equals(_rows(local))
    assert len(parts_of(tmp_path / "spark" / "out.parquet")) > 1
    checks = anonkit.validate(tmp_path / "spark" / "out.parquet").checks
    assert [check.name for check in checks if not check.passed] == ["randomness"]  # the test's seed
    ends = ("croissant.json", "datapackage.json", "params.json", "parquet", "report.html", "report.json")
    assert sorted(path.name for path in (tmp_path / "spark").iterdir()) == [f"out.{end}" for end in ends]


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        "mondrian",
        pytest.param("rfka", marks=pytest.mark.slow),
        pytest.param("bounds", marks=pytest.mark.slow),
        pytest.param("a column that says whose a row is", marks=pytest.mark.slow),
    ],
)
def test_sensitive_numbers_hardly_two_of_which_are_alike_are_counted_by_executors(
    case: str, spark: Any, customers: Path, tmp_path: Path, blind: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nearly every row of a task is a combination of its own: figures are those of one machine, for any validator.

    Two files and two groups: a step of the count is a task for each, and every task costs Java a tenth of a second.
    """
    half: dict[str, Any] = {"rows": "half", "search_rows": EACH}
    local = released(customers, case, tmp_path / "local" / "out.parquet", "local", **half)
    monkeypatch.setattr(table_scans, "_FEW", EACH - 50)
    monkeypatch.setattr(class_relation, "_TOGETHER", EACH)
    regrouped, dealt = SparkWorkers.regrouped, []

    def counted(self: SparkWorkers, deal: Any, *given: Any) -> Any:
        dealt.append(deal)
        return regrouped(self, deal, *given)

    monkeypatch.setattr(SparkWorkers, "regrouped", counted)
    blind()
    made = released(customers, case, tmp_path / "spark" / "out.parquet", "spark", **half)
    found = anonkit.validate(tmp_path / "spark" / "out.parquet", workers=SparkWorkers(session=spark))
    monkeypatch.undo()

    assert len(dealt) >= 3  # the draft, what was written of it, and the validation
    assert made.params == local.params
    assert {k: v for k, v in made.report.items() if k not in VOLATILE} == {
        k: v for k, v in local.report.items() if k not in VOLATILE
    }
    assert [check.name for check in found.checks if not check.passed] == ["randomness"]  # the test's seed
    assert found.checks == anonkit.validate(tmp_path / "spark" / "out.parquet").checks


@pytest.mark.slow
def test_into_a_store_too_the_driver_touches_no_row(
    spark: Any, customers: Path, tmp_path: Path, blind: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Executors put the files and read them back from the store; the driver puts sidecars, the descriptor last."""
    with s3_server() as client:
        for name in (
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_DEFAULT_REGION",
            "AWS_ENDPOINT_URL",
            "no_proxy",
        ):
            monkeypatch.setitem(spark.sparkContext.environment, name, os.environ[name])
        local = released(customers, "ppnb", tmp_path / "out.parquet", "local")
        blind()
        made = released(customers, "ppnb", f"s3://{BUCKET}/monthly/out.parquet", "spark")
        monkeypatch.undo()
        parts = [key for key in keys(client) if "/part-" in key]

        assert len(parts) > 1
        assert _rows(made).equals(_rows(local))
        checks = anonkit.validate(f"s3://{BUCKET}/monthly/out.parquet").checks
        assert [check.name for check in checks if not check.passed] == ["randomness"]  # the test's seed


@pytest.mark.slow
def test_a_signed_release_is_whole(
    spark: Any, customers: Path, tmp_path: Path, blind: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hashes that are signed are those that executors have read; each is that of the file that is there."""
    blind()
    released(customers, "ppnb", tmp_path / "out.parquet", "spark", sign=customers / "key.pem", seed=None)
    monkeypatch.undo()
    found = anonkit.validate(tmp_path / "out.parquet")

    assert found.passed
    assert "signed_files" in {check.name for check in found.checks}


@pytest.mark.slow
def test_rows_that_a_worker_has_changed_are_refused(
    spark: Any, customers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between what was checked and what is published: classes are counted once more in the files that were made."""
    monkeypatch.setattr(publishing, "RelabelInto", Forging)
    with pytest.raises(GuaranteeError, match="does not hold what was counted"):
        released(customers, "mondrian", tmp_path / "out.parquet", "spark")
    assert list(tmp_path.iterdir()) == []
