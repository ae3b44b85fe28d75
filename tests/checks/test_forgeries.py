"""Whoever changes a release and rewrites every file and hash is refused by a check of content."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from checks.forgeries import Edit, Files, forged, verdict

import anonkit

SMALL: dict[str, dict[str, Any]] = {
    "rfka": {"k": 5, "l": 2, "trees": 5, "sensitive": ["customer_value"], "max_suppression": 0.1},
    "mondrian": {"k": 5},
    "greedy-hamdist": {"k": 5, "max_suppression": 0.3},
    "rr": {"epsilon": 1.0, "domains_from_data": True},
    "dp-forest": {"epsilon": 1.0, "domains_from_data": True},
}
"""The releases that are forged, and how they were made."""


@pytest.fixture(scope="session")
def releases(tmp_path_factory: pytest.TempPathFactory, small_customers: pa.Table) -> dict[str, Files]:
    """One true release of each kind, in memory."""
    found = {}
    for method, parameters in SMALL.items():
        output = tmp_path_factory.mktemp("true") / "out.parquet"
        anonkit.release(
            small_customers, method=method, target="customer_value", output=output, ledger=None, **parameters
        )
        found[method] = Files.read(output)
    return found


@pytest.mark.parametrize("method", SMALL)
def test_rewriting_alone_is_no_forgery(releases: dict[str, Files], method: str, tmp_path: Path) -> None:
    """A release whose files and hashes are rewritten unchanged validates: the refusals below are about content."""
    assert verdict(forged(releases[method], lambda files: None, tmp_path)) == (0, ())


def _older(files: Files, *parts: str) -> None:
    for part in parts:
        document = getattr(files, part)
        document["format"] = document["format"].replace("/2", "/1")


@pytest.mark.parametrize("method", SMALL)
@pytest.mark.parametrize("parts", [("report",), ("manifest",), ("report", "manifest")], ids="+".join)
def test_an_older_format_is_neither_green_nor_forged(
    releases: dict[str, Files], method: str, parts: tuple[str, ...], tmp_path: Path
) -> None:
    """What was written before these checks is not judged: exit code 3, and why."""
    code, said = verdict(forged(releases[method], lambda files: _older(files, *parts), tmp_path))

    assert code == 3
    assert "written by an older format" in said[0]


EVERY: dict[str, tuple[Edit, str]] = {
    "a seeded release": (lambda files: files.report.update(randomness="seeded: not for release"), "randomness"),
    "another number of rows": (lambda files: files.report["rows"].update(out=files.report["rows"]["out"] + 1), "rows"),
    "no hashes in the data": (lambda files: files.manifest.update(sidecars={}), "manifest"),
}
"""What is done to a release of any kind: the edit, and the check that refuses it."""


@pytest.mark.parametrize("method", SMALL)
@pytest.mark.parametrize("forgery", EVERY)
def test_a_forged_release_of_any_kind_is_refused(
    releases: dict[str, Files], method: str, forgery: str, tmp_path: Path
) -> None:
    """The check that is there for it fails, with exit code 1."""
    edit, check = EVERY[forgery]
    code, failed = verdict(forged(releases[method], edit, tmp_path))

    assert code == 1
    assert check in failed
