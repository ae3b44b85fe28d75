"""The fourth promise, (epsilon, delta), from a method of the tests to its page: released, booked, validated, forged."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pyarrow as pa
import pytest
from checks.forgeries import Edit, Files, forged, verdict
from checks.forging import at, both, say, stated_anew
from promises.noisy_histogram import WORD_BITS, NoisyHistogram, noise_of_words

import anonkit
from anonkit.cli import anonkit as program
from anonkit.cli.boundary import run
from anonkit.errors import BudgetError, GuaranteeError, ParameterError
from anonkit.ledger import NAME, Ledger
from anonkit.policy.bookkeeping import Bookkeeping
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy
from anonkit.promises.approximate_dp import ApproximateDP
from anonkit.promises.guarantee import ADD_OR_REMOVE, Neighbours, PrivacyLoss
from anonkit.promises.noise_promises import loss_words
from anonkit.report.schemas import report_schema

pytestmark = pytest.mark.usefixtures("ledger_beside")

PROMISE = ApproximateDP(epsilon=1.5, delta=1.21e-6)
PEOPLE = ApproximateDP(epsilon=6.0, delta=0.001, unit="person", rows_per_unit=3, adjacency="replace one record")
METHOD = NoisyHistogram(epsilon=1.0)
POLICY = Policy(
    dataset="patients",
    columns={
        "ward": Column(name="ward", role=Role.QUASI_IDENTIFIER, categories=("A", "B", "C")),
        "outcome": Column(name="outcome", role=Role.SENSITIVE, categories=("well", "ill")),
        "name": Column(name="name", role=Role.IDENTIFIER),
        "year": Column(name="year", role=Role.TARGET, categories=("1", "2")),
    },
)


def patients(n: int = 60) -> pa.Table:
    """A table with names in it."""
    return pa.table(
        {
            "name": [f"person {number}" for number in range(n)],
            "ward": [("A", "B", "C")[number % 3] for number in range(n)],
            "outcome": [("well", "ill")[number % 5 == 0] for number in range(n)],
            "year": [("1", "2")[number % 2] for number in range(n)],
        }
    )


def release(output: Path | None = None, method: Any = METHOD, **more: Any) -> anonkit.Release:
    """Release the patients."""
    return anonkit.release(patients(), method=method, policy=POLICY, output=output, **more)


# --- the promise as a value ----------------------------------------------------------------------------------------


def test_what_is_left_open_is_said_and_never_less_than_it_is() -> None:
    """The factor of 1.5 is 4.4817 and delta 1.21e-6: the words promise no less, and say that a row may be shown."""
    assert "at most a factor of 4.49" in PROMISE.statement()
    assert "plus 1.3e-06. That" in PROMISE.statement()
    assert "may show a row as it is" in PROMISE.statement()
    assert "<= exp(epsilon) Pr[M(D') in S] + delta" in PROMISE.formal()
    assert any("far below 1/n" in text for text in PROMISE.not_protected())


def test_units_and_conditions_are_said() -> None:
    """The unit of protection, the compared tables, and the facts read from the table."""
    assert "Replacing all rows of one value of 'person' changes" in PEOPLE.statement()
    assert "all records of one value of 'person' replaced" in PEOPLE.formal()
    assert replace(PROMISE, conditional=("age",)).statement().startswith("CONDITIONAL: the domains of age")


def test_the_loss_has_its_delta() -> None:
    """The ledger charges both figures; a second release adds up and is refused by no rule of redraws."""
    row = Neighbours(adjacency=ADD_OR_REMOVE)
    assert PROMISE.loss() == PrivacyLoss(epsilon=1.5, delta=1.21e-6, neighbours=row)
    assert PROMISE.counted_classes is None
    assert PROMISE.cell_by_cell
    assert not PROMISE.redraw_costs


@pytest.mark.parametrize("promise", [PROMISE, PEOPLE, replace(PROMISE, conditional=("a",), assumptions=("A.",))])
def test_a_promise_survives_its_report(promise: ApproximateDP) -> None:
    """Read back, it is the same."""
    assert ApproximateDP.from_dict(json.loads(json.dumps(promise.to_dict()))) == promise


@pytest.mark.parametrize(("epsilon", "delta"), [(0, 0.1), (math.inf, 0.1), (math.nan, 0.1), (1, 0), (1, 1), (1, -0.1)])
def test_figures_that_promise_nothing_are_refused(epsilon: float, delta: float) -> None:
    """Without a delta the promise is the pure one, and with delta 1 it is none."""
    with pytest.raises(ParameterError):
        ApproximateDP(epsilon=epsilon, delta=delta)


# --- the mechanism of the tests ------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_the_mechanism_is_what_it_claims_by_enumeration(epsilon: float) -> None:
    """All 2**20 words are drawn: the worst set of outcomes of two neighbours has epsilon and delta, and no less."""
    method = NoisyHistogram(epsilon=epsilon)
    every = noise_of_words(method.weights, np.arange(1 << WORD_BITS, dtype=np.uint64))
    drawn = dict(zip(*(each.tolist() for each in np.unique(every, return_counts=True)), strict=True))

    def uncovered(loss: float, shift: int) -> Fraction:
        factor = Fraction(math.exp(loss))
        rest = sum(
            (max(Fraction(0), many - factor * drawn.get(out + shift, 0)) for out, many in drawn.items()), Fraction(0)
        )
        return rest / (1 << WORD_BITS)

    for shift in (-1, 1):
        assert uncovered(math.nextafter(epsilon, 9), shift) <= method.stated_delta
        assert uncovered(0.9 * epsilon, shift) > method.stated_delta


# --- a release under it --------------------------------------------------------------------------------------------


def test_a_release_keeps_and_tells_its_promise(tmp_path: Path) -> None:
    """Released, valid under the schema, validated from its files, and nothing but public cells and counts in it."""
    made = release(tmp_path / "out.parquet")
    report = made.report

    jsonschema.Draft202012Validator(report_schema()).validate(json.loads(json.dumps(report)))
    assert report["guarantee"] == METHOD.guarantee(POLICY).to_dict()
    assert anonkit.validate(tmp_path / "out.parquet").passed
    assert made.to_arrow().num_rows == (3 + 1) * (2 + 1)
    assert {"epsilon", "delta", "stated_losses"} <= {check["name"] for check in report["verification"]["checks"]}
    assert not any(b"person 1" in path.read_bytes() for path in tmp_path.iterdir() if path.name.startswith("out."))


def test_the_ledger_adds_up_both_figures_and_keeps_the_budget(tmp_path: Path) -> None:
    """Two releases cost 2 epsilon and 2 delta; the third would overspend."""
    release(tmp_path / "a.parquet", budget=2.5)
    second = release(tmp_path / "b.parquet")
    with pytest.raises(BudgetError, match=r"2\.5 is allowed in all"):
        release(tmp_path / "c.parquet")

    (standing,) = Ledger(tmp_path / NAME).datasets()
    delta = METHOD.stated_delta
    assert (standing.epsilon, standing.delta) == (2.0, pytest.approx(2 * delta, rel=1e-12))
    assert [entry.delta for entry in standing.counted] == [delta, delta]
    (together,) = second.report["ledger"]["totals"]
    assert (together["epsilon"], together["delta"]) == (standing.epsilon, standing.delta)
    assert (together["neighbours"], together["unit"]) == ("added or removed", None)
    assert second.report["ledger"]["previous_release"]["delta"] == delta
    assert any("and delta" in note for note in second.report["notes"])
    assert not (tmp_path / "c.parquet").exists()


def test_a_budget_of_delta_refuses_what_goes_beyond_it(tmp_path: Path) -> None:
    """Remembered from the first release, in a dry run too; pure releases still fit, a higher budget lets more in."""
    delta = METHOD.stated_delta
    first = release(tmp_path / "a.parquet", budget_delta=1.5 * delta)
    assert first.report["ledger"]["delta_budget"] == 1.5 * delta
    for more in ({}, {"dry_run": True}, {"budget_delta": 0.0}):
        with pytest.raises(BudgetError, match=r"budget of delta of the dataset would be overspent: delta \S+ is spent"):
            release(tmp_path / "b.parquet", **more)
    assert not (tmp_path / "b.parquet").exists()
    pure = {"method": "dp-nb", "epsilon": 1.0, "policy": POLICY}
    second = anonkit.release(patients(), output=tmp_path / "pure.parquet", **pure)
    assert second.report["ledger"]["delta_budget"] == 1.5 * delta
    third = release(tmp_path / "c.parquet", budget_delta=2 * delta)
    (together,) = third.report["ledger"]["totals"]
    assert together["delta"] == third.report["ledger"]["delta_budget"] == 2 * delta

    (standing,) = Ledger(tmp_path / NAME).datasets()
    assert (standing.budget, standing.budget_delta, standing.left_delta) == (None, 2 * delta, 0.0)


def test_a_budget_of_no_delta_refuses_the_first_release_before_anything_is_made(tmp_path: Path) -> None:
    """Of the policy, too; exit code 1, and nothing is booked."""
    declared = replace(POLICY, bookkeeping=Bookkeeping(budget_delta=0.0))
    for more in ({"budget_delta": 0.0}, {"policy": declared}):
        with pytest.raises(BudgetError, match=r"delta 0 is spent, .* 0 is allowed in all") as refused:
            anonkit.release(
                patients(), **{"method": METHOD, "policy": POLICY, "output": tmp_path / "a.parquet", **more}
            )
        assert (refused.value.exit_code, refused.value.code) == (1, "BUDGET")
    assert list(tmp_path.glob("a*")) == []
    assert Ledger(tmp_path / NAME).datasets() == []


def test_the_ledger_shows_delta(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the line of the release and in the sum of its dataset; for machines too."""
    release(tmp_path / "out.parquet")
    assert run(program, ["ledger", str(tmp_path)], "anonkit") == 0
    text = capsys.readouterr().out
    assert run(program, ["ledger", str(tmp_path), "--json"], "anonkit") == 0
    (dataset,) = json.loads(capsys.readouterr().out)["datasets"]
    release(tmp_path / "out2.parquet", budget_delta=0.5)
    assert run(program, ["ledger", str(tmp_path)], "anonkit") == 0
    assert f"delta {loss_words(2 * METHOD.stated_delta)} spent of 0.5, 0.49" in capsys.readouterr().out

    assert (dataset["budget_delta"], dataset["left_delta"]) == (None, None)
    assert f"epsilon 1 spent, no budget set; delta {METHOD.stated_delta:g} spent, no budget set" in text
    assert f"approximate-dp, delta = {METHOD.stated_delta:g}" in text
    assert dataset["delta"] == dataset["releases"][0]["delta"] == METHOD.stated_delta


