"""mdav: numbers as means of groups of k rows, in every table and whatever is required beside k."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import anonkit
from anonkit.consumers import ReleaseFeatures
from anonkit.errors import AnonkitError, ChoiceError, GuaranteeError, ParameterError, PolicyError
from anonkit.methods import mdav
from anonkit.published.recoding import recoding_from_dict
from tests.methods.test_rfka import ROWS, _classes, _quasi_identifiers


def released(table: Any, k: int = 3, policy: Any = None, **more: Any) -> Any:
    """Release a table by mdav, rows independent."""
    columns = {} if policy is None else policy
    asked = {"ledger": None, "utility": False, "no_target": True} | more
    return anonkit.release(table, method="mdav", k=k, policy={"columns": columns, "unit": "none"}, **asked)


def rows_of(release: Any) -> Counter[tuple[Any, ...]]:
    """Return how many rows show what."""
    return Counter(zip(*release.to_arrow().to_pydict().values(), strict=True))


def test_a_table_by_hand() -> None:
    """1, 2, 3 and 10, 11, 15: means 2 and 12, a multiple of .1 since the standard deviation is 5.3."""
    release = released(pa.table({"x": [10, 1, 2, 15, 3, 11]}))
    assert rows_of(release) == {(2.0,): 3, (12.0,): 3}
    recoding = release.params["recoding"]
    assert recoding["columns"] == [{"name": "x", "kind": "means", "unit": 0.1}]
    assert recoding["centroids"] == {
        "rows": "grouped",
        "rules": {"digits": 2, "p_percent": 10, "dominance": 80},
        "scale": {"x": [7.0, 5.0]},
        "columns": {"x": [2.0, 12.0]},
    }
    entry = release.report["columns"][0]
    assert (entry["action"], entry["detail"], entry["released_values"]) == ("averaged", "means", 2)
    assert entry["reason"] == "each row shows the mean of its group, rounded to a multiple of 0.1"
    assert release.report["guarantee"]["parameters"]["averaged"] is True


def test_categories_come_first() -> None:
    """Only rows alike in them form a group; what fewer than k rows share is generalized or left out."""
    table = pa.table({"sex": ["f"] * 6 + ["m"] * 6, "x": [1, 2, 3, 4, 5, 6] * 2, "ok": [True, False] * 6})
    release = released(table, insensitive=["ok"], release_as_is=["ok"])
    assert Counter(zip(*(release.to_arrow()[n].to_pylist() for n in ("sex", "x")), strict=True)) == {
        (sex, mean): 3 for sex in "fm" for mean in (2.0, 5.0)
    }


def test_a_number_with_a_ladder_is_generalized() -> None:
    """Its owner declares bins: it comes first like categories."""
    table = pa.table({"age": [20, 21, 22, 40, 41, 42] * 2, "x": list(range(12))})
    release = released(table, policy={"age": {"role": "quasi_identifier", "ladder": [10, 50]}})
    assert {entry["name"]: entry["action"] for entry in release.report["columns"]} == {
        "age": "generalized",
        "x": "averaged",
    }


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(ROWS, st.integers(2, 5), st.sampled_from([0.0, 0.5]))
def test_k_holds_on_every_release(rows: list[Any], k: int, suppression: float) -> None:
    """For any table, with missing cells and rare categories, every class has k rows; or there is no release."""
    frame = pd.DataFrame(rows, columns=["n", "c", "d", "y"]).convert_dtypes()
    try:
        release = anonkit.release(
            frame, method="mdav", k=k, target="y", max_suppression=suppression, unit="none", ledger=None, utility=False
        )
    except (GuaranteeError, PolicyError):
        return
    out = release.to_pandas()
    assert len(out) >= (1 - suppression) * len(frame)
    assert _classes(out, _quasi_identifiers(release)).min() >= k


@pytest.mark.slow
@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 3)), min_size=9, max_size=40), st.randoms())
def test_the_order_of_rows_does_not_matter(rows: list[tuple[int, int]], random: Any) -> None:
    """Nor which of them are alike: a permutation shows the same."""
    mixed = rows.copy()
    random.shuffle(mixed)
    first, second = (
        released(pa.table({"x": [x for x, _ in some], "y": [y for _, y in some]}), policy={
            "x": {"role": "quasi_identifier", "keep": False}, "y": {"role": "quasi_identifier"}
        }) if len({x for x, _ in some}) > 3 else None
        for some in (rows, mixed)
    )  # fmt: skip
    if first is not None and second is not None:
        assert rows_of(first) == rows_of(second)
        assert first.params["recoding"] == second.params["recoding"]


def test_groups_that_differ_in_a_column_without_means_are_one_centroid(tmp_path: Path) -> None:
    """One of no number and one of a withheld mean: the column leaves, and what is left is listed once."""
    table = pa.table({"x": [1, 2, 3, 1, 2, 3, 11, 12, 13], "y": [None] * 3 + [1000, 0, 0] + [None] * 3})
    policy = {name: {"role": "quasi_identifier"} for name in table.column_names}
    release = released(table, policy=policy, output=tmp_path / "out.parquet")
    centroids = release.params["recoding"]["centroids"]
    assert (centroids["columns"], centroids["scale"]) == ({"x": [2.0, 12.0]}, {"x": [7.0, 5.0]})
    assert anonkit.validate(tmp_path / "out.parquet").passed


def test_sums_stay_within_the_rounding() -> None:
    """Every group of n rows is off by half a unit a row at most, over all columns and the whole table."""
    draws = np.random.default_rng(1)
    table = pa.table({"a": draws.normal(50, 12, 300), "b": draws.lognormal(3, 0.4, 300)})
    release = released(table, k=5)
    units = {column["name"]: column["unit"] for column in release.params["recoding"]["columns"]}
    for name in ("a", "b"):
        shown, own = release.to_arrow()[name].to_numpy(), table[name].to_numpy()
        assert abs(shown.sum() - own.sum()) <= 300 * units[name] / 2
        assert shown.min() >= own.min() - units[name]
    figures = release.owner["search"]
    assert release.owner["means"]["a"] == {"classes": figures["groups"], "few": 0, "p_percent": 0, "dominance": 0}
    assert 0 < figures["information_loss"] < 0.2
    assert release.owner["number_distances"]["means"]["il1s_per_cell"] < 0.2
    assert figures["rows_in_blocks"] == 0


def test_no_group_is_of_two() -> None:
    """With k = 2, too: of two people each works out the number of the other."""
    assert set(rows_of(released(pa.table({"x": [1, 2, 3, 10, 11, 15]}), k=2)).values()) == {3}


@pytest.mark.parametrize(("pair", "people"), [([0, 0], [1, 2]), ([0, 0, 0, 0], [1, 2, 1, 2])])
def test_where_two_people_are_all_there_is_no_mean(pair: list[int], people: list[int]) -> None:
    """Of a combination of categories that two have: k = 2 lets it be released, and not what each works out."""
    table = pa.table({
        "x": [*pair, 1, 2, 3, 4, 5, 6], "sex": ["f"] * len(pair) + ["m"] * 6, "who": [*people, *range(10, 16)],
    })  # fmt: skip
    roles = {"x": "quasi_identifier", "sex": "quasi_identifier", "who": "unit"}
    release = anonkit.release(
        table, method="mdav", k=2, policy={"columns": {name: {"role": role} for name, role in roles.items()}},
        no_target=True, ledger=None, utility=False,
    )  # fmt: skip
    assert rows_of(release) == {(None, "f"): len(pair), (2.0, "m"): 3, (5.0, "m"): 3}


@pytest.mark.parametrize("sex", ["f", "alone"])
def test_one_huge_number_has_no_part_in_the_unit(sex: str) -> None:
    """Neither of a row that is left out nor where the mean is withheld: the unit would tell its order of magnitude."""
    numbers = np.random.default_rng(4).normal(50, 10, 200).tolist()
    units = []
    for huge in (1e6, 1e9):
        table = pa.table({"x": [*numbers, huge], "sex": ["f", "m"] * 100 + [sex]})
        columns = {"x": {"role": "quasi_identifier"}, "sex": {"role": "quasi_identifier", "ladder": "none"}}
        units.append(released(table, k=5, policy=columns).params["recoding"]["columns"][0]["unit"])
    assert units == [0.1, 0.1]


def test_a_declared_step_is_the_unit() -> None:
    """Means are multiples of it."""
    draws = np.random.default_rng(2)
    release = released(
        pa.table({"pay": draws.integers(100, 900, 60) * 5}), policy={"pay": {"role": "quasi_identifier", "step": 25}}
    )
    assert all(mean % 25 == 0 for mean in release.to_arrow()["pay"].to_pylist())


@pytest.mark.parametrize("numbers", [[0, 0, 900], [1, 2, 40]])
def test_a_mean_that_one_person_dominates_is_withheld(numbers: list[int], tmp_path: Path) -> None:
    """The cell is missing, k is counted with it, and the release validates."""
    table = pa.table({"gain": [*numbers, *[5000, 5100, 5200] * 4], "age": [30, 31, 32, *[60, 61, 62] * 4]})
    release = released(table, output=tmp_path / "out.parquet")
    shown = rows_of(release)
    assert sum(count for (gain, _), count in shown.items() if gain is None) == 3
    assert anonkit.validate(tmp_path / "out.parquet").passed
    assert release.owner["means"]["gain"]["dominance"] == 1
    row = pa.table({"gain": [5000.0], "age": [30.0]}).to_batches()[0]
    assert recoding_from_dict(release.params["recoding"]).apply(row)[0]["gain"].to_pylist() == [None]


def test_the_contributions_of_a_person_count_together() -> None:
    """Of one person's rows the sum is compared with what the others add."""
    table = pa.table({"who": list("aabcddef") * 3, "x": [40, 40, 5, 5, 1000, 1001, 1002, 1003] * 3})
    asked: dict[str, Any] = {"method": "mdav", "k": 3, "ledger": None, "utility": False, "no_target": True}
    alone = anonkit.release(table.drop_columns(["who"]), unit="none", **asked)
    together = anonkit.release(table, unit="who", **asked)
    assert None not in alone.to_arrow()["x"].to_pylist()
    assert set(together.to_arrow()["x"].to_pylist()) == {None, 1000.0}
    assert together.report["guarantee"]["parameters"]["unit"] == "who"


