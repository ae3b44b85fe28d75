# SPDX-License-Identifier: Apache-2.0
"""The draws that a noisy release must have made, rebuilt from public facts: method, parameters, attributes, classes.

What is drawn at which level, by which mechanism, what one row can change and how often a row pays is worked out here,
for each method by a table of its paper's choices. Shares of epsilon follow from the budget rules, which sum to no more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from anonkit.budget_rules.forest_rule import table_weights
from anonkit.budget_rules.model_queries import TABLE, ClippedSum, ModelQuery, PairGain, SplitScore
from anonkit.budget_rules.tree_rule import COUNTS, JOINT, TOTALS, RequestedTrees
from anonkit.checks.account_lines import SPIKES, finding_epsilon, finding_lines, rho_within, spike_costs
from anonkit.checks.central_params import (
    CUT,
    GAUSSIAN,
    THRESHOLDED,
    Family,
    PublicFacts,
    changed_rows,
    changed_squared,
)
from anonkit.checks.central_rule import rebuilt_rule, trees_of
from anonkit.checks.query_changes import change_of
from anonkit.errors import ReleaseFormatError

LAPLACE, FLIP = "discrete-laplace", "permute-and-flip"
_WORD_BITS = 32
_CALIBRATION_BOUND = 8192
"""Contribution of a row to the gradient of a calibration: half of 64ths of a logarithm times 256ths."""


@dataclass(frozen=True, kw_only=True)
class ExpectedLine:
    """A line that the account must have."""

    purpose: str
    mechanism: str
    query: ModelQuery | None = TABLE
    """Query of the draw; None for a sum of vectors that are clipped at a bound which earlier draws decide."""
    times: range = range(1, 2)
    """Numbers of times that a row may pay for it: one number, or several where nodes differ."""
    level: int | None = None
    ends_path: bool = False
    cost: float | None = None
    """Share of epsilon of one row on its path; None where an earlier draw decides."""
    in_rho: bool = False
    """True for a choice whose cost is a share of rho; that of Gaussian noise always is."""
    left_over: int = 0
    """Units of 2**-52 that the rounded rates of earlier draws of the path may have left to this one."""


@dataclass(frozen=True, kw_only=True)
class ExpectedAccount:
    """All lines, how rows are given to trees, and what a path must come to."""

    lines: tuple[ExpectedLine, ...]
    rows_per_tree: tuple[str, int] | None = None
    """Kind and number of trees; None where there are none."""
    copies: tuple[int, tuple[int, ...], int] | None = None
    """Trees, words for each number of copies, bits of a word: the bootstrap."""
    path: float | None = None
    """Epsilon of every path, where single costs are not known."""
    levels: int = 1
    """Levels of a tree, the leaves' included."""


def expected_account(facts: PublicFacts, params: Mapping[str, Any]) -> ExpectedAccount:
    """Rebuild the account of a release with a promise.

    Raises
    ------
    ReleaseFormatError
        The method promises nothing with these parameters.
    """
    accounts: dict[Family, Callable[[PublicFacts, Mapping[str, Any]], ExpectedAccount]] = {
        Family.TABLES: _tables,
        Family.MARGINALS: _marginals,
        Family.STACKED: _stacked,
        Family.GROUPS: _specialized,
        Family.PAPER_TREES: _grown,
    }
    if facts.parameters.get("stop") == "pure":
        raise ReleaseFormatError("with these parameters the method looks at rows without noise: nothing is promised")
    return accounts[facts.family](facts, params)


def row_epsilon(facts: PublicFacts) -> float:
    """Return the loss of one row that comes or goes."""
    epsilon = facts.number("epsilon")
    if not 0 < epsilon <= 40:
        raise ReleaseFormatError("the epsilon of the params is not one that is taken")
    return epsilon / changed_rows(facts)


def row_rho(facts: PublicFacts, params: Mapping[str, Any]) -> float:
    """Return the rho of one row, at which epsilon and delta are used up: found by halving.

    Where domains were looked for, what that cost is gone from epsilon, and half of delta.
    """
    epsilon, delta = facts.number("epsilon"), facts.number("delta")
    if not 0 < epsilon <= 40 or not 0 < delta <= 0.01:
        raise ReleaseFormatError("the epsilon or the delta of the params is not one that is taken")
    epsilon -= float(finding_epsilon(params)) * changed_rows(facts)
    delta = delta / 2 if finding_lines(params) else delta
    return rho_within(epsilon, delta) / changed_squared(facts)


# --- tables of counts --------------------------------------------------------------------------------------------


def _tables(facts: PublicFacts, params: Mapping[str, Any]) -> ExpectedAccount:
    """Return one line a table: a row is in one cell of each."""
    columns = [
        ("rows per class", 1),
        *((f"class x {attribute.name}", attribute.domain.size) for attribute in facts.attributes),
    ]
    is_gaussian = facts.is_gaussian(params)
    mechanism = GAUSSIAN if is_gaussian else LAPLACE
    weights = list(map(float, table_weights([size for _, size in columns], mechanism)))
    whole = row_rho(facts, params) if is_gaussian else row_epsilon(facts) - float(finding_epsilon(params))
    lines = tuple(
        ExpectedLine(purpose=purpose, mechanism=mechanism, cost=whole * weight / sum(weights))
        for (purpose, _), weight in zip(columns, weights, strict=True)
    )
    return ExpectedAccount(lines=(*_finding(facts, params), *lines))


