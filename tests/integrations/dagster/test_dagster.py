"""The Dagster integration in Dagster itself: what it stores, what it tries again, what it blocks."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster
import pyarrow
import pyarrow.csv
import pytest
from dagster import DagsterInstance, RetryPolicy, StaticPartitionsDefinition
from pages.blocks import blocks_of

import anonkit
from anonkit import Policy
from anonkit.integrations.dagster import KEPT, materialize_release, release_asset, release_checks

pytestmark = pytest.mark.integrations
POLICY = Policy.from_dict(
    {"columns": {"age": {"bounds": [18, 90]}, "bought": {"categories": ["no", "yes"], "role": "target"}}}
)
CENTRAL: dict[str, Any] = {"method": "dp-nb", "epsilon": 1.0, "policy": POLICY}
ANONYMOUS: dict[str, Any] = {"method": "mondrian", "k": 5, "policy": POLICY}
SOON = RetryPolicy(max_retries=2, delay=0.05)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A small table."""
    columns = {"age": [20, 30, 40, 50] * 15, "bought": ["no", "no", "yes"] * 20}
    pyarrow.csv.write_csv(pyarrow.table(columns), tmp_path / "customers.csv")
    return tmp_path / "customers.csv"


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[DagsterInstance]:
    """Dagster with its storage on disk."""
    home = tmp_path / "home"
    home.mkdir()
    with DagsterInstance.local_temp(str(home), overrides={"telemetry": {"enabled": False}}) as instance:
        yield instance


def _asset(table: Path, **more: Any) -> dagster.AssetsDefinition:
    described = more if "method" in more else {**CENTRAL, **more}
    return release_asset(
        "customers", retry_policy=SOON, **{"source": table, "output": table.parent / "out" / "c.parquet", **described}
    )


def _made(instance: DagsterInstance, *assets: Any, **more: Any) -> dagster.ExecuteInProcessResult:
    return dagster.materialize(list(assets), instance=instance, raise_on_error=False, **more)


def _checked(instance: DagsterInstance, *assets: Any) -> dagster.ExecuteInProcessResult:
    """Run the checks alone, without making the asset."""
    return _made(instance, *assets, selection=dagster.AssetSelection.all_asset_checks())


def _retries(result: dagster.ExecuteInProcessResult) -> int:
    return sum(event.event_type_value == "STEP_RESTARTED" for event in result.all_events)


def test_the_metadata_are_the_report_and_where_the_release_is(table: Path, instance: DagsterInstance) -> None:
    """The report as Markdown, every file by its path, the rows, and the hash of the data as the asset's version."""
    result = _made(instance, _asset(table))
    assert result.success
    (made,) = result.asset_materializations_for_node("customers")
    release = anonkit.load(table.parent / "out" / "c.parquet")
    assert "### Central differential privacy" in made.metadata["report"].value
    assert release.report["guarantee"]["statement"].split(":")[0] in made.metadata["report"].value.replace("\\", "")
    assert made.metadata["dagster/row_count"].value == release.report["rows"]["out"]
    for role, path in release.to_dict()["files"].items():
        assert made.metadata["report_json" if role == "report" else role].value == path
    assert made.metadata["sha256"].value == release.to_dict()["sha256"]["data"]
    assert made.tags["dagster/data_version"] == release.to_dict()["sha256"]["data"]


