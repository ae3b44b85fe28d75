"""`dp-marginals` with domains found privately: one account for search, readings, tables and choices, in ε and in ρ."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pytest
from checks.forgeries import Files, forged, verdict

import anonkit
from anonkit.auditing.epsilon_audit import epsilon_from_counts
from anonkit.checks.account_lines import (
    choice_rho_of,
    epsilon_of,
    finding_delta,
    finding_epsilon,
    finding_lines,
    model_lines,
    rho_of,
)
from anonkit.checks.central_account import approximate_loss
from anonkit.datasets import bank_customers
from anonkit.engines import LocalEngine
from anonkit.errors import PolicyError
from anonkit.ledger.ledger_place import LedgerPlace
from anonkit.ledger.store import Ledger
from anonkit.mechanisms.exact_samplers import UniformStream, gaussian_counts, noisy_counts
from anonkit.methods.dp_marginals import DPMarginals
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy
from anonkit.promises.noise_promises import CentralDP
from anonkit.randomness import Randomness

N = 4_000
ONE = 1 << 52
GAUSSIAN: dict[str, Any] = {"epsilon": 16.0, "delta": 1e-2}
LAPLACE: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-9}
"""Epsilons at which the noise of either law is expected to be less: with all columns of customers, and with few."""
FORMS: dict[str, tuple[dict[str, Any], int]] = {
    "Gaussian, a target": ({**GAUSSIAN, "target": "customer_value"}, 2),
    "Gaussian, none": ({**GAUSSIAN, "target": None}, 2),
    "Gaussian, number of rows public": ({**GAUSSIAN, "target": "customer_value", "n_rows": N}, 2),
    "Gaussian, rows replaced": ({**GAUSSIAN, "epsilon": 32.0, "target": None, "adjacency": "replace"}, 2),
    "Laplace, a target": ({**LAPLACE, "epsilon": 8.0, "target": "customer_value", "few": 4}, 1),
    "Laplace, none": ({**LAPLACE, "epsilon": 8.0, "target": None, "few": 4}, 1),
}


TEXTS = ["education", "occupation", "customer_value"]


def customers(few: int = 0) -> pa.Table:
    """All columns of customers, or the first ones and the target."""
    table = bank_customers(N, seed=2)
    return table if not few else table.select([*table.column_names[:few], "customer_value"])


def released(output: Path | None, *, few: int = 0, source: Any = None, **given: Any) -> Any:
    """A release of customers of which nothing is declared."""
    return anonkit.release(
        customers(few) if source is None else source, method="dp-marginals", domains_from_data=True, output=output,
        ledger=None, **given,
    )  # fmt: skip


@pytest.fixture(scope="module")
def forms(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Files]:
    """A true release of each form."""
    found = {}
    for name, (given, _) in FORMS.items():
        output = tmp_path_factory.mktemp("true") / "out.parquet"
        released(output, **given)
        found[name] = Files.read(output)
    return found


@pytest.mark.slow_cases("Gaussian, a target")
@pytest.mark.parametrize("form", FORMS)
def test_a_release_of_every_form_validates_without_a_condition(
    form: str, forms: dict[str, Files], tmp_path: Path
) -> None:
    """Epsilon and delta as requested, no domain said to be read, and the columns said to be public knowledge."""
    files, (given, law) = forms[form], FORMS[form]
    assert files.params["format"] == f"anonkit-marginals-{law}"
    guarantee, budget = files.report["guarantee"], files.report["budget"]
    assert guarantee["kind"] == "approximate-dp"
    assert "CONDITIONAL" not in json.dumps(guarantee)
    assert guarantee["parameters"]["domains_from_data"] == []
    assert any("public knowledge" in one for one in guarantee["assumptions"])
    assert (budget["epsilon"], budget["delta"]) == (given["epsilon"], given["delta"])
    assert verdict(forged(files, lambda one: None, tmp_path)) == (0, ())


@pytest.mark.slow_cases("Gaussian, a target")
@pytest.mark.parametrize("form", FORMS)
def test_search_readings_and_tables_add_up_to_what_was_asked_for(form: str, forms: dict[str, Files]) -> None:
    """A quarter at most and half of delta for the search; what it leaves, at the other half, for all that follows."""
    params, (given, law) = forms[form].params, FORMS[form]
    changed = 2 if given.get("adjacency") == "replace" else 1
    epsilon, half = Fraction(given["epsilon"]), Fraction(given["delta"]) / 2
    search = finding_epsilon(params) * changed
    assert 0.999 * float(epsilon) / 4 < search <= epsilon / 4
    assert 0 < finding_delta(params, 1, replaced=changed == 2) <= half
    lines = model_lines(params)
    pure = sum(Fraction(one["epsilon"]) for one in lines if "epsilon" in one) * changed
    tables = sum((rho_of(one) for one in lines if one["mechanism"] == "discrete-gaussian"), Fraction(0))
    choices = sum((choice_rho_of(one) for one in lines if one["mechanism"] == "exponential"), Fraction(0))
    rho = tables * changed + choices * changed**2
    spent = search + pure + (epsilon_of(rho, half) if rho else 0)
    assert (rho > 0) == (law == 2)
    assert 0.999 * epsilon < spent <= epsilon * (1 + Fraction(1, 10**12))
    assert approximate_loss(params, 2 * half, may_be_pure=True).epsilon <= given["epsilon"]
    assert len(forms[form].report["budget"]["domains"]) == len(finding_lines(params))


@pytest.mark.parametrize("form", ["Gaussian, a target", "Laplace, none"])
def test_what_the_search_leaves_is_spent_as_if_it_had_been_given(form: str, forms: dict[str, Files]) -> None:
    """The rule is that of the epsilon that is left: the rows are counted for as much as with these domains declared."""
    given, params = FORMS[form][0], forms[form].params
    domains = {column["name"]: column["domain"] for column in params["columns"]}
    target = given["target"]
    policy = Policy(
        columns={
            name: Column(
                name=name,
                role=Role.TARGET if name == target else Role.QUASI_IDENTIFIER,
                categories=tuple(domain["categories"]) if "categories" in domain else None,
                bounds=tuple(domain["bounds"]) if "bounds" in domain else None,
            )
            for name, domain in domains.items()
        },
        without_target=target is None,
    )
    left = Fraction(given["epsilon"]) - finding_epsilon(params)
    again = anonkit.release(
        customers(given.get("few", 0)).select(list(domains)), method="dp-marginals", epsilon=float(left),
        delta=given["delta"] / 2, policy=policy, ledger=None,
    )  # fmt: skip
    (counted,), (declared,) = (
        [line["rate"] for line in lines if line["purpose"] == "number of rows"]
        for lines in (params["accounting"], again.params["accounting"])
    )
    assert abs(counted - declared) <= 64


@pytest.mark.slow
def test_several_rows_a_person_and_replaced_ones_pay_for_them(tmp_path: Path) -> None:
    """Thresholds are higher, rates lower; the release validates in both relations."""
    table = customers().append_column("who", pa.array([f"p{at // 2}" for at in range(N)]))
    thresholds = []
    for rows, adjacency in ((1, "add-or-remove"), (2, "replace")):
        output = tmp_path / f"{rows}.parquet"
        made = released(
            output, source=table, epsilon=38.0, delta=1e-2, target=None, unit="who", rows_per_unit=rows,
            adjacency=adjacency,
        )  # fmt: skip
        assert anonkit.validate(output).passed
        assert made.params["format"] == "anonkit-marginals-2"
        thresholds += [
            line["threshold"] for line in made.params["accounting"] if line["purpose"] == "categories of education"
        ]
    assert thresholds[1] > 3 * thresholds[0]


@pytest.mark.slow
def test_spark_finds_and_releases_what_the_local_engine_does(spark: Any, tmp_path: Path) -> None:
    """The same draws of the same seed: domains, tables, rows."""
    from anonkit.engines.spark.spark_engine import SparkEngine

    csv.write_csv(customers(4), tmp_path / "in.csv")
    made = []
    with SparkEngine(session=spark) as on_spark, LocalEngine() as local:
        for engine in (on_spark, local):
            release = released(
                None, source=tmp_path / "in.csv", engine=engine, seed=3, target="customer_value", **GAUSSIAN
            )
            made.append((release.params, release.to_arrow().to_pydict()))
    assert made[0] == made[1]
    assert any(line["purpose"].startswith("kind of ") for line in made[0][0]["accounting"])


def test_a_rehearsal_states_the_claim_of_the_release(tmp_path: Path) -> None:
    """Public rows included, and without a look: of a table in which nothing stands out it says the same."""
    given: dict[str, Any] = {**GAUSSIAN, "target": "customer_value", "n_rows": N}
    plan, of_few, made = (
        released(None, **given, dry_run=True),
        released(None, source=customers().slice(0, 3), **given, dry_run=True),
        released(None, **given),
    )
    assert plan.is_plan
    assert plan.to_dict() == of_few.to_dict()
    assert plan.to_dict()["guarantee"] == made.report["guarantee"]
    assert any(f"about {N:,} rows" in one for one in made.report["guarantee"]["assumptions"])


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("customer_value", "no two classes"),
        pytest.param(None, "in no column does", id="False-in no column does"),  # noise is drawn by the name of a test
    ],
)
def test_where_nothing_stands_out_the_refusal_is_booked(target: Any, words: str, tmp_path: Path) -> None:
    """The refusal depends on the draws, with a target and without one."""
    with pytest.raises(PolicyError, match=words):
        anonkit.release(
            customers().select(TEXTS).slice(0, 3), method="dp-marginals", domains_from_data=True, target=target,
            **LAPLACE, output=tmp_path / "out.parquet", ledger=tmp_path / "ledger.sqlite", dataset="people",
        )  # fmt: skip
    assert not (tmp_path / "out.parquet").exists()
    (standing,) = Ledger(LedgerPlace(file=tmp_path / "ledger.sqlite")).datasets()
    assert (standing.epsilon, standing.delta) == (LAPLACE["epsilon"], LAPLACE["delta"])


def test_declared_columns_are_not_searched_and_the_rest_is(tmp_path: Path) -> None:
    """Declared columns cost nothing: the lines of a search are of the other columns alone."""
    policy = Policy(columns={"age": Column(name="age", bounds=(16.0, 100.0))}, without_target=True)
    made = released(tmp_path / "out.parquet", policy=policy, **GAUSSIAN)
    searched = {line["purpose"].split(" of ", 1)[1] for line in finding_lines(made.params)}
    assert "age" not in searched
    assert "education" in searched
    assert anonkit.validate(tmp_path / "out.parquet").passed


# --- audits ------------------------------------------------------------------------------------------------------


def test_an_audit_of_search_and_tables_together_stays_below_the_claim() -> None:
    """The only row of a table, there or not: what all lines of a true account show of it, with their own noise.

    Each line has one cell that the row is in. A category of one row is released with the chance of its threshold. The
    event, a ratio of likelihoods above e**(epsilon / 2), is fixed beforehand.
    """
    epsilon, delta, n = 2.0, 1e-2, 30_000
    table = customers()
    made = released(None, source=pa.concat_tables([table] * 4), epsilon=epsilon, delta=delta, target=None)
    lines = made.params["accounting"]
    assert {line["mechanism"] for line in lines} >= {"discrete-gaussian", "thresholded-laplace", "discrete-laplace"}

    def ratios(extra: int) -> np.ndarray:  # type: ignore[type-arg]
        words, total = UniformStream(Randomness.seeded(extra)), np.zeros(n)
        for one in lines:
            rate = one["rate"] / ONE
            if one["mechanism"] == "discrete-gaussian":
                for _ in range(one["times"]):
                    total += (2 * gaussian_counts(np.full(n, extra), one["rate"], words) - 1) * rate
            elif one["mechanism"] == "thresholded-laplace":  # not released without the row: the rest is of delta
                told = noisy_counts(np.full(n, extra), one["rate"], words) >= one["threshold"]
                total[told & (extra == 1)] = np.inf
            elif one["mechanism"] == "discrete-laplace":  # a reading moves by all of its steps
                steps = one["sensitivity"]
                seen = noisy_counts(np.full(n, extra * steps), one["rate"], words)
                total += (np.abs(seen) - np.abs(seen - steps)) * rate
        return total

    rare, frequent = (int((ratios(extra) > epsilon / 2).sum()) for extra in (0, 1))
    assert 0.3 * epsilon <= epsilon_from_counts((frequent, n), (rare, n), delta=delta) <= epsilon


@pytest.mark.slow
def test_an_audit_of_whole_searches_and_releases_stays_below_the_claim() -> None:
    """The method itself, run on neighbours: what is found decides which tables there are, and all of it is read.

    The event is fixed beforehand: a category is not released, or it is and its noisy count is not above that without
    the row.
    """
    runs, few = 200, [False] * 30 + [True] * 9
    method = DPMarginals(epsilon=3.0, delta=1e-2, n_rows=40)
    policy = Policy(columns={"a": Column(name="a")}, without_target=True)

    def is_seen(rows: list[bool], seed: int, engine: LocalEngine) -> bool:
        rng, source = Randomness.seeded(seed), engine.hold(pa.table({"a": rows}))
        found = method.with_found_domains(policy, source, engine, rng.child("finding"))
        categories = found.column("a").categories or ()
        if found.found_domains is None or found.found_domains.undecided is not None or "true" not in categories:
            return True
        (one,) = method.release(source, found, engine=engine, rng=rng).params["tables"]
        return bool(one["counts"][0][categories.index("true")] <= 9)

    with LocalEngine() as engine:
        frequent, rare = (
            sum(is_seen(rows, at * runs + seed, engine) for seed in range(runs))
            for at, rows in enumerate((few, [*few, True]))
        )
    assert 0.5 < epsilon_from_counts((frequent, runs), (rare, runs), delta=1e-2) <= 3.0


def test_the_promise_is_one_of_epsilon_and_delta_as_soon_as_domains_are_searched() -> None:
    """Also with two columns, where no table would spend a delta: the thresholds do."""
    policy = Policy(columns={"a": Column(name="a"), "b": Column(name="b")}, without_target=True)
    method = DPMarginals(epsilon=1.0, delta=1e-6, n_rows=100)
    declared = replace(policy, columns={name: Column(name=name, categories=("u", "v")) for name in policy.columns})
    assert isinstance(method.guarantee(declared), CentralDP)
    plan = method.with_domains_to_find(policy)
    assert plan.found_domains is not None
    promise = method.approximate_promise(plan)
    assert (promise.epsilon, promise.delta) == (1.0, 1e-6)
    assert any("about 100 rows" in one for one in promise.assumptions)
    searched = replace(declared, found_domains=plan.found_domains)
    assert method.guarantee(searched) == promise
