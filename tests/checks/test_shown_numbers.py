"""Means that rows show, beside bounds and of groups: forged cells, centroids, digits and counts are refused."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from checks.forgeries import Edit, Files, forged, refused, verdict
from checks.forging import at, cells, recounted, stated_anew

import anonkit
from anonkit.checks.shown_numbers import _is_mean, _text
from anonkit.domains.cell_values import cell_texts
from anonkit.errors import UncheckedError

POLICY: dict[str, Any] = {
    "columns": {
        "age": {"role": "quasi_identifier", "bounds": [0, 99]},
        "pay": {"role": "quasi_identifier", "step": 5},
        "sex": {"role": "quasi_identifier"},
        "note": {"role": "insensitive"},
    },
    "unit": "none",
}


@pytest.fixture(scope="module")
def true(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """A true release with means, in memory."""
    rows = range(120)
    table = pa.table(
        {
            "age": [20 + (7 * row) % 61 for row in rows],
            "pay": [1000 + 5 * ((11 * row) % 83) for row in rows],
            "sex": [("f", "m")[row % 2] for row in rows],
            "note": ["x"] * 120,
        }
    )
    output = tmp_path_factory.mktemp("true") / "out.parquet"
    anonkit.release(
        table, method="mondrian", k=5, policy=POLICY, no_target=True, output=output, ledger=None, cells="means",
        utility=False,
    )  # fmt: skip
    return Files.read(output)


def test_a_true_release_validates(true: Files, tmp_path: Path) -> None:
    """Every mean is looked at, and how many groups show none is counted again."""
    data = forged(true, lambda files: None, tmp_path)
    assert verdict(data) == (0, ())
    checks = {check.name for check in anonkit.validate(data).checks}
    assert {"means_stated", "means:age", "means:pay", "means_counted", "bounds:age"} <= checks
    assert {"age_mean", "pay_mean"} <= set(true.table.column_names)
    assert true.params["bounds"]["pay"]["step"] == 5


def on(name: str, make: Callable[[list[float | None]], list[float | None]]) -> Edit:
    """Change the means of a column."""
    return cells(f"{name}_mean", lambda column: pa.array(make(column.to_pylist()), pa.float64()))


def _one_row(numbers: list[float | None]) -> list[float | None]:
    return [(numbers[0] or 0) + 1, *numbers[1:]]


def _finer(numbers: list[float | None]) -> list[float | None]:
    return [None if number is None else number + 0.0123 for number in numbers]


def _beyond(numbers: list[float | None]) -> list[float | None]:
    return [None if number is None else 99.0 for number in numbers]


def _unspoken(files: Files) -> None:
    """Leave the means out of everything that is said."""
    for entry in files.params["bounds"].values():
        entry.pop("mean")
    files.params.pop("means")
    files.report.pop("means")
    files.report["guarantee"]["parameters"].pop("means")


FORGERIES: dict[str, tuple[Edit, str]] = {
    "another number in one row": (on("age", _one_row), "means:age"),
    "more digits than are stated": (on("age", _finer), "means:age"),
    "no multiple of the step": (on("pay", lambda numbers: [number and number + 1 for number in numbers]), "means:pay"),
    "beyond the interval": (on("age", _beyond), "means:age"),
    "no number where there is a middle": (on("age", lambda numbers: [None] * len(numbers)), "means:age"),
    "no number in one row": (on("pay", lambda numbers: [None, *numbers[1:]]), "means:pay"),
    "not a number": (on("age", lambda numbers: [float("nan")] * len(numbers)), "means:age"),
    "a promise without means": (
        stated_anew(lambda files: files.report["guarantee"]["parameters"].pop("means")),
        "means_stated",
    ),
    "another rule": (at("params", "means", "p_percent", to=1), "means_stated"),
    "no rules": (lambda files: files.params.pop("means"), "means_stated"),
    "one column without a mean": (lambda files: files.params["bounds"]["age"].pop("mean"), "bounds:age"),
    "one open column without a mean": (lambda files: files.params["bounds"]["pay"].pop("mean"), "means_stated"),
    "a step of nothing": (at("params", "bounds", "pay", "step", to=0), "means_stated"),
    "integers": (cells("age_mean", lambda column: column.cast(pa.int64(), safe=False)), "bounds:age"),
    "no column": (at("params", "bounds", "age", "mean", to="gone"), "bounds:age"),
    "fewer middles": (at("report", "means", "columns", "age", "middle", to=lambda count: count + 1), "means_counted"),
    "no counts": (lambda files: files.report.pop("means"), "means_counted"),
    "the declared bound of an open end": (
        at("params", "columns", 0, "domain", "bounds", to=[0.0, 120.0]),
        "bounds:age",
    ),
    "means that nobody states": (_unspoken, "bounds:age"),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_forged_means_are_refused(true: Files, forgery: str, tmp_path: Path) -> None:
    """In cells, params, report and promise alike."""
    refused(true, FORGERIES[forgery], tmp_path)


@pytest.mark.parametrize(
    ("shown", "step", "passes"),
    [
        ((30, 39, 37.4, 37.4, True), None, True),
        ((30, 39, 37.44, 37.44, True), None, False),
        ((30, 39, 34.5, 34.5, True), None, True),  # the middle
        ((33.4, 47.1, 40.25, 40.25, True), None, True),
        ((33.4, 47.1, 33.4, 33.4, True), None, True),  # an end
        ((33.4, 47.1, 40.1, 40.1, True), None, False),
        ((30, 39, 40.0, 40.0, True), None, False),
        ((30, 39, 29.0, 29.0, True), None, False),
        ((30, 39, 37.4, 37.5, True), None, False),
        ((30, 39, 37.4, 37.4, False), None, False),
        ((30, 39, None, None, True), None, False),
        ((30, None, None, None, True), None, True),
        ((None, None, None, None, True), None, True),
        ((30, None, None, None, False), None, False),
        ((65, None, 72.5, 72.5, True), None, True),
        ((65, None, 72.46, 72.46, True), None, False),
        ((65, None, 75.1, 75.1, True), None, True),  # 9.96 from the end, rounded up
        ((65, None, 86.1, 86.1, True), None, False),
        ((None, 19, 12.3, 12.3, True), None, True),
        ((None, 19, 12.34, 12.34, True), None, False),
        ((None, None, 0.012, 0.012, True), None, True),
        ((None, None, 0.0, 0.0, True), None, True),
        ((0, 9.9, 1.35, 1.35, True), 0.05, True),
        ((0, 9.9, 1.36, 1.36, True), 0.05, False),
        ((30, 39, float("nan"), float("nan"), True), None, False),
    ],
)
def test_the_digits_of_a_mean(shown: Any, step: float | None, passes: bool) -> None:
    """Two digits of the interval, or of the distance from its only end; multiples of a step; the middle, or an end."""
    assert _is_mean(shown, step) is passes


@pytest.mark.parametrize("size", [0.0037, 1.0, 9.0, 41.5, 99_000.0])
def test_what_is_rounded_passes(size: float) -> None:
    """The rule of the method, for means anywhere in intervals with both ends, one or none."""
    from anonkit.k_anonymity.class_means import rounded

    for low, high in ((12.5, 12.5 + size), (12.5, None), (None, 12.5), (None, None)):
        for part in range(101):
            mean = (high if low is None and high is not None else low or 0.0) + size * part / 100 * (
                -1 if low is None else 1
            )
            shown = rounded(mean, low, high, None)
            assert _is_mean((low, high, shown, shown, True), None), (mean, low, high, shown)


GROUPED_POLICY: dict[str, Any] = {
    "columns": {
        "age": {"role": "quasi_identifier"},
        "pay": {"role": "quasi_identifier", "step": 5},
        "sex": {"role": "quasi_identifier"},
        "ill": {"role": "insensitive"},
    },
    "unit": "none",
}


def _table() -> pa.Table:
    draws = np.random.default_rng(1)
    pay = [None if row % 10 == 0 else float(pay) for row, pay in enumerate(draws.integers(200, 900, 160) * 5)]
    return pa.table(
        {
            "age": draws.integers(20, 80, 160),
            "pay": pa.array(pay, pa.float64()),
            "sex": [("f", "m")[row % 2] for row in range(160)],
            "ill": [("yes", "no", "no")[row % 3] for row in range(160)],
        }
    )


@pytest.fixture(scope="module")
def grouped(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """A true release in groups, with missing numbers, in memory."""
    output = tmp_path_factory.mktemp("true") / "out.parquet"
    anonkit.release(
        _table(), method="mdav", k=5, policy=GROUPED_POLICY, no_target=True, output=output, ledger=None, utility=False
    )
    return Files.read(output)


@pytest.fixture(scope="module")
def batch(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """The same rows, each with the nearest centroid."""
    folder, later = tmp_path_factory.mktemp("first"), tmp_path_factory.mktemp("batch") / "out.parquet"
    anonkit.release(
        _table(), method="mdav", k=5, policy=GROUPED_POLICY, no_target=True, output=folder / "out.parquet", ledger=None,
        utility=False,
    )  # fmt: skip
    anonkit.apply(folder / "out.params.json", _table(), output=later, ledger=None, utility=False)
    return Files.read(later)


def test_true_releases_validate(grouped: Files, batch: Files, tmp_path: Path) -> None:
    """Groups, and the nearest centroids of a batch; every combination is looked at."""
    for number, files in enumerate((grouped, batch)):
        folder = tmp_path / str(number)
        folder.mkdir()
        data = forged(files, lambda files: None, folder)
        assert verdict(data) == (0, ())
        assert {"centroids", "centroids_stated"} <= {check.name for check in anonkit.validate(data).checks}
    assert grouped.params["recoding"]["centroids"]["missing"]["pay"]
    assert {column["name"]: column["unit"] for column in grouped.params["recoding"]["columns"] if "unit" in column} == {
        "age": 1.0,
        "pay": 5.0,
    }


def test_a_scale_of_zeros_alone_is_zero(tmp_path: Path) -> None:
    """A column of which groups show 0 or nothing has no spread, and any other is refused."""
    columns = {"x": [0.0] * 12 + [None] * 12, "y": [float(row) for row in range(24)]}
    output = tmp_path / "true" / "out.parquet"
    anonkit.release(
        pa.table(columns), method="mdav", k=4, policy={"unit": "none"}, no_target=True, output=output, ledger=None,
        utility=False,
    )  # fmt: skip
    files = Files.read(output)
    assert files.params["recoding"]["centroids"]["scale"]["x"] == [0.0, 0.0]
    data = forged(files, lambda files: files.params["recoding"]["centroids"]["scale"].update(x=[0.0, 1.0]), tmp_path)
    assert "centroids_stated" in verdict(data)[1]


def test_numbers_of_one_value_leave_the_release(tmp_path: Path) -> None:
    """The promise speaks of means, and no column has any: the release validates."""
    data = tmp_path / "out.parquet"
    table = pa.table({"x": [5] * 12, "sex": ["f", "m"] * 6})
    columns = {name: {"role": "quasi_identifier"} for name in table.column_names}
    release = anonkit.release(
        table, method="mdav", k=3, policy={"columns": columns, "unit": "none"}, no_target=True, output=data,
        ledger=None, utility=False,
    )  # fmt: skip
    assert "centroids" not in release.params["recoding"]
    assert verdict(data) == (0, ())


def test_nobody_can_say_in_which_group_a_person_of_a_population_would_be(grouped: Files, tmp_path: Path) -> None:
    """A population file is refused; without it the release validates."""
    data = forged(grouped, lambda files: None, tmp_path)
    with pytest.raises(UncheckedError, match="no file tells which group"):
        anonkit.validate(data, population=_table())


def _one_cell(column: pa.ChunkedArray) -> pa.Array:
    return pa.array([column[0].as_py() + 1, *column.to_pylist()[1:]], pa.float64())


def _moved_row(files: Files) -> None:
    """Give a row of a class of the fewest rows the cells of another class: both show centroids."""
    rows = files.table.to_pylist()
    key = ("age", "pay", "sex")
    shown = [tuple(row[name] for name in key) for row in rows]
    moved = min(range(len(rows)), key=lambda at: shown.count(shown[at]))
    rows[moved] |= dict(zip(key, next(cells for cells in shown if cells != shown[moved]), strict=True))
    files.table = pa.Table.from_pylist(rows, schema=files.table.schema)


def _split_group(files: Files) -> None:
    """Let two rows of a class show a centroid of their own, which the params list."""
    rows = files.table.to_pylist()
    own = {"age": 77.0, "pay": 1005.0, "sex": "f"}
    for row in rows[:2]:
        row |= own
    files.table = pa.Table.from_pylist(rows, schema=files.table.schema)
    for name, listed in files.params["recoding"]["centroids"]["columns"].items():
        listed.append(own[name])


def _listed(name: str, place: int, to: Any) -> Edit:
    """Change one centroid of the params."""
    return at("params", "recoding", "centroids", "columns", name, place, to=to)


def _one_more(files: Files) -> None:
    for listed in files.params["recoding"]["centroids"]["columns"].values():
        listed.append(listed[0])


def _backwards(files: Files) -> None:
    centroids = files.params["recoding"]["centroids"]
    for listed in centroids["columns"].values():
        listed.reverse()
    centroids["missing"]["pay"] = sorted(
        len(centroids["columns"]["pay"]) - 1 - at for at in centroids["missing"]["pay"]
    )


def _lost(again: Callable[[int, int], list[int]]) -> Edit:
    """Write the places of centroids without a number in another way."""

    def edit(files: Files) -> None:
        centroids = files.params["recoding"]["centroids"]
        size = len(centroids["columns"]["pay"])
        centroids["missing"]["pay"] = [place for at in centroids["missing"]["pay"] for place in again(at, size)]

    return edit


def _no_centroids(files: Files) -> None:
    files.params["recoding"].pop("centroids")


def _as_kept(files: Files) -> None:
    """State that the numbers are the rows' own."""
    files.params["recoding"].pop("centroids")
    for column in files.params["recoding"]["columns"]:
        if column["kind"] == "means":
            column.pop("unit")
            column["kind"] = "kept"
    for column in files.report["columns"]:
        if column["action"] == "averaged":
            column |= {"action": "kept", "detail": "full"}