def test_k_counts_people_where_a_unit_is_declared() -> None:
    """Groups of one person's rows join the nearest until k people are in each."""
    draws = np.random.default_rng(3)
    who = np.repeat(np.arange(30), 4)
    table = pa.table({"who": [f"p{one}" for one in who], "x": who * 10.0 + draws.normal(size=120)})
    release = anonkit.release(table, method="mdav", k=5, unit="who", no_target=True, ledger=None, utility=False)
    checks = {check["name"]: check["observed"] for check in release.report["verification"]["checks"]}
    assert checks["k_anonymity_people"] >= 5


def test_groups_that_are_not_diverse_join_the_nearest(tmp_path: Path) -> None:
    """l holds in every group without a row left out."""
    draws = np.random.default_rng(4)
    x = draws.normal(size=200)
    table = pa.table({"x": x, "ill": np.where(x > 0, "yes", "no"), "z": draws.normal(size=200)})
    release = released(table, k=4, sensitive=["ill"], l=2, output=tmp_path / "out.parquet")
    assert release.report["rows"]["suppressed"] == 0
    assert anonkit.validate(tmp_path / "out.parquet", l=2).passed


@pytest.mark.quick_cases("table0-*", "table4-*", "table8-*", "table10-*")
@pytest.mark.parametrize(
    ("table", "shown"),
    [
        ({"x": [1e9 + at for at in range(12)], "y": [1.0] * 12}, {"x"}),
        ({"x": [1e300, -1e300, 5e299, 1e300] * 3, "y": list(range(12))}, {"x", "y"}),
        ({"x": [7] * 6 + [9] * 6, "y": [None] * 6 + [1] * 6}, {"x", "y"}),
        ({"x": [None, 1, 2, 3, 4, 5] * 3, "y": [0.5] * 9 + [0.25] * 9}, {"x", "y"}),
        ({"x": [float("nan"), 1.5, 2.5, 3.5] * 4, "y": list(range(16))}, {"x", "y"}),
        ({"x": [3] * 12 + [50] * 3, "y": [1, 2, 3] * 5}, {"x", "y"}),
        ({"x": [1.79e308] * 6 + [-1.79e308] * 6, "y": list(range(12))}, {"x", "y"}),
        ({"x": [at * 1e-320 for at in range(12)], "y": list(range(12))}, {"x", "y"}),
        ({"x": [0.011] * 6 + [None] * 6, "y": list(range(12))}, {"x", "y"}),
        ({"x": [1] * 6 + [2] * 6, "y": [None, None, None, 1000, 0, 0] * 2}, {"x"}),
        ({"x": [-4, -5, -6, -40, -50, -60] * 2, "y": [0] * 6 + [1] * 6}, {"x", "y"}),
    ],
)
def test_awkward_numbers(table: dict[str, list[Any]], shown: set[str], tmp_path: Path) -> None:
    """Large, huge, constant, missing, NaN, repeated, below zero: k holds, and the files validate."""
    place = tmp_path / "out.parquet"
    release = released(pa.table(table), policy={name: {"role": "quasi_identifier"} for name in table}, output=place)
    assert set(release.to_arrow().column_names) == shown
    assert min(rows_of(release).values()) >= 3
    assert anonkit.validate(place).passed


