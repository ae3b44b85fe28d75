"""Tables with more rows than a search may hold: what is found on a sample is counted and kept on all rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import anonkit
from anonkit.checks.disclosure import measure
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.engines import LocalEngine
from anonkit.errors import PolicyError
from anonkit.k_anonymity.recoding_method import opened
from anonkit.policy.declaration import Policy
from anonkit.published.recoding import (
    CategoryAxis,
    GlobalRecoding,
    Grouping,
    IntervalAxis,
    LocalRecoding,
    RecodingSplit,
    UnchangedAxis,
)

QUASI = ["age", "education", "occupation", "marital_status", "income"]


@pytest.fixture
def engine() -> Iterator[LocalEngine]:
    """An engine that lets a search hold 600 rows."""
    with LocalEngine() as small:
        small.search_rows = 600
        yield small


@pytest.fixture(scope="module")
def customers() -> pa.Table:
    """3,000 customers."""
    return bank_customers(3_000, seed=2)


def _release(table: pa.Table, engine: LocalEngine, **more: Any) -> anonkit.Release:
    given: dict[str, Any] = {"method": "rfka", "k": 8, "trees": 20, "target": "customer_value", "seed": 1}
    given |= more
    if given["method"] != "rfka":
        del given["trees"]
    others = [name for name in table.column_names if name not in (*QUASI, "customer_value")]
    return anonkit.release(table, engine=engine, insensitive=[n for n in others if n != given.get("unit")], **given)


@pytest.mark.quick_cases("rfka")
@pytest.mark.parametrize("method", ["rfka", "mondrian", "greedy-hamdist"])
def test_every_class_of_the_whole_table_is_large_enough(method: str, customers: pa.Table, engine: LocalEngine) -> None:
    """The recount of all rows finds k; the report says on how many rows the detail was chosen."""
    release = _release(customers, engine, method=method)
    table = release.to_arrow()
    found = measure(table, [name for name in QUASI if name in table.column_names])

    assert found.k >= 8
    assert release.report["rows"]["out"] + release.report["rows"]["suppressed"] == release.report["rows"]["in"] == 3_000
    assert release.report["search"]["sample"]["rows"] == 600
    assert any("600 of 3,000 rows" in note for note in release.report["notes"])


@pytest.mark.slow
def test_a_table_that_fits_is_searched_whole(customers: pa.Table, engine: LocalEngine) -> None:
    """If all rows fit into memory the release is that of an engine without a bound."""
    engine.search_rows = 3_000
    with LocalEngine() as free:
        assert _release(customers, engine).to_arrow().equals(_release(customers, free).to_arrow())


@pytest.mark.quick_cases("asked0")
@pytest.mark.parametrize("asked", [{"l": 2, "alpha": 0.9}, {"t": 0.6, "entropy_l": 1.2, "recursive": "9,2"}])
def test_diversity_is_counted_on_all_rows(asked: dict[str, Any], customers: pa.Table, engine: LocalEngine) -> None:
    """The requirement on the sensitive target is met in every class of the whole table."""
    release = _release(customers, engine, sensitive=["customer_value"], max_suppression=0.3, **asked)
    checks = {check["name"] for check in release.report["verification"]["checks"]}
    assert all(check["passed"] for check in release.report["verification"]["checks"])
    assert len(checks) > len(asked)


def test_people_are_counted_on_all_rows(engine: LocalEngine) -> None:
    """With a unit column k is of people."""
    table = bank_customers(3_000, seed=2, customer_id=True, rows_per_customer=3)
    unit = next(name for name in table.column_names if name not in bank_customers(1).column_names)
    names = [name for name in table.column_names if name not in (*QUASI, "customer_value", unit)]
    release = anonkit.release(
        table,
        method="rfka",
        k=6,
        trees=20,
        seed=1,
        engine=engine,
        unit=unit,
        insensitive=names,
        target="customer_value",
    )
    assert release.report["disclosure_risk"]["k_anonymity"]["people"] >= 6


def test_what_the_policy_refuses_is_refused_on_all_rows(customers: pa.Table, engine: LocalEngine) -> None:
    """Missing cells and cells outside a domain are counted in the table, not in the sample."""
    ages = customers.column("age").to_pylist()
    ages[7] = None
    at = customers.schema.get_field_index("age")
    holed = customers.set_column(at, "age", pa.array(ages))
    refusing = Policy.from_dict({"columns": {"age": {"role": "quasi_identifier", "missing": "error"}}})
    with pytest.raises(PolicyError, match="column 'age' has 1 missing values"):
        _release(holed, engine, policy=refusing, seed=3)
    dropping = Policy.from_dict({"columns": {"age": {"role": "quasi_identifier", "missing": "drop"}}})
    assert _release(holed, engine, policy=dropping).report["rows"]["dropped_missing"] == 1
    narrow = Policy.from_dict(
        {"columns": {"age": {"role": "quasi_identifier", "bounds": [18, 80], "outside": "refuse"}}}
    )
    outside = int(np.sum(customers.column("age").to_numpy() > 80))
    with pytest.raises(PolicyError, match=f"column 'age' has {outside} cells outside its declared bounds"):
        _release(customers, _blind(), policy=narrow)


def test_bounds_clamp_on_all_rows(customers: pa.Table, engine: LocalEngine) -> None:
    """Top coding, when only a sample is searched: nobody above the bound is refused, left out, or distinguished."""
    narrow = Policy.from_dict({"columns": {"age": {"role": "quasi_identifier", "bounds": [18, 80], "ladder": "none"}}})
    release = _release(customers, _blind(), policy=narrow)
    entry = next(one for one in release.report["columns"] if one["name"] == "age")
    assert entry["action"] == "dropped" or "above 80 is 80" in entry["coding"]
    cuts = [cut for one in release.params["recoding"].get("columns", []) for cut in one.get("cuts", [])]
    assert all(float(cut) <= 80 for cut in cuts if one_is_number(cut))


def one_is_number(cut: str) -> bool:
    """Return whether a cut is a number."""
    return cut.replace(".", "", 1).replace("-", "", 1).isdigit()


def _blind() -> LocalEngine:
    """Return an engine whose samples have nobody above 80."""

    class Blind(LocalEngine):
        def sample(self, source: Any, n: int, randomness: Any) -> Any:
            whole = pa.Table.from_batches(source.batches(), source.schema)
            return self.hold(whole.filter(pa.array(whole.column("age").to_numpy() <= 80)).slice(0, n))

    blind = Blind()
    blind.search_rows = 600
    return blind


@pytest.mark.parametrize("method", ["rfka", pytest.param("mondrian", marks=pytest.mark.slow)])
def test_the_next_batch_is_recoded_where_it_is(
    method: str, customers: pa.Table, engine: LocalEngine, tmp_path: Path
) -> None:
    """`apply` gives the same rows whether the batch is held or counted where it is."""
    _release(customers, engine, method=method, output=tmp_path / "first.parquet", ledger=None)
    batch = bank_customers(1_500, seed=9)
    with LocalEngine() as free:
        made = [
            anonkit.apply(tmp_path / "first.params.json", batch, engine=each, max_suppression=0.2, seed=4)
            for each in (engine, free)
        ]
    one, other = (Counter(map(str, release.to_arrow().to_pylist())) for release in made)
    assert one == other
    assert made[0].report["rows"] == made[1].report["rows"]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["edprf", "c45-arithmetic", "dp-forest", "dp-nb"])
def test_what_is_counted_is_counted_by_the_engine(method: str, engine: LocalEngine) -> None:
    """The same seed grows the same forest whether rows are held or counted where they are."""
    table, policy = bank_customers(2_000, seed=1), bank_customers_policy()
    with LocalEngine() as free:
        made = [
            anonkit.release(table, method=method, epsilon=1.0, policy=policy, engine=each, seed=5)
            for each in (engine, free)
        ]
    assert made[0].params == made[1].params
    assert made[0].to_arrow().equals(made[1].to_arrow())


def test_domains_of_a_large_table_are_its_distinct_values(engine: LocalEngine) -> None:
    """Domains from data are counted, not coded, when the table is large."""
    table = bank_customers(2_000, seed=1)
    with LocalEngine() as free:
        made = [
            anonkit.release(
                table, method="rr", epsilon=2.0, target="customer_value", domains_from_data=True, engine=each, seed=5,
                insensitive=["deposit", "loan", "swipe_amount", "swipe_frequency"],
            )
            for each in (engine, free)
        ]  # fmt: skip
    assert made[0].params["attributes"][0]["name"] == made[1].params["attributes"][0]["name"]
    assert len(made[0].params["attributes"]) == len(made[1].params["attributes"])


def test_an_opened_recoding_knows_every_value() -> None:
    """Values and missing cells the recoding was not found on get a place of their own; what was known stays."""
    batch = pa.record_batch({"c": ["a", "b", "new", None], "x": pa.array([1.0, 5.0, 9.0, None]), "k": ["a"] * 4})
    axis = CategoryAxis(name="c", values=("a", "b"), has_other=False, has_missing=False)
    cut = IntervalAxis(name="x", cuts=(4,), has_missing=False)
    columns = (
        Grouping(axis=axis, labels=("one", "one")),
        Grouping(axis=cut, labels=("< 4", ">= 4")),
        UnchangedAxis(name="k"),
    )
    recoded, unknown = opened(GlobalRecoding(columns=columns)).apply(batch)
    assert not unknown.any()
    assert recoded["c"].to_pylist() == ["one", "one", "other", None]
    assert recoded["x"].to_pylist() == ["< 4", ">= 4", ">= 4", None]

    with_missing = CategoryAxis(name="c", values=("a", "b"), has_other=False, has_missing=True)
    local = LocalRecoding(
        axes=(with_missing, cut), nodes=(RecodingSplit(axis=0, left=(0, 2), children=(1, 2)), None, None)
    )
    recoded, unknown = opened(local).apply(batch)
    assert not unknown.any()
    assert [cell is not None and "b" in cell for cell in recoded["c"].to_pylist()] == [False, True, True, False]
