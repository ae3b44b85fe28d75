"""Features of k-anonymous releases: what labels mean in numbers, original values, and the scikit-learn contract."""

from __future__ import annotations

import pickle
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import anonkit
from anonkit.bundle.bound_columns import labelled_rows
from anonkit.consumers import ReleaseFeatures
from anonkit.errors import GuaranteeError, ParameterError, ReleaseFormatError, SourceError

TABLE = anonkit.datasets.bank_customers(400, seed=3)
TARGET = "customer_value"


def params_of(*columns: dict[str, Any], **declared: dict[str, Any]) -> dict[str, Any]:
    """Params of a global recoding, with what is declared of some columns."""
    described = [
        {"name": raw["name"], "role": "quasi_identifier", "type": "int64", **declared.get(raw["name"], {})}
        for raw in columns
    ]
    described.append({"name": "ill", "role": "target", "type": "string"})
    return {"columns": described, "missing_values": [""], "recoding": {"kind": "global", "columns": list(columns)}}


def intervals(name: str, cuts: list[str], labels: list[str | None], *, missing: bool = False) -> dict[str, Any]:
    """An axis of intervals with its labels."""
    return {"name": name, "kind": "intervals", "cuts": cuts, "missing": missing, "labels": labels}


def sets(name: str, values: list[str], labels: list[str | None], **there: Any) -> dict[str, Any]:
    """An axis of categories with its labels."""
    return {"name": name, "kind": "categories", "values": values, "other": False, "missing": False} | {
        "labels": labels,
        **there,
    }


AGE = intervals("age", ["20", "30", "40"], ["< 20", "[20, 30)", "[30, 40)", ">= 40"])


def features_of(params: dict[str, Any], **cells: list[Any]) -> np.ndarray:
    """The features of some cells, each value itself."""
    frame = pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in cells.items()})
    return np.asarray(ReleaseFeatures(params, recode=False).fit(frame).transform(frame))


@pytest.mark.quick_cases(
    "ReleaseFeatures()-*", "*check_fit_idempotent*", "*check_estimators_pickle*", "*check_transformer_general*"
)
@parametrize_with_checks([ReleaseFeatures(), ReleaseFeatures(params_of(AGE), max_categories=3)])
def test_scikit_learn_contract(estimator: Any, check: Any) -> None:
    """Every check that scikit-learn has for transformers passes."""
    check(estimator)


def test_an_interval_is_its_lowest_value_its_highest_and_the_middle() -> None:
    """Of integers [20, 30) reaches to 29; open ends stop at the outermost cut; `*` and no cell are all of it."""
    got = features_of(params_of(AGE), age=["[20, 30)", "[30, 40)", "< 20", ">= 40", "*", None])

    expected = [[20, 29, 24.5], [30, 39, 34.5], [19, 19, 19], [40, 40, 40], [20, 40, 30], [20, 40, 30]]
    np.testing.assert_array_equal(got, np.array(expected, dtype=float))


def test_declared_bounds_end_the_open_intervals() -> None:
    """With declared bounds the lowest and the highest interval reach to them."""
    params = params_of(AGE, age={"domain": {"bounds": [17, 90]}})

    got = features_of(params, age=["< 20", ">= 40"])

    np.testing.assert_array_equal(got, [[17, 19, 18], [40, 90, 65]])


def test_a_number_of_decimals_reaches_to_the_cut() -> None:
    """Of numbers that are not whole the interval's end is its cut."""
    axis = intervals("dose", ["0.5", "1.5"], ["< 0.5", "[0.5, 1.5)", ">= 1.5"])

    got = features_of(params_of(axis, dose={"type": "double"}), dose=["[0.5, 1.5)", "0.7"])

    np.testing.assert_array_equal(got, [[0.5, 1.5, 1.0], [0.7, 0.7, 0.7]])


@pytest.mark.parametrize(
    ("cut", "below", "above"),
    [
        ("0.5", [0.25, 0.5, 0.375], [0.5, 0.75, 0.625]),
        ("-4", [-6, -4, -5], [-4, -2, -3]),
        ("0", [-1, 0, -0.5], [0, 1, 0.5]),
    ],
)
def test_one_cut_of_decimals_tells_its_two_sides_apart(cut: str, below: list[float], above: list[float]) -> None:
    """Both sides have an open end at the same cut: they reach half its size from it, 1 from zero."""
    axis = intervals("dose", [cut], [f"< {cut}", f">= {cut}"])

    got = features_of(params_of(axis, dose={"type": "double"}), dose=[f"< {cut}", f">= {cut}"])
    declared = features_of(
        params_of(axis, dose={"type": "double", "domain": {"bounds": [-9, 9]}}), dose=[f"< {cut}", f">= {cut}"]
    )

    np.testing.assert_array_equal(got, [below, above])
    np.testing.assert_array_equal(declared[:, 0], [-9, float(cut)])
    np.testing.assert_array_equal(declared[:, 1], [float(cut), 9])


