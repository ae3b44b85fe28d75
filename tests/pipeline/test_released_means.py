"""Releases with means beside their intervals: the means are those of the source, and no pair can be subtracted."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anonkit
from anonkit.bundle.bound_columns import labelled_rows
from anonkit.consumers.release_features import ReleaseFeatures
from anonkit.datasets import bank_customers
from anonkit.errors import GuaranteeError, ParameterError
from anonkit.k_anonymity.class_means import middle
from anonkit.published.recoding import recoding_from_dict

TABLE = bank_customers(400, seed=5).select(["age", "income", "deposit", "loan", "customer_value"])
NUMBERS = ("age", "deposit", "loan")
DECLARED = {
    "columns": {
        "age": {"role": "quasi_identifier", "bounds": [18, 99]},
        "deposit": {"role": "quasi_identifier", "bounds": [0, 500_000], "step": 100},
        "loan": {"role": "quasi_identifier"},
        "income": {"role": "quasi_identifier"},
        "customer_value": {"role": "insensitive"},
    },
    "unit": "none",
}


def ask(output: Path | None = None, table: Any = TABLE, **more: Any) -> anonkit.Release:
    """Request a release with means."""
    how = {"method": "mondrian", "k": 5, "policy": DECLARED, "ledger": None, "cells": "means", "utility": False}
    how["no_target"] = True
    return anonkit.release(table, output=output, **{**how, **more})


def of_source(release: anonkit.Release, table: pa.Table = TABLE) -> dict[tuple[Any, ...], list[dict[str, float]]]:
    """Return the original numbers of every class, by its labels, from the published recoding alone."""
    batch = table.combine_chunks().to_batches()[0]
    cells, left_out = recoding_from_dict(release.params["recoding"]).apply(batch)
    assert not left_out.any()
    keys = zip(*(cells[name].to_pylist() for name in sorted(cells)), strict=True)
    found = defaultdict(list)
    for key, row in zip(keys, table.to_pylist(), strict=True):
        found[key].append({name: float(row[name]) for name in NUMBERS})
    return found


def of_release(release: anonkit.Release) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Return one row of every class, by its labels: all rows of a class are alike in what is generalized."""
    recoding = release.params["recoding"]
    named = [column["name"] for column in recoding.get("axes", recoding.get("columns"))]
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    rows = release.to_arrow().drop_columns(["customer_value"]).to_pylist()
    for labels, row in zip(labelled_rows(release).select(sorted(named)).to_pylist(), rows, strict=True):
        assert found.setdefault(tuple(labels.values()), row) == row
    return found


@pytest.mark.quick_cases("rfka")
@pytest.mark.parametrize("method", ["mondrian", "rfka"])
def test_rows_show_the_mean_of_their_class(method: str, tmp_path: Path) -> None:
    """Worked out again from the source: within the rounding, or the middle where the report's counts say so."""
    release = ask(tmp_path / "out.parquet", method=method)
    source, shown = of_source(release), of_release(release)
    assert source.keys() >= shown.keys()
    assert sum(len(source[key]) for key in shown) == release.report["rows"]["out"]
    counts = release.report["means"]["columns"]
    for name, entry in release.params["bounds"].items():
        middles = 0
        for key, row in shown.items():
            own = [each[name] for each in source[key]]
            low, high, mean = (row[entry[end]] for end in ("low", "high", "mean"))
            assert low is None or low <= min(own)
            assert high is None or high >= max(own)
            middles += mean == middle(*(np.nan if end is None else end for end in (low, high)))
            if not counts[name]["middle"] and not counts[name]["missing"]:
                ends = [end for end in (low, high) if end is not None]
                size = high - low if len(ends) > 1 else abs(np.mean(own) - (ends[0] if ends else 0))
                assert abs(mean - np.mean(own)) <= max(entry.get("step", 0) / 2, size / 20)
        assert middles == counts[name]["middle"]
        assert counts[name]["classes"] == len(shown)
    assert anonkit.validate(release).passed
    assert release.report["guarantee"]["parameters"]["means"] is True
    assert any("all members but one" in each for each in release.report["guarantee"]["not_protected"])
    assert "all members but one" in (tmp_path / "out.report.html").read_text()


