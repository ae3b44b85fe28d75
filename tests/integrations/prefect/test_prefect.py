"""The Prefect integration in Prefect itself: artifacts, what is tried again, what is stored."""

from __future__ import annotations

import asyncio
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.csv
import pytest
from pages.blocks import blocks_of
from prefect import flow
from prefect.artifacts import Artifact
from prefect.testing.utilities import prefect_test_harness

import anonkit
from anonkit import Policy
from anonkit.errors import BudgetError, GuaranteeError, SourceError
from anonkit.integrations.prefect import artifact_key, release_table, validate_table

pytestmark = pytest.mark.integrations
POLICY = Policy.from_dict(
    {"columns": {"age": {"bounds": [18, 90]}, "bought": {"categories": ["no", "yes"], "role": "target"}}}
)
CENTRAL: dict[str, Any] = {"method": "dp-nb", "epsilon": 1.0, "policy": POLICY}
release_soon = release_table.with_options(retry_delay_seconds=0.05)
validate_soon = validate_table.with_options(retry_delay_seconds=0.05)


@pytest.fixture(autouse=True, scope="module")
def server() -> Iterator[None]:
    """A server with a database of its own."""
    with prefect_test_harness(server_startup_timeout=300):
        yield


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A small table."""
    columns = {"age": [20, 30, 40, 50] * 15, "bought": ["no", "no", "yes"] * 20}
    pyarrow.csv.write_csv(pyarrow.table(columns), tmp_path / "customers.csv")
    return tmp_path / "customers.csv"


def _artifact(key: str) -> Any:
    found = Artifact.get(key)
    return asyncio.run(found) if asyncio.iscoroutine(found) else found


def _attempts(task: Any, *given: Any, **more: Any) -> tuple[int, Any]:
    """Run a task in a flow; return how often it was tried, and its result or its error."""
    tried = 0

    def count(*_: object) -> None:
        nonlocal tried
        tried += 1

    counted, states = task.with_options(on_running=[count]), []

    @flow
    def one() -> None:
        states.append(counted(*given, return_state=True, **more))

    one()
    return tried, states[0].result(raise_on_failure=False)


def test_the_report_and_the_checks_are_artifacts(table: Path) -> None:
    """Both as Markdown, under keys from the name of the release."""

    @flow
    def publish() -> anonkit.Release:
        release = release_table(source=table, output=table.parent / "Out_1.parquet", **CENTRAL)
        validate_table(release)
        return release

    release = publish()
    assert release.place is not None
    assert "### Central differential privacy" in _artifact("out-1-report").data
    assert _artifact("out-1-checks").data.count("| passed |") > 10


def test_a_release_that_is_handed_on_has_nothing_of_the_owner(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither its pickle, which Prefect stores, nor its artifact."""
    release = anonkit.release

    def measured(*given: Any, **more: Any) -> anonkit.Release:
        return release(*given, **more).with_owner({"measure": "owner-4711"})

    monkeypatch.setattr(anonkit, "release", measured)
    _, made = _attempts(release_table, source=table, output=table.with_name("o.parquet"), artifact="owners", **CENTRAL)
    assert made.owner == {}
    assert b"owner-4711" not in pickle.dumps(made)
    assert "owner-4711" not in _artifact("owners").data


def test_a_refusal_is_not_tried_again(table: Path) -> None:
    """A promise that cannot be kept and a spent budget come again."""
    output = table.with_name("o.parquet")
    tried, error = _attempts(release_soon, source=table, output=output, method="mondrian", k=500, policy=POLICY)
    assert (tried, type(error)) == (1, GuaranteeError)
    tried, error = _attempts(release_soon, source=table, output=output, budget=0.5, **CENTRAL)
    assert (tried, type(error)) == (1, BudgetError)
    assert not output.exists()


def test_a_lost_source_is_tried_again(table: Path) -> None:
    """A file that is not there may come: two more attempts, and one of them finds it."""
    late, output = table.rename(table.with_suffix(".late")), table.with_name("o.parquet")
    tried, error = _attempts(release_soon, source=table, output=output, **CENTRAL)
    assert (tried, type(error)) == (3, SourceError)
    late.rename(table)
    tried, release = _attempts(release_soon, source=table, output=output, **CENTRAL)
    assert (tried, type(release)) == (1, anonkit.Release)


def test_a_release_that_fails_a_check_fails_for_good(table: Path) -> None:
    """The artifact with the checks is there all the same, the failed one on top."""
    output = table.with_name("Edited.parquet")
    anonkit.release(table, output=output, ledger=None, **CENTRAL)
    table.with_name("Edited.report.html").write_text("edited", encoding="utf-8")
    tried, error = _attempts(validate_soon, output)
    assert (tried, type(error)) == (1, GuaranteeError)
    assert "**FAILED**" in _artifact("edited-checks").data


@pytest.mark.parametrize(
    ("parts", "key"), [(("out.v2", "report"), "out-v2-report"), (("Größe 1",), "gr-e-1"), (("--",), "anonkit")]
)
def test_the_key_of_an_artifact_is_one_that_prefect_takes(parts: tuple[str, ...], key: str) -> None:
    """Small letters, digits and dashes, whatever the release is called."""
    assert artifact_key(*parts) == key


def test_the_example_runs(tmp_path: Path, repository: Path) -> None:
    """The flow releases, validates and reads the release."""
    shutil.copytree(repository / "examples" / "pipelines", tmp_path / "pipelines")
    done = subprocess.run(
        [sys.executable, "prefect_flow.py"], cwd=tmp_path / "pipelines", capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(repository), "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "180"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert (tmp_path / "pipelines" / "out" / "customers.parquet").exists()


def test_the_page_runs(
    tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The flow and the task of prefect.md, unchanged; the second one uses the release of the first again."""
    monkeypatch.chdir(tmp_path)
    recipe = (repository / "examples" / "pipelines" / "customers.toml").read_text(encoding="utf-8")
    (tmp_path / "customers.toml").write_text(recipe.replace("k = 5", "k = 10"), encoding="utf-8")
    uploaded: list[Any] = []
    names: dict[str, Any] = {"__name__": "page", "upload": uploaded.append}
    for one in blocks_of("docs/how-to/prefect.md"):
        exec(compile(one.text, one.where, "exec"), names)
    names["publish_customers"]()
    assert "count" in capfd.readouterr().out
    data = (tmp_path / "out" / "customers.parquet").read_bytes()
    names["release_and_upload"]()
    assert len(uploaded) == 1
    assert (tmp_path / "out" / "customers.parquet").read_bytes() == data
