"""Columns to be kept: at least two parts of each are released, or nothing is, whatever the method finds."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonkit
from anonkit.errors import ChoiceError, GuaranteeError, ParameterError, PolicyError

METHODS: dict[str, dict[str, Any]] = {
    "rfka": {"method": "rfka", "trees": 10},
    "rfka, every column first": {"method": "rfka", "trees": 10, "drop_freely": False},
    "rfka, greedy": {"method": "rfka", "trees": 10, "search": "greedy"},
    "rfka, as published": {"method": "rfka", "preset": "paper", "trees": 10, "bins": 3},
    "datafly": {"method": "datafly"},
    "incognito": {"method": "incognito"},
    "mdav": {"method": "mdav"},
    "mondrian": {"method": "mondrian"},
    "greedy-hamdist": {"method": "greedy-hamdist"},
}
NAMES = ("a", "b", "c")
K = 3


def table(columns: dict[str, list[Any]], seed: int = 0) -> pa.Table:
    """Return a table with a target that follows the first column a little."""
    first = np.unique([str(cell) for cell in columns["a"]], return_inverse=True)[1]
    labels = (first + np.random.default_rng(seed).integers(0, 2, first.size)) % 2
    return pa.table({**columns, "y": np.where(labels, "yes", "no")})


def released(rows: pa.Table, settings: dict[str, Any], keep: list[str], *, k: int = K, **more: Any) -> anonkit.Release:
    """Release a small table in memory."""
    policy = anonkit.Policy.from_dict(
        {"columns": {name: {"role": "quasi_identifier"} for name in rows.column_names if name != "y"}}
    )
    return anonkit.release(
        rows, k=k, target="y", keep=keep, policy=policy, unit="none", utility=False, ledger=None, **settings, **more
    )


def n_shown(release: anonkit.Release, name: str) -> int:
    """Return how many values a release shows of a column."""
    shown = release.to_arrow()
    return len(set(shown[name].to_pylist())) if name in shown.column_names else 0


tables = st.integers(2 * K, 40).flatmap(
    lambda n: st.fixed_dictionaries(
        {
            "a": st.lists(st.sampled_from(["u", "v", "w"]), min_size=n, max_size=n),
            "b": st.lists(st.integers(0, 6), min_size=n, max_size=n),
            "c": st.lists(st.sampled_from(["x", "y", "z", None]), min_size=n, max_size=n),
        }
    )
)


@given(
    name=st.sampled_from(sorted(METHODS)),
    columns=tables,
    keep=st.sets(st.sampled_from(NAMES), min_size=1),
    share=st.sampled_from([0.0, 0.1, 0.3]),
)
def test_two_parts_are_released_or_nothing(
    name: str, columns: dict[str, list[Any]], keep: set[str], share: float
) -> None:
    """For any table, limit and method a release shows two parts of every column to be kept."""
    more = {} if name == "mondrian" else {"max_suppression": share}
    try:
        release = released(table(columns), METHODS[name], sorted(keep), **more)
    except GuaranteeError:
        return
    assert all(n_shown(release, each) > 1 for each in keep)
    said = {entry["name"] for entry in release.report["columns"] if entry.get("keep")}
    assert said == keep == {entry["name"] for entry in release.params["columns"] if entry.get("keep")}
    (check,) = [each for each in release.report["verification"]["checks"] if each["name"] == "kept_columns"]
    assert check["passed"]


@pytest.mark.slow
@given(name=st.sampled_from(sorted(METHODS)), columns=tables)
def test_what_k_rows_share_can_be_kept(name: str, columns: dict[str, list[Any]]) -> None:
    """A column is never refused whose values have k rows each: all others can be dropped for it."""
    counts = Counter(columns["a"])
    columns = {**columns, "a": [cell if counts[cell] >= K else counts.most_common(1)[0][0] for cell in columns["a"]]}
    if len(set(columns["a"])) < 2:
        columns["a"] = ["u" if at % 2 else "v" for at in range(len(columns["a"]))]
    assert n_shown(released(table(columns), METHODS[name], ["a"]), "a") > 1


def _unlikely() -> pa.Table:
    """A table in which `c` is of no value to any search, and everything else does."""
    rng = np.random.default_rng(5)
    first = rng.integers(0, 8, 800)
    return pa.table(
        {
            "a": [f"a{each}" for each in first],
            "b": rng.integers(0, 50, 800),
            "c": np.where(rng.random(800) < 0.1, "rare", "common"),
            "y": np.where((first > 3) ^ (rng.random(800) < 0.05), "yes", "no"),
        }
    )


@pytest.mark.slow
def test_a_column_that_the_default_drops_is_kept() -> None:
    """A column that `rfka` drops freely is in the release when it is to be kept."""
    rows = _unlikely()
    freely = released(rows, METHODS["rfka"], [], k=20)
    assert n_shown(freely, "c") == 0
    assert n_shown(released(rows, METHODS["rfka"], ["c"], k=20), "c") == 2
    every = released(rows, METHODS["rfka, every column first"], [], k=20)
    assert len(every.to_arrow().column_names) > len(freely.to_arrow().column_names)
    assert "kept_columns" not in {check["name"] for check in freely.report["verification"]["checks"]}


@pytest.mark.slow
def test_boxes_that_were_put_together_are_cut_again() -> None:
    """`mondrian` keeps a cut without information on the target, and changes nothing else, for a column to keep."""
    rows = _unlikely()
    freely = released(rows, {"method": "mondrian"}, [], k=60)
    assert n_shown(freely, "c") == 0
    kept = released(rows, {"method": "mondrian"}, ["c"], k=60)
    assert n_shown(kept, "c") > 1
    assert n_shown(kept, "a") >= n_shown(freely, "a")


def test_what_cannot_be_kept_is_refused_by_name() -> None:
    """No two parts of the column have k rows: the refusal names it, and no value."""
    rows = table({"a": ["u", "v"] * 20, "b": [0] * 38 + [1] * 2, "c": ["x"] * 40})
    for settings in METHODS.values():
        with pytest.raises(GuaranteeError, match="'b'"):
            released(rows, settings, ["b"])


def test_a_constant_column_cannot_be_kept() -> None:
    """One value is one part."""
    rows = table({"a": ["u", "v"] * 20, "b": [0, 0, 1, 1] * 10, "c": ["x"] * 40})
    for settings in METHODS.values():
        with pytest.raises(GuaranteeError, match="'c'"):
            released(rows, settings, ["c"])


def test_only_what_is_released_can_be_kept(tmp_path: Path) -> None:
    """An identifier is never released, and a method of noise counts no parts; both are said before rows are read."""
    with pytest.raises(PolicyError, match="never released"):
        anonkit.Policy.from_dict({"columns": {"name": {"role": "identifier", "keep": True}}})
    with pytest.raises(PolicyError, match="never released"):
        anonkit.release(tmp_path / "none.csv", identifiers=["name"], keep=["name"])
    domains = {"a": {"categories": ["u", "v"], "keep": True}, "y": {"role": "target", "categories": ["no", "yes"]}}
    noisy = anonkit.Policy.from_dict({"columns": domains})
    with pytest.raises(ChoiceError, match="'a' is to be kept"):
        anonkit.release(table({"a": ["u", "v"] * 20}), method="rr", epsilon=1, policy=noisy, ledger=None)
    mails = pa.array([f"p{at}@example.org" for at in range(40)])
    with pytest.raises(PolicyError, match="'mail' cannot be kept"):
        anonkit.release(
            table({"a": ["u", "v"] * 20}).append_column("mail", mails), k=2, target="y", keep=["mail"], ledger=None
        )
    with pytest.raises(PolicyError, match="not in the table"):
        released(table({"a": ["u", "v"] * 20}), METHODS["rfka"], ["aa"])


@pytest.mark.parametrize("weight", [0, -1, float("inf"), float("nan"), True, "2"])
def test_a_weight_is_a_number_above_0(weight: object) -> None:
    """All else is refused when the policy is read."""
    with pytest.raises(PolicyError, match="detail_weight"):
        anonkit.Policy.from_dict({"columns": {"a": {"detail_weight": weight}}})


def test_a_weight_is_for_quasi_identifiers() -> None:
    """Other columns are released as they are, or not at all."""
    with pytest.raises(PolicyError, match="quasi-identifiers"):
        anonkit.Policy.from_dict({"columns": {"a": {"role": "sensitive", "detail_weight": 2}}})
    with pytest.raises(PolicyError, match="keep"):
        anonkit.Policy.from_dict({"columns": {"a": {"keep": "yes"}}})


def _weighted(rows: pa.Table, settings: dict[str, Any], weights: dict[str, float]) -> anonkit.Release:
    columns = {name: {"detail_weight": weights.get(name, 1)} for name in rows.column_names if name != "y"}
    columns = {name: {"role": "quasi_identifier", **spec} for name, spec in columns.items()}
    return anonkit.release(
        rows,
        k=10,
        target="y",
        policy=anonkit.Policy.from_dict({"columns": columns}),
        unit="none",
        utility=False,
        ledger=None,
        **settings,
    )


@pytest.mark.quick_cases("datafly")
@pytest.mark.parametrize("name", ["rfka", "rfka, greedy", "datafly", "incognito", "mondrian"])
def test_detail_goes_where_it_is_worth_more(name: str) -> None:
    """Of two equally informative columns, each has more detail where it has the larger weight."""
    rng = np.random.default_rng(2)
    base = rng.integers(0, 16, 600)
    rows = pa.table(
        {
            "p": base + rng.integers(0, 9, 600),
            "q": base + rng.integers(0, 9, 600),
            "y": np.where(base > 7, "yes", "no"),
        }
    )
    for_p, for_q = (_distinguished(_weighted(rows, METHODS[name], {each: 50.0})) for each in ("p", "q"))
    assert for_p["p"] > for_q["p"]
    assert for_q["q"] > for_p["q"]


def _distinguished(release: anonkit.Release) -> dict[str, int]:
    """Return in how many places each number is cut anywhere, or how many values it shows."""
    recoding = release.params["recoding"]
    if recoding["kind"] == "local":
        return {axis["name"]: len(axis["cuts"]) for axis in recoding["axes"]}
    return {name: n_shown(release, name) for name in ("p", "q")}


@pytest.mark.slow
def test_weights_of_1_change_nothing() -> None:
    """A weight for each column, all alike, is none."""
    rows = _unlikely()
    for name in ("rfka", "datafly", "incognito", "mondrian"):
        plain, weighted = (_weighted(rows, METHODS[name], dict.fromkeys(NAMES, w)) for w in (1, 1.0))
        assert plain.params["recoding"] == weighted.params["recoding"]


def test_discernibility_has_no_weights() -> None:
    """A loss that counts rows alone says that it cannot weigh columns."""
    with pytest.raises(ChoiceError, match="discernibility"):
        _weighted(_unlikely(), {"method": "incognito", "loss": "discernibility"}, {"a": 2.0})


def test_the_next_batch_keeps_them_too(tmp_path: Path) -> None:
    """A batch recoded alike shows two parts too, or is refused with what can be done there."""
    rows = table({"a": ["u", "v"] * 20, "b": [0, 0, 1, 1] * 10, "c": ["x"] * 40})
    released(rows, METHODS["rfka"], ["a"], output=tmp_path / "out.parquet")
    params = tmp_path / "out.params.json"
    again = anonkit.apply(params, rows, ledger=None)
    assert n_shown(again, "a") == 2
    assert [entry["name"] for entry in again.params["columns"] if entry.get("keep")] == ["a"]
    flat = table({"a": ["u"] * 40, "b": [0, 0, 1, 1] * 10, "c": ["x"] * 40})
    with pytest.raises(GuaranteeError, match="'a' is to be kept") as refused:
        anonkit.apply(params, flat, ledger=None)
    assert "release anew" in str(refused.value.hint)


def test_every_column_first_is_for_the_search_that_divides() -> None:
    """The published search visits each feature once."""
    with pytest.raises((PolicyError, ParameterError), match="drop_freely"):
        anonkit.release(_unlikely(), method="rfka", search="greedy", drop_freely=False, target="y", ledger=None)
