"""The protocols: every engine and method has the verbs with their arguments, and a stranger's method is released."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pytest

import anonkit
from anonkit import protocols
from anonkit.datasets import bank_customers
from anonkit.engines import ENGINES, LocalEngine, open_engine
from anonkit.methods import METHODS, make_method, method_class
from anonkit.policy.declaration import Policy
from anonkit.protocols import Draft, Engine, Method, is_too_large, no_progress
from anonkit.randomness import Randomness
from anonkit.report.blocks import Budget


def verbs(protocol: type) -> dict[str, inspect.Signature]:
    """The verbs of a protocol, by name."""
    return {
        name: inspect.signature(one)
        for name, one in vars(protocol).items()
        if inspect.isfunction(one) and not name.startswith("_")
    }


def engine_class(name: str, request: pytest.FixtureRequest) -> type:
    """The class of an engine; PySpark is needed for its own."""
    if name == "spark":
        request.getfixturevalue("spark_is_there")
        from anonkit.engines.spark.spark_engine import SparkEngine

        return SparkEngine
    return LocalEngine


def shape(signature: inspect.Signature) -> list[tuple[str, Any, Any]]:
    """Names, kinds and defaults of arguments."""
    return [(one.name, one.kind, one.default) for one in signature.parameters.values()]


@pytest.mark.parametrize("name", ENGINES)
def test_every_engine_has_the_verbs_with_their_arguments(name: str, request: pytest.FixtureRequest) -> None:
    """Every verb of one engine can be called on the other: names, kinds and defaults of all arguments."""
    found = engine_class(name, request)
    asked = verbs(Engine)
    assert len(asked) >= 10
    assert found.name == name
    for verb, signature in asked.items():
        assert shape(inspect.signature(getattr(found, verb))) == shape(signature), verb


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_the_verbs_with_their_arguments(name: str) -> None:
    """Every method has the verbs that the main path calls, with the words that `anonkit methods` shows."""
    found = method_class(name)
    for verb, signature in verbs(Method).items():
        assert shape(inspect.signature(getattr(found, verb))) == shape(signature), verb
    assert found.name == name
    for words in (found.paper, found.summary):
        assert words == words.strip()
        assert "\n" not in words
        assert words


@pytest.mark.parametrize(("search_rows", "too_large"), [(99, True), (100, False), (101, False)])
def test_a_table_is_too_large_above_the_limit_of_rows(search_rows: int, too_large: bool) -> None:
    """A table of exactly as many rows fits."""
    engine = open_engine("local", search_rows=search_rows)
    try:
        source = engine.scan(bank_customers(100, seed=1), Policy())
        assert source.n_rows == 100
        assert is_too_large(source, engine) is too_large
    finally:
        engine.close()


def test_an_engine_holds_as_many_rows_as_the_protocol_says() -> None:
    """The limit that the help prints is the default of an engine."""
    engine = open_engine("local")
    assert engine.search_rows == protocols.SEARCH_ROWS == 500_000
    engine.close()


def test_no_progress_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """The default of all verbs is silent."""
    no_progress("reading", 0.5)
    assert capsys.readouterr() == ("", "")


def test_values_of_the_protocols_cannot_change() -> None:
    """A draft is checked and then written: nobody changes it in between."""
    for one in vars(protocols).values():
        if inspect.isclass(one) and one.__module__ == protocols.__name__ and hasattr(one, "__dataclass_params__"):
            assert one.__dataclass_params__.frozen, one.__name__


@dataclass(frozen=True, kw_only=True)
class TwoKeys:
    """A statement that puts two keys into the params."""

    @property
    def budget(self) -> Budget:
        """Return what is spent."""
        return {"epsilon": 1.0, "delta": 0}

    def to_params(self) -> dict[str, Any]:
        """Return an account."""
        return {"accounting": [], "composition": {}}


@pytest.mark.parametrize(
    ("published", "keys"),
    [
        ({"format": "f", "columns": [], "spikes": []}, ["format", "accounting", "composition", "columns", "spikes"]),
        ({"conditions": []}, ["accounting", "composition", "conditions"]),
    ],
)
def test_a_draft_publishes_its_statement_before_its_columns(published: dict[str, Any], keys: list[str]) -> None:
    """The account and the budget are those of the statement; a draft without one spends nothing."""
    draft = Draft(data=None, published=published, columns=(), statement=TwoKeys())  # type: ignore[arg-type]
    assert list(draft.params) == keys
    assert draft.blocks["budget"] == TwoKeys().budget
    silent = replace(draft, statement=protocols.NoDraws())
    assert silent.params == published
    assert silent.blocks == {"budget": {}}


@dataclass(frozen=True, kw_only=True)
class Strangers:
    """A method from elsewhere: anonkit knows its two verbs alone, it has no parameter."""

    name = "strangers"
    paper = "none"
    summary = "another method from elsewhere"
    target_use = method_class("mondrian").target_use

    def guarantee(self, policy: Policy) -> Any:
        """Promise k-anonymity of twenty, for any requirement."""
        return make_method("mondrian", {"k": 20}).guarantee(policy)

    def release(
        self, source: Any, policy: Policy, *, engine: Any, rng: Randomness, progress: Any = no_progress
    ) -> Draft:
        """Recode into boxes of twenty."""
        progress("a step of its own", 1.0)
        return make_method("mondrian", {"k": 20}).release(source, policy, engine=engine, rng=rng, progress=progress)


def test_a_method_from_elsewhere_is_released_checked_and_described(tmp_path: Any) -> None:
    """A frozen dataclass with the two verbs needs no registration: the files say what it is, and validate."""
    table, steps = bank_customers(90, seed=2), []
    method = Strangers()
    assert isinstance(method, Method)
    release = anonkit.release(
        table,
        method=method,
        target="customer_value",
        output=tmp_path / "out.parquet",
        ledger=None,
        progress=lambda step, share: steps.append(step),
    )
    described: Mapping[str, Any] = release.report["method"]
    assert (described["name"], described["summary"], described["parameters"]) == ("strangers", method.summary, {})
    assert release.report["guarantee"]["parameters"]["k"] == 20
    assert release.report["disclosure_risk"]["k_anonymity"]["k"] >= 20
    assert "a step of its own" in steps
    assert isinstance(release.to_arrow(), pa.Table)
    assert anonkit.validate(tmp_path / "out.parquet").passed