def test_open_ends_take_the_declared_bounds(tmp_path: Path) -> None:
    """Ages reach from 18 to 99, deposits are multiples of 100; loans without bounds stay open."""
    table = ask(tmp_path / "out.parquet").to_arrow()
    ages = table.select(["age_low", "age_high"]).to_pandas()
    assert (ages.min().iloc[0], ages.max().iloc[1]) == (18, 99)
    assert not ages.isna().any().any()
    deposits = table["deposit_mean"].to_numpy()
    middles = (table["deposit_low"].to_numpy() + table["deposit_high"].to_numpy()) / 2
    ends = np.isin(deposits, table["deposit_low"].to_numpy()) | np.isin(deposits, table["deposit_high"].to_numpy())
    assert ((deposits % 100 == 0) | (deposits == middles) | ends).all()
    assert table["loan_low"].null_count
    assert table["loan_high"].null_count
    assert table["loan_mean"].null_count == 0


def test_a_person_with_nearly_all_of_a_sum_is_withheld(tmp_path: Path) -> None:
    """One loan in twenty dwarfs the others of its range: such classes show the middle, and the owner reads why."""
    at = np.arange(TABLE.num_rows)
    loans = np.where(at % 20 == 0, 45_000.0, np.where(at % 2, 80_000.0, 10.0) + at)
    table = TABLE.select(["age", "customer_value"]).append_column("loan", pa.array(loans))
    columns = {name: DECLARED["columns"][name] for name in ("age", "customer_value")}  # type: ignore[index]
    columns["loan"] = {"role": "quasi_identifier", "bounds": [0, 100_000], "ladder": [50_000]}
    release = ask(tmp_path / "out.parquet", table, policy={"columns": columns, "unit": "none"})
    withheld = release.owner["means"]["loan"]
    assert withheld["dominance"] >= 1
    assert release.report["means"]["columns"]["loan"]["middle"] >= withheld["dominance"]
    assert any(note.startswith("Means of loan: ") for note in release.report["notes"])
    assert "dominance" not in str(release.report)
    assert anonkit.validate(release).passed


@pytest.mark.slow
def test_the_next_batch_shows_its_own_means(tmp_path: Path) -> None:
    """`apply` computes them on the batch, and people are those of the batch."""
    ask(tmp_path / "out.parquet")
    batch = bank_customers(400, seed=6).select(TABLE.column_names)
    applied = anonkit.apply(
        tmp_path / "out.parquet",
        batch,
        output=tmp_path / "next.parquet",
        cells="means",
        max_suppression=0.9,
        ledger=None,
    )
    assert anonkit.validate(applied).passed
    assert "age_mean" in applied.to_arrow().column_names
    assert applied.to_arrow()["age_low"].null_count == 0


@pytest.mark.slow
def test_rows_of_people_in_parts_with_a_copy(tmp_path: Path) -> None:
    """A folder of files, a unit, a copy as CSV: the same columns everywhere, and they validate."""
    table = TABLE.append_column("who", pa.array([f"p{at // 2}" for at in range(TABLE.num_rows)]))
    policy = {"columns": {**DECLARED["columns"], "who": {"role": "unit"}}}  # type: ignore[dict-item]
    parts = ask(tmp_path / "parts.parquet", table, policy=policy, part_rows=100)
    assert (tmp_path / "parts.parquet").is_dir()
    assert anonkit.validate(parts).passed
    ask(tmp_path / "copy.csv", table, policy=policy)
    assert "loan_mean" in (tmp_path / "copy.csv").read_text().splitlines()[0]
    assert ask(None, table, policy=policy).save(tmp_path / "held.parquet").to_arrow().num_rows == TABLE.num_rows


