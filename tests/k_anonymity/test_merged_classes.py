"""Classes of the next batch that are too small are merged at published steps: k, truth, and no row lost by it."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonkit
from anonkit.datasets import bank_customers
from anonkit.engines import LocalEngine
from anonkit.k_anonymity.merged_classes import MergedRecoding, merged_recoding
from anonkit.k_anonymity.privacy_model import AnonymityModel
from anonkit.k_anonymity.recoded_rows import RecodeRows, ReleasableRows
from anonkit.k_anonymity.sensitive_rules import settled_rules
from anonkit.k_anonymity.violating_classes import violating_classes
from anonkit.policy.declaration import Policy, TargetUse
from anonkit.published.recoding import (
    CategoryAxis,
    GlobalRecoding,
    Grouping,
    IntervalAxis,
    LocalRecoding,
    Recoding,
    RecodingSplit,
    UnchangedAxis,
    coarser_steps,
    recoding_from_dict,
    with_levels,
)

AGES = IntervalAxis(name="age", cuts=(20, 30, 40, 50), has_missing=True)
JOBS = CategoryAxis(name="job", values=("clerk", "miner", "nurse"), has_other=True, has_missing=True)
AGE = Grouping(axis=AGES, labels=("< 20", "[20, 30)", "[30, 40)", "[40, 50)", ">= 50", None))
JOB = Grouping(axis=JOBS, labels=("clerk", "miner|nurse", "miner|nurse", "other", None))
TREE = LocalRecoding(
    axes=(AGES, JOBS),
    nodes=(
        RecodingSplit(axis=0, left=(0, 1, 5), children=(1, 2)),
        RecodingSplit(axis=1, left=(0, 3), children=(3, 4)),
        RecodingSplit(axis=0, left=(2, 3), children=(5, 6)),
        None,
        None,
        RecodingSplit(axis=1, left=(1, 2), children=(7, 8)),
        None,
        None,
        None,
    ),
)
RECODINGS: list[Recoding] = [
    GlobalRecoding(columns=(AGE, JOB)),
    GlobalRecoding(columns=(AGE, JOB, UnchangedAxis(name="sex"))),
    TREE,
]
ASKED: list[dict[str, Any]] = [{}, {}, {"l": 2}, {"alpha": 0.8}, {"t": 0.4}]
ROWS = st.lists(
    st.tuples(
        st.integers(15, 55) | st.none(),
        st.sampled_from(["clerk", "clerk", "miner", "nurse", "smith", None]),
        st.sampled_from("fm"),
        st.sampled_from("xyz"),
        st.integers(0, 20),
    ),
    min_size=1,
    max_size=60,
)
SCHEMA = pa.schema({"age": "int64", "job": "string", "sex": "string", "ill": "string", "who": "int64"})


def told(label: str | None, value: Any) -> bool:
    """Return whether a label is true of a cell, read from its text alone."""
    if label == "*" or (label is None and value is None):
        return True
    if label is None or value is None:
        return label is not None and "missing" in label.split("|")
    if isinstance(value, str):
        known = value if value in JOBS.values else "other"
        names = label.removeprefix("not ").split("|")
        return known not in names if label.startswith("not ") else known in names
    for text in label.split("|"):
        ends = [int(number) for number in re.findall(r"[0-9]+", text)]
        if text.startswith("<"):
            fits = value < ends[0]
        elif text.startswith(">="):
            fits = value >= ends[0]
        else:
            fits = bool(ends) and ends[0] <= value < ends[1]
        if fits:
            return True
    return False


def merged(
    rows: list[Any], recoding: Recoding, model: AnonymityModel, of_people: bool
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], int, MergedRecoding]:
    """Return the source rows, what each shows (None where it is left out), and the rows that dropping would lose."""
    table = pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in rows], schema=SCHEMA)
    known = {"role": "quasi_identifier"}
    columns = {
        "age": known,
        "job": known,
        "sex": known if len(recoding.types(SCHEMA)) > 2 else {"role": "insensitive"},
        "ill": {"role": "sensitive"},
        "who": {"role": "unit" if of_people else "insensitive"},
    }
    policy = Policy.from_dict({"columns": columns}).resolve(table.column_names, target_use=TargetUse.AS_DECLARED)
    with LocalEngine() as engine:
        source = engine.hold(table)
        rules = settled_rules(model, source, policy, engine, ())
        dropped = violating_classes(
            model, source, policy, engine, recoding, ReleasableRows(needed=(), rules=rules)
        ).n_rows
        found = merged_recoding(model, source, policy, engine, recoding, ReleasableRows(needed=(), rules=rules))
        left = violating_classes(model, source, policy, engine, found, ReleasableRows(needed=(), rules=rules)).classes
    schema = pa.schema([(name, "string") for name in recoding.types(SCHEMA)])
    shown = []
    for row in table.to_pylist():
        one = pa.Table.from_pylist([row], schema=SCHEMA).to_batches()[0]
        out = RecodeRows(recoding=found, schema=schema, needed=(), unit=None, suppressed=left)(one, 0).to_pylist()
        shown.append(out[0] if out else {})
    return table.to_pylist(), shown, dropped, found


@given(ROWS, st.integers(2, 6), st.sampled_from(RECODINGS), st.sampled_from(ASKED), st.booleans())
def test_merged_rows_are_true_and_in_classes_that_keep_the_model(
    rows: list[Any], k: int, recoding: Recoding, asked: dict[str, Any], of_people: bool
) -> None:
    """Every class has k rows (people) and l values, every label holds its cell, no fewer rows stay than by dropping."""
    model = AnonymityModel(k=k, **asked)
    source, shown, dropped, _ = merged(rows, recoding, model, of_people)
    classes: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row, cells in zip(source, shown, strict=True):
        if cells:
            classes.setdefault(tuple(cells.values()), []).append(row)
            assert all(told(cells[name], row[name]) for name in cells if name != "sex")
            assert cells.get("sex", row["sex"]) == row["sex"]
    for members in classes.values():
        assert (len({row["who"] for row in members}) if of_people else len(members)) >= k
        if "l" in asked and not of_people:
            assert len({row["ill"] for row in members}) >= 2

    assert sum(not cells for cells in shown) <= dropped


@given(ROWS, st.integers(2, 6), st.sampled_from(RECODINGS))
def test_every_row_shows_its_class_of_a_published_step(rows: list[Any], k: int, recoding: Recoding) -> None:
    """Rows of one class stay together, and show its label after the steps that the params state."""
    source, shown, _, found = merged(rows, recoding, AnonymityModel(k=k), False)
    published = recoding_from_dict(found.published.to_dict())
    batch = pa.Table.from_pylist(source, schema=SCHEMA).combine_chunks().to_batches()[0]
    names = list(recoding.types(SCHEMA))
    steps = [pa.table(step.apply(batch)[0]).select(names).to_pylist() for step in coarser_steps(published)]
    together: dict[tuple[Any, ...], dict[str, Any]] = {}
    for at, cells in enumerate(shown):
        assert not cells or cells in [step[at] for step in steps]
        assert together.setdefault(tuple(steps[0][at].values()), cells) == cells


@given(ROWS, st.integers(2, 6), st.booleans())
def test_a_batch_of_k_rows_is_left_out_of_nothing_where_all_columns_have_groups(
    rows: list[Any], k: int, tree: bool
) -> None:
    """The last step is one class: what is too small everywhere takes the smallest class along, so every row stays."""
    recoding = TREE if tree else RECODINGS[0]
    _, shown, _, _ = merged(rows, recoding, AnonymityModel(k=k, alpha=1.0), False)

    assert all(shown) if len(rows) >= k else not any(shown)


def test_neighbouring_intervals_are_joined_two_and_two() -> None:
    """The steps of a column without declared levels: pairs from the lowest on, missing alone, then suppression."""
    levels = with_levels(GlobalRecoding(columns=(AGE, JOB))).to_dict()["columns"]

    assert [list(dict.fromkeys(level)) for level in levels[0]["coarser"]] == [
        ["< 30", "[30, 50)", ">= 50", None],
        ["< 50", ">= 50", None],
        ["*"],
    ]
    assert [set(level) for level in levels[1]["coarser"]] == [{"*"}]


def test_the_column_with_fewest_groups_goes_up_first() -> None:
    """Every step takes one column one level up, and the last is full suppression."""
    steps = [step.columns for step in coarser_steps(GlobalRecoding(columns=(AGE, JOB)))]  # type: ignore[union-attr]
    groups = [[len(set(column.labels)) for column in columns] for columns in steps]  # type: ignore[union-attr]

    assert groups == [[6, 4], [6, 1], [4, 1], [3, 1], [1, 1]]


def test_the_steps_of_a_tree_end_at_its_root() -> None:
    """Every step shows the boxes one split further up."""
    steps = coarser_steps(TREE)

    assert [len(step.boxes()) for step in steps] == [5, 4, 2, 1]  # type: ignore[union-attr]
    assert steps[-1].boxes() == {0: ("*", "*")}  # type: ignore[union-attr]


@pytest.fixture(scope="module", params=["rfka", "mondrian"])
def earlier(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of 1,500 customers, by each kind of recoding."""
    output = tmp_path_factory.mktemp("earlier") / "first.parquet"
    trees = {"trees": 10} if request.param == "rfka" else {}
    table = bank_customers(1_500, seed=21)
    anonkit.release(table, method=request.param, k=8, target="customer_value", output=output, ledger=None, **trees)
    return output