def test_a_pure_release_adds_no_delta(tmp_path: Path) -> None:
    """Beside pure releases the sum of deltas is that of the approximate one."""
    anonkit.release(patients(), method="dp-nb", epsilon=1.0, policy=POLICY, output=tmp_path / "pure.parquet")
    assert [one["delta"] for one in anonkit.load(tmp_path / "pure.parquet").report["ledger"]["totals"]] == [0.0]
    release(tmp_path / "out.parquet")

    (standing,) = Ledger(tmp_path / NAME).datasets()
    assert (standing.epsilon, standing.delta) == (pytest.approx(2.0, rel=1e-6), METHOD.stated_delta)


def test_the_page_shows_delta_beside_epsilon(tmp_path: Path) -> None:
    """Headline, figures and the question whether delta is small; no factor, since none bounds every outcome."""
    release(tmp_path / "out.parquet")
    page = (tmp_path / "out.report.html").read_text()

    assert "Approximate differential privacy" in page
    assert "probability left outside the bound, at most" in page
    assert "is then far below one in their number" in page
    assert "e to the ε" not in page
    assert "Holds by construction" in page


def test_a_delta_of_one_in_the_rows_is_pointed_out(tmp_path: Path) -> None:
    """A release that shows a random row would keep such a promise: the reviewer cannot overlook it."""
    release(tmp_path / "out.parquet", method=NoisyHistogram(epsilon=0.1, width=1))
    page = (tmp_path / "out.report.html").read_text()

    assert 'class="bad">δ = ' in page
    assert "is not below one in 12 rows, which the table has about" in page


