"""The joint view: the groups that are left when two releases of the same rows are combined, counted by hand."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import anonkit
from anonkit.engines import LocalEngine
from anonkit.errors import GuaranteeError
from anonkit.ledger import NAME, Ledger
from anonkit.policy.column_declarations import Column
from anonkit.policy.declaration import Policy

pytestmark = pytest.mark.usefixtures("ledger_beside")

SEED = 1


def people() -> pa.Table:
    """Two quasi-identifiers of which each release can keep one, a row number nobody releases, a class label."""
    numbers = range(240)
    return pa.table(
        {
            "row": [f"p{number}" for number in numbers],
            "age": [20 + number % 24 for number in numbers],
            "zip": [f"z{number // 24}" for number in numbers],
            "label": [("yes", "no")[number % 2] for number in numbers],
        }
    )


def policy(**more: Any) -> Policy:
    """Return the roles of the table."""
    return Policy(dataset="people", **more).with_roles(identifiers=["row"], target="label")


def release(output: Path, drop: str, **more: Any) -> anonkit.Release:
    """Release the table without one of its quasi-identifiers, in the detail that k allows, for no target."""
    kept = {"identifiers": ["row", drop], "insensitive": ["label"]}
    roles = more.pop("policy", policy()).with_roles(**kept, no_target=True)
    return anonkit.release(more.pop("table", people()), method="mondrian", k=5, output=output, policy=roles, **more)


def by_hand(*releases: anonkit.Release) -> Counter[tuple[Any, ...]]:
    """Count the joint classes."""
    return Counter(joint_cells(*releases))


def joint_cells(*releases: anonkit.Release, table: pa.Table | None = None) -> list[tuple[Any, ...]]:
    """Return the joint class of every row by applying the published recodings with pandas-free code."""
    from anonkit.k_anonymity.stored_recoding import Recoded

    cells: list[list[tuple[Any, ...]]] = []
    for one in releases:
        recoding = Recoded.from_params(json.loads(json.dumps(one.params))).recoding
        columns = recoding.apply((people() if table is None else table).combine_chunks().to_batches()[0])[0]
        cells.append(list(zip(*(column.to_pylist() for column in columns.values()), strict=True)))
    return list(zip(*cells, strict=True))


def test_the_joint_k_is_that_of_the_pairs_of_classes(tmp_path: Path) -> None:
    """Age in the one, zip in the other: together they leave the intersections, counted here without the module."""
    first = release(tmp_path / "a.parquet", "zip")
    second = release(tmp_path / "b.parquet", "age", accept_joint_k=1)
    pairs = by_hand(first, second)
    view = second.owner["joint_view"]

    assert first.owner.get("joint_view") is None
    assert view["k"] == min(pairs.values()) < 5
    assert view["classes"] == len(pairs)
    assert view["rows_below_k"] == sum(size for size in pairs.values() if size < 5)
    assert view["with_releases"] == [1]
    assert any("Joint view accepted at 1" in note for note in second.report["notes"])
    assert second.report["ledger"]["joint_k_accepted"] == 1
    assert "Joint view accepted at 1" in (tmp_path / "b.report.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_same_recoding_again_loses_nothing(tmp_path: Path) -> None:
    """`apply` on the same rows: the joint classes are the classes."""
    release(tmp_path / "a.parquet", "zip")
    again = anonkit.apply(tmp_path / "a.parquet", people(), output=tmp_path / "b.parquet", dataset="people")
    assert again.owner["joint_view"]["k"] == again.report["disclosure_risk"]["k_anonymity"]["k"] >= 5


@pytest.mark.quick_cases("allowed0")
@pytest.mark.parametrize("allowed", [{}, {"policy": policy(joint_k=4)}, {"accept_joint_k": 3}])
def test_below_the_floor_nothing_is_written(tmp_path: Path, allowed: dict[str, Any]) -> None:
    """The promised k, the policy's joint_k or what the owner accepts: a rule; a refused release does not count."""
    release(tmp_path / "a.parquet", "zip")
    for dry_run in (True, False):
        with pytest.raises(GuaranteeError, match="finds groups of") as refused:
            release(tmp_path / "b.parquet", "age", dry_run=dry_run, **allowed)
        assert refused.value.exit_code == 1
        assert "accept_joint_k=" in str(refused.value.hint)
    assert not (tmp_path / "b.parquet").exists()
    assert len(Ledger(tmp_path / NAME).standing("people").counted) == 1


