"""A release as a value that platforms store: no copy of it carries the owner's measures, and its figures are JSON."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import joblib
import pyarrow as pa
import pytest
from pyspark import cloudpickle

import anonkit
from anonkit.bundle.data_files import digest
from anonkit.errors import ParameterError


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the releases."""
    return tmp_path_factory.mktemp("release")


@pytest.fixture(scope="module")
def release(folder: Path, small_customers: pa.Table) -> anonkit.Release:
    """A k-anonymous release on disk, right after it was made."""
    return _released(small_customers, output=folder / "out.parquet")


def _released(table: pa.Table, **options: Any) -> anonkit.Release:
    return anonkit.release(table.slice(0, 200), method="mondrian", k=5, target="customer_value", ledger=None, **options)


def _by_joblib(release: anonkit.Release) -> anonkit.Release:
    file = BytesIO()
    joblib.dump(release, file)
    file.seek(0)
    copied: anonkit.Release = joblib.load(file)
    return copied


COPIES: dict[str, Callable[[anonkit.Release], anonkit.Release]] = {
    "pickle": lambda release: pickle.loads(pickle.dumps(release)),
    "oldest pickle": lambda release: pickle.loads(pickle.dumps(release, protocol=0)),
    "cloudpickle": lambda release: cloudpickle.loads(cloudpickle.dumps(release)),
    "joblib": _by_joblib,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "replace": dataclasses.replace,
    "save": lambda release: release.save(release.place.folder / "copied.parquet", force=True),  # type: ignore[union-attr]
}


@pytest.mark.parametrize("way", COPIES)
def test_no_copy_carries_the_measures_of_the_owner(way: str, release: anonkit.Release) -> None:
    """They stay with the object that `release` returned, in its process; the copy is a release all the same."""
    assert release.owner["source"]["rows"] == release.report["rows"]["in"]
    copied = COPIES[way](release)
    assert copied.owner == {}
    assert copied.params == release.params
    assert copied.to_arrow().equals(release.to_arrow())


WRITINGS: dict[str, Callable[[anonkit.Release], object]] = {
    "pickle": pickle.dumps,
    "cloudpickle": cloudpickle.dumps,
    "vars": vars,
    "asdict": dataclasses.asdict,
    "repr": repr,
    "str": str,
    "html": lambda release: getattr(release, "_repr_html_", str)(),
    "to_dict": lambda release: release.to_dict(),
}


@pytest.mark.parametrize("way", WRITINGS)
def test_what_a_platform_writes_of_a_release_has_no_word_of_the_owner(way: str, release: anonkit.Release) -> None:
    """Neither a key nor a value that is reported to the owner alone."""
    marked = release.with_owner({"PLANTED-KEY": {"deep": "PLANTED-VALUE"}})
    assert marked.owner == {"PLANTED-KEY": {"deep": "PLANTED-VALUE"}}
    assert release.owner["source"]
    assert "PLANTED" not in repr(WRITINGS[way](marked))


def test_the_measures_end_with_their_release(release: anonkit.Release) -> None:
    """Measures cached for an object are not reused for the next object at its memory address."""
    for _ in range(50):
        copied = copy.copy(release)
        assert copied.owner == {}
        copied.with_owner({"a": 1})


def test_the_figures_of_a_release_are_plain_json(release: anonkit.Release, folder: Path) -> None:
    """Paths, hashes of what is there, the claim and the figures of the report, and nothing that JSON lacks."""
    document = release.to_dict()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert document["dry_run"] is False
    assert document["files"]["data"] == str(folder / "out.parquet")
    assert set(document["files"]) == {"data", "params", "report", "page", "descriptor"}
    assert document["sha256"] == {role: digest(Path(path)) for role, path in document["files"].items()}
    report = json.loads((folder / "out.report.json").read_bytes())
    for key in ("method", "guarantee", "budget", "rows", "columns", "utility", "disclosure_risk", "notes", "dataset"):
        assert document[key] == report[key]
    assert document["checks"] == report["verification"]["checks"]
    assert document["k_anonymity"] == {
        "requested": 5,
        "achieved": release.report["disclosure_risk"]["k_anonymity"]["k"],
        "meets": True,
    }


def test_a_loaded_release_has_the_figures_of_the_one_that_was_made(release: anonkit.Release, folder: Path) -> None:
    """They come from the files alone, so that every owner of the files has them."""
    assert anonkit.load(folder / "out.parquet").to_dict() == release.to_dict()


def test_a_release_in_memory_has_hashes_and_no_paths(small_customers: pa.Table) -> None:
    """The hashes are those of the files it would be saved as, but for the descriptor, which names them."""
    made = _released(small_customers)
    document = made.to_dict()
    assert document["files"] is None
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert set(document["sha256"]) == {"data", "params", "report", "page", "descriptor"}


def test_a_dry_run_shows_the_claim_and_nothing_of_the_rows(small_customers: pa.Table) -> None:
    """No output depends on the figures; the claim was stated before the table was read."""
    document = _released(small_customers, dry_run=True).to_dict()
    assert (document["dry_run"], document["files"], document["sha256"]) == (True, None, None)
    assert not {"rows", "columns", "utility", "disclosure_risk", "notes", "checks", "k_anonymity"} & set(document)
    other = _released(small_customers.slice(100), dry_run=True).to_dict()
    assert document == other


def test_a_dry_run_is_not_saved(small_customers: pa.Table, tmp_path: Path) -> None:
    """It has no files: one clear line, and not an empty file."""
    with pytest.raises(ParameterError, match="dry run"):
        _released(small_customers, dry_run=True).save(tmp_path / "out.parquet")
    assert not list(tmp_path.iterdir())