@pytest.mark.quick_cases("rfka")
def test_a_small_batch_passes_where_dropping_would_lose_too_many(earlier: Path, tmp_path: Path) -> None:
    """A fifth of the rows: many groups are too small, none of their rows is lost, and the files validate."""
    release = anonkit.apply(earlier, bank_customers(300, seed=22), output=tmp_path / "next.parquet", ledger=None)
    table = release.to_arrow()
    names = [name for name in table.column_names if name != "customer_value"]
    sizes = Counter(tuple(row.values()) for row in table.select(names).to_pylist())

    assert table.num_rows == 300
    assert min(sizes.values()) >= 8
    assert release.params["recoding"]["merged"] is True
    assert anonkit.validate(tmp_path / "next.parquet").passed


@pytest.mark.slow_cases("mondrian")
def test_a_batch_whose_groups_are_large_enough_is_recoded_as_before(earlier: Path, tmp_path: Path) -> None:
    """Nothing is merged, and the params state the recoding of the earlier release alone."""
    same = anonkit.apply(earlier, bank_customers(1_500, seed=21), max_suppression=0.5, ledger=None)
    again = anonkit.load(earlier).params["recoding"]
    if not same.params["recoding"].get("merged"):
        assert same.params["recoding"] == again
    else:  # what was left out of the first release is kept, coarser
        assert same.report["rows"]["out"] == 1_500