@pytest.mark.slow
def test_models_learn_from_it_as_from_bounds(tmp_path: Path) -> None:
    """`ReleaseFeatures` reads the labels that the bounds represent: no feature is a mean, since test rows have none."""
    release = ask(tmp_path / "out.parquet")
    features = ReleaseFeatures(release).fit(release.to_arrow())
    assert not [name for name in features.get_feature_names_out() if "mean" in name]
    assert features.transform(TABLE).shape[0] == TABLE.num_rows


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ({"method": "rr", "epsilon": 1.0, "domains_from_data": True, "k": None}, "this method generalizes none"),
        (
            {"method": "safepub", "epsilon": 1.0, "delta": 1e-6, "domains_from_data": True},
            "would spend privacy",
        ),
    ],
)
def test_what_cannot_show_means_is_refused(how: dict[str, Any], reason: str, tmp_path: Path) -> None:
    """Methods that generalize nothing, and those with an epsilon, in which means of the rows are not."""
    asked = {name: value for name, value in {"k": 5, **how}.items() if value is not None}
    with pytest.raises(ParameterError, match=reason):
        anonkit.release(
            TABLE, output=tmp_path / "a.parquet", cells="means", target="customer_value", ledger=None, **asked
        )
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_spark_computes_the_same_means(tmp_path: Path) -> None:
    """Means do not depend on the engine, in one file and in a folder that workers write and read."""
    pq.write_table(TABLE, tmp_path / "in.parquet")
    local = ask(tmp_path / "local.parquet")
    for name, how in (("one", {}), ("parts", {"part_rows": 150})):
        spark = ask(tmp_path / f"{name}.parquet", tmp_path / "in.parquet", engine="spark", **how)
        assert sorted(map(str, spark.to_arrow().to_pylist())) == sorted(map(str, local.to_arrow().to_pylist()))
        assert anonkit.validate(spark).passed


# --- several releases ------------------------------------------------------------------------------------------------


def named(table: pa.Table, folder: Path, name: str, **more: Any) -> anonkit.Release:
    """Release a table of people under one ledger."""
    policy = {**DECLARED, "dataset": "customers"}
    return ask(folder / f"{name}.parquet", table, policy=policy, ledger=folder / "l.sqlite", **more)


def test_a_batch_that_differs_by_few_people_shows_no_means(tmp_path: Path) -> None:
    """For any accepted joint k, means of both releases would disclose the people added between; bounds do not."""
    named(TABLE.slice(3), tmp_path, "january")
    with pytest.raises(GuaranteeError, match="means of groups that differ") as refused:
        named(TABLE, tmp_path, "february", accept_joint_k=1)
    assert "bounds" in refused.value.hint
    named(TABLE, tmp_path, "february", accept_joint_k=1, cells="bounds")
    with pytest.raises(GuaranteeError, match="means of groups that differ"):
        named(TABLE.slice(1), tmp_path, "march", accept_joint_k=1)
    assert not (tmp_path / "march.parquet").exists()


def test_another_recoding_of_the_same_rows_is_counted(tmp_path: Path) -> None:
    """The groups of both differ by fewer than k people somewhere: refused; the same recoding again is not."""
    named(TABLE, tmp_path, "first")
    with pytest.raises(GuaranteeError, match="disclose who is in between"):
        named(TABLE, tmp_path, "second", k=7, accept_joint_k=1)
    again = anonkit.apply(
        tmp_path / "first.parquet", TABLE, output=tmp_path / "again.parquet", cells="means",
        ledger=tmp_path / "l.sqlite", dataset="customers",
    )  # fmt: skip
    assert again.to_arrow().column_names == pq.read_schema(tmp_path / "first.parquet").names


def test_releases_of_other_people_are_not_compared(tmp_path: Path) -> None:
    """`only_new` releases those who are in no earlier one, with means of their own; so does another dataset."""
    table = TABLE.append_column("who", pa.array([f"p{at}" for at in range(TABLE.num_rows)]))
    policy = {"columns": {**DECLARED["columns"], "who": {"role": "unit"}}, "dataset": "customers"}  # type: ignore[dict-item]
    common = {"policy": policy, "ledger": tmp_path / "l.sqlite"}
    ask(tmp_path / "old.parquet", table.slice(0, 200), **common)
    fresh = ask(tmp_path / "new.parquet", table, only_new=True, **common)
    assert fresh.to_arrow().num_rows == 200
    assert "age_mean" in fresh.to_arrow().column_names