@pytest.mark.parametrize(
    ("table", "error", "message"),
    [
        ({"x": [1.0, float("inf"), 3.0, 4.0]}, PolicyError, "column 'x' has an infinite number, which has no mean"),
        ({"x": [1.0, float("inf"), 3.0, -float("inf")]}, PolicyError, "has 2 infinite numbers, which have no mean"),
        ({"x": ["a", "b"] * 6}, PolicyError, "no quasi-identifier holds numbers"),
        ({"x": [1, 2]}, GuaranteeError, "the table has 2 rows"),
        ({"x": [5] * 9}, GuaranteeError, "no column can be released"),
    ],
)
def test_what_cannot_be_averaged_is_refused(
    table: dict[str, list[Any]], error: type[AnonkitError], message: str
) -> None:
    """One line that names the column and the rule."""
    with pytest.raises(error, match=message):
        released(pa.table(table))


def test_what_means_of_groups_cannot_promise_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """k of its own for a combination, whole households, rounded weights, a population file, too many rows."""
    table = pa.table({"x": list(range(20)), "y": list(range(20)), "h": [at // 2 for at in range(20)], "w": [1.5] * 20})
    numbers = {"x": {"role": "quasi_identifier"}, "y": {"role": "quasi_identifier"}}
    with pytest.raises(PolicyError, match="method 'mdav' has no k for chosen combinations"):
        anonkit.release(
            table.select(["x", "y"]), method="mdav", k=3, no_target=True, ledger=None,
            policy={"columns": numbers, "unit": "none", "keys": [{"columns": ["x"], "k": 5}]},
        )  # fmt: skip
    with pytest.raises(PolicyError, match="method 'mdav' has no rounded weights"):
        anonkit.release(
            table.select(["x", "w"]), method="mdav", k=3, no_target=True, ledger=None,
            policy={
                "columns": {"x": numbers["x"], "w": {"role": "weight", "weights": "rounded", "step": 1}},
                "unit": "none",
            },
        )  # fmt: skip
    with pytest.raises(ParameterError, match="no file tells which group"):
        released(table.select(["x", "y"]), policy=numbers, population=table.select(["x", "y"]))
    monkeypatch.setattr(mdav, "MOST_ROWS", 19)
    with pytest.raises(ChoiceError, match="groups at most 19 rows"):
        released(table.select(["x", "y"]), policy=numbers)


def test_mean_weights_stand_beside_means(tmp_path: Path) -> None:
    """The weights of a sample are shown as the mean of the same groups."""
    draws = np.random.default_rng(5)
    table = pa.table({"x": draws.normal(size=60), "w": draws.uniform(1, 3, 60)})
    columns = {"x": {"role": "quasi_identifier"}, "w": {"role": "weight"}}
    release = released(table, policy=columns, output=tmp_path / "out.parquet")
    assert anonkit.validate(tmp_path / "out.parquet").passed
    assert len(set(zip(*release.to_arrow().to_pydict().values(), strict=True))) <= 20


BATCHES: dict[str, Any] = {"x": {"role": "quasi_identifier"}, "sex": {"role": "quasi_identifier"}}


def _people(n: int, seed: int) -> pa.Table:
    draws = np.random.default_rng(seed)
    return pa.table({"x": draws.normal(40, 10, n), "sex": draws.choice(["f", "m"], n)})


def test_the_next_batch_shows_the_nearest_centroid(tmp_path: Path) -> None:
    """Of those that stay open: each has k rows of the batch, and every row the nearest of its sex."""
    place, batch = tmp_path / "out.parquet", _people(150, 2)
    released(_people(400, 1), k=5, policy=BATCHES, output=place)
    second = anonkit.apply(tmp_path / "out.params.json", batch, output=tmp_path / "next.parquet", ledger=None)
    assert anonkit.validate(tmp_path / "next.parquet").passed
    assert second.report["rows"]["out"] == 150
    assert min(rows_of(second).values()) >= 5
    centroids = second.params["recoding"]["centroids"]
    first = anonkit.load(place).params["recoding"]["centroids"]
    assert centroids["rows"] == "nearest"
    known = set(zip(*first["columns"].values(), strict=True))
    open_ones = set(zip(*centroids["columns"].values(), strict=True))
    assert open_ones < known
    own = Counter()
    for row in batch.to_pylist():
        means = [x for x, sex in open_ones if sex == row["sex"]]
        own[(min(means, key=lambda mean: abs(mean - row["x"])), row["sex"])] += 1
    assert own == rows_of(second)
    again = recoding_from_dict(second.params["recoding"]).apply(batch.combine_chunks().to_batches()[0])[0]
    assert Counter(zip(again["x"].to_pylist(), again["sex"].to_pylist(), strict=True)) == own


@pytest.mark.parametrize("far", [1e200, -1.7e308])
def test_a_number_as_far_as_doubles_reach_has_a_nearest_centroid(far: float, tmp_path: Path) -> None:
    """Squares of its distances are none of doubles; still it is nearest to the outermost."""
    numbers = np.random.default_rng(4).normal(50, 10, 60).tolist()
    place = tmp_path / "out.parquet"
    released(pa.table({"x": numbers}), k=5, output=place)
    first, second = (
        rows_of(anonkit.apply(place.with_name("out.params.json"), pa.table({"x": batch}), ledger=None, utility=False))
        for batch in (numbers, [*numbers, far])
    )
    assert second - first == {(max if far > 0 else min)(first): 1}


def test_a_row_of_an_unknown_combination_is_left_out(tmp_path: Path) -> None:
    """A batch with a category that the release had not, or with a missing number, has no centroid for it."""
    released(_people(400, 1), k=5, policy=BATCHES, output=tmp_path / "out.parquet")
    odd = pa.concat_tables(
        [_people(150, 3), pa.table({"x": [None, 40.0], "sex": ["f", "x"]}).cast(_people(1, 1).schema)]
    )
    second = anonkit.apply(tmp_path / "out.params.json", odd, ledger=None, max_suppression=0.1)
    assert second.report["rows"]["suppressed"] == 2
    with pytest.raises(GuaranteeError, match="would have to be left out"):
        anonkit.apply(tmp_path / "out.params.json", odd, ledger=None, max_suppression=0.0)


def test_a_batch_too_small_for_any_centroid_is_refused(tmp_path: Path) -> None:
    """Eight rows of two sexes: no combination has five."""
    released(_people(400, 1), k=5, policy=BATCHES, output=tmp_path / "out.parquet")
    few = pa.table({"x": [30.0 + at for at in range(8)], "sex": ["f", "m"] * 4})
    with pytest.raises(GuaranteeError, match="8 of 8 rows would have to be left out"):
        anonkit.apply(tmp_path / "out.params.json", few, ledger=None, max_suppression=0.9)


def test_a_second_release_of_the_people_is_refused(tmp_path: Path) -> None:
    """Means of groups that differ by few people disclose these: no word of the owner lets both out."""
    ledger, table = tmp_path / "ledger.sqlite", _people(300, 4)
    asked: dict[str, Any] = {"policy": BATCHES, "ledger": ledger, "dataset": "people"}
    released(table, k=5, **asked)
    with pytest.raises(GuaranteeError, match="finds groups of") as refused:
        released(table, k=10, **asked)
    assert "accept_joint_k" not in str(refused.value)  # which would not help
    with pytest.raises(GuaranteeError, match="disclose who is in between"):
        released(table, k=10, accept_joint_k=1, **asked)
    with pytest.raises(GuaranteeError, match="the table has changed since release 1"):
        released(table.slice(1), k=5, **asked)


def subtracted(first: Any, second: Any) -> float:
    """Return the number of the person whom the second release lacks, as far as sums of groups tell it.

    Groups that both releases show alike say nothing. The others of the category with one row less differ by the person,
    and by what their means are rounded.
    """
    lost = rows_of(first) - rows_of(second)
    new = rows_of(second) - rows_of(first)
    fewer = Counter(sex for _, sex in lost.elements())
    fewer.subtract(sex for _, sex in new.elements())
    (sex,) = (sex for sex, count in fewer.items() if count == 1)
    return float(sum(x for x, s in lost.elements() if s == sex) - sum(x for x, s in new.elements() if s == sex))


def found_of(n_pairs: int, ledger: Path | None = None) -> int:
    """Return in how many pairs of releases subtraction finds the person who left, within a tenth of the deviation."""
    found = 0
    for seed in range(n_pairs):
        table, asked = _people(60, seed), {"k": 5, "policy": BATCHES, "max_suppression": 0.0, "ledger": ledger}
        asked |= {} if ledger is None else {"dataset": f"pair {seed}"}
        first = released(table, **asked)
        try:
            second = released(table.slice(1), **asked, **({} if ledger is None else {"accept_joint_k": 1}))
        except GuaranteeError as refused:
            if "disclose who is in between" not in str(refused):
                raise
            continue
        own = table["x"].to_numpy()
        found += bool(abs(subtracted(first, second) - own[0]) <= own.std() / 10)
    return found


def test_with_a_ledger_subtraction_finds_nobody(tmp_path: Path) -> None:
    """A table with one person less is refused, whatever its owner accepts."""
    assert found_of(2, tmp_path / "ledger.sqlite") == 0


@pytest.mark.slow
@pytest.mark.parametrize("n_pairs", [pytest.param(200, marks=pytest.mark.slow), 4])
def test_without_a_ledger_subtraction_finds_people(n_pairs: int) -> None:
    """The attack is one: without a ledger it finds most people, as the page says."""
    assert found_of(n_pairs) >= n_pairs / 2


def test_a_batch_of_the_same_people_is_refused(tmp_path: Path) -> None:
    """The nearest centroids of the rows that made them are groups of other people, with other means beside them."""
    ledger, table = tmp_path / "ledger.sqlite", _people(300, 4)
    released(table, k=5, policy=BATCHES, ledger=ledger, dataset="people", output=tmp_path / "out.parquet")
    with pytest.raises(GuaranteeError, match="means of groups that differ by fewer than 5 people"):
        anonkit.apply(tmp_path / "out.params.json", table, ledger=ledger, accept_joint_k=1)


def test_features_are_the_numbers(tmp_path: Path) -> None:
    """Released rows and rows in the original values are read alike: a number is a number."""
    release = released(_people(300, 6), k=5, policy=BATCHES)
    features = ReleaseFeatures(release).fit(release.to_pandas())
    assert list(features.get_feature_names_out()) == ["x", "sex=f", "sex=m"]
    shown = features.transform(pd.DataFrame({"x": [41.37], "sex": ["m"]}))
    assert shown.tolist() == [[41.37, 0.0, 1.0]]