def test_dates_are_days_since_1970() -> None:
    """A label reaches to the day before its end; a date in the original values is one day, a year's label a year."""
    labels = ["< 1970-01-11", "[1970-01-11, 1970-01-21)", "1970"]
    axis = intervals("born", ["1970-01-11", "1970-01-21"], labels)
    params = params_of(axis, born={"type": "date32[day]"})
    shown = ReleaseFeatures(params, recode=False).fit(pa.table({"born": labels}))

    released = shown.transform(pa.table({"born": ["[1970-01-11, 1970-01-21)", "1970-01-05", "*"]}))
    np.testing.assert_array_equal(released, [[10, 19, 14.5], [4, 4, 4], [10, 20, 15]])
    original = shown.transform(pa.table({"born": pa.array([date(1970, 1, 5), None], pa.date32())}))
    np.testing.assert_array_equal(original, [[4, 4, 4], [10, 20, 15]])
    as_times = shown.transform(pa.table({"born": pa.array([datetime(1970, 1, 5, 12)], pa.timestamp("us"))}))
    np.testing.assert_array_equal(as_times, [[4.5] * 3])
    as_numbers = shown.transform(pa.table({"born": [1970]}))  # what a CSV reader makes of a column of years
    np.testing.assert_array_equal(as_numbers, [[20, 20, 20]])


def test_parts_that_are_not_neighbours_reach_over_the_gap() -> None:
    """A label of two intervals is their hull; of `missing` beside one it has an equal share."""
    labels = ["< 20|[30, 40)", "[20, 30)", "< 20|[30, 40)", ">= 40|missing", ">= 40|missing"]
    axis = intervals("age", ["20", "30", "40"], labels, missing=True)

    got = features_of(params_of(axis, age={"domain": {"bounds": [0, 99]}}), age=["< 20|[30, 40)", ">= 40|missing"])

    np.testing.assert_array_equal(got, [[0, 39, 19.5, 0], [40, 99, 69.5, 0.5]])


def test_a_set_is_a_share_of_each_member() -> None:
    """Sets, groups of a tree, what is named by what it lacks, others and missing, each by its parts."""
    labels = ["trade", "trade", "clerk", "not clerk", "other", None]
    axis = sets("job", ["baker", "smith", "clerk", "nurse"], labels, other=True, missing=True)
    cells = ["trade", "clerk", "baker", "not clerk", "pilot", None, "", "*"]

    got = features_of(params_of(axis, job={"type": "string"}), job=cells)

    expected = [
        [0.5, 0.5, 0, 0, 0, 0],
        [0, 0, 1, 0, 0, 0],
        [1, 0, 0, 0, 0, 0],
        [0, 0, 0, 1, 0, 0],
        [0, 0, 0, 0, 1, 0],
        [0, 0, 0, 0, 0, 1],
        [0, 0, 0, 0, 0, 1],
        [1 / 6] * 6,
    ]
    np.testing.assert_array_equal(got, np.array(expected))


def test_a_value_about_which_the_release_says_nothing_has_equal_shares() -> None:
    """Without a part for others an unlisted value may be any, and so may a missing one."""
    axis = sets("job", ["baker", "smith"], ["baker", "smith"])

    got = features_of(params_of(axis, job={"type": "string"}), job=["pilot", None, "smith"])

    np.testing.assert_array_equal(got, [[0.5, 0.5], [0.5, 0.5], [0, 1]])


def test_coarser_labels_of_a_merged_batch_are_read() -> None:
    """A level above the labels represents all its parts, also where rows are recoded by `apply`."""
    axis = {**AGE, "coarser": [["< 30", "< 30", ">= 30", ">= 30"], ["*"] * 4]}
    params = params_of(axis)
    params["recoding"]["merged"] = True

    np.testing.assert_array_equal(features_of(params, age=["< 30", ">= 30"]), [[20, 29, 24.5], [30, 40, 35]])