@pytest.mark.quick_cases("rfka")
def test_the_batch_after_next_starts_from_the_recoding_itself(earlier: Path, tmp_path: Path) -> None:
    """Merging is undone in the next batch: the params of a merged batch hold the recoding it started from."""
    batch, later = bank_customers(300, seed=22), bank_customers(2_000, seed=23)
    anonkit.apply(earlier, batch, output=tmp_path / "next.parquet", ledger=None)
    rows = [
        sorted(map(repr, anonkit.apply(params, later, ledger=None).to_arrow().to_pylist()))
        for params in (earlier, tmp_path / "next.parquet")
    ]

    assert rows[0] == rows[1]


@pytest.mark.quick_cases("rfka")
def test_a_merged_batch_beside_itself_forms_no_smaller_groups(earlier: Path, tmp_path: Path) -> None:
    """The ledger works out from the params which rows merged: the same batch twice has the joint k of one."""
    batch = bank_customers(300, seed=22)
    for name in ("one", "two"):
        release = anonkit.apply(
            earlier,
            batch,
            output=tmp_path / f"{name}.parquet",
            ledger=tmp_path / "ledger",
            dataset="customers",
            adopt=name == "one",
        )

    assert release.owner["joint_view"]["k"] >= 8
    assert release.owner["joint_view"]["rows_below_k"] == 0


@pytest.mark.slow
def test_spark_merges_the_same_groups(spark: Any, earlier: Path, tmp_path: Path) -> None:
    """Counts decide which groups merge, and the counts of every engine are the same."""
    pq.write_table(bank_customers(300, seed=22), tmp_path / "batch.parquet")
    local, far = (
        anonkit.apply(
            earlier, tmp_path / "batch.parquet", output=tmp_path / f"{engine}.parquet", engine=engine, ledger=None
        )
        for engine in ("local", "spark")
    )

    assert local.params["recoding"] == far.params["recoding"]
    assert Counter(map(repr, local.to_arrow().to_pylist())) == Counter(map(repr, far.to_arrow().to_pylist()))