def _finding(facts: PublicFacts, params: Mapping[str, Any]) -> Iterator[ExpectedLine]:
    """Yield the lines of the domain search unchanged: no other file has the columns that were declared.

    Those of the search for spikes follow from the columns and epsilon.
    """
    yield from (_line(purpose, cost=cost) for purpose, cost in spike_costs(facts, params).items())
    for line in finding_lines(params):
        if str(line["purpose"]).startswith(SPIKES):
            continue
        is_threshold = str(line["purpose"]).startswith("categories of ")
        yield ExpectedLine(purpose=str(line["purpose"]), mechanism=THRESHOLDED if is_threshold else LAPLACE)


def _marginals(facts: PublicFacts, params: Mapping[str, Any]) -> ExpectedAccount:
    """Return the lines of tables of columns and pairs; their rule has a module of its own, which reads this one."""
    from anonkit.checks.central_marginal_plan import expected_tables

    rebuilt = expected_tables(facts, params)
    return replace(rebuilt, lines=(*_finding(facts, params), *rebuilt.lines))


# --- top-down specialization -------------------------------------------------------------------------------------


def _specialized(facts: PublicFacts, params: Mapping[str, Any]) -> ExpectedAccount:
    """Return half for choices, half for counts; DiffGen also draws a cut for each number, and one after each step."""
    trees = facts.trees
    joint = trees.paper.split == JOINT
    choices = trees.steps if joint else _numbers(facts) + 2 * trees.steps
    half = row_epsilon(facts) / 2
    choice = ExpectedLine(
        purpose="specialization" if joint else "cuts and specializations",
        mechanism=trees.paper.law,
        query=SplitScore(score=trees.score, classes=facts.n_classes),
        times=range(choices, choices + 1),
        cost=half / trees.slack,
    )
    count = ExpectedLine(purpose="class counts of a cell", mechanism=LAPLACE, cost=half)
    return ExpectedAccount(lines=(choice, count), rows_per_tree=("disjoint", 1), levels=1 << 10)


# --- trees with histograms ---------------------------------------------------------------------------------------


def _stacked(facts: PublicFacts, params: Mapping[str, Any]) -> ExpectedAccount:
    """Return the lines of trees, histograms and a step: a noisy number of rows divides, and all of epsilon is spent."""
    whole = row_epsilon(facts) - float(finding_epsilon(params))
    counted = [] if facts.whole("n_rows") else [_line("number of rows", cost=whole / 50)]
    counted += [_line("values of the target", cost=whole / 10)] if facts.target.domain.fine else []
    trees = trees_of(facts)
    rule = rebuilt_rule(facts, params)
    if rule.reading is not None:
        counted.append(_line("dependence within classes", query=rule.dependence, cost=rule.of_reading))
    if rule.choice is not None:
        counted.append(ExpectedLine(purpose="interacting pair", mechanism=FLIP, query=PairGain(), cost=rule.of_choice))
    levels = rule.rule.depth + 1 if any(one.n_splits for one in facts.attributes) else 1
    gini = SplitScore(score="gini", classes=facts.n_classes)
    split = ExpectedLine(purpose="split at level {}", mechanism=FLIP, query=gini)
    lines: list[ExpectedLine] = []
    for level in range(levels):
        if rule.n_public_levels <= level < levels - 1:
            lines.append(replace(split, purpose=split.purpose.format(level), level=level, cost=rule.of_split))
        left_over = change_of(gini) * max(level - rule.n_public_levels, 0)
        purpose = f"class counts of a leaf at level {level}"
        lines.append(_line(purpose, level=level, ends_path=True, cost=rule.of_leaf(level), left_over=left_over))
    tables = max(1, rule.rule.measured)
    histograms = _line("histograms by class", cost=rule.cost(rule.rule.histograms), times=range(tables, tables + 1))
    in_rho = 0.0
    if rule.rho:
        in_rho, histograms = rule.cost(rule.rule.histograms), replace(histograms, mechanism=GAUSSIAN, cost=rule.rho)
    learned = [
        _line(f"{what} of the weights", query=None, cost=rule.cost(rule.rule.weights) * part)
        for what, part in (("gradient", 0.6), ("curvature", 0.4))
    ]
    cost = rule.cost(rule.rule.slope)
    slope = _line("gradient of the calibration", query=ClippedSum(bound=_CALIBRATION_BOUND), cost=cost)
    sums = {"weights": learned, "calibration": [slope]}
    learned = [line for name, lines in sums.items() if name in params for line in lines]
    return ExpectedAccount(
        lines=(*_finding(facts, params), *counted, *lines, histograms, *learned),
        rows_per_tree=("disjoint", trees),
        path=row_epsilon(facts) - in_rho,
        levels=levels,
    )


