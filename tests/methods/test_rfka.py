"""RFKA: the promise, the published algorithm, the default, and every option of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import anonkit
from anonkit.errors import GuaranteeError, ParameterError, PolicyError
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy
from tests.conftest import USUAL_EIGHT

QUICK: dict[str, Any] = {"method": "rfka", "trees": 10}


def _classes(frame: pd.DataFrame, columns: list[str]) -> pd.Series:
    if not columns:
        return pd.Series([len(frame)])
    return frame.groupby(columns, dropna=False, observed=True).size()


def _quasi_identifiers(release: anonkit.Release) -> list[str]:
    asked = release.report["guarantee"]["parameters"]["quasi_identifiers"]
    return [name for name in asked if name in release.to_arrow().column_names]


ROWS = st.lists(
    st.tuples(
        st.integers(0, 30) | st.none(),
        st.sampled_from(["a", "b", "c", "rare", None]),
        st.sampled_from(["x", "y"]),
        st.sampled_from(["no", "yes", None]),
    ),
    min_size=6,
    max_size=60,
)


@settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow])
@given(
    ROWS,
    st.integers(2, 5),
    st.sampled_from([0.0, 0.1, 0.5]),
    st.sampled_from(["specialization", "greedy"]),
    st.sampled_from(["auto", "none"]),
)
def test_k_holds_on_every_release(rows: list[Any], k: int, suppression: float, search: str, ladder: str) -> None:
    """For any table, every class of the release has k rows and no more rows are missing than allowed."""
    frame = pd.DataFrame(rows, columns=["n", "c", "d", "y"]).convert_dtypes()
    release = anonkit.release(
        frame, k=k, max_suppression=suppression, search=search, ladder=ladder, target="y", **QUICK
    )
    out = release.to_pandas()

    assert _classes(out, _quasi_identifiers(release)).min() >= k
    assert len(frame) - len(out) <= suppression * len(frame)
    assert release.report["rows"]["suppressed"] == len(frame) - len(out)


@pytest.mark.slow
@settings(max_examples=6, suppress_health_check=[HealthCheck.too_slow])
@given(ROWS, st.integers(2, 4))
def test_the_published_selection_is_maximal(rows: list[Any], k: int) -> None:
    """No value the paper's algorithm rejected could be kept beside the final selection."""
    frame = pd.DataFrame(rows, columns=["n", "c", "d", "y"])[["c", "d", "y"]]
    release = anonkit.release(frame, method="rfka", preset="paper", k=k, trees=10, target="y")
    released = release.to_pandas()
    kept = _quasi_identifiers(release)
    accepted = {name: set(released[name].dropna()) - {"*"} for name in kept}
    source = frame.fillna("(missing)")

    def projection(extra: tuple[str, str] | None) -> pd.Series:
        view = pd.DataFrame(index=source.index)
        for name in ("c", "d"):
            values = {value if value is not None else "(missing)" for value in accepted.get(name, set())}
            if name in kept and released[name].isna().any():
                values.add("(missing)")
            if extra is not None and extra[0] == name:
                values.add(extra[1])
            view[name] = source[name].where(source[name].isin(values), "*")
        return _classes(view, ["c", "d"])

    assert projection(None).min() >= k
    for name in ("c", "d"):
        for value in set(source[name]):
            if projection((name, value)).size > projection(None).size:
                assert projection((name, value)).min() < k, (name, value)


def test_the_published_algorithm_by_hand() -> None:
    """Importance decides the order; a value whose class would be too small is dropped; all else is a star."""
    frame = pd.DataFrame(
        {
            "strong": ["a"] * 10 + ["b"] * 10,
            "weak": ["u"] * 5 + ["v"] * 5 + ["u"] * 5 + ["w"] * 5,
            "y": ["no"] * 10 + ["yes"] * 10,
        }
    )
    release = anonkit.release(frame, method="rfka", preset="paper", k=6, trees=50, target="y")

    assert release.to_pandas().columns.tolist() == ["strong", "y"]
    reason = next(c for c in release.report["columns"] if c["name"] == "weak")["reason"]
    assert reason == "with it, more rows than may be left out would be in groups that break k-anonymity"
    assert set(release.owner["search"]["rows_that_would_break_it"].values()) == {10, 20}
    assert release.report["method"]["preset"] == "paper"


def test_the_paper_preset_is_the_published_configuration() -> None:
    """One-hot features, out-of-bag permutation over 1,000 full trees, five bins, nothing suppressed or generalized."""
    method = anonkit.methods.make_method("rfka", {}, "paper")  # type: ignore[attr-defined]
    assert (method.features, method.importance, method.trees, method.forest) == ("one-hot", "rf-oob", 1000, "full")
    assert (method.search, method.ladder, method.bins, method.max_suppression) == ("greedy", "none", 5, 0.0)