def test_recoded_dates_and_values_of_which_nothing_is_known() -> None:
    """Dates as text or as dates show their interval; what the recoding knows no group for may be any value."""
    born = intervals("born", ["1970-01-11"], ["< 1970-01-11", ">= 1970-01-11"])
    job = sets("job", ["baker", "smith", "clerk"], ["craft", "craft", "clerk"])
    params = params_of(born, job, born={"type": "date32[day]"}, job={"type": "string"})
    shown = ReleaseFeatures(params).fit(pa.table({"born": ["*"], "job": ["craft"]}))
    expected = [[9, 9, 9, 0.5, 0.5, 0], [10, 10, 10, 0, 0, 1], [10, 10, 10, *[1 / 3] * 3]]

    dates = [date(1969, 3, 5), date(1999, 3, 5), None]
    for cells in (pa.array(dates, pa.date32()), [None if day is None else str(day) for day in dates]):
        got = shown.transform(pa.table({"born": cells, "job": ["smith", "clerk", "pilot"]}))
        np.testing.assert_array_equal(got, np.array(expected, dtype=float))


def test_boxes_need_every_column_that_tells_them_apart() -> None:
    """Original rows without a column of a local recoding are named the column; released rows need none."""
    release = anonkit.release(TABLE.slice(0, 100), method="mondrian", k=5, target=TARGET, seed=1)
    frame, original = release.to_pandas(), TABLE.to_pandas()
    shown = ReleaseFeatures(release).fit(frame[["age", "loan"]])

    assert shown.transform(frame[["loan", "age"]]).shape == (len(frame), 6)
    with pytest.raises(SourceError, match="rows in the original values need column"):
        shown.transform(original[["loan", "age"]])
    assert shown.transform(original).shape == (len(original), 6)


@pytest.fixture(scope="module", params=["rfka", "mondrian"])
def released(request: pytest.FixtureRequest) -> anonkit.Release:
    """A release of the bank's customers, each row with its number in the source."""
    source = TABLE.append_column("row", pa.array(range(TABLE.num_rows)))
    fewer = {"trees": 20} if request.param == "rfka" else {}
    return anonkit.release(
        source, method=request.param, k=5, target=TARGET, insensitive=["row"], release_as_is=["row"], seed=3, **fewer
    )


def test_an_original_value_stands_inside_its_released_cell(released: anonkit.Release) -> None:
    """Of every row low <= value <= high where the interval is closed, and the value's own share is above 0."""
    params, frame = dict(released.params), released.to_pandas()
    original = TABLE.to_pandas().iloc[frame["row"]].reset_index(drop=True)
    shown = ReleaseFeatures(params, recode=False).set_output(transform="pandas").fit(frame)
    cells, values = shown.transform(frame), shown.transform(original.assign(row=frame["row"]))
    axes = {raw["name"]: raw for raw in params["recoding"].get("axes", params["recoding"].get("columns"))}
    seen = 0

    for name, axis in axes.items():
        if name not in frame:
            continue
        if axis["kind"] == "intervals":
            value = values[f"{name}_mid"]
            inside = value.between(cells[f"{name}_low"], cells[f"{name}_high"])
            open_end = frame[name].str.startswith(("< ", ">= ", "*"))
            assert (inside | open_end).all()
            assert (cells[f"{name}_low"] <= cells[f"{name}_mid"]).all()
            assert (cells[f"{name}_mid"] <= cells[f"{name}_high"]).all()
        else:
            names = [column for column in cells if column.startswith(f"{name}=")]
            assert (cells[names].to_numpy()[values[names].to_numpy() == 1] > 0).all()
            np.testing.assert_allclose(cells[names].sum(axis=1), 1)
        seen += 1
    assert seen > 2


def test_original_rows_that_are_recoded_have_the_features_of_their_released_ones(released: anonkit.Release) -> None:
    """Row by row: of numbers, of texts as a CSV holds them, and released rows stay what they are."""
    frame = released.to_pandas()
    original = TABLE.to_pandas().iloc[frame["row"]].assign(row=frame["row"].to_numpy())
    shown = ReleaseFeatures(released).fit(frame)
    expected = shown.transform(frame)

    np.testing.assert_array_equal(expected, ReleaseFeatures(released, recode=False).fit(frame).transform(frame))
    np.testing.assert_array_equal(shown.transform(original), expected)
    as_texts = original.astype({name: str for name in original.columns if name != "row"})
    np.testing.assert_array_equal(shown.transform(as_texts), expected)
    mixed = pd.concat([frame.iloc[:50].astype(object), original.iloc[50:].astype(object)])
    np.testing.assert_array_equal(shown.transform(mixed.astype(str).assign(row=frame["row"].to_numpy())), expected)


