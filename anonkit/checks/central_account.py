# SPDX-License-Identifier: Apache-2.0
"""The account of a noisy release: draws rebuilt from public facts, compared with the published ones, summed.

What is drawn at which level, by which mechanism, what one row can change and how often a row pays is worked out here,
for each method by a table of its paper's choices. Shares of epsilon follow from the budget rules, which sum to no more.
The published lines are compared with the rebuilt ones and added up.

Nothing of this is shared with the code that makes the claim.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

from anonkit.budget_rules.model_queries import TABLE, ClippedSum, ModelQuery, PairGain, SplitScore
from anonkit.budget_rules.tree_rule import COUNTS, JOINT, TOTALS, RequestedTrees, table_weights
from anonkit.checks.account_lines import (
    SPIKES,
    choice_rho_of,
    epsilon_of,
    finding_delta,
    finding_epsilon,
    finding_lines,
    rho_of,
    rho_within,
    spike_costs,
)
from anonkit.checks.central_params import (
    CUT,
    GAUSSIAN,
    THRESHOLDED,
    Family,
    PublicFacts,
    changed_rows,
    changed_squared,
    integers,
)
from anonkit.checks.central_rule import rebuilt_rule, trees_of
from anonkit.checks.query_changes import change_of
from anonkit.checks.sameness import same
from anonkit.errors import ReleaseFormatError, refusing_damage
from anonkit.promises.guarantee import Check

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


ADD_OR_REMOVE = "add or remove one record"
REPLACE = "replace one record"
ADJACENCIES = {"add-or-remove": ADD_OR_REMOVE, "replace": REPLACE}
RATE_UNIT = "2**-52"
_STEP = Fraction(1, 1 << 52)
_MECHANISMS = ("discrete-laplace", "permute-and-flip", "exponential", THRESHOLDED)
_DIGITS = 80
_ROUNDING_OF_DOUBLES = 1e-12
_CLOSE = 1e-6
"""Rates are whole units, rounded down from shares of epsilon; nobody gains by a millionth."""
_ROUNDINGS = 16
"""Units that may be lost to rounding, for each step of sensitivity of each draw; the last of many lines may have one
from each of the others."""


@dataclass(frozen=True, kw_only=True)
class PublishedAccount:
    """The loss that the published rates of a release have."""

    epsilon: float
    rows_per_unit: int
    adjacency: str


def published_account(params: Mapping[str, Any]) -> PublishedAccount:
    """Add up the account of a release.

    A row pays for the draws outside all levels, for the draws of all levels above the leaf it ends in, and for
    those of that leaf's level marked `ends_path`; the dearest leaf level counts. Each draw costs
    rate * sensitivity * times.

    Raises
    ------
    ReleaseFormatError
        When the account is absent or damaged, or a line states another epsilon than its rate has.
    """
    with refusing_damage("the account of the params lacks a key or has one of the wrong kind"):
        lines = [(line, _pure_cost(line)) for line in params["accounting"]]
        path = max((cost for _, cost in _paths(lines)), default=Fraction(0))
        composition = params["composition"]
        adjacency, (rows,) = str(composition["adjacency"]), integers([composition["rows_per_unit"]])
        loss = path if composition["bootstrap"] is None else _bootstrap_loss(composition["bootstrap"], path)
    if adjacency not in (ADD_OR_REMOVE, REPLACE) or rows < 1:
        raise ReleaseFormatError("the composition of the params is not one that anonkit writes")
    total = loss * rows * (2 if adjacency == REPLACE else 1)
    return PublishedAccount(epsilon=_not_below(total), rows_per_unit=rows, adjacency=adjacency)


def approximate_loss(params: Mapping[str, Any], delta: Fraction, *, may_be_pure: bool = False) -> PublishedAccount:
    """Add up the account of a release: what it costs at the delta that is claimed.

    A row is in one cell of every table with Gaussian noise. The rows of a unit, m of them, move a table by a vector of
    length m at most, so that rho grows with m**2; replaced rows leave some cells and come into others, 2 m**2. Choices
    that are paid in rho have a range that c changed rows make c times as wide: c**2, with 2 m rows changed where m are
    replaced. All other lines cost epsilon, for each changed row. Where domains were looked for, that may take half of
    delta.

    Parameters
    ----------
    params : mapping
    delta : Fraction
        In (0, 1).
    may_be_pure : bool
        True where noise that needs no delta may be drawn although one was given.

    Raises
    ------
    ReleaseFormatError
        The account is none that anonkit writes.
    """
    composition = params["composition"]
    adjacency, (rows,) = str(composition["adjacency"]), integers([composition["rows_per_unit"]])
    if adjacency not in (ADD_OR_REMOVE, REPLACE) or rows < 1 or composition["bootstrap"] is not None:
        raise ReleaseFormatError("the composition of the params is not one that anonkit writes")
    sides = 2 if adjacency == REPLACE else 1
    lines = [(line, _cost(line)) for line in params["accounting"]]
    rho = sum((cost for line, cost in lines if line["mechanism"] == GAUSSIAN), Fraction(0)) * rows**2 * sides
    chosen = [cost for line, cost in lines if _is_in_rho(line) and line["mechanism"] != GAUSSIAN]
    rho += sum(chosen, Fraction(0)) * (rows * sides) ** 2
    others = [(line, cost) for line, cost in lines if not _is_in_rho(line)]
    pure = max((cost for _, cost in _paths(others)), default=Fraction(0)) * rows * sides
    found = finding_lines(params)
    if rho == 0 and not found and not may_be_pure:
        raise ReleaseFormatError("the account of the params has no line for which a delta is spent")
    if finding_delta(params, rows, replaced=sides == 2) > delta / 2:
        raise ReleaseFormatError("the thresholds of the account spend more than half of delta")
    converted = epsilon_of(rho, delta / 2 if found else delta) if rho else Fraction(0)
    return PublishedAccount(epsilon=_not_below(pure + converted), rows_per_unit=rows, adjacency=adjacency)


def claim_checks(params: Mapping[str, Any], guarantee: Mapping[str, Any], facts: PublicFacts) -> Iterator[Check]:
    """Compare the promise of a report with the sum of the account.

    Raises
    ------
    ReleaseFormatError
        As `published_account` and `approximate_loss` do.
    """
    claimed = guarantee["parameters"]
    epsilon, delta = float(claimed["epsilon"]), float(claimed["delta"])
    if delta:
        params_delta = facts.number("delta")
        yield Check(name="claimed_delta", passed=0 < params_delta <= delta, observed=params_delta, required=delta)
        account = approximate_loss(params, Fraction(params_delta), may_be_pure=facts.family.chooses_law)
    else:
        account = published_account(params)
    (rows,) = integers([claimed["rows_per_unit"]])
    yield Check(name="epsilon", passed=account.epsilon <= epsilon, observed=account.epsilon, required=epsilon)
    same = account.adjacency == guarantee["adjacency"]
    yield Check(name="adjacency", passed=same, observed=account.adjacency, required=guarantee["adjacency"])
    same = account.rows_per_unit == rows
    yield Check(name="rows_per_unit", passed=same, observed=account.rows_per_unit, required=rows)


def account_checks(params: Mapping[str, Any], facts: PublicFacts, expected: ExpectedAccount) -> Iterator[Check]:
    """Compare the account with the draws that must have been made.

    Parameters
    ----------
    params : mapping
    facts : PublicFacts
        What the params state besides the account.
    expected : ExpectedAccount
        Rebuilt from these.
    """
    published = list(params["accounting"])
    wrong = list(_differences(published, expected.lines))
    yield Check(
        name="account_lines", passed=not wrong, observed=wrong[0] if wrong else len(published), required="as rebuilt"
    )
    composition = params["composition"]
    stated = (composition["adjacency"], composition["rows_per_unit"], _words(composition["bootstrap"]))
    rebuilt = (ADJACENCIES[facts.parameters["adjacency"]], facts.whole("rows_per_unit", 1), expected.copies)
    yield Check(
        name="composition", passed=stated == rebuilt, observed=_unit_in_words(stated), required=_unit_in_words(rebuilt)
    )
    if expected.path is not None:
        lines = [(line, _cost(line)) for line in published if not _is_in_rho(line)]
        slack = _CLOSE * expected.path + float(_STEP) * _ROUNDINGS * (1024 + _steps(published))
        costs = [float(cost) for _, cost in _paths(lines)]
        passed = all(expected.path - slack <= cost <= expected.path * (1 + 1e-12) for cost in costs)
        yield Check(name="account_spends_epsilon", passed=passed, observed=min(costs), required=expected.path)


def _unit_in_words(composition: Sequence[Any]) -> str:
    """Return neighbouring tables and rows of a unit as the report has them."""
    adjacency, rows, *_ = composition
    return f"{adjacency}, {rows} {'row' if rows == 1 else 'rows'} of a unit"


def _differences(published: Sequence[Mapping[str, Any]], expected: Sequence[ExpectedLine]) -> Iterator[str]:
    """Name the lines that are missing, that are there for nothing, and that say something else."""
    rest = Counter((str(line["purpose"]), line["level"], line["ends_path"]) for line in published)
    for line in expected:
        key = (line.purpose, line.level, line.ends_path)
        if not rest[key]:
            yield f"missing: {line.purpose}"
        rest[key] -= 1
    yield from (f"not planned: {purpose}" for (purpose, _, _), left in rest.items() if left > 0)
    known = {(line.purpose, line.level, line.ends_path): line for line in expected}
    for stated in published:
        same = known.get((str(stated["purpose"]), stated["level"], stated["ends_path"]))
        if same is not None and (what := _difference(stated, same, len(expected))):
            yield f"{what}: {same.purpose}"


def _difference(stated: Mapping[str, Any], line: ExpectedLine, n_lines: int) -> str | None:
    """Return the fields of a published line that differ from the expected ones."""
    if stated["mechanism"] != line.mechanism:
        return "mechanism"
    if _is_in_rho(stated) != (line.in_rho or line.mechanism == GAUSSIAN):
        return "currency"
    if line.query is not None and stated["sensitivity"] != change_of(line.query):
        return "sensitivity"
    if stated["times"] not in line.times:
        return "times"
    if line.cost is None:
        return None
    slack = _CLOSE * line.cost + float(_STEP) * (max(_ROUNDINGS, n_lines) * _steps([stated]) + line.left_over)
    return None if line.cost - slack <= float(_cost(stated)) <= line.cost + slack else "rate"


def _steps(lines: Sequence[Mapping[str, Any]]) -> int:
    return sum(int(line["sensitivity"]) * int(line["times"]) for line in lines)


def _words(bootstrap: Mapping[str, Any] | None) -> tuple[int, tuple[int, ...], int] | None:
    """Return trees, the words that give each number of copies, and their bits."""
    if bootstrap is None:
        return None
    return (bootstrap["trees"], tuple(integers(bootstrap["weights"])), bootstrap["word_bits"])


def _pure_cost(line: Mapping[str, Any]) -> Fraction:
    """Return the epsilon of a line; refuse one that has no epsilon without a delta."""
    if line["mechanism"] == THRESHOLDED or _is_in_rho(line):
        raise ReleaseFormatError("a line of the account has noise that no epsilon covers without a delta")
    return _cost(line)


def _is_in_rho(line: Mapping[str, Any]) -> bool:
    """Return True if what a line costs is a rho, which is converted in sum, and no epsilon."""
    return line["mechanism"] == GAUSSIAN or "rho" in line


def _cost(line: Mapping[str, Any]) -> Fraction:
    if line["mechanism"] == GAUSSIAN:
        return rho_of(line)
    if _is_in_rho(line):
        return choice_rho_of(line)
    rate, sensitivity, times = line["rate"], line["sensitivity"], line["times"]
    whole = all(
        isinstance(term, int) and not isinstance(term, bool) and term >= 1 for term in (rate, sensitivity, times)
    )
    level, ends = line["level"], line["ends_path"]
    whole = whole and (level is None or (isinstance(level, int) and not isinstance(level, bool)))
    if not whole or not isinstance(ends, bool) or line["mechanism"] not in _MECHANISMS:
        raise ReleaseFormatError("a line of the account has a mechanism, rate, sensitivity or number that cannot be")
    if line["rate_unit"] != RATE_UNIT:
        raise ReleaseFormatError("a line of the account has rates in another unit")
    cost: Fraction = rate * sensitivity * times * _STEP
    if not same(float(cost), line["epsilon"], tolerance=_ROUNDING_OF_DOUBLES):
        raise ReleaseFormatError(
            "a line of the account states another epsilon than its rate has", "the params file was altered"
        )
    return cost


def _paths(lines: Sequence[tuple[Mapping[str, Any], Fraction]]) -> Iterator[tuple[int | None, Fraction]]:
    """Yield the loss of each kind of path, one for every level at which it can end."""
    ends = {line["level"] for line, _ in lines if line["ends_path"]}
    if any(line["ends_path"] and line["level"] is None for line, _ in lines):
        raise ReleaseFormatError("a line of the account ends a path at no level")
    for end in ends or {None}:
        yield end, sum((cost for line, cost in lines if _on_path(line, end)), Fraction(0))


def _on_path(line: Mapping[str, Any], end: int | None) -> bool:
    level = line["level"]
    if line["ends_path"]:
        return bool(level == end)
    return level is None or end is None or int(level) < end


def _bootstrap_loss(bootstrap: Mapping[str, Any], path: Fraction) -> Fraction:
    weights, (bits, trees) = integers(bootstrap["weights"]), integers([bootstrap["word_bits"], bootstrap["trees"]])
    if not 1 <= bits <= 64 or sum(weights) != 1 << bits or min(weights) < 0 or trees < 1:
        raise ReleaseFormatError("the bootstrap of the params has weights that cannot be")
    with localcontext() as context:
        context.prec = _DIGITS
        growth = (Decimal(path.numerator) / Decimal(path.denominator)).exp()
        mean = sum((Decimal(weight) * growth**copies for copies, weight in enumerate(weights)), Decimal(0)) / 2**bits
        return Fraction(trees * mean.ln())


def _not_below(value: Fraction) -> float:
    """Return the smallest float not below a rational; a hair (1e-40) below a float is that float."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value - Fraction(1, 10**40) else math.nextafter(nearest, math.inf)