def subtracted(first: anonkit.Release, second: anonkit.Release, name: str) -> list[tuple[float, float, float]]:
    """Return what subtraction of two releases makes of a number: an estimate, and the ends of its interval.

    Of every two groups with one label whose sizes differ by 1 to 4, the difference of their sums is taken for one
    person's number, or for that of each of a few.
    """
    sums: list[dict[tuple[Any, ...], list[Any]]] = []
    for release in (first, second):
        entry, found = release.params["bounds"][name], {}
        labels = labelled_rows(release).drop_columns(["note"])
        rows = zip(labels.to_pylist(), release.to_arrow().to_pylist(), strict=True)
        for label, row in rows:
            if row.get(entry.get("mean")) is not None:
                ends = (row[entry["low"]], row[entry["high"]])
                group = found.setdefault(tuple(label.values()), [0, 0.0, ends])
                group[:2] = [group[0] + 1, group[1] + row[entry["mean"]]]
        sums.append(found)
    estimates = []
    for key in sums[0].keys() & sums[1].keys():
        (n_first, of_first, ends), (n_second, of_second, _) = sums[0][key], sums[1][key]
        differ = n_first - n_second
        if 0 < abs(differ) < 5 and None not in ends:
            estimates.append(((of_first - of_second) / differ, *ends))
    return estimates


def pair_of_batches(seed: int, folder: Path, **second: Any) -> int:
    """Attack two batches of one dataset that differ by 1 to 4 people; return how many numbers were found.

    A number is found when an estimate is within a tenth of the interval from that of one of those who differ.
    """
    draw = np.random.default_rng(seed)
    ages = draw.integers(18, 90, 60)
    table = pa.table({"age": ages, "sex": draw.choice(["f", "m"], 60), "note": ["x"] * 60})
    columns = {
        "age": {"role": "quasi_identifier", "bounds": [18, 90]},
        "sex": {"role": "quasi_identifier"},
        "note": {"role": "insensitive"},
    }
    gone = int(draw.integers(1, 5))
    own = folder / str(seed)
    own.mkdir()
    ledger = second.pop("ledger", own / "l.sqlite")
    policy = {"columns": columns, "unit": "none", "dataset": "batches"}
    first = ask(own / "first.parquet", table, policy=policy, ledger=ledger)
    how = {"ledger": None} if ledger is None else {"ledger": ledger, "dataset": "batches", "accept_joint_k": 1}
    try:
        batch = anonkit.apply(
            own / "first.parquet",
            table.slice(gone),
            output=own / "second.parquet",
            max_suppression=0.9,
            **how,
            **second,
        )
    except GuaranteeError as refused:
        if "differ by fewer than" not in str(refused):
            raise
        return 0
    left = ages[:gone]
    return sum(
        bool((np.abs(left - estimate) <= (high - low) / 10).any())
        for estimate, low, high in subtracted(first, batch, "age")
    )


@pytest.mark.parametrize("n_pairs", [pytest.param(200, marks=pytest.mark.slow), 2])
def test_subtraction_of_two_batches_finds_no_number(n_pairs: int, tmp_path: Path) -> None:
    """Batches that differ by 1 to 4 people at k = 5: refused with means, and without means nothing is found."""
    assert sum(pair_of_batches(seed, tmp_path, cells="means") for seed in range(n_pairs)) == 0
    assert sum(pair_of_batches(seed + n_pairs, tmp_path, cells="bounds") for seed in range(n_pairs // 2)) == 0


@pytest.mark.slow
@pytest.mark.parametrize("n_pairs", [pytest.param(50, marks=pytest.mark.slow), 3])
def test_without_a_ledger_subtraction_finds_numbers(n_pairs: int, tmp_path: Path) -> None:
    """The attack is one: where nobody keeps a ledger it finds numbers, as the page says."""
    assert sum(pair_of_batches(seed, tmp_path, cells="means", ledger=None) for seed in range(n_pairs)) >= 1
