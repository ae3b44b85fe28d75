"""Every registered method gives one release on both engines: the same rows, counts, channel and report."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from customer_files import write_customers
from golden.tables import INTERACTING, INTERACTING_POLICY, write_policy

import anonkit
from anonkit.bundle.data_files import parts_of
from anonkit.checks.validation import validate
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.engines import LocalEngine
from anonkit.errors import GuaranteeError
from anonkit.ledger.fingerprint import Likeness, fingerprint
from anonkit.methods import METHODS
from anonkit.policy.declaration import Policy

QUICK: dict[str, dict[str, Any]] = {
    "rfka": {"k": 5, "trees": 10},
    "greedy-hamdist": {"k": 5},
    "mondrian": {"k": 5},
    "datafly": {"k": 5},
    "incognito": {"k": 5},
    "mdav": {"k": 5},
    "rr": {"epsilon": 2.0},
    "errph": {"p_keep": 0.5, "bins": 8},
    "trr": {},
    "ppnb": {"p_keep": 0.5},
}
"""Parameters; every other method has an epsilon."""
K_ANONYMOUS = ("rfka", "greedy-hamdist", "mondrian", "datafly", "incognito", "mdav")
COMMON = ("rfka", "ppnb", "c45-arithmetic")
"""One method for each way through an engine; the others go the same ways, in the slow tests."""
CATEGORIES = ("education", "occupation", "marital_status", "income", "cards_held")
N = 1_000
HELD = 300
"""Rows a search may hold: fewer than there are, so that the rows stay in the engine."""


@pytest.fixture(scope="module")
def customers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Customers in four Parquet files, categories as texts."""
    return write_customers(tmp_path_factory.mktemp("customers"), N, 4)


@pytest.fixture(scope="module")
def on_spark(spark: Any) -> Iterator[Any]:
    """The Spark engine."""
    from anonkit.engines.spark.spark_engine import SparkEngine

    with SparkEngine(session=spark, search_rows=HELD) as engine:
        yield engine


@pytest.fixture(scope="module")
def on_one_machine() -> Iterator[LocalEngine]:
    """The local engine with the same limit of rows for a search."""
    with LocalEngine() as engine:
        engine.search_rows = HELD
        yield engine


def _release(source: Path, name: str, engine: Any, **more: Any) -> anonkit.Release:
    policy: Policy | None = None
    if name not in K_ANONYMOUS:
        policy = bank_customers_policy().with_roles(insensitive=CATEGORIES if name == "trr" else ())
    return anonkit.release(
        source,
        method=name,
        engine=engine,
        policy=policy,
        target="customer_value",
        **QUICK.get(name, {"epsilon": 1.0}),
        **more,
    )


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True), key=repr)


@pytest.mark.quick_cases("ppnb")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in COMMON else pytest.mark.slow) for name in METHODS]
)
def test_both_engines_make_one_release(
    name: str, customers: Path, on_spark: Any, on_one_machine: LocalEngine, tmp_path: Path
) -> None:
    """Under a test seed: the same rows, the same types, the same params and the same report."""
    one = _release(customers, name, on_spark, seed=3, output=tmp_path / "spark.parquet", ledger=None)
    other = _release(customers, name, on_one_machine, seed=3, output=tmp_path / "local.parquet", ledger=None)

    assert one.to_arrow().schema == other.to_arrow().schema
    assert _rows(one.to_arrow()) == _rows(other.to_arrow())
    assert one.params == other.params
    volatile = {"created", "utility"}
    assert {k: v for k, v in one.report.items() if k not in volatile} == {
        k: v for k, v in other.report.items() if k not in volatile
    }


@pytest.mark.slow
def test_sets_are_drawn_alike_on_both_engines(customers: Path, on_spark: Any, on_one_machine: LocalEngine) -> None:
    """At a small epsilon `rr` answers by sets: the same rows and params."""
    one, other = (
        anonkit.release(
            customers, method="rr", epsilon=0.5, policy=bank_customers_policy(), engine=engine, seed=3, ledger=None
        )
        for engine in (on_spark, on_one_machine)
    )
    assert _rows(one.to_arrow()) == _rows(other.to_arrow())
    assert one.params == other.params
    assert "set-response" in {attribute["mechanism"] for attribute in one.params["attributes"]}