_SOME = ("params", "recoding", "centroids")
GROUP_FORGERIES: dict[str, tuple[Edit, str]] = {
    "one cell is another number": (recounted(cells("age", _one_cell)), "centroids"),
    "a row of another group": (_moved_row, "disclosure_risk"),
    "a row of another group, counted anew": (recounted(_moved_row), "k_anonymity"),
    "a group of two rows": (recounted(_split_group), "k_anonymity"),
    "a centroid is another number": (_listed("age", 0, lambda mean: mean + 1), "centroids_stated"),
    "a centroid of another sex": (_listed("sex", 0, lambda sex: {"f": "m", "m": "f"}[sex]), "centroids_stated"),
    "a centroid more": (_one_more, "centroids_stated"),
    "a centroid without a number": (_listed("age", 0, None), "centroids_stated"),
    "a mean of more digits": (_listed("age", 0, 41.25), "centroids_stated"),
    "a mean that is no number": (_listed("age", 0, "41"), "centroids_stated"),
    "a category that is a number": (_listed("sex", 0, 1), "centroids_stated"),
    "a finer unit": (at("params", "recoding", "columns", 0, "unit", to=0), "centroids_stated"),
    "other rules": (at(*_SOME, "rules", "p_percent", to=1), "centroids_stated"),
    "rows that follow from the centroids": (at(*_SOME, "rows", to="nearest"), "centroids_stated"),
    "missing where there is a mean": (at(*_SOME, "missing", to={"age": [0]}), "centroids_stated"),
    "a scale below nothing": (at(*_SOME, "scale", "age", 1, to=-1.0), "centroids_stated"),
    "a scale of other centroids": (at(*_SOME, "scale", "age", 1, to=1e-9), "centroids_stated"),
    "a middle of other centroids": (at(*_SOME, "scale", "pay", 0, to=0.0), "centroids_stated"),
    "a column that does not count": (at(*_SOME, "scale", "age", 1, to=0), "centroids_stated"),
    "centroids in another order": (_backwards, "centroids_stated"),
    "missing, counted from the end": (_lost(lambda at, size: [at - size]), "centroids_stated"),
    "missing, listed twice": (_lost(lambda at, size: [at, at]), "centroids_stated"),
    "missing where there is no centroid": (_lost(lambda at, size: [at, size]), "centroids_stated"),
    "the scale of another column": (at(*_SOME, "scale", to={"age": [1.0, 1.0]}), "centroids_stated"),
    "no centroids": (_no_centroids, "centroids_stated"),
    "a promise without means": (
        stated_anew(lambda files: files.report["guarantee"]["parameters"].pop("averaged")),
        "centroids_stated",
    ),
    "an unknown key": (at(*_SOME, "certified", to=True), "documents"),
    "numbers as they were": (_as_kept, "types"),
    "generalized numbers": (at("report", "columns", 0, "action", to="generalized"), "actions"),
    "full detail": (at("report", "columns", 0, "detail", to="full"), "actions"),
    "fewer numbers than there are": (at("report", "columns", 0, "released_values", to=3), "told:age"),
    "integers": (cells("age", lambda column: column.cast(pa.int64())), "types"),
}