@dataclass(frozen=True, kw_only=True)
class Flattered(NoisyHistogram):
    """A method that claims a tenth of its loss."""

    def guarantee(self, policy: Policy) -> ApproximateDP:
        """State too little."""
        true = super().guarantee(policy)
        return replace(true, epsilon=true.epsilon / 10)


@dataclass(frozen=True, kw_only=True)
class Certain(NoisyHistogram):
    """A method that claims a tenth of its delta, in its account as well."""

    @property
    def stated_delta(self) -> float:
        """State too little."""
        return float(self.delta) / 10


@pytest.mark.parametrize(("method", "check"), [(Flattered, "epsilon"), (Certain, "stated_losses")])
def test_a_method_that_claims_too_little_releases_nothing(method: type, check: str, tmp_path: Path) -> None:
    """The draft is checked by code that shares nothing with the method."""
    with pytest.raises(GuaranteeError, match=f"{check} is"):
        release(tmp_path / "out.parquet", method=method(epsilon=1.0))
    assert not (tmp_path / "out.parquet").exists()


# --- forgeries -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def true_release(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """A true release, in memory."""
    output = tmp_path_factory.mktemp("true") / "out.parquet"
    release(output, ledger=None)
    return Files.read(output)


def claimed(name: str, figure: float) -> Edit:
    """Lower a figure wherever the report states it, the sentences made anew."""
    return stated_anew(
        both(
            at("report", "guarantee", "parameters", name, to=figure),
            at("report", "budget", name, to=figure),
            at("report", "budget", "per_attribute", 0, name, to=figure),
        )
    )