def test_the_exact_joint_k_is_the_owner_s(tmp_path: Path) -> None:
    """With a floor that holds the report says that it does, and never by how much; the option wins over the policy."""
    release(tmp_path / "a.parquet", "zip", policy=policy(joint_k=5))
    again = anonkit.apply(
        tmp_path / "a.parquet", people(), output=tmp_path / "b.parquet", dataset="people", accept_joint_k=2
    )
    (check,) = [check for check in again.report["verification"]["checks"] if check["name"] == "joint_k"]
    assert check == {"name": "joint_k", "passed": True, "observed": "2 or more", "required": 2}
    assert again.report["ledger"]["joint_k_accepted"] == 2
    assert again.owner["joint_view"]["k"] > 2
    assert "joint_view" not in json.dumps(again.report)

    with pytest.raises(GuaranteeError, match="finds groups of"):
        release(tmp_path / "c.parquet", "age", policy=policy(joint_k=1), accept_joint_k=5)
    assert anonkit.validate(tmp_path / "b.parquet").passed


def test_a_column_shown_as_it_is_belongs_to_the_view_when_it_is_known(tmp_path: Path) -> None:
    """Zip is a quasi-identifier of the first release and untouched in the second: both together show it exactly."""
    anonkit.release(people(), method="mondrian", k=5, policy=policy(), output=tmp_path / "a.parquet")
    shown = anonkit.release(
        people(),
        method="mondrian",
        k=5,
        policy=policy(joint_k=1).with_roles(insensitive=["zip"]),
        output=tmp_path / "b.parquet",
    )
    pairs = Counter(zip(people().column("zip").to_pylist(), shown_ages(shown), strict=True))
    assert shown.owner["joint_view"]["k"] <= min(pairs.values())


def shown_ages(release: anonkit.Release) -> list[Any]:
    """Return the class of every source row under the recoding of a release."""
    from anonkit.k_anonymity.stored_recoding import Recoded

    recoding = Recoded.from_params(json.loads(json.dumps(release.params))).recoding
    columns = recoding.apply(people().combine_chunks().to_batches()[0])[0]
    return list(zip(*(column.to_pylist() for column in columns.values()), strict=True)) or [()] * people().num_rows


def test_suppressed_rows_are_told_apart(tmp_path: Path) -> None:
    """One row with a rare zip: shown in a release without zip, suppressed in one with it, so comparing finds it."""
    zips = ["rare", *people().column("zip").to_pylist()[1:]]
    odd = people().set_column(2, "zip", pa.array(zips))
    roles = policy(columns={"zip": Column(name="zip", generalize=False)}, joint_k=1)
    given = {"method": "rfka", "trees": 20, "k": 5, "target": "label"}
    anonkit.release(odd, policy=roles, identifiers=["row", "zip"], output=tmp_path / "a.parquet", **given)
    second = anonkit.release(odd, policy=roles, identifiers=["row", "age"], output=tmp_path / "b.parquet", **given)

    assert second.report["rows"]["suppressed"] == 1
    assert second.owner["joint_view"]["rows_alone"] >= 1


def test_what_a_table_that_has_changed_shows_cannot_be_counted(tmp_path: Path) -> None:
    """Other rows or columns under one name: refused, unless every joint view is accepted; the owner learns why."""
    release(tmp_path / "a.parquet", "zip")
    more = people().append_column("more", pa.array(["x"] * 240))
    fewer, twice = people().slice(0, 200), pa.concat_tables([people(), people().slice(0, 1)])
    for changed, allowed in (
        (fewer, {}), (twice, {}), (more, {}), (fewer, {"accept_joint_k": 2}), (fewer, {"policy": policy(joint_k=2)})
    ):  # fmt: skip
        with pytest.raises(GuaranteeError, match="has changed since release 1"):
            release(tmp_path / "b.parquet", "zip", table=changed, **allowed)
    told = release(tmp_path / "b.parquet", "zip", table=people().slice(0, 200), accept_joint_k=1)
    assert any("has changed since release 1" in note for note in told.owner["ledger"]["notes"])
    assert "changed since" not in json.dumps(told.report)