@pytest.mark.parametrize("forgery", GROUP_FORGERIES)
def test_forged_groups_are_refused(grouped: Files, forgery: str, tmp_path: Path) -> None:
    """In cells, centroids, report and promise alike."""
    refused(grouped, GROUP_FORGERIES[forgery], tmp_path)


BATCH_FORGERIES: dict[str, tuple[Edit, str]] = {
    "one cell is another number": (recounted(cells("age", _one_cell)), "centroids"),
    "groups in place of the nearest": (at(*_SOME, "rows", to="grouped"), "centroids_stated"),
}


@pytest.mark.parametrize("forgery", BATCH_FORGERIES)
def test_forged_batches_are_refused(batch: Files, forgery: str, tmp_path: Path) -> None:
    """A row shows one of the centroids, or the batch is refused."""
    refused(batch, BATCH_FORGERIES[forgery], tmp_path)


@pytest.mark.parametrize(
    "array",
    [
        pa.array(["a", None, ""]),
        pa.array([True, False, None]),
        pa.array([0, -17, 2**53, None]),
        pa.array([0.5, 1.0, -2.25, 1e-7, 123456789.125, None]),
        pa.array([Decimal("1.50"), Decimal("-3.00")], pa.decimal128(10, 2)),
        pa.array([date(2020, 2, 29), None]),
        pa.array([datetime(2020, 2, 29, 7, 5), datetime(2020, 2, 29, 7, 5, 1, 250_000)]),
        pa.array([datetime(2020, 2, 29, 7, 5, 0, 500, tzinfo=UTC)]),
        pa.array([time(7, 5), time(23, 59, 59, 120_000)]),
    ],
)
def test_cells_are_spelled_alike(array: pa.Array) -> None:
    """By the check and by what publishes the centroids."""
    assert [_text(cell) for cell in array.to_pylist()] == cell_texts(array).to_pylist()