def test_nothing_of_the_owner_is_stored(
    table: Path, instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No measure of the source is in Dagster's storage, which every user of it can read."""
    release = anonkit.release

    def measured(*given: Any, **more: Any) -> anonkit.Release:
        return release(*given, **more).with_owner({"measure": "owner-4711"})

    monkeypatch.setattr(anonkit, "release", measured)
    assert _made(instance, _asset(table)).success
    stored = b"".join(path.read_bytes() for path in (table.parent / "home").rglob("*") if path.is_file())
    assert b"Central differential privacy" in stored
    assert b"owner-4711" not in stored


def test_a_refusal_is_not_tried_again(table: Path, instance: DagsterInstance) -> None:
    """A promise that cannot be kept and a wrong parameter come again: Dagster gets a final failure."""
    for refused in ({**ANONYMOUS, "k": 500}, {"epsilon": -1.0}, {"method": "mondrain"}, {"budget": 0.5}):
        result = _made(instance, _asset(table, **refused))
        assert (result.success, _retries(result)) == (False, 0), refused


def test_a_lost_source_is_tried_again(table: Path, instance: DagsterInstance) -> None:
    """A file that is not there may be there later: two more attempts, and the third finds it."""
    hidden = table.rename(table.with_suffix(".late"))
    result = _made(instance, _asset(table))
    assert (result.success, _retries(result)) == (False, 2)

    attempts = iter([None, hidden])

    @dagster.asset(retry_policy=SOON)
    def customers() -> dagster.MaterializeResult:
        late = next(attempts)
        if late is not None:
            late.rename(table)
        return materialize_release(source=table, output=table.parent / "o.parquet", **CENTRAL)

    result = _made(instance, customers)
    assert (result.success, _retries(result)) == (True, 1)


def test_checks_have_their_figures(table: Path, instance: DagsterInstance) -> None:
    """A check of its own has what was found and required; all others are one, which lists them."""
    customers = _asset(table, **ANONYMOUS)
    result = _made(instance, customers, release_checks(customers, each=("k_anonymity",)))
    found = {one.check_name: one for one in result.get_asset_check_evaluations()}
    assert result.success
    assert set(found) == {KEPT, "k_anonymity"}
    assert all(one.passed for one in found.values())
    assert found["k_anonymity"].metadata["required"].value == 5
    assert found["k_anonymity"].metadata["observed"].value >= 5
    assert found[KEPT].metadata["checks"].value.count("| passed |") > 10


@pytest.mark.parametrize(
    ("asked", "failed"),
    [({"k": 70}, "k_anonymity"), ({"each": ("l_diversity",)}, "l_diversity")],
    ids=["a larger k", "a check that was not made"],
)
def test_a_failed_check_blocks_what_comes_after_it(
    table: Path, instance: DagsterInstance, asked: dict[str, Any], failed: str
) -> None:
    """Neither a release that fails, nor one of which what was requested was not checked, goes any further."""
    customers = _asset(table, **ANONYMOUS)

    @dagster.asset(deps=[customers])
    def published() -> None:
        """The step after the release."""

    result = _made(instance, customers, release_checks(customers, **asked), published)
    assert not result.success
    assert not result.asset_materializations_for_node("published")
    assert [one.check_name for one in result.get_asset_check_evaluations() if not one.passed] == [failed]


def test_an_edited_file_fails_the_checks_of_the_next_run(table: Path, instance: DagsterInstance) -> None:
    """The checks find the release where the asset last put it, and the file that is not the one released."""
    customers = _asset(table)
    assert _made(instance, customers).success
    (table.parent / "out" / "c.report.html").write_text("edited", encoding="utf-8")
    result = _checked(instance, customers, release_checks(customers))
    (found,) = result.get_asset_check_evaluations()
    assert not found.passed
    assert "hash:" in found.description
    assert "**FAILED**" in found.metadata["checks"].value


def test_a_check_before_the_first_release_fails_for_good(table: Path, instance: DagsterInstance) -> None:
    """There is nothing to validate, and the message says so."""
    customers = _asset(table)
    result = _checked(instance, customers, release_checks(customers))
    assert not result.success
    assert "has no release yet" in str(result.all_events)


def test_every_partition_is_a_release_of_its_own(table: Path, instance: DagsterInstance) -> None:
    """The key of the partition is in the path of the table and of the output."""
    for month in ("2026-01", "2026-02"):
        shutil.copy(table, table.with_name(f"{month}.csv"))
    months = StaticPartitionsDefinition(["2026-01", "2026-02"])
    customers = _asset(
        table.with_name("{partition_key}.csv"),
        output=f"{table.parent}/out/{{partition_key}}.parquet",
        asset_options={"partitions_def": months, "group_name": "published"},
        ledger=None,
    )
    for month in months.get_partition_keys():
        assert _made(instance, customers, partition_key=month).success
        assert (table.parent / "out" / f"{month}.parquet").exists()


def test_the_example_runs(tmp_path: Path, repository: Path) -> None:
    """`dagster asset materialize` on the example: the release is made, checked and read."""
    shutil.copytree(repository / "examples" / "pipelines", tmp_path / "pipelines")
    (tmp_path / "home").mkdir()
    dagster_program = Path(sys.executable).with_name("dagster")
    command = [dagster_program, "asset", "materialize", "--select", "*", "-f", "dagster_definitions.py"]
    environment = {"DAGSTER_HOME": str(tmp_path / "home"), "PYTHONPATH": str(repository), "PATH": "/usr/bin:/bin"}
    environment["DAGSTER_DISABLE_TELEMETRY"] = "1"
    done = subprocess.run(
        command, cwd=tmp_path / "pipelines", env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert (tmp_path / "pipelines" / "out" / "customers.parquet").exists()


def test_the_page_runs(
    instance: DagsterInstance, tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The blocks of dagster.md, unchanged: a recipe with its checks, a table of an upstream asset, a month."""
    from anonkit.datasets import bank_customers

    monkeypatch.chdir(tmp_path)
    recipe = (repository / "examples" / "pipelines" / "customers.toml").read_text(encoding="utf-8")
    (tmp_path / "customers.toml").write_text(recipe, encoding="utf-8")
    first, handed_over, by_month = (compile(one.text, one.where, "exec") for one in blocks_of("docs/how-to/dagster.md"))
    names: dict[str, Any] = {"__name__": "page"}
    exec(first, names)
    assert _made(instance, names["customers"], names["checks"]).success
    assert anonkit.validate("out/customers.parquet", k=5).passed

    (tmp_path / "again").mkdir()
    monkeypatch.chdir(tmp_path / "again")
    exec(handed_over, names)
    customers = bank_customers(300, seed=1).to_pandas()
    raw = dagster.asset(name="raw_customers")(lambda: customers)
    assert _made(instance, raw, names["customers"], resources={"io_manager": dagster.mem_io_manager}).success
    assert anonkit.validate("out/customers.parquet", k=10).passed

    (tmp_path / "again" / "in").mkdir()
    others = bank_customers(300, seed=2).to_pandas()  # the same people again would be counted together
    others.to_csv("in/2026-02-01.csv", index=False)
    exec(by_month, names)
    assert _made(instance, names["monthly"], partition_key="2026-02-01").success
    assert anonkit.validate("out/2026-02-01.parquet", k=10).passed
