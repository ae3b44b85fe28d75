"""One-line mutations of noise statements: each is refused by the release, by validation, or by a named test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from checks.stated_releases import CELLS, LINES, METHODS, POLICY, people
from mechanisms import stated_tables
from mechanisms.stated_tables import drawing
from privacy.mutation import Mutant, refusal

import anonkit
from anonkit.promises.guarantee import ADD_OR_REMOVE
from anonkit.published.statements.noise_statement import Sum

REPLACED = "replaced"


def _run(kind: str, **parameters: Any) -> Callable[[Path], object]:
    """Return what releases the people of the tests by a method that no package has."""

    def release(output: Path) -> object:
        method = METHODS[kind](epsilon=2.0, **parameters)
        return anonkit.release(people(), method=method, policy=dict(POLICY), output=output, ledger=None)

    return release


RUNS = {CELLS: _run(CELLS), LINES: _run(LINES), REPLACED: _run(CELLS, adjacency="replace")}
ACCOUNT = "tests/mechanisms/test_stated_account.py"
MUTANTS: dict[str, Mutant] = {
    "half the sensitivity of a sum": Mutant(
        where="mechanisms.accounting:sensitivity_of", old=") - 1", new=") // 2",
        refused_by="release", check="epsilon", run=LINES),
    "half the width of a quantile": Mutant(
        where="mechanisms.accounting:sensitivity_of", old="2 * max", new="1 * max",
        refused_by="release", check="epsilon", run=LINES),
    "the cheapest row for the dearest": Mutant(
        where="mechanisms.statement_loss:row_units", old="return max(", new="return min(",
        refused_by="release", check="epsilon", run=CELLS),
    "a replaced row for one that goes": Mutant(
        where="mechanisms.statement_loss:epsilon_of",
        old="changed_rows(statement.rows_per_unit, statement.adjacency)", new="statement.rows_per_unit",
        refused_by="release", check="epsilon", run=REPLACED),
    "half a line of the budget": Mutant(
        where="mechanisms.statement_loss:StatedAccounting.budget", old="statement.domains)}",
        new="statement.domains) / 2}",
        refused_by="validate", check="budget_lines", run=LINES),
    "no noise": Mutant(
        where="mechanisms.statement_loss:_noisy_numbers", old="noisy_counts(answer, draw.rate, words)", new="answer",
        refused_by="release", check="noise_is_stated", run=LINES),
    "a tenth of the noise": Mutant(
        where="mechanisms.statement_loss:_noisy_numbers", old="draw.rate, words).tolist",
        new="10 * draw.rate, words).tolist",
        refused_by="release", check="noise_is_stated", run=LINES),
    "tables of other rows": Mutant(
        where="mechanisms.statement_loss:_noisy_numbers", old="noisy_counts(answer",
        new="noisy_counts(1000 * answer if draw.name == 'rows by sex' else answer",
        refused_by="release", check="counts_agree", run=LINES),
    "rows that the noisy table does not have": Mutant(
        where="dp_trees.stated.stated_method:_rows", old="np.maximum(np.array", new="1 + np.maximum(np.array",
        refused_by="release", check="rows_from_values", run=CELLS),
    "lines that the values do not make": Mutant(
        where="published.statements.value_lines:_line", old="value=float(number)", new="value=float(number + 1)",
        refused_by="release", check="rows_from_values", run=LINES),
    "half the width of the noise": Mutant(
        where="published.statements.value_lines:width_of", old="deviation=unit *", new="deviation=0.5 * unit *",
        refused_by="validate", check="draws", run=LINES),
    "another query in words": Mutant(
        where="published.statements.value_lines:words_of", old='f"rows{_by(by)}"', new='"rows"',
        refused_by="validate", check="draws", run=LINES),
    "draws that read all rows, whatever they are restricted to": Mutant(
        where="dp_trees.stated.stated_method:Tallies._tally", old="== each.code", new=">= 0",
        refused_by=f"{ACCOUNT}::test_no_unit_loses_more_than_both_accounts_say",
        arguments=("parallel", 1, ADD_OR_REMOVE)),
    "sums of twice the half cells": Mutant(
        where="dp_trees.stated.stated_method:Tallies._half_cells", old="2 * codes - last", new="4 * codes - 2 * last",
        refused_by=f"{ACCOUNT}::test_no_row_changes_more_than_both_tables_say",
        arguments=(drawing(Sum(of="age")).query,)),
    "scores of twice the rank": Mutant(
        where="mechanisms.statement_loss:scores_of", old="query.denominator * below",
        new="2 * query.denominator * below",
        refused_by=f"{ACCOUNT}::test_scores_of_a_quantile_move_apart_by_twice_the_larger_part_of_its_share",
        arguments=((2, 3),)),
    "a statement that costs more than epsilon": Mutant(
        where="dp_trees.stated.stated_method:StatedMethod.checked_statement",
        old="if row_units(statement) > self._row_units", new="if False",
        refused_by="tests/dp_trees/stated/test_stated_method.py::test_draws_that_cost_more_than_epsilon_are_refused"),
    "another law than the query's": Mutant(
        where="published.statements.noise_statement:StatedDraw.__post_init__", old="self.law not in self.query.laws",
        new="False",
        refused_by="tests/published/test_noise_statement.py::test_a_law_that_is_not_one_for_the_query_is_refused"),
}  # fmt: skip


@pytest.mark.quick_cases(
    "half the width of a quantile", "the cheapest*", "no noise", "rows that*", "another query*", "draws that read*"
)
@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_of_a_statement_is_refused(name: str, tmp_path: Path) -> None:
    """By the check that is named, or by the test."""
    stated_tables._answers.cache_clear()  # answers of the sound package would hide the mutant
    refused = refusal(MUTANTS[name], RUNS, tmp_path)
    stated_tables._answers.cache_clear()

    assert refused, "nobody refuses it"
    assert MUTANTS[name].check in refused
