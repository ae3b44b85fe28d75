"""The release on disk: exactly these files, readable by the tools they are for."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from frictionless import Package, system

import anonkit
from anonkit.errors import ParameterError, ReleaseFormatError
from anonkit.ledger.earlier_releases import POINTER


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory, small_customers: pa.Table) -> anonkit.Release:
    """A release on disk."""
    output = tmp_path_factory.mktemp("release") / "out.parquet"
    return anonkit.release(small_customers, method="rfka", k=5, trees=10, target="customer_value", output=output)


def _folder(release: anonkit.Release) -> Path:
    assert release.place is not None
    return release.place.folder


def test_a_release_is_five_files(release: anonkit.Release) -> None:
    """The data and four sidecars, nothing else, nothing hidden but the pointer to the owner's ledger."""
    assert sorted(path.name for path in _folder(release).iterdir()) == [
        POINTER,
        "out.datapackage.json",
        "out.params.json",
        "out.parquet",
        "out.report.html",
        "out.report.json",
    ]


def test_the_parquet_file_names_its_sidecars_and_nothing_of_the_source(release: anonkit.Release) -> None:
    """Key-value metadata holds the manifest; there is no index and no statistics of the source."""
    metadata = pq.read_schema(_folder(release) / "out.parquet").metadata
    manifest = json.loads(metadata[b"anonkit"])

    assert set(manifest["sidecars"]) == {"params.json", "report.json", "report.html"}
    assert manifest["method"] == "rfka"
    assert b"pandas" not in metadata


def test_a_data_package_validator_accepts_the_descriptor(release: anonkit.Release) -> None:
    """Frictionless reads the descriptor and finds the data as described."""
    with system.use_context(trusted=True):
        report = Package(str(_folder(release) / "out.datapackage.json")).validate()
    assert report.valid, report.flatten(["type", "note"])


def test_rows_are_not_in_the_order_of_the_source(small_customers: pa.Table) -> None:
    """The rank correlation of source and release order is that of a shuffle."""
    table = small_customers.append_column("row", pa.array(range(400)))
    given = {"target": "customer_value", "insensitive": ["row"], "release_as_is": ["row"]}
    out = anonkit.release(table, method="rfka", k=5, trees=5, **given)
    rows = out.to_pandas()["row"].to_numpy()
    below = sum(int((rows[at + 1 :] < row).sum()) for at, row in enumerate(rows))
    assert 0.4 < below / (len(rows) * (len(rows) - 1) / 2) < 0.6


def test_a_folder_output_holds_the_same_files(tmp_path: Path, small_customers: pa.Table) -> None:
    """OUT/ becomes a folder with the files named after it."""
    anonkit.release(small_customers, method="rfka", k=5, trees=5, target="customer_value", output=f"{tmp_path}/june/")
    assert (tmp_path / "june" / "june.parquet").exists()
    assert anonkit.load(tmp_path / "june").report["format"] == "anonkit-report/2"


def test_an_existing_release_is_not_touched_unless_forced(
    release: anonkit.Release, small_customers: pa.Table, tmp_path: Path
) -> None:
    """Overwriting is a decision."""
    shutil.copytree(_folder(release), tmp_path, dirs_exist_ok=True)
    (tmp_path / POINTER).unlink()
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    output = tmp_path / "out.parquet"
    with pytest.raises(ParameterError, match="exists"):
        anonkit.release(small_customers, method="rfka", k=5, trees=5, target="customer_value", output=output)
    assert before == {path.name: path.read_bytes() for path in tmp_path.iterdir()}


def test_memory_and_disk_hold_the_same(release: anonkit.Release, tmp_path: Path) -> None:
    """A saved release equals the loaded one, under another name too."""
    saved = release.save(tmp_path / "copy.parquet")
    assert saved.to_arrow().equals(release.to_arrow())
    assert saved.params == release.params
    assert anonkit.validate(saved).passed


def test_the_owner_report_is_never_beside_the_release(tmp_path: Path, small_customers: pa.Table) -> None:
    """The folder that is handed out is refused before anything is read or written."""
    with pytest.raises(ParameterError, match="is the folder of the release"):
        anonkit.release(
            small_customers, method="mondrian", output=tmp_path / "out.parquet", owner_report=tmp_path / "x" / ".."
        )
    assert not list(tmp_path.iterdir())


def test_the_owner_report_is_apart_and_private(tmp_path: Path, small_customers: pa.Table) -> None:
    """Facts that only the source discloses are in none of the release's files."""
    release = anonkit.release(
        small_customers,
        method="rfka",
        k=5,
        trees=5,
        target="customer_value",
        output=tmp_path / "out.parquet",
        owner_report=tmp_path / "private",
    )
    path = tmp_path / "private" / "owner.report.json"
    owner = json.loads(path.read_text())

    assert owner["banner"].startswith("DO NOT PUBLISH")
    assert path.stat().st_mode & 0o077 == 0
    assert owner["source"]["uniques"] > 0
    assert "source" not in release.report
    assert "utility_of_source" not in json.dumps(release.report)


def test_what_is_no_release_is_not_loaded(tmp_path: Path) -> None:
    """A Parquet file alone is a table."""
    pq.write_table(pa.table({"a": [1]}), tmp_path / "x.parquet")
    with pytest.raises(ReleaseFormatError, match="does not exist"):
        anonkit.load(tmp_path / "x.parquet")