@pytest.mark.slow
def test_a_tree_that_a_pair_leads_is_the_same_on_both_engines(
    on_spark: Any, on_one_machine: LocalEngine, tmp_path: Path
) -> None:
    """Its grid is grown without a question to the engine; the first one comes when it is grown."""
    table = INTERACTING.slice(0, 1_600)
    for at in range(4):
        pq.write_table(table.slice(at * 400, 400), tmp_path / f"{at}.parquet")
    policy = write_policy(tmp_path, INTERACTING_POLICY)
    one, other = (
        anonkit.release(
            tmp_path / "*.parquet", method="dp-forest", epsilon=4.0, policy=policy, engine=engine, seed=3, ledger=None
        )
        for engine in (on_spark, on_one_machine)
    )
    assert one.params["rule"]["interaction"]["pair"] == ["height", "side"]
    assert one.params == other.params
    assert _rows(one.to_arrow()) == _rows(other.to_arrow())


@pytest.mark.slow
def test_a_published_tree_is_the_same_on_both_engines(
    customers: Path, on_spark: Any, on_one_machine: LocalEngine
) -> None:
    """The preset of the paper that was written for MapReduce: splits drawn, least rows, the epsilon that it costs."""
    given: dict[str, Any] = {"seed": 3, "ledger": None, "preset": "paper", "depth": 2}
    one, other = (_release(customers, "c45-arithmetic", engine, **given) for engine in (on_spark, on_one_machine))
    assert one.params == other.params
    assert _rows(one.to_arrow()) == _rows(other.to_arrow())
    assert one.report["guarantee"] == other.report["guarantee"]
    assert one.report["guarantee"]["parameters"]["epsilon"] > 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "target"),
    [pytest.param(30.0, "customer_value", id="split by the target"), pytest.param(9.0, None, id="no target")],
)
def test_tables_of_pairs_are_the_same_on_both_engines(
    epsilon: float, target: str | None, customers: Path, on_spark: Any, on_one_machine: LocalEngine
) -> None:
    """dp-marginals counts all columns and pairs where the rows are: the same noisy tables, pairs, mixture and rows."""
    policy = bank_customers_policy().with_roles(insensitive=() if target else ("customer_value",))
    asked: dict[str, Any] = {"method": "dp-marginals", "epsilon": epsilon, "bins": 8, "seed": 3, "ledger": None}
    one, other = (
        anonkit.release(customers, engine=engine, policy=policy, target=target, **asked)
        for engine in (on_spark, on_one_machine)
    )
    in_tree = [table["in_tree"] for table in one.params["pairs"]]
    assert one.params == other.params
    assert {True, False} == set(in_tree)  # pairs of the forest, and further ones
    assert one.params["anchored"] == (target is not None)
    assert _rows(one.to_arrow()) == _rows(other.to_arrow())


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["ppnb", *(pytest.param(name, marks=pytest.mark.slow) for name in ("c45-arithmetic", "rfka"))]
)
def test_executors_write_a_folder_of_the_same_rows(
    name: str, customers: Path, on_spark: Any, on_one_machine: LocalEngine, tmp_path: Path
) -> None:
    """Under a test seed: the files of a folder, one after the other, are those of one machine, and validate."""
    made = [
        _release(
            customers, name, engine, seed=3, output=tmp_path / f"{engine.name}.parquet", ledger=None, part_rows=100
        )
        for engine in (on_spark, on_one_machine)
    ]
    one, other = (release.to_arrow() for release in made)
    assert one.schema == other.schema
    assert _rows(one) == _rows(other)
    for release in made:
        assert release.place is not None
        assert len(parts_of(release.place.file(".parquet"))) > 1
        assert [c.name for c in validate(release).checks if not c.passed] == ["randomness"]


@pytest.mark.slow
def test_a_table_that_fits_is_searched_as_on_one_machine(customers: Path, spark: Any) -> None:
    """If all rows fit into memory the same features are kept, and the same rows suppressed, as without Spark."""
    from anonkit.engines.spark.spark_engine import SparkEngine

    with SparkEngine(session=spark) as engine:
        one = _release(customers, "rfka", engine, seed=3)
    other = _release(customers, "rfka", "local", seed=3)
    assert one.params == other.params
    assert one.report["columns"] == other.report["columns"]
    assert _rows(one.to_arrow()) == _rows(other.to_arrow())


