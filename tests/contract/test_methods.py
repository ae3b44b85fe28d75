"""Every registered method against the same facts, on every engine."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow as pa
import pytest

import anonkit
from anonkit.bundle.release_place import DATA, DESCRIPTOR, PAGE, PARAMS, REPORT
from anonkit.bundle.stored_release import Release
from anonkit.checks.central_account import published_account
from anonkit.checks.disclosure import measure
from anonkit.checks.local_params import read_answers
from anonkit.checks.local_promise import published_loss
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.domains.number_bins import Categories
from anonkit.engines import ENGINES
from anonkit.errors import ParameterError, PolicyError
from anonkit.methods import METHODS, example_of, make_method, method_class, presets_of
from anonkit.parameters import parameters_of
from anonkit.pipeline.release_path import _NO_ROW
from anonkit.policy.column_declarations import Column
from anonkit.policy.declaration import Policy
from anonkit.protocols import Method
from anonkit.published.randomized_table import PublishedTable
from anonkit.report.schemas import report_schema
from anonkit.report.wording import check_words

CATEGORIES = ("education", "occupation", "marital_status", "income", "cards_held")


def declared(name: str) -> Policy:
    """Return the public domains of the customers as a method takes them: `trr` answers for numbers alone."""
    numbers = name == "trr"
    return bank_customers_policy().with_roles(identifiers=["name"], insensitive=CATEGORIES if numbers else ())


QUICK: dict[str, Mapping[str, Any]] = {name: example_of(method_class(name)) for name in METHODS}
"""Parameters that make each method quick on 400 rows, as the method says them itself."""

KINDS = {name: make_method(name, QUICK[name]).guarantee(declared(name)).kind for name in METHODS}
"""Kind of each method's promise: what a method has to show follows from what it promises."""

K_ANONYMOUS = tuple(name for name, kind in KINDS.items() if kind == "k-anonymity")
CENTRAL = tuple(name for name, kind in KINDS.items() if kind == "central-dp")
DRAWN = tuple(name for name, kind in KINDS.items() if kind == "k-anonymous-dp")
RANDOMIZED = tuple(name for name in METHODS if name not in (*K_ANONYMOUS, *CENTRAL, *DRAWN))

RARE = "MARKER-of-one-person"


@pytest.fixture(params=METHODS)
def name(request: pytest.FixtureRequest) -> str:
    """The name of a registered method."""
    return str(request.param)


@pytest.fixture(params=[pytest.param(name, marks=() if name == "local" else pytest.mark.slow) for name in ENGINES])
def engine(request: pytest.FixtureRequest) -> str:
    """The name of an engine; `test_engines.py` has what is quick to say of Spark."""
    if request.param == "spark":
        request.getfixturevalue("spark")
    return str(request.param)


@pytest.fixture(scope="module")
def customers() -> pa.Table:
    """Customers with a name each, and one cell that only one of them has."""
    table = bank_customers(400, seed=1)
    names = pa.array([f"Customer {at:04d}" for at in range(table.num_rows)])
    jobs = table.column("occupation").cast(pa.string()).to_pylist()
    jobs[7] = RARE
    table = table.set_column(table.schema.get_field_index("occupation"), "occupation", pa.array(jobs))
    return table.add_column(0, "name", names)


@pytest.fixture
def table(name: str, customers: pa.Table) -> pa.Table:
    """The customers as the method takes them."""
    return _as_taken(customers, name)


def _as_taken(customers: pa.Table, name: str) -> pa.Table:
    """Return them without the value outside the declared domains, which randomized methods refuse."""
    if name in K_ANONYMOUS:
        return customers
    declared = bank_customers(400, seed=1).column("occupation")
    return customers.set_column(customers.schema.get_field_index("occupation"), "occupation", declared)


def _policy(name: str) -> Policy | None:
    """Return the public domains that a randomized release needs; numbers alone for `trr`."""
    if name in K_ANONYMOUS:
        return None
    return declared(name)


def _release(table: pa.Table, name: str, engine: str = "local", **more: Any) -> Release:
    return anonkit.release(
        table,
        method=name,
        engine=engine,
        policy=_policy(name),
        identifiers=["name"],
        target="customer_value",
        **QUICK[name],
        **more,
    )