def _line(purpose: str, **more: Any) -> ExpectedLine:
    return ExpectedLine(purpose=purpose, mechanism=LAPLACE, **more)


# --- trees of papers ---------------------------------------------------------------------------------------------


def _grown(facts: PublicFacts, params: Mapping[str, Any]) -> ExpectedAccount:
    trees = facts.trees
    path, repeated, copies = _path_of_one_tree(row_epsilon(facts), trees.rows, trees.trees)
    shares = [path * float(weight / sum(trees.weights)) for weight in trees.weights]
    counted = [float(share) for share in trees.counted] or [0.0] * len(shares)
    choice = _choice(facts, trees)
    levels = len(shares) if choice is not None else 1
    lines: list[ExpectedLine] = []
    spent = 0.0
    for level in range(levels):
        rows, left = shares[level] * counted[level], shares[level] * (1 - counted[level])
        if choice is not None and level < levels - 1:
            tables = _tables_undivided(facts, trees, level)
            line = choice if tables is None else replace(choice, times=range(tables, tables + 1))
            cost = left / trees.slack if tables is None else left * tables
            lines += [_line(f"rows of a node at level {level}", level=level, cost=rows)] if rows else []
            lines.append(replace(line, purpose=line.purpose.format(level), level=level, cost=cost))
        lines += [_line(f"rows of a leaf at level {level}", level=level, ends_path=True, cost=rows)] if rows else []
        lines.append(_leaf(trees, level, path - spent if trees.paper.leaf_takes_rest else left))
        spent += left
    return ExpectedAccount(
        lines=tuple(_repeated(line, repeated) for line in lines),
        rows_per_tree=(trees.rows, trees.trees),
        copies=copies,
        levels=levels,
    )


def _path_of_one_tree(
    epsilon: float, kind: str, trees: int
) -> tuple[float, int, tuple[int, tuple[int, ...], int] | None]:
    """Return the budget of a path of one tree, the number of trees that a row pays for alike, and the law of copies."""
    if kind == "disjoint":
        return epsilon, 1, None
    if kind == "shared":
        return epsilon / trees, trees, None
    whole = [math.floor((1 << _WORD_BITS) * math.exp(-1) / math.factorial(copies)) for copies in range(13)]
    words = [draw for draw in whole if draw]
    words[0] += (1 << _WORD_BITS) - sum(words)
    path = math.log1p(epsilon / trees) if kind == "bootstrap" else epsilon / trees
    return path, 1, (trees, tuple(words), _WORD_BITS)


def _numbers(facts: PublicFacts) -> int:
    return sum(attribute.split == CUT and attribute.n_splits > 0 for attribute in facts.attributes)


def _choice(facts: PublicFacts, trees: RequestedTrees) -> ExpectedLine | None:
    """Return the line of a choice of splits; None where nothing can be split."""
    splittable = sum(attribute.n_splits > 0 for attribute in facts.attributes)
    if not splittable:
        return None
    candidates = max(1, math.isqrt(splittable)) if trees.paper.square_root else splittable
    if trees.paper.split in (COUNTS, TOTALS):
        times = candidates * (2 if trees.paper.split == TOTALS else 1)
        purpose = "class counts by attribute value at level {}"
        return ExpectedLine(purpose=purpose, mechanism=LAPLACE, times=range(times, times + 1))
    most_rows = facts.whole("max_rows", 1) if trees.score == "entropy" else 1
    query = SplitScore(score=trees.score, classes=facts.n_classes, most_rows=most_rows)
    line = ExpectedLine(purpose="split at level {}", mechanism=trees.paper.law, query=query)
    if trees.paper.split == JOINT:
        return line
    most = min(candidates, _numbers(facts))
    fewest = max(0, min(_numbers(facts), candidates - (splittable - _numbers(facts))))
    return replace(line, purpose="cuts and attribute at level {}", times=range(fewest + 1, most + 2))


def _tables_undivided(facts: PublicFacts, trees: RequestedTrees, level: int) -> int | None:
    """Return the number of tables that each get a whole level: one for every attribute not used above it; else None."""
    if not trees.is_undivided:
        return None
    splittable = [attribute for attribute in facts.attributes if attribute.n_splits > 0]
    used_up = 0 if any(attribute.is_cut for attribute in splittable) else level
    return max(1, len(splittable) - used_up)


def _leaf(trees: RequestedTrees, level: int, cost: float) -> ExpectedLine:
    return ExpectedLine(
        purpose=f"{'label' if trees.has_labels else 'class counts'} of a leaf at level {level}",
        mechanism=FLIP if trees.has_labels else LAPLACE,
        level=level,
        ends_path=True,
        # a label is chosen with exp(epsilon q / 2) at the published rate, and a row that comes raises one count by 1
        cost=cost / trees.slack if trees.has_labels else cost,
    )


def _repeated(line: ExpectedLine, trees: int) -> ExpectedLine:
    """Return a line that a row pays for in so many trees."""
    if trees == 1:
        return line
    times = range(line.times.start * trees, (line.times.stop - 1) * trees + 1, trees)
    return replace(line, times=times, cost=None if line.cost is None else line.cost * trees)