@pytest.mark.slow
def test_the_same_rows_in_another_order_are_counted(tmp_path: Path) -> None:
    """The recodings are applied to the rows of today, wherever they are."""
    release(tmp_path / "a.parquet", "zip")
    turned = people().take(pa.array(range(239, -1, -1))).select(["zip", "label", "row", "age"])
    second = release(tmp_path / "b.parquet", "zip", table=turned)
    assert second.owner["joint_view"]["k"] >= 5


@pytest.mark.slow
def test_other_people_and_no_ledger_are_no_joint_view(tmp_path: Path) -> None:
    """The next batch without a name is a dataset of its own; without a ledger nothing is known to compare with."""
    release(tmp_path / "a.parquet", "zip")
    others = people().set_column(0, "row", pa.array([f"q{at}" for at in range(240)]))
    other = others.set_column(1, "age", pa.array([60 + at * 7 % 31 for at in range(240)]))
    batch = anonkit.apply(tmp_path / "a.parquet", other, output=tmp_path / "b.parquet")
    assert "joint_view" not in batch.owner
    assert "joint_view" not in release(tmp_path / "c.parquet", "age", ledger=None).owner


def test_people_are_counted_where_a_unit_is_declared(tmp_path: Path) -> None:
    """Two rows a person: the joint k is in people."""
    table = people().append_column("person", pa.array([f"u{number // 2}" for number in range(240)]))
    roles = policy().with_roles(unit="person")
    given: dict[str, Any] = {"table": table, "policy": roles, "accept_joint_k": 1}
    outputs = [release(tmp_path / f"{drop}.parquet", drop, **given) for drop in ("zip", "age")]
    rows = min(by_hand(*outputs).values())
    assert 1 <= outputs[1].owner["joint_view"]["k"] <= rows


@pytest.mark.slow
def test_tables_larger_than_a_search_are_counted_whole(tmp_path: Path) -> None:
    """The recodings are chosen on a sample; the joint classes are those of all rows."""
    with LocalEngine() as engine:
        engine.search_rows = 120
        given: dict[str, Any] = {"engine": engine, "accept_joint_k": 1}
        made = [release(tmp_path / f"{drop}.parquet", drop, **given) for drop in ("zip", "age")]
    assert [one.report["rows"]["suppressed"] for one in made] == [0, 0]
    pairs = by_hand(*made)
    view = made[1].owner["joint_view"]
    assert (view["k"], view["classes"]) == (min(pairs.values()), len(pairs))


def test_two_releases_together_are_counted_by_what_may_be_the_person(tmp_path: Path) -> None:
    """Nobody says whose the rows are: the joint class of one person with many rows is one, counted by hand."""
    rows = range(300)
    table = pa.table(
        {
            "row": [f"p{at // 4}" for at in rows],
            "age": [20 + at // 12 % 5 for at in rows],
            "zip": [f"z{at // 60}" for at in rows],
            "label": [("yes", "no")[at % 2] for at in rows],
        }
    )
    first = release(tmp_path / "a.parquet", "zip", table=table, accept_joint_k=1)
    second = release(tmp_path / "b.parquet", "age", table=table, accept_joint_k=1)
    cells = joint_cells(first, second, table=table)
    fewest = []
    for candidate in second.report["guarantee"]["parameters"]["candidates"]:
        (name,) = candidate["columns"]
        pairs = set(zip(cells, table.column(name).to_pylist(), strict=True))
        fewest.append(min(Counter(cell for cell, _ in pairs).values()))
    assert len(fewest) == 2
    assert second.owner["joint_view"]["k"] == min(fewest) < min(Counter(cells).values())