@dataclass(frozen=True)
class Made:
    """A release with its folder, and whether its source was after it what it had been before."""

    release: Release
    folder: Path
    left_the_source: bool


@pytest.fixture(scope="module")
def once(customers: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Made]:
    """Make the release of a method on an engine, with a seed or none, once for several tests."""

    @functools.cache
    def made(name: str, engine: str, seed: int | None = None) -> Made:
        table, folder = _as_taken(customers, name), tmp_path_factory.mktemp("made")
        before = table.to_pylist()
        release = _release(table, name, engine, seed=seed, output=folder / "out.parquet")
        return Made(release, folder, table.to_pylist() == before)

    return made


@pytest.fixture
def made(name: str, engine: str, once: Callable[..., Made]) -> Made:
    """The release of a method on an engine, without a seed."""
    return once(name, engine)


def test_a_method_is_a_frozen_keyword_only_dataclass(name: str) -> None:
    """Parameters are values: they cannot change after the promise was made."""
    found = method_class(name)
    assert dataclasses.is_dataclass(found)
    method = make_method(name, QUICK[name])
    with pytest.raises(dataclasses.FrozenInstanceError):
        method.k = 3  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        found(5)  # type: ignore[call-arg]
    assert isinstance(method, Method)
    assert method.name == name


def test_the_promise_needs_no_data(name: str) -> None:
    """A guarantee is computed from parameters and policy alone."""
    promise = make_method(name, QUICK[name]).guarantee(_policy(name) or Policy())
    assert promise.statement()
    assert promise.formal()
    assert promise.not_protected()


def test_every_parameter_says_its_range_and_refuses_what_is_outside(name: str) -> None:
    """Help and range are there; a negative number is in no range of any method here."""
    for one in parameters_of(method_class(name)):
        assert one.help
        assert one.range
        if one.kind in (int, float):
            with pytest.raises(ParameterError, match=one.name):
                make_method(name, {**QUICK[name], one.name: -1})


def test_every_preset_is_an_instance(name: str) -> None:
    """Presets hold known parameters in their ranges."""
    for preset in presets_of(method_class(name)):
        assert make_method(name, QUICK[name], preset).name == name


@pytest.mark.slow_cases("safepub-local")
def test_identifiers_never_reach_any_file(made: Made) -> None:
    """No name, and no value that one person has, is in any file of the release."""
    release = made.release
    assert "name" not in release.to_arrow().column_names
    for suffix in (DATA, PARAMS, REPORT, PAGE, DESCRIPTOR):
        content = (made.folder / f"out{suffix}").read_bytes()
        assert b"Customer 0" not in content, suffix
        assert RARE.encode() not in content, suffix
    for column in release.to_arrow().columns:
        assert RARE not in map(str, column.to_pylist())


def test_the_report_follows_its_schema(made: Made) -> None:
    """Every key of the contract is there, of the right kind."""
    jsonschema.Draft202012Validator(report_schema()).validate(json.loads(json.dumps(made.release.report)))


@pytest.mark.parametrize("name", K_ANONYMOUS)
def test_an_independent_recount_equals_the_report(made: Made, customers: pa.Table) -> None:
    """K and the class sizes of the report are those of the released cells."""
    release = made.release
    asked = release.report["guarantee"]["parameters"]["quasi_identifiers"]
    released = release.to_arrow()
    found = measure(released, [column for column in asked if column in released.column_names])

    assert found.k == release.report["disclosure_risk"]["k_anonymity"]["k"] >= 5
    assert found.rows == release.report["rows"]["out"] == released.num_rows
    assert release.report["rows"]["out"] + release.report["rows"]["suppressed"] == customers.num_rows


@pytest.mark.parametrize("name", RANDOMIZED)
def test_the_published_parameters_have_the_stated_loss(name: str, made: Made, table: pa.Table) -> None:
    """Epsilon, rebuilt from the integers of params.json alone, is that of the report and of the budget."""
    release = made.release
    found, report = published_loss(read_answers(json.loads(json.dumps(release.params)))), release.report

    assert report["rows"]["in"] == report["rows"]["out"] == table.num_rows
    assert float(report["budget"]["epsilon"]) == found.epsilon
    assert {one["name"]: float(one["epsilon"]) for one in report["budget"]["per_attribute"]} == found.attributes
    if report["guarantee"]["kind"] == "local-dp":
        assert float(report["guarantee"]["parameters"]["epsilon"]) == found.epsilon
        assert report["guarantee"]["adjacency"] == "replace one record"
    if name == "rr":
        assert 1.99 < found.epsilon <= 2.0