@pytest.mark.slow
def test_a_data_frame_of_spark_is_just_a_table(customers: Path, spark: Any) -> None:
    """`anonkit.release(frame)` needs no engine; identifiers never reach the release."""
    frame = spark.read.parquet(str(customers)).selectExpr("concat('MARKER', age, rand()) AS name", "*")
    release = _release(frame, "ppnb", "local", identifiers=["name"])
    assert release.report["rows"]["out"] == N
    assert release.contents is not None
    assert not any(b"MARKER" in content for content in release.contents.values())


@pytest.mark.quick_cases("rr")
@pytest.mark.parametrize("name", ["mondrian", "rr"])
def test_a_cell_outside_its_domain_is_refused_in_the_same_words(
    name: str, customers: Path, on_spark: Any, on_one_machine: LocalEngine
) -> None:
    """A refusal by an executor has the message of one machine, without the cell; else both take it."""
    policy = bank_customers_policy()
    columns = {name: {"role": "insensitive"} for name in policy.columns}
    raw = {"columns": {**columns, "occupation": {"role": "quasi_identifier", "categories": ["farming"]}}}
    said = []
    for engine in (on_spark, on_one_machine):
        options = {"method": name, "engine": engine, "policy": Policy.from_dict(raw), "seed": 3, **QUICK[name]}
        if name == "rr":  # such a cell is missing, and missing is a value
            said.append((str(anonkit.release(customers, **options).report["rows"]["out"]), None))
            continue
        with pytest.raises(anonkit.errors.GuaranteeError) as refused:  # more of them than are accepted
            anonkit.release(customers, **options)
        said.append((refused.value.message, refused.value.hint))
    assert said[0] == said[1]
    assert "services" not in str(said)


@pytest.mark.slow
def test_both_engines_see_one_joint_view(
    customers: Path, on_spark: Any, on_one_machine: LocalEngine, tmp_path: Path
) -> None:
    """Two releases of one table, which more rows than a search may hold: counted where the rows are."""
    views = []
    for engine in (on_spark, on_one_machine):
        (tmp_path / engine.name).mkdir()
        for hidden in ("age", "education"):
            output = tmp_path / engine.name / f"{hidden}.parquet"
            release = anonkit.release(
                customers, method="mondrian", k=5, identifiers=[hidden], engine=engine, seed=3, output=output,
                ledger=tmp_path / f"{engine.name}.sqlite", accept_joint_k=1,
            )  # fmt: skip
        views.append(release.owner["joint_view"])
    assert views[0] == views[1]
    assert views[0]["with_releases"] == [1]


@pytest.mark.slow
def test_the_ledger_knows_a_table_on_every_engine(customers: Path, on_spark: Any, tmp_path: Path) -> None:
    """Executors add up the same sums: booked on one engine, refused on the other, from another kind of file."""
    policy = bank_customers_policy()
    with LocalEngine() as local:
        marks = [fingerprint(engine.scan(str(customers), policy), engine, b"k" * 32) for engine in (local, on_spark)]
        other = bank_customers(300, seed=99)
        pq.write_table(other, tmp_path / "other.parquet")
        known = fingerprint(local.scan(other, policy), local, b"k" * 32)
        again = fingerprint(on_spark.scan(str(tmp_path / "other.parquet"), policy), on_spark, b"k" * 32)
    assert marks[0].likeness(marks[1]) is Likeness.SAME
    assert known.likeness(again) is Likeness.SAME
    assert marks[0].likeness(known) is Likeness.NONE


@pytest.mark.slow
def test_columns_are_kept_alike_on_both_engines(
    customers: Path, on_spark: Any, on_one_machine: LocalEngine, tmp_path: Path
) -> None:
    """A column to be kept has the same parts, and one that cannot be is refused by name, wherever the rows are."""
    for engine in (on_spark, on_one_machine):
        out = tmp_path / f"{engine.name}.parquet"
        kept = _release(customers, "rfka", engine, seed=3, keep=["occupation"], output=out, ledger=None)
        assert len(set(kept.to_arrow()["occupation"].to_pylist())) > 1
        with pytest.raises(GuaranteeError, match="'occupation'"):
            anonkit.release(
                customers,
                method="datafly",
                k=100,
                engine=engine,
                target="customer_value",
                keep=["occupation"],
                ledger=None,
            )