def test_numeric_columns_are_cut_into_equal_width_bins() -> None:
    """Step 1 of the paper: five bins of equal width between the bounds, those not accepted starred."""
    frame = pd.DataFrame({"n": list(range(100)), "y": ["no"] * 60 + ["yes"] * 40})
    policy = Policy(columns={"n": Column(name="n", bounds=(0, 100)), "y": Column(name="y", role=Role.TARGET)})
    release = anonkit.release(frame, method="rfka", preset="paper", k=20, trees=20, policy=policy)

    assert set(release.to_pandas()["n"]) <= {"< 20", "[20, 40)", "[40, 60)", "[60, 80)", ">= 80", "*"}
    assert release.report["disclosure_risk"]["k_anonymity"]["k"] == 20


@pytest.mark.quick_cases("specialization-mutual-info")
@pytest.mark.parametrize("importance", ["rf-oob", "rf-gini", "hamdist", "mutual-info"])
@pytest.mark.parametrize("search", ["greedy", "specialization"])
def test_every_importance_works_with_every_search(small_customers: pa.Table, importance: str, search: str) -> None:
    """All combinations release, and the report says which was used."""
    release = anonkit.release(
        small_customers, k=5, importance=importance, search=search, target="customer_value", **QUICK
    )
    assert release.report["search"]["importance"] == importance
    assert release.report["disclosure_risk"]["k_anonymity"]["k"] >= 5


CONSTRAINTS = [{"l": 2.0}, {"entropy_l": 1.5}, {"recursive": "3,2"}, {"t": 0.2}, {"alpha": 0.7}]


@pytest.mark.quick_cases("rfka-l", "rfka-t", "rfka-alpha")
@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=lambda c: next(iter(c)))
@pytest.mark.parametrize("method", ["rfka", "mondrian"])
def test_diversity_is_kept_and_reported(small_customers: pa.Table, constraint: dict[str, Any], method: str) -> None:
    """Each constraint is required of every class, checked on the output, and is in the report."""
    parameters = {**constraint, **({"trees": 10} if method == "rfka" else {})}
    release = anonkit.release(
        small_customers, method=method, k=5, target="customer_value", sensitive=["customer_value"], **parameters
    )
    checks = {check["name"].split(":")[0]: check for check in release.report["verification"]["checks"]}
    asked = [name for name in checks if name not in ("k_anonymity", "identifiers_absent", "identifiers_in_clear")]

    assert len(asked) == 1
    assert all(check["passed"] for check in checks.values())
    assert release.report["disclosure_risk"]["l_diversity"]["customer_value"]["l"] >= 1


def test_diversity_without_a_sensitive_column_is_refused(small_customers: pa.Table) -> None:
    """l is about something: say what."""
    with pytest.raises(PolicyError, match="no column is sensitive"):
        anonkit.release(small_customers, k=5, l=2, target="customer_value", **QUICK)


def test_people_are_counted_when_there_is_a_unit() -> None:
    """Ten rows of one person do not make a class of ten."""
    rows = [("a", person, "no") for person in range(3) for _ in range(10)]
    rows += [("b", person, "yes") for person in range(3, 9)]
    frame = pd.DataFrame(rows, columns=["q", "who", "y"])
    release = anonkit.release(frame, k=4, unit="who", target="y", max_suppression=0.0, **QUICK)

    assert "who" not in release.to_arrow().column_names
    assert release.report["disclosure_risk"]["k_anonymity"]["people"] >= 4
    assert "q" not in release.to_arrow().column_names  # "a" is held by three people only


def test_an_unreachable_k_is_refused_with_counts() -> None:
    """More k than rows, or than people, cannot be."""
    frame = pd.DataFrame({"q": ["a", "b"], "y": ["no", "yes"]})
    with pytest.raises(GuaranteeError, match="the table has 2 rows"):
        anonkit.release(frame, k=3, target="y", **QUICK)


def test_a_declared_ladder_is_climbed_and_a_tree_gives_its_names() -> None:
    """Widths become bins, groups of a tree carry the names the owner gave them."""
    rng = np.random.default_rng(0)
    zips = rng.choice(["2541", "2542", "2610", "3011"], 400)
    age = rng.integers(20, 60, 400)
    label = np.where((age > 40) ^ (zips == "3011"), "yes", "no")
    frame = pd.DataFrame({"zip": zips, "age": age, "y": label})
    tree = (("2541", "25**", "2***"), ("2542", "25**", "2***"), ("2610", "26**", "2***"), ("3011", "30**", "3***"))
    policy = Policy(
        columns={
            "zip": Column(name="zip", tree=tree),
            "age": Column(name="age", ladder=(10.0, 20.0)),
            "y": Column(name="y", role=Role.TARGET),
        }
    )
    out = anonkit.release(frame, k=30, policy=policy, **QUICK).to_pandas()

    names = {name for path in tree for name in path}
    assert set(out["zip"]) <= names
    assert set(out["age"].astype(str)) <= {"[20, 30)", "[30, 40)", "[40, 50)", "[50, 60)", "[20, 40)", "[40, 60)"}


