"""Boxes as narrow as their rows and k allow, and what somebody learns from it who tries every table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import combinations_with_replacement, product
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

import anonkit
from anonkit.domains.coded_columns import CodedColumn
from anonkit.errors import GuaranteeError
from anonkit.k_anonymity.coded_axes import boxes_of
from anonkit.k_anonymity.search.box_tree import grow_boxes
from anonkit.k_anonymity.search.equivalence import AtLeastK
from anonkit.k_anonymity.supported_parts import box_facts, cut_parts, narrowed_columns
from anonkit.published.recoding import CategoryAxis, IntervalAxis, LocalRecoding, RecodingSplit, recoding_from_dict

ROWS = st.lists(
    st.tuples(
        st.one_of(st.none(), st.integers(-3, 12)),
        st.sampled_from(["a", "b", "c", None, "rare"]),
        st.sampled_from([0.5, 1.5, 2.25, 9.0]),
    ),
    min_size=12,
    max_size=60,
)


def _release(frame: pd.DataFrame, k: int = 5, **more: object) -> anonkit.Release:
    return anonkit.release(frame, method="mondrian", k=k, no_target=True, ledger=None, utility=False, **more)  # type: ignore[arg-type]


def _recoding(release: anonkit.Release) -> LocalRecoding:
    recoding = recoding_from_dict(release.params["recoding"])
    assert isinstance(recoding, LocalRecoding)
    return recoding


def test_a_box_whose_rows_have_one_value_shows_it() -> None:
    """Every box shows what it holds of a column by which there is no cut, since others tell all that it does."""
    letters = np.repeat(list("abcdef"), 10)
    frame = pd.DataFrame({"letter": letters, "twin": np.char.upper(letters), "number": np.repeat(range(6), 10)})
    out = _release(frame, k=10).to_pandas()

    assert sorted(out["letter"].unique()) == list("abcdef")
    assert (out["twin"] == out["letter"].str.upper()).all()
    assert out["number"].nunique() == 6


@settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow])
@given(ROWS, st.integers(2, 5))
def test_narrowed_boxes_are_true_and_hold_k_rows(rows: list[tuple[object, ...]], k: int) -> None:
    """Every combination that is shown has k rows, every row is in what it shows, and no label is wider than its box."""
    frame = pd.DataFrame(rows, columns=["n", "c", "x"])
    frame = frame.assign(n=frame["n"].astype("Int64"), c=frame["c"].astype(object))
    try:
        release = _release(frame, k=k)
    except GuaranteeError:  # no column has two parts that k rows have
        reject()
    out, recoding = release.to_pandas(), _recoding(release)
    assert out.groupby(list(out.columns), dropna=False).size().min() >= k
    table = pa.Table.from_pandas(frame, preserve_index=False).combine_chunks()
    shown, unknown = recoding.apply(table.to_batches()[0])
    assert not unknown.any()
    released = [tuple(row) for row in out.astype(object).where(out.notna(), None).to_numpy()]
    again = zip(*(shown[name].to_pylist() for name in out.columns), strict=True)
    assert sorted(map(repr, released)) == sorted(map(repr, again))
    whole, narrow = recoding.as_divided.regions(), recoding.regions()
    assert all(a <= b for node in whole for a, b in zip(narrow[node], whole[node], strict=True))


def test_the_next_batch_shows_what_the_tree_leaves_its_boxes(tmp_path: Path) -> None:
    """A row outside what a box shows is not covered by it, and a batch shows the boxes as they were divided."""
    frame = pd.DataFrame({"n": np.repeat([0, 10, 20, 30], 10), "c": np.repeat(list("aabb"), 10)})
    release = _release(frame, k=10)
    recoding = _recoding(release)
    batch = pa.table({"n": [3, 30], "c": ["b", "b"]}).to_batches()[0]

    assert recoding.apply(batch)[1].tolist() == [True, False]
    assert not recoding.as_divided.apply(batch)[1].any()
    release.save(tmp_path / "out.parquet")
    later = anonkit.apply(tmp_path / "out.params.json", frame, ledger=None)
    assert "narrowed" not in later.params["recoding"]
    assert later.report["rows"]["suppressed"] == 0


Row = tuple[int, ...]
NUMBERS = ((0, 1, 2, 7), (0, 5))


def _column(name: str, cells: Sequence[int], k: int | None) -> CodedColumn:
    values = sorted(set(cells))
    codes = np.array([values.index(cell) for cell in cells], dtype=np.int32)
    column = CodedColumn(name=name, codes=codes, values=values, ordered=True)
    return column if k is None else cut_parts(column, k)


def _shown(rows: Sequence[Row], k: int, cut: int | None) -> tuple[object, ...]:
    """Return all that a release of some rows shows: its rows and its recoding."""
    columns = [_column(name, cells, cut) for name, cells in zip("xy", zip(*rows, strict=True), strict=True)]
    tree, _ = grow_boxes(columns, np.full(len(rows), -1), [AtLeastK(k)], jointly=True)
    box = tree.assign([column.codes for column in columns])
    recoding = boxes_of(columns, tree, {}, narrowed_columns(columns, tree, box, {}, k, ()))
    labels = recoding.boxes() or {0: ()}
    leaves = [node for node, split in enumerate(recoding.nodes) if split is None]
    released = sorted(map(str, (labels[leaves[at]] for at in box.tolist())))
    sizes = [released.count(label) for label in set(released)]
    assert min(sizes) >= k
    return tuple(released), repr(recoding.to_dict())


def _given_away(n_rows: int, k: int, shown: Callable[[Sequence[Row]], tuple[object, ...]]) -> int:
    """Count the tables of which a set of values of a column, that fewer than k rows have, is known to be had.

    The attacker knows algorithm, k and the number of rows: some row has one of the values in every table that shows
    the same.
    """
    alike: dict[tuple[object, ...], list[tuple[Row, ...]]] = defaultdict(list)
    for rows in combinations_with_replacement(list(product(*NUMBERS)), n_rows):
        alike[shown(rows)].append(rows)
    found = 0
    for tables in alike.values():
        for axis, domain in enumerate(NUMBERS):
            held = np.array([[sum(row[axis] == value for row in rows) for value in domain] for rows in tables])
            for chosen in product([False, True], repeat=len(domain)):
                in_set = held[:, list(chosen)].sum(axis=1)
                found += int((in_set < k).sum()) if in_set.size and in_set.min() > 0 else 0
    return found


def test_no_set_of_values_that_fewer_than_k_rows_have_follows_from_narrowed_boxes() -> None:
    """Of every table some other shows the same rows and files without a row that has any of the values."""
    assert _given_away(5, 2, lambda rows: _shown(rows, 2, 2)) == 0


@pytest.mark.slow
@pytest.mark.parametrize(("n_rows", "k"), [(6, 2), (6, 3), (7, 3)])
def test_no_larger_table_gives_one_away_either(n_rows: int, k: int) -> None:
    """The same, with more rows."""
    assert _given_away(n_rows, k, lambda rows: _shown(rows, k, k)) == 0


@pytest.mark.slow
def test_the_attack_succeeds_on_boxes_narrowed_to_cells() -> None:
    """Ends at the cells of the rows, as others show them, give rows away, so the attack can succeed."""
    assert _given_away(4, 2, lambda rows: _shown(rows, 2, None)) > 0


def test_a_declared_category_that_few_rows_have_is_shown_beside_another() -> None:
    """A value of a declared domain that fewer than k rows have is one part with the rarest of the others."""
    frame = pd.DataFrame({"c": ["a"] * 19 + ["z"] + ["b"] * 30, "n": [0] * 20 + [1] * 30})
    policy = {"columns": {"c": {"categories": ["a", "b", "y", "z"]}, "n": {}}}
    out = _release(frame, k=10, policy=anonkit.Policy.from_dict(policy)).to_pandas()

    assert set(out["c"]) == {"a|z", "b"}


def test_boxes_show_nodes_of_a_declared_hierarchy() -> None:
    """Of a column with a ladder a box shows the smallest declared bin that holds its rows, or `*`."""
    generator = np.random.default_rng(0)
    frame = pd.DataFrame({"age": np.sort(generator.integers(20, 60, 400)), "c": np.repeat(list("abcd"), 100)})
    policy = {"columns": {"age": {"ladder": [5, 10, 20]}, "c": {}}}
    release = _release(frame, k=40, policy=anonkit.Policy.from_dict(policy))
    out, recoding = release.to_pandas(), _recoding(release)

    ends = [tuple(map(int, label.strip("[)").split(", "))) for label in set(out["age"]) if label.startswith("[")]
    assert ends
    assert all(high - low in (5, 10, 20) and low % (high - low) == 0 for low, high in ends)
    batch = pa.Table.from_pandas(frame, preserve_index=False).combine_chunks().to_batches()[0]
    wide = recoding.as_divided.apply(batch)[0]["age"].to_pylist()
    narrow = recoding.apply(batch)[0]["age"].to_pylist()
    assert wide.count("*") >= narrow.count("*")


AGE = IntervalAxis(name="age", cuts=(20, 40), has_missing=False)
SEX = CategoryAxis(name="sex", values=("F", "M"), has_other=False, has_missing=False)


def test_shares_are_those_of_the_cuts() -> None:
    """Two cuts of three by the age; a column without one says why it is dropped."""
    nodes = (
        RecodingSplit(axis=0, left=(0,), children=(1, 2)),
        None,
        RecodingSplit(axis=0, left=(1,), children=(3, 4)),
        RecodingSplit(axis=1, left=(0,), children=(5, 6)),
        None,
        None,
        None,
    )
    facts = box_facts(["age", "sex", "city"], LocalRecoding(axes=(AGE, SEX), nodes=nodes))
    assert [facts[name].get("importance") for name in ("age", "sex", "city")] == [2 / 3, 1 / 3, None]
    assert "3 times, 2 of them by this column" in facts["age"]["reason"]
    assert "no division by it was kept" in facts["city"]["reason"]