@pytest.mark.parametrize("name", CENTRAL)
def test_the_published_account_adds_up_to_the_claim(made: Made) -> None:
    """Epsilon, added up from the rates of params.json alone, is that of the report and at most what was requested."""
    release = made.release
    found, report = published_account(json.loads(json.dumps(release.params))), release.report
    promise = report["guarantee"]

    assert 0 < found.epsilon <= report["budget"]["epsilon"] == promise["parameters"]["epsilon"] <= 1.0
    assert promise["kind"] == "central-dp"
    assert promise["adjacency"] == found.adjacency == "add or remove one record"
    assert report["budget"]["delta"] == 0


@pytest.mark.parametrize("name", DRAWN)
def test_drawn_rows_are_alike_and_their_loss_is_the_claim(name: str, made: Made) -> None:
    """K over all columns, epsilon and delta come out of the files; how many rows there were occurs nowhere."""
    release = made.release
    promise, released = release.report["guarantee"]["parameters"], release.to_arrow()
    counts = released.group_by(released.column_names).aggregate([([], "count_all")]).column("count_all")

    assert min(counts.to_pylist()) >= promise["k"] >= QUICK[name]["k"]
    assert {"in", "suppressed"}.isdisjoint(release.report["rows"])
    assert release.report["budget"]["epsilon"] == promise["epsilon"] == QUICK[name]["epsilon"]
    assert release.report["budget"]["delta"] == promise["delta"] == QUICK[name]["delta"]
    assert "importance" not in str(release.report["columns"])


@pytest.mark.parametrize("name", CENTRAL)
def test_nothing_exact_about_the_rows_is_published(name: str, engine: str) -> None:
    """A table of one row more brings no other key, column or kind of value: what differs is noise."""
    found = []
    for n_rows in (60, 61):
        release = anonkit.release(
            bank_customers(n_rows, seed=1), method=name, engine=engine, policy=bank_customers_policy(), **QUICK[name]
        )
        report = release.report
        assert set(report["rows"]) == {"out"}
        of_noise = ("The rows explain nothing of the target", "The rows do not carry the mean", "Values of ")
        notes = [note for note in report["notes"] if not note.startswith(of_noise)]
        assert notes in ([], [_NO_ROW]) if report["rows"]["out"] == 0 else notes == []
        assert not report["disclosure_risk"]
        assert not any("importance" in column for column in report["columns"])
        found.append((sorted(report), sorted(release.params), release.to_arrow().schema.names))
    assert found[0] == found[1]


@pytest.mark.parametrize("name", RANDOMIZED)
def test_what_is_not_randomized_is_not_released(made: Made) -> None:
    """Only declared attributes are there, each holding answers of its public domain; the rest is dropped, and why."""
    release = made.release
    published, released = PublishedTable.from_params(release.params), release.to_arrow()
    answered = {one.name: one for one in published.attributes}
    shown = set(released.column_names) - {"customer_value", published.asked_column}

    assert shown == set(answered)
    for column in release.report["columns"]:
        assert (column["action"] == "dropped") == (column["name"] not in released.column_names)
        assert column["action"] != "dropped" or column["reason"]
    for name_, attribute in answered.items():
        if isinstance(attribute.domain, Categories):
            assert set(released.column(name_).to_pylist()) <= {*attribute.domain.values, None}


@pytest.mark.parametrize("name", [*RANDOMIZED, *CENTRAL, *DRAWN])
def test_a_column_without_a_public_domain_is_refused(name: str, engine: str, table: pa.Table) -> None:
    """It is named, and reading domains from the table makes the claim conditional in every file."""
    known = _policy(name)
    assert known is not None
    policy = replace(known, columns={**known.columns, "age": Column(name="age")})
    more = {"method": name, "engine": engine, **QUICK[name]}
    with pytest.raises(PolicyError, match="column 'age' has no public domain"):
        anonkit.release(table, policy=policy, **more)
    release = anonkit.release(table, policy=policy, domains_from_data=True, **more)

    assert release.contents is not None
    assert release.report["guarantee"]["assumptions"][0].startswith("CONDITIONAL: the domains of age")
    for suffix in (DATA, PARAMS, REPORT, PAGE):
        assert b"CONDITIONAL" in release.contents[suffix], suffix