def test_no_value_is_published_that_fewer_than_k_hold(small_customers: pa.Table) -> None:
    """Neither params nor report list a rare category, and interval ends are round."""
    frame = small_customers.to_pandas()
    frame["occupation"] = frame["occupation"].astype(object)
    frame.loc[3, "occupation"] = "astronaut"
    release = anonkit.release(frame, k=5, target="customer_value", **QUICK)
    assert "astronaut" not in str(release.params) + str(release.report)


def test_missing_values_are_a_category_dropped_or_refused() -> None:
    """Three treatments, counted in the report."""
    frame = pd.DataFrame({"q": ["a"] * 5 + ["b"] * 5 + [None] * 5, "y": ["no", "yes", "no"] * 5})

    def go(treatment: str) -> anonkit.Release:
        policy = Policy.from_dict({"missing": treatment, "columns": {"y": {"role": "target"}}})
        return anonkit.release(frame, k=5, policy=policy, **QUICK)

    assert go("category").report["rows"]["out"] == 15
    dropped = go("drop").report["rows"]
    assert (dropped["out"], dropped["dropped_missing"], dropped["suppressed"]) == (10, 5, 0)
    with pytest.raises(PolicyError, match="column 'q' has 5 missing values"):
        go("error")


def test_rows_without_a_target_are_released_and_guide_nothing() -> None:
    """An unlabelled row is protected like any other, and its absent label is not a class."""
    frame = pd.DataFrame({"q": ["a", "b"] * 10, "y": ["no", "yes"] * 5 + [None] * 10})
    release = anonkit.release(frame, k=5, target="y", **QUICK)
    assert release.to_pandas()["y"].isna().sum() == 10


def test_cells_outside_the_declared_domain_are_refused_by_count() -> None:
    """A domain is a promise of the owner; what breaks it is counted, not quoted."""
    frame = pd.DataFrame({"q": ["a", "SECRET"] * 5, "n": [1, 99] * 5, "y": ["no", "yes"] * 5})
    closed = Policy.from_dict({"columns": {"q": {"categories": ["a", "b"]}, "y": {"role": "target"}}})
    with pytest.raises(GuaranteeError, match="column 'q' has 5 of 10 cells outside its declared categories") as caught:
        anonkit.release(frame, k=2, policy=closed, **QUICK)
    assert "SECRET" not in str(caught.value)
    columns = {"n": {"bounds": [0, 50], "outside": "refuse"}, "y": {"role": "target"}}
    with pytest.raises(PolicyError, match="column 'n' has 5 cells outside its declared bounds"):
        anonkit.release(frame, k=2, policy=Policy.from_dict({"columns": columns}), **QUICK)


def test_numbers_beyond_declared_bounds_count_as_the_bound() -> None:
    """Top coding under k-anonymity, too, and the report says so."""
    frame = pd.DataFrame({"q": ["a", "b"] * 5, "n": [1, 99] * 5, "y": ["no", "yes"] * 5})
    bounded = Policy.from_dict({"columns": {"n": {"bounds": [0, 50], "outside": "clamp"}, "y": {"role": "target"}}})
    made = anonkit.release(frame, k=2, policy=bounded, **QUICK)
    told = {column["name"]: column for column in made.report["columns"]}["n"]
    assert "99" not in {str(value) for value in made.to_pandas().get("n", [])}
    assert told["action"] == "dropped" or "coding" in told


@pytest.mark.parametrize(
    "parameters",
    [
        {"k": 1},
        {"k": 2.5},
        {"max_suppression": 1.5},
        {"importance": "best"},
        {"trees": 0},
        {"t": 2},
        {"recursive": "3"},
    ],
)
def test_a_parameter_outside_its_range_is_refused_by_name(parameters: dict[str, Any]) -> None:
    """The message names the parameter and its range."""
    with pytest.raises(ParameterError, match=next(iter(parameters))):
        anonkit.methods.make_method("rfka", parameters)  # type: ignore[attr-defined]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("all_columns", "suppression", "auc"), [(False, 0.01, 0.870), (True, 0.01, 0.895), (True, 0.0, 0.880)]
)
def test_the_utility_target_is_met_on_held_out_labels(
    adult: pa.Table, all_columns: bool, suppression: float, auc: float
) -> None:
    """Adult, k = 10, half A's labels choose and half B scores, mean of three splits."""
    from benchmarks.held_out import SPLITS, held_out

    frame = adult.to_pandas()
    columns = [name for name in frame.columns if name != "income"] if all_columns else list(USUAL_EIGHT)
    runs = [held_out(frame, columns, seed, method="rfka", k=10, max_suppression=suppression) for seed in SPLITS]

    assert np.mean([score for score, _ in runs]) >= auc
    assert all(release.report["rows"]["suppressed"] <= suppression * len(frame) for _, release in runs)
