"""Drafts of recoded tables: classes that break the model are left out, or nothing is released."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonkit
from anonkit.datasets import bank_customers
from anonkit.engines import LocalEngine
from anonkit.errors import GuaranteeError
from anonkit.k_anonymity.recoded_draft import rounded, with_mean_weights
from anonkit.policy.declaration import Policy
from tests.k_anonymity.test_recoding_method import _release


@pytest.fixture
def engine() -> Iterator[LocalEngine]:
    """An engine that lets a search hold 600 rows."""
    with LocalEngine() as small:
        small.search_rows = 600
        yield small


def test_rare_values_are_suppressed_and_named_nowhere(engine: LocalEngine) -> None:
    """A value that one row has is in no file, whether or not the sample has it."""
    customers = bank_customers(3_000, seed=2)
    jobs = customers.column("occupation").cast(pa.string()).to_pylist()
    jobs[:3] = ["RARE one", "RARE two", "RARE three"]
    at = customers.schema.get_field_index("occupation")
    release = _release(customers.set_column(at, "occupation", pa.array(jobs)), engine, max_suppression=0.1)
    assert release.contents is not None
    for content in release.contents.values():
        assert b"RARE" not in content


def test_too_many_small_classes_are_refused(engine: LocalEngine) -> None:
    """When the table has combinations the sample did not show, and they are too many, nothing is written."""

    class Early(LocalEngine):
        def sample(self, source: Any, n: int, randomness: Any) -> Any:
            return self.hold(pa.Table.from_batches(source.batches(), source.schema).slice(0, n))

    seen = ["x", "z"] * 300
    table = pa.table(
        {
            "a": [*seen, *(f"v{at}" for at in range(600))],
            "b": [0] * 1_200,
            "y": [*(a == "x" for a in seen), *[True] * 600],
        }
    )
    with Early() as early:
        early.search_rows = 600
        with pytest.raises(GuaranteeError, match="600 of 1200 rows would have to be left out"):
            anonkit.release(table, method="rfka", k=5, trees=5, engine=early, seed=1)


def test_nothing_known_to_an_attacker_may_be_left(engine: LocalEngine) -> None:
    """Every quasi-identifier is dropped on the sample: all rows are one class, in the table too."""
    n = 900
    table = pa.table({"value": [str(at % 450) for at in range(n)], "label": ["y", "n", "n"] * (n // 3)})
    release = anonkit.release(
        table, method="rfka", k=300, trees=3, max_suppression=0.0, target="label", engine=engine, seed=1
    )
    assert release.to_arrow().column_names == ["label"]
    assert release.report["rows"]["suppressed"] == 0


@given(st.lists(st.floats(1e-200, 1e200), max_size=9))
def test_a_rounded_mean_has_few_digits_and_is_near(means: list[float]) -> None:
    """Rounding it again changes nothing."""
    found = rounded(np.array(means))
    assert found.tolist() == pytest.approx(means, rel=5e-3)
    assert rounded(found).tolist() == found.tolist()


ROW = st.tuples(st.sampled_from(["a", "b", None]), st.integers(1, 400))


@given(st.lists(ROW, min_size=1, max_size=30), st.integers(0, 2**32))
def test_a_row_shows_the_mean_weight_of_its_class_in_any_order(rows: list[tuple[str | None, int]], seed: int) -> None:
    """By class, missing being one, against a mean by hand; the sum of all weights is the owner's."""
    shown = []
    for order in (np.arange(len(rows)), np.random.default_rng(seed).permutation(len(rows))):
        own = [rows[at] for at in order]
        table = pa.table({"q": pa.array([q for q, _ in own], pa.string()), "w": [weight / 4 for _, weight in own]})
        with LocalEngine() as engine:
            source, total = with_mean_weights(engine.scan(table, Policy()), ["q"], "w", engine)
            found = pa.Table.from_batches(source.batches(), source.schema).to_pydict()
        assert total == sum(weight for _, weight in rows) / 4
        assert found["q"] == table.column("q").to_pylist()
        shown.append(dict(zip(found["q"], found["w"], strict=True)))
        for name, weight in zip(found["q"], found["w"], strict=True):
            mean = np.mean([one / 4 for q, one in rows if q == name])
            assert weight == pytest.approx(mean, rel=5e-3)
    assert shown[0] == shown[1]