@pytest.mark.parametrize("name", K_ANONYMOUS)
def test_a_k_anonymous_method_reads_no_domains(name: str, customers: pa.Table) -> None:
    """The option is refused where it means nothing."""
    with pytest.raises(ParameterError, match="needs no public domains"):
        _release(customers, name, domains_from_data=True)


def test_the_source_is_left_as_it_was(made: Made) -> None:
    """Releasing changes nothing in the owner's table."""
    assert made.left_the_source


@pytest.mark.quick_cases("rfka-local", "rr-local", "dp-*-local", "errph-local")
def test_a_seeded_release_repeats_and_is_marked_everywhere(
    name: str, engine: str, table: pa.Table, once: Callable[..., Made]
) -> None:
    """The same seed gives the same rows; every file says that it is not for release."""
    first, second = once(name, engine, seed=3), _release(table, name, engine, seed=3)
    assert first.release.to_arrow().equals(second.to_arrow())
    for suffix in (DATA, PARAMS, REPORT, PAGE, DESCRIPTOR):
        assert b"not for release" in (first.folder / f"out{suffix}").read_bytes(), suffix


@pytest.mark.quick_cases("rfka-*", "rr-*", "dp-forest-*", "dp-marginals-*", "dp-tables-*")
def test_an_unseeded_release_is_secure_and_shuffled_anew(name: str, engine: str, made: Made, table: pa.Table) -> None:
    """Two releases of one table hold other rows, or rows in other orders; where noise leaves none, other noise."""
    first, second = made.release, _release(table, name, engine)
    assert first.report["randomness"] == "secure"
    if first.report["rows"]["out"] or second.report["rows"]["out"]:
        assert not first.to_arrow().equals(second.to_arrow())
    else:
        assert first.params != second.params


def test_a_release_validates_from_its_files_alone(made: Made, tmp_path: Path) -> None:
    """The written release passes the independent validation, described in words, and survives load and save."""
    found = anonkit.validate(made.release)
    assert found.passed
    assert [check.name for check in found.checks if "‘’" in check_words(check.name)[0]] == []
    moved = anonkit.load(made.folder / "out.parquet").save(tmp_path / "elsewhere" / "again.parquet")
    assert anonkit.validate(moved).passed


@pytest.mark.quick_cases("rfka-local", "datafly-local", "rr-local", "dp-*-local", "safepub-local")
def test_a_dry_run_writes_nothing(name: str, engine: str, table: pa.Table, tmp_path: Path) -> None:
    """The plan describes the release and leaves no file."""
    plan = _release(table, name, engine, output=tmp_path / "out.parquet", dry_run=True)
    assert plan.report["guarantee"]["kind"]
    assert not list(tmp_path.iterdir())


@pytest.mark.quick_cases(
    "rfka-local-columns",
    "datafly-local-columns",
    "rr-*",
    "dp-forest-local-reversed",
    "dp-marginals-local-columns",
    "dp-nb-local-reversed",
    "dp-tree-local-columns",
    "diffgen-local-reversed",
)
@pytest.mark.parametrize("order", ["reversed", "columns"])
def test_the_order_of_rows_and_columns_does_not_matter(
    name: str, engine: str, table: pa.Table, order: str, once: Callable[..., Made]
) -> None:
    """The released rows are the same multiset, however the source was ordered; noise belongs to the row number."""
    seed = 3 if name in (*RANDOMIZED, *CENTRAL, *DRAWN) else None
    if seed is not None and order == "reversed":
        pytest.skip("the noise of a row, and the tree it is in, are functions of its number")
    if order == "reversed":
        other = table.take(pa.array(range(table.num_rows - 1, -1, -1)))
    else:
        other = table.select(table.column_names[::-1])
    first = once(name, engine, seed=seed).release.to_arrow()
    second = _release(other, name, engine, seed=seed).to_arrow()
    columns = sorted(first.column_names)

    assert sorted(second.column_names) == columns
    rows = [sorted(zip(*(t.column(c).to_pylist() for c in columns), strict=True), key=repr) for t in (first, second)]
    assert rows[0] == rows[1]