def test_every_library_and_a_csv_give_the_same_features(released: anonkit.Release, tmp_path: Path) -> None:
    """pandas, Polars, Arrow, and the release read back from CSV: one table, one set of features."""
    shown, table = ReleaseFeatures(released), released.to_arrow()
    expected = shown.fit(table).transform(table)
    released.to_pandas().to_csv(tmp_path / "out.csv", index=False)

    for other in (released.to_pandas(), pl.from_arrow(table), table.to_batches()[0], pd.read_csv(tmp_path / "out.csv")):
        n_rows = len(other) if not isinstance(other, pa.RecordBatch) else other.num_rows
        np.testing.assert_array_equal(clone(shown).fit(other).transform(other), expected[:n_rows])


def test_a_model_learns_from_released_rows_and_predicts_original_ones(released: anonkit.Release) -> None:
    """In a pipeline and a grid search; a test table may have other columns, in another order."""
    frame = released.to_pandas().drop(columns="row")
    model = Pipeline([("cells", ReleaseFeatures(released)), ("model", DecisionTreeClassifier(random_state=0))])
    search = GridSearchCV(model, {"cells__max_categories": [None, 2]}, cv=2).fit(frame, frame[TARGET])
    shuffled = TABLE.to_pandas().sample(frac=1, axis=1, random_state=0).assign(name="x")

    again = pickle.loads(pickle.dumps(search)).predict(shuffled)

    assert (again == search.predict(TABLE.to_pandas())).all()
    assert set(again) <= set(frame[TARGET])


def test_it_works_on_some_columns_of_a_column_transformer(released: anonkit.Release) -> None:
    """Beside other transformers, on the columns it is given, with names of features and data frames out."""
    frame = released.to_pandas()
    name = next(raw["name"] for raw in _axes(released) if raw["kind"] == "intervals" and raw["name"] in frame)
    beside = ColumnTransformer(
        [("cells", ReleaseFeatures(released), [name])], remainder="passthrough", verbose_feature_names_out=False
    ).set_output(transform="pandas")

    out = beside.fit_transform(frame[[name, "row"]])

    assert list(out.columns) == [f"{name}_low", f"{name}_high", f"{name}_mid", "row"]
    assert (out["row"] == frame["row"]).all()


def _axes(release: anonkit.Release) -> list[dict[str, Any]]:
    recoding = dict(release.params)["recoding"]
    return list(recoding.get("axes", recoding.get("columns")))


def test_target_and_identifiers_are_no_features_and_other_columns_are_themselves() -> None:
    """Numbers, truth values and dates stay one feature, texts become indicators of the values seen when fitted.

    A missing cell is the median, and has an indicator where one was missing when fitted.
    """
    frame = pd.DataFrame(
        {
            "age": ["< 20", "*"],
            "ill": ["yes", "no"],
            "visits": [3, 4],
            "since": [date(1970, 1, 2), None],
            "smokes": [True, False],
            "ward": ["b", "a"],
            "blank": [None, None],
        }
    )
    shown = ReleaseFeatures(params_of(AGE)).set_output(transform="pandas").fit(frame)

    out = shown.transform(frame.assign(ward=["c", None]))

    assert list(out.columns) == [
        "age_low", "age_high", "age_mid", "visits", "since", "since_missing", "smokes", "ward=a", "ward=b",
        "blank", "blank_missing",
    ]  # fmt: skip
    expected = [[19, 19, 19, 3, 1, 0, 1, 0, 0, 0, 1], [20, 40, 30, 4, 1, 1, 0, 0, 0, 0, 1]]
    np.testing.assert_array_equal(out.to_numpy(), np.array(expected))


def test_numbers_that_come_as_texts_are_read_where_numbers_were_fitted() -> None:
    """A text that is none is counted and named by its column alone."""
    shown = ReleaseFeatures().fit(pd.DataFrame({"visits": [3.0, 4.0]}))

    np.testing.assert_array_equal(shown.transform(pd.DataFrame({"visits": ["5", " "]})), [[5], [3.5]])
    with pytest.raises(SourceError, match=r"column 'visits' has 2 cells") as caught:
        shown.transform(pd.DataFrame({"visits": ["secret", "inf"]}))
    assert "secret" not in str(caught.value)