def account(name: str, to: Any) -> Edit:
    """Change a line of the account."""
    return at("params", "account", 0, name, to=to)


def rows(change: Callable[[pa.Table], pa.Table]) -> Edit:
    """Put other rows into the data."""
    return lambda files: setattr(files, "table", change(files.table))


def counts(change: Callable[[list[int]], list[float]]) -> Edit:
    """Put other counts into the data."""

    def changed(table: pa.Table) -> pa.Table:
        where = table.column_names.index("count")
        return table.set_column(where, "count", pa.array(change(table["count"].to_pylist())))

    return rows(changed)


FORGERIES: dict[str, tuple[Edit, str]] = {
    "less epsilon": (claimed("epsilon", 0.5), "epsilon"),
    "less epsilon, in the account too": (both(claimed("epsilon", 0.5), account("epsilon", 0.5)), "stated_losses"),
    "less delta": (claimed("delta", 1e-12), "delta"),
    "less delta, in the account too": (both(claimed("delta", 1e-12), account("delta", 1e-12)), "stated_losses"),
    "one sentence": (say(statement="Nothing is ever shown."), "promise"),
    "a draw that is said to be larger": (account("sensitivity", 2), "stated_losses"),
    "a row that enters two draws": (account("times", 2), "epsilon"),
    "a draw of another column": (account("name", "ward"), "account_lines"),
    "other neighbours": (at("params", "composition", "adjacency", to="replace one record"), "epsilon"),
    "the report's neighbours alone": (
        stated_anew(at("report", "guarantee", "adjacency", to="replace one record")),
        "adjacency",
    ),
    "more rows a unit": (stated_anew(at("report", "guarantee", "parameters", "rows_per_unit", to=2)), "rows_per_unit"),
    "people protected": (stated_anew(at("report", "guarantee", "parameters", "unit_column", to="name")), "unit"),
    "a budget below the promise": (at("report", "budget", "epsilon", to=0.5), "budget"),
    "a budget without its delta": (at("report", "budget", "delta", to=0), "budget"),
    "a line of the budget": (at("report", "budget", "per_attribute", to=[]), "budget_lines"),
    "a cell that is left out": (rows(lambda table: table.slice(1)), "cells_once"),
    "a cell twice": (rows(lambda table: pa.concat_tables([table.slice(0, 11), table.slice(0, 1)])), "cells_once"),
    "half people": (counts(lambda each: [one + 0.5 for one in each]), "domain:count"),
    "a category nobody declared": (
        rows(lambda table: table.set_column(0, table.column_names[0], pa.array(["?"] * len(table)))),
        "cells_once",
    ),
    "a verification that failed": (
        lambda files: files.report["verification"]["checks"][0].update(passed=False),
        "verification",
    ),
}


def test_rewriting_alone_is_no_forgery(true_release: Files, tmp_path: Path) -> None:
    """Rewritten unchanged it validates: the refusals below are about content."""
    assert verdict(forged(true_release, lambda files: None, tmp_path)) == (0, ())


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forgery_is_refused(true_release: Files, forgery: str, tmp_path: Path) -> None:
    """By the check that is about it, from the files alone."""
    edit, check = FORGERIES[forgery]
    code, failed = verdict(forged(true_release, edit, tmp_path))

    assert code == 1
    assert check in failed


UNREADABLE: dict[str, Edit] = {
    "no account": at("params", "account", to=[]),
    "a mechanism nobody can work out": account("mechanism", "gaussian"),
    "weights that are no integers": account("weights", [1, 2.5, 1]),
    "an even number of weights": account("weights", [1, 1]),
    "a draw that costs nothing": account("times", 0),
    "a truth value for an epsilon": account("epsilon", True),
    "another format": at("params", "format", to="anonkit-forest-1"),
    "the pure promise": say(kind="central-dp"),
    "the local promise": say(kind="local-dp"),
    "k-anonymity": say(kind="k-anonymity"),
    "a promise of tomorrow": say(kind="zero-concentrated-dp"),
}


@pytest.mark.parametrize("forgery", UNREADABLE)
def test_what_cannot_be_worked_out_is_not_judged(true_release: Files, forgery: str, tmp_path: Path) -> None:
    """Exit code 3, as for every damaged file: nobody takes it for checked."""
    assert verdict(forged(true_release, UNREADABLE[forgery], tmp_path))[0] == 3


def test_a_release_that_is_said_to_promise_nothing_is_no_release_without_a_promise(
    true_release: Files, tmp_path: Path
) -> None:
    """Taking the promise away does not make the files those of a method without one."""
    assert verdict(forged(true_release, say(kind="none"), tmp_path))[0] != 0