@pytest.mark.slow
@pytest.mark.quick_cases("rfka")
@pytest.mark.parametrize("method", ["rfka", "mondrian"])
def test_a_merged_batch_keeps_what_was_asked_of_people_and_of_secrets(method: str, tmp_path: Path) -> None:
    """k counts customers and l the values of the sensitive target, in the batch too; the files validate."""
    asked = {"trees": 10, "max_suppression": 0.05} if method == "rfka" else {}
    first, batch = (bank_customers(n, seed=n, customer_id=True, rows_per_customer=2) for n in (1_600, 400))
    anonkit.release(
        first, method=method, k=5, l=2, target="customer_value", sensitive=["customer_value"], unit="customer_id",
        output=tmp_path / "first.parquet", ledger=None, **asked,
    )  # fmt: skip
    applied = anonkit.apply(tmp_path / "first.parquet", batch, output=tmp_path / "next.parquet", ledger=None)

    assert applied.params["recoding"]["merged"]
    assert applied.report["rows"]["suppressed"] == 0
    assert anonkit.validate(tmp_path / "next.parquet").passed


CODES = [f"{a}{b}{c}" for a in "12" for b in "12" for c in "123"]
TREE_OF_CODES = [[code, f"{code[:2]}*", f"{code[:1]}**"] for code in CODES]


def declared(n: int, seed: int) -> pa.Table:
    """A table with a column for a ladder and one for a tree."""
    draw = np.random.default_rng(seed)
    ages, codes = draw.integers(17, 90, n), draw.choice(CODES, n, p=np.arange(1, 13) / 78)
    high = ages + 20.0 * (codes > "2") + draw.normal(0, 15, n) > 60
    return pa.table({"age": ages, "zip": codes, "sex": draw.choice(["f", "m"], n), "y": np.where(high, "j", "n")})


@pytest.mark.slow
@pytest.mark.parametrize("ladder", [[5, 10, 20, 40], [10, 30]])
@pytest.mark.parametrize("method", ["rfka", "datafly"])
def test_declared_columns_go_up_what_is_declared(method: str, ladder: list[int], tmp_path: Path) -> None:
    """Small groups of a tree show its larger ones, bins wider bins of the ladder or nothing; all of it validates."""
    age, codes = {"role": "quasi_identifier", "ladder": ladder}, {"role": "quasi_identifier", "tree": TREE_OF_CODES}
    policy = Policy.from_dict({"columns": {"age": age, "zip": codes, "y": {"role": "target"}}})
    trees = {"trees": 10} if method == "rfka" else {}
    anonkit.release(
        declared(1_500, 1), method=method, policy=policy, k=10, output=tmp_path / "a.parquet", ledger=None, **trees
    )
    batch = declared(300, 2)
    applied = anonkit.apply(tmp_path / "a.parquet", batch, output=tmp_path / "b.parquet", ledger=None)
    shown = applied.to_arrow().to_pydict()
    columns = {column["name"]: column for column in applied.params["recoding"]["columns"]}

    assert applied.report["rows"]["out"] == 300
    assert set(shown.get("zip", [])) <= {name for path in TREE_OF_CODES for name in path} | {"*"}
    for text in set(shown.get("age", [])) - set(columns.get("age", {"labels": []})["labels"]) - {"*"}:
        low, high = (int(number) for number in re.findall(r"[0-9]+", text))
        assert high - low in ladder
        assert low % (high - low) == 0
    assert all(anonkit.validate(tmp_path / f"{name}.parquet").passed for name in "ab")


def test_numbers_of_rows_do_not_depend_on_the_size_of_batches() -> None:
    """Rows are merged by what they show and not by their position."""
    generator = np.random.default_rng(5)
    ages, jobs = generator.integers(15, 55, 200), generator.choice(["clerk", "miner", "nurse"], 200)
    table = pa.table({"age": ages, "job": jobs})
    policy = Policy.from_dict({"columns": {name: {"role": "quasi_identifier"} for name in ("age", "job")}})
    shown = []
    for rows in (200, 7):
        with LocalEngine() as engine:
            source = engine.scan(pa.RecordBatchReader.from_batches(table.schema, table.to_batches(rows)), policy)
            found = merged_recoding(
                AnonymityModel(k=12), source, policy, engine, RECODINGS[0], ReleasableRows(needed=())
            )
        cells = found.apply(table.to_batches()[0])[0]
        shown.append([cells["age"].to_pylist(), cells["job"].to_pylist()])

    assert shown[0] == shown[1]