def test_a_missing_text_has_an_indicator_where_one_was_missing_when_fitted() -> None:
    """Else it is none of the values, like one that was never seen."""
    there, gone = pd.DataFrame({"ward": ["a", "b"]}), pd.DataFrame({"ward": ["a", None]})

    np.testing.assert_array_equal(ReleaseFeatures().fit(there).transform(gone), [[1, 0], [0, 0]])
    np.testing.assert_array_equal(ReleaseFeatures().fit(gone).transform(gone), [[1, 0], [0, 1]])
    assert list(ReleaseFeatures().fit(gone).get_feature_names_out()) == ["ward=a", "ward_missing"]


def test_a_number_without_a_value_has_the_indicator_of_its_column() -> None:
    """Missing by its type or its text: the ends of the column, and missing for certain."""
    axis = intervals("age", ["20", "30"], ["< 20", "[20, 30)", ">= 30", None], missing=True)
    shown = ReleaseFeatures(params_of(axis), recode=False).fit(pa.table({"age": ["*"]}))

    assert list(shown.get_feature_names_out()) == ["age_low", "age_high", "age_mid", "age_missing"]
    for cells in (pa.array([25.0, None]), pa.array(["25", ""])):
        np.testing.assert_array_equal(shown.transform(pa.table({"age": cells})), [[25, 25, 25, 0], [20, 30, 25, 1]])


def test_a_column_that_is_nowhere_finer_than_a_mask_is_a_constant() -> None:
    """No cut and no bound: every cell has the same features, so that every model takes the table."""
    params = params_of(intervals("age", [], ["*"]))

    np.testing.assert_array_equal(features_of(params, age=["*", "*"]), [[0, 0, 0], [0, 0, 0]])


@pytest.mark.slow_cases("mondrian")
@pytest.mark.parametrize("method", ["rfka", "mondrian", "datafly"])
def test_no_feature_is_missing_whatever_a_release_shows(method: str) -> None:
    """Columns of `*`, missing cells, suppressed values: a model that takes no NaN learns and predicts at once."""
    source = TABLE.to_pandas().astype(object)
    source.iloc[::7, 1:3] = None
    release = anonkit.release(source, method=method, k=20, target=TARGET, seed=1)
    frame = release.to_pandas()
    model = Pipeline(
        [("cells", ReleaseFeatures(release)), ("scale", StandardScaler()), ("model", LogisticRegression())]
    )

    assert not np.isnan(model[:1].fit(frame).transform(source)).any()
    assert len(model.fit(frame, frame[TARGET]).predict(source)) == len(source)


def test_the_commonest_texts_are_kept() -> None:
    """With `max_categories` the commonest values have an indicator, the first as text of equals."""
    shown = ReleaseFeatures(max_categories=2).fit(pd.DataFrame({"ward": ["c", "b", "b", "a"]}))

    assert list(shown.get_feature_names_out()) == ["ward=a", "ward=b"]


def test_names_of_features_never_collide() -> None:
    """A column that is called like a feature of another one: the later name is numbered."""
    frame = pd.DataFrame({"age_low": [1, 2], "age": ["< 20", "*"]})

    names = ReleaseFeatures(params_of(AGE)).fit(frame).get_feature_names_out()

    assert list(names) == ["age_low", "age_low (2)", "age_high", "age_mid"]


def test_arrays_take_names_of_their_columns() -> None:
    """A model that was fitted on an array has the given names for its features."""
    shown = ReleaseFeatures().fit(np.array([["a", 1], ["b", 2]], dtype=object))

    assert list(shown.get_feature_names_out()) == ["x0=a", "x0=b", "x1"]
    assert list(shown.get_feature_names_out(["job", "age"])) == ["job=a", "job=b", "age"]


def test_frames_whose_columns_have_no_names_are_read_by_position() -> None:
    """A data frame of numbered columns is an array."""
    shown = ReleaseFeatures().fit(pd.DataFrame([[1.0, 2.0], [3.0, 4.0]]))

    np.testing.assert_array_equal(shown.transform(pd.DataFrame([[5.0, 6.0]])), [[5, 6]])
    np.testing.assert_array_equal(shown.transform(np.array([[5.0, 6.0]])), [[5, 6]])


@given(st.integers(-(2**40), 2**40))
def test_a_number_is_the_interval_of_itself(number: int) -> None:
    """Without recoding low, high and middle of a cell in the original values are the value, as number and text."""
    shown = ReleaseFeatures(params_of(AGE), recode=False).fit(pd.DataFrame({"age": ["*"]}))

    for cell in (number, str(number), float(number)):
        np.testing.assert_array_equal(shown.transform(pa.table({"age": [cell]})), [[number] * 3])


def test_what_is_neither_a_label_nor_a_value_is_refused_without_being_shown() -> None:
    """The message has the column and a count; so for infinite numbers."""
    with pytest.raises(SourceError, match=r"column 'age' has 2 cells that are neither labels") as caught:
        features_of(params_of(AGE), age=["secret", "[20, 31)", "*"])
    assert "secret" not in repr(caught.value)
    with pytest.raises(SourceError, match="infinite"):
        ReleaseFeatures(params_of(AGE)).fit(pd.DataFrame({"age": [1.0, np.inf]}))


def test_a_column_that_is_gone_is_named() -> None:
    """A test table without a column of the release is refused."""
    shown = ReleaseFeatures(params_of(AGE)).fit(pd.DataFrame({"age": ["*"]}))

    with pytest.raises(SourceError, match="column 'age' is not in the table"):
        shown.transform(pd.DataFrame({"aged": [1]}))


def test_only_k_anonymous_releases_have_such_cells(tmp_path: Path) -> None:
    """Other releases, damaged params, changed files and wrong arguments are refused."""
    frame = pd.DataFrame({"age": ["*"]})
    with pytest.raises(ParameterError, match="not k-anonymous"):
        ReleaseFeatures({"format": "anonkit-randomized-1"}).fit(frame)
    with pytest.raises(ReleaseFormatError):
        ReleaseFeatures({"recoding": {"kind": "global"}, "columns": []}).fit(frame)
    with pytest.raises(ReleaseFormatError):
        ReleaseFeatures({**params_of(AGE), "columns": [{}]}).fit(frame)
    with pytest.raises(ParameterError, match="params"):
        ReleaseFeatures(7).fit(frame)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="max_categories"):
        ReleaseFeatures(max_categories=0).fit(frame)
    release = anonkit.release(TABLE.slice(0, 60), method="mondrian", k=5, target=TARGET, output=tmp_path / "o.parquet")
    assert ReleaseFeatures(tmp_path / "o.parquet").fit(release.to_pandas()).cells_
    (tmp_path / "o.params.json").write_text((tmp_path / "o.params.json").read_text() + " ")
    with pytest.raises(GuaranteeError):
        ReleaseFeatures(tmp_path / "o.parquet").fit(frame)


@pytest.mark.quick_cases("rfka")
@pytest.mark.parametrize("method", ["rfka", "mondrian"])
def test_bounds_in_the_file_have_the_features_of_labels(method: str, tmp_path: Path) -> None:
    """Rows that show intervals as two columns, in any library, are the labels they represent; so are recoded rows."""
    parameters = {"trees": 5} if method == "rfka" else {}
    release = anonkit.release(
        TABLE, method=method, k=5, target=TARGET, seed=1, output=None, cells="bounds", **parameters
    )
    rows = release.to_arrow()
    labels = labelled_rows(release)
    assert {"age_low", "age_high"} <= set(rows.column_names)
    expected = ReleaseFeatures(release).fit(labels)
    for table in (rows, rows.to_pandas(), pl.from_arrow(rows)):
        features = ReleaseFeatures(release).fit(table)
        assert list(features.get_feature_names_out()) == list(expected.get_feature_names_out())
        np.testing.assert_array_equal(features.transform(table), expected.transform(labels))
        np.testing.assert_array_equal(features.transform(labels), expected.transform(labels))
    recoded = ReleaseFeatures(release).fit(rows)
    np.testing.assert_array_equal(recoded.transform(rows), expected.transform(labels))
    originals = ReleaseFeatures(release).fit(labels)
    np.testing.assert_array_equal(recoded.transform(TABLE), originals.transform(TABLE))
    wrong = rows.set_column(0, rows.column_names[0], pa.array([-7] * rows.num_rows))
    with pytest.raises(SourceError, match=f"have {rows.num_rows} rows of no interval of the release"):
        recoded.transform(wrong)
