# SPDX-License-Identifier: Apache-2.0
"""Validation of the published model of a noisy release: trees, or tables with a mixture.

Trees are walked with code of its own: every node against its attribute, every leaf against the classes, every table of
counts against the domains, every level against the account.

Of the tables and the mixture of dp-marginals it is chance which pairs were chosen, and their tables are noisy.
Everything else must follow from them, exactly or within a stated distance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonkit.budget_rules.marginal_rule import MISSING_DEVIATIONS, RARE_DEVIATIONS, forest_of
from anonkit.checks import central_marginal_plan as plan
from anonkit.checks.account_lines import gaussian_variance
from anonkit.checks.central_account import ExpectedAccount
from anonkit.checks.central_marginal_plan import expected_of_triple, measured_triple, shown_in_mixtures, wrong_triple
from anonkit.checks.central_params import (
    CUT,
    MULTIWAY,
    ONE_VS_REST,
    TAXONOMY,
    BoolArray,
    Family,
    PublicColumn,
    PublicFacts,
    has_gaussian_tables,
    integers,
    is_of_format,
)
from anonkit.errors import ReleaseFormatError
from anonkit.promises.guarantee import Check

_SCORE_UNIT = 0.001
"""Unit of published scores: part of the format."""
_VOTES = (None, "pooled", "majority", "sum")
"""Releases of one tree, and of earlier versions, say nothing of a vote."""
_NODE_KEYS = frozenset({"attribute", "split", "at", "value", "rows", "children"})
_LEAF_KEYS = frozenset({"counts", "label", "rows"})


@dataclass(frozen=True, kw_only=True, eq=False)
class PublishedLeaf:
    """A leaf and the codes that lead to it."""

    number: int
    box: tuple[BoolArray, ...] | None
    """For each attribute the codes that lead there; None below a division of a taxonomy, which is not followed."""
    counts: tuple[int, ...] | None
    label: int | None


class _WrongTreeError(Exception):
    """An impossible part of a tree; the message names no cell."""


def forest_checks(params: Mapping[str, Any], facts: PublicFacts, expected: ExpectedAccount) -> Iterator[Check]:
    """Check the trees, their number, and the tables and scores beside them.

    Parameters
    ----------
    params : mapping
    facts : PublicFacts
    expected : ExpectedAccount
        How many levels and trees were planned, and whether the rows of nodes were counted.
    """
    trees = params["trees"]
    kind = params["rows_per_tree"]
    stated = (kind["kind"], kind["trees"], len(trees))
    planned = (*(expected.rows_per_tree or ("", 0)), (expected.rows_per_tree or ("", 0))[1])
    yield Check(
        name="rows_per_tree",
        passed=stated == planned,
        observed=_trees_in_words(stated),
        required=_trees_in_words(planned),
    )
    try:
        if params.get("vote") != facts.parameters.get("vote") or params.get("vote") not in _VOTES:
            raise _WrongTreeError("the trees vote in another way than the parameters say")
        for attribute, raw in zip(facts.attributes, params["attributes"], strict=True):
            _check_division(attribute, raw.get("tree"), facts)
        nodes = sum(_check_tree(tree, facts, expected, params["accounting"]) for tree in trees)
        if {"histograms", "scores"} & params.keys() != ({"histograms", "scores"} if facts.family.is_stacked else set()):
            raise _WrongTreeError("histograms or scores are missing, or are there for nothing")
        if facts.family.is_stacked:
            _check_evidence(params, facts)
    except _WrongTreeError as error:
        yield Check(name="trees", passed=False, observed=str(error), required="as planned")
        return
    yield Check(name="trees", passed=True, observed=nodes, required="as planned")


def _check_division(attribute: PublicColumn, tree: Sequence[Sequence[Any]] | None, facts: PublicFacts) -> None:
    """Refuse an attribute that is divided in another way than its method does, or groups that are no hierarchy."""
    values = attribute.domain.categories
    if (tree is not None) != (attribute.split == TAXONOMY):
        raise _WrongTreeError("an attribute is divided by groups that are not published, or has groups without use")
    if tree is None:
        stacked, apart = facts.family.is_stacked, facts.parameters.get("branches") == "two"
        cut = stacked or facts.trees.paper.cuts_numbers
        expected = CUT if values is None and cut else MULTIWAY
        expected = ONE_VS_REST if values is not None and (apart or stacked) else expected
        if attribute.split != expected:
            raise _WrongTreeError("an attribute is divided in another way than its method does")
        return
    above: dict[tuple[int, Any], Sequence[Any]] = {}
    right = facts.family is Family.GROUPS and values == tuple(path[0] for path in tree)
    for path in tree:
        right = right and all(isinstance(group, str) for group in path)
        right = right and all(above.setdefault((at, path[at]), path[at:]) == path[at:] for at in range(len(path)))
    if not right:
        raise _WrongTreeError("the groups of an attribute are no hierarchy of its categories")


def _trees_in_words(rows_and_trees: Sequence[Any]) -> str:
    """Return the rows that trees saw, and the numbers of planned and of published trees, in words."""
    kind, planned, published = rows_and_trees
    return f"{kind} rows, {planned} planned, {published} published"


def leaves_of(tree: Sequence[Mapping[str, Any]], facts: PublicFacts) -> Iterator[PublishedLeaf]:
    """Yield the leaves of a tree that was checked, with their boxes."""
    names = {split_attribute.name: at for at, split_attribute in enumerate(facts.attributes)}
    whole: tuple[BoolArray, ...] = tuple(
        np.ones(split_attribute.domain.size, dtype=bool) for split_attribute in facts.attributes
    )
    boxes: dict[int, tuple[BoolArray, ...] | None] = {0: whole}
    labels = facts.target.domain.labels()
    for number, node in enumerate(tree):
        box = boxes.pop(number)
        if "children" not in node:
            counts = None if "counts" not in node else tuple(node["counts"])
            label = labels.index(node["label"]) if counts is None else None
            yield PublishedLeaf(number=number, box=box, counts=counts, label=label)
            continue
        at = names[node["attribute"]]
        attribute = facts.attributes[at]
        for place, child in enumerate(node["children"]):
            if box is None or attribute.split == TAXONOMY:
                boxes[child] = None
                continue
            own = box[at] & (attribute.goes_to(int(node.get("at", 0))) == place)
            boxes[child] = (*box[:at], own, *box[at + 1 :])


def _check_tree(
    tree: Sequence[Mapping[str, Any]],
    facts: PublicFacts,
    expected: ExpectedAccount,
    accounting: Sequence[Mapping[str, Any]],
) -> int:
    """Refuse a tree that cannot be; return its number of nodes."""
    counted = {line.level for line in expected.lines if line.purpose.startswith("rows of a")}
    limits = _thresholds(facts, accounting)
    level: dict[int, int] = {0: 0}
    used: dict[int, frozenset[str]] = {0: frozenset()}
    if not tree:
        raise _WrongTreeError("a tree has no node")
    for number, node in enumerate(tree):
        if number not in level:
            raise _WrongTreeError("a node of a tree has no parent before it")
        here = level[number]
        if ("rows" in node) != (here in counted):
            raise _WrongTreeError("a node has a count of rows that no line speaks of, or lacks it")
        if "rows" in node:
            integers([node["rows"]])
        if "children" not in node:
            _check_leaf(node, facts)
            continue
        if here == expected.levels - 1:
            raise _WrongTreeError("a node of the last level is split")
        if "rows" in node and node["rows"] < limits.get(here, -math.inf):
            raise _WrongTreeError("a node is split though its own count of rows makes it a leaf")
        _check_split(node, facts, used[number])
        below = used[number] | ({node["attribute"]} if node["split"] == MULTIWAY else set())
        for child in integers(node["children"]):
            if not number < child < len(tree) or child in level:
                raise _WrongTreeError("a node of a tree has two parents, or comes before its parent")
            level[child], used[child] = here + 1, below
    return len(tree)


def _check_split(node: Mapping[str, Any], facts: PublicFacts, used: frozenset[str]) -> None:
    attribute = next((known for known in facts.attributes if known.name == node["attribute"]), None)
    if attribute is None or node["split"] != attribute.split or not node.keys() <= _NODE_KEYS:
        raise _WrongTreeError("a node is split by an attribute, or in a way, that is not declared")
    if attribute.name in used:
        raise _WrongTreeError("a node is split by an attribute that is used up")
    n_children = len(node["children"])
    if attribute.split == TAXONOMY:
        if not 2 <= n_children <= attribute.domain.size:
            raise _WrongTreeError("a group is divided into another number of groups")
        return
    if n_children != attribute.children():
        raise _WrongTreeError("a split has another number of children than its attribute requires")
    if attribute.split == MULTIWAY:
        return
    (at,) = integers([node["at"]])
    if not 0 <= at < attribute.n_splits:
        raise _WrongTreeError("a cut lies outside the domain of its attribute")
    domain = attribute.domain
    if attribute.split == ONE_VS_REST or domain.categories is not None:
        same = node["value"] == domain.labels()[at]
    elif at + 1 >= domain.cells:
        same = node["value"] is None
    else:
        same = isinstance(node["value"], int | float) and math.isclose(node["value"], domain.edge(at), rel_tol=1e-9)
        same = same or abs(node["value"] - domain.edge(at)) <= 1e-9 * (domain.edge(domain.cells - 1) - domain.edge(-1))
    if not same:
        raise _WrongTreeError("a cut is at another value than its number says")


def _check_leaf(node: Mapping[str, Any], facts: PublicFacts) -> None:
    stated = facts.parameters.get("leaf") == "label"
    if not node.keys() <= _LEAF_KEYS or ("label" in node) != stated or ("counts" in node) == stated:
        raise _WrongTreeError("a leaf tells another thing than was planned")
    if stated:
        if node["label"] not in facts.target.domain.labels():
            raise _WrongTreeError("the label of a leaf is no class")
    elif len(integers(node["counts"])) != facts.n_classes:
        raise _WrongTreeError("a leaf counts another number of classes")


def _thresholds(facts: PublicFacts, accounting: Sequence[Mapping[str, Any]]) -> dict[int, float]:
    """Return the noisy count below which a node of each level is a leaf, where the method stops so."""
    if facts.parameters.get("stop") != "noisy":
        return {}
    most = max((attribute.domain.size for attribute in facts.attributes), default=1)
    widest = 1 if facts.trees.paper.compares_one else most * facts.n_classes
    return {
        line["level"]: math.sqrt(2) * widest / (line["rate"] / 2**52) * (1 - 1e-9)
        for line in accounting
        if str(line["purpose"]).startswith("rows of a node")
    }


def _check_evidence(params: Mapping[str, Any], facts: PublicFacts) -> None:
    """Refuse histograms, sums and scores of another shape than trees, domains and classes ask for."""
    trees, classes = params["trees"], facts.n_classes
    sizes = [histogram.domain.size for histogram in facts.attributes]
    scores = params["scores"]
    regions = integers(scores["regions"])
    if scores["unit"] != _SCORE_UNIT or len(scores["leaves"]) != len(trees):
        raise _WrongTreeError("the scores are not those of the trees")
    for table, tree in zip(scores["leaves"], trees, strict=True):
        _check_table(table, len(tree), classes)
    for name, tables in (("scores", scores["attributes"]), ("histograms", params["histograms"])):
        if len(tables) != len(regions) or any(len(histogram) != len(sizes) for histogram in tables):
            raise _WrongTreeError(f"the {name} have not a table for each attribute and region")
    # an attribute that was not measured has no histogram, which the rule of the release must state
    measured = [bool(table) for table in next(iter(params["histograms"]), ())]
    for histogram, evidence in zip(params["histograms"], scores["attributes"], strict=True):
        for counted, added, size, is_measured in zip(histogram, evidence, sizes, measured, strict=True):
            _check_table(counted, size if is_measured else 0, classes)
            _check_table(added, size, classes)
            if not is_measured and any(any(row) for row in added):
                raise _WrongTreeError("an attribute without a histogram has evidence")
    places = region_of_nodes(trees[0], regions)
    if any(places[at] < 0 for at, node in enumerate(trees[0]) if "children" not in node):
        raise _WrongTreeError("a leaf lies in no region of the scores")
    features = len(sizes) + 1 + (1 if classes == 2 else classes)
    sums = {
        "weights": {"gradient": features, "curvature": features * (features + 1) // 2},
        "calibration": {"gradient": features - len(sizes)},
    }
    for name, shape in sums.items():
        if any(len(integers(params[name][part])) != length for part, length in shape.items() if name in params):
            raise _WrongTreeError(f"the sums of the {name} are not those of the attributes and classes")


def _check_table(table: Sequence[Sequence[Any]], rows: int, classes: int) -> None:
    if len(table) != rows or any(len(integers(list(row))) != classes for row in table):
        raise _WrongTreeError("a table of counts or scores does not fit its domain and the classes")


def region_of_nodes(tree: Sequence[Mapping[str, Any]], regions: Sequence[int]) -> list[int]:
    """Return the number of the region that each node lies in; -1 above all regions."""
    out = [-1] * len(tree)
    for number, place in enumerate(regions):
        if not 0 <= place < len(tree):
            raise _WrongTreeError("a region of the scores is no node of the first tree")
        out[place] = number
    for at, node in enumerate(tree):
        for child in node.get("children", ()):
            out[child] = out[at] if out[child] < 0 else out[child]
    return out


_WEIGHTS, _SHARES = 1 << 20, 1 << 16
"""Sums of published weights and shares: part of the format."""
_FALSE_ALARM = 1e-9
"""Probability that a sound release fails one comparison: a convention."""
_MISFIT = 0.03
"""Largest total variation of a mixture and a column, beyond what its noise makes: a convention."""

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


def split_facts(params: Mapping[str, Any], facts: PublicFacts) -> PublicFacts:
    """Return the facts with the columns that have tables as attributes, and with what splits them as the target."""
    return plan.split_facts(facts, anchored=params["anchored"] is True)


def marginal_checks(params: Mapping[str, Any], facts: PublicFacts) -> Iterator[Check]:
    """Check that tables, pairs and mixture are such as the draws of the account leave.

    Parameters
    ----------
    params : mapping
    facts : PublicFacts
        Read from the params.
    """
    expected = plan.expected_measurements(facts, params)
    if not is_of_format(params, facts.family, gaussian=expected.is_gaussian):
        raise ReleaseFormatError("the params of the tables are of another format")
    same = params["anchored"] is expected.anchored
    yield Check(name="anchor", passed=same, observed=str(params["anchored"]), required=str(expected.anchored))
    split = plan.split_facts(facts, anchored=expected.anchored)
    wrong = _wrong_tables(params, split)
    yield Check(name="tables", passed=wrong == 0, observed=wrong, required=0)
    if wrong or not same:  # what follows would be compared with something else
        return
    wrong = _wrong_groups(params, split)
    yield Check(name="groups", passed=wrong == 0, observed=wrong, required=0)
    wrong = _wrong_pairs(params, split, expected)
    yield Check(name="pairs", passed=wrong == 0, observed=wrong, required=0)
    triple = wrong_triple(params, expected.triples, [one.name for one in facts.attributes], facts.n_classes)
    if expected.triples is not None or triple:
        yield Check(name="triple", passed=triple == 0, observed=triple, required=0)
    wrong += triple
    odd = _wrong_mixtures(params, split)
    if not wrong and not odd:  # else tables that count missing may be of any shape
        odd = shown_in_mixtures(params, split, gaussian=has_gaussian_tables(params))
    yield Check(name="mixtures", passed=odd == 0, observed=odd, required=0)
    if wrong or odd:
        return
    wrong = _wrong_rows(params)
    yield Check(name="rows_of_tables", passed=wrong == 0, observed=wrong, required=0)
    for column, distance, most in _distances(params, split):
        yield Check(name=f"mixture_fits:{column.name}", passed=distance <= most, observed=distance, required=most)
    yield from _triple_fits(params, split, anchored=expected.anchored)


def _rates(params: Mapping[str, Any], beginning: str) -> list[int]:
    return [line["rate"] for line in params["accounting"] if str(line["purpose"]).startswith(beginning)]


def _wrong_tables(params: Mapping[str, Any], split: PublicFacts) -> int:
    """Count tables of columns, and the number of rows, that no line of the account speaks of."""
    counted = _rates(params, "number of rows")
    stated = integers([params["rows"]["rate"]]) if "rows" in params else []
    wrong = int(stated != counted)
    rates = _rates(params, "class x " if split.has_target else "rows by ")
    tables = params["tables"]
    wrong += int(rates != [table["rate"] for table in tables])
    for reading in params["readings"]:
        wrong += int(_rates(params, str(reading["purpose"])) != integers([reading["rate"]]))
    wrong += int([table["name"] for table in tables] != [column.name for column in split.attributes])
    for column, table in zip(split.attributes, tables, strict=False):
        sizes = [len(integers(row)) for row in table["counts"]]
        wrong += int(sizes != [column.domain.size] * split.n_classes)
    return wrong


def _wrong_groups(params: Mapping[str, Any], split: PublicFacts) -> int:
    """Count columns whose rare values are not those whose noisy counts are within the noise."""
    wrong = 0
    for table, column in zip(params["tables"], split.attributes, strict=False):
        counts = np.array(table["counts"], dtype=np.float64).sum(axis=0)
        least = np.full(counts.size, RARE_DEVIATIONS)
        if column.domain.has_missing and "missing_above" in params:
            least[-1] = MISSING_DEVIATIONS
        loud = counts >= least * math.sqrt(_variance(params, table["rate"]) * split.n_classes)
        expected = np.where(loud, np.cumsum(loud) - 1, loud.sum())
        if (~loud).sum() < 2 or not params["pairs"]:
            expected = np.arange(loud.size)
        wrong += int(integers(table["groups"]) != expected.tolist())
    return wrong


def _wrong_pairs(params: Mapping[str, Any], split: PublicFacts, expected: plan.ExpectedTables) -> int:
    """Count what is wrong with the pairs: their number, the tree, shapes, rates."""
    names = [column.name for column in split.attributes]
    groups = [max(table["groups"]) + 1 for table in params["tables"]]
    numbers = [plan.number_of_pair(names, table["names"]) for table in params["pairs"]]
    tree = [pair for pair, table in zip(numbers, params["pairs"], strict=True) if table["in_tree"] is True]
    wrong = int(len(tree) != expected.edges) + int(len(numbers) != expected.edges + expected.further)
    wrong += len(numbers) - len(set(numbers)) + len(set(numbers) - set(expected.candidates))
    wrong += int(expected.tied and all(second != len(names) - 1 for _, second in tree))
    wrong += int(len(forest_of(tree, len(names))) != expected.edges)  # a circle joins fewer
    for (first, second), table in zip(numbers, params["pairs"], strict=True):
        beginning = "table of a pair of the tree" if table["in_tree"] is True else "table of a further pair"
        wrong += int(_rates(params, beginning) != [table["rate"]]) + int(not isinstance(table["in_tree"], bool))
        shape = [[len(integers(row)) for row in cells] for cells in table["counts"]]
        wrong += int(shape != [[groups[second]] * groups[first]] * split.n_classes)
    return wrong


def _wrong_mixtures(params: Mapping[str, Any], split: PublicFacts) -> int:
    """Count mixtures whose units do not add up, or do not fit the columns."""
    ends = np.cumsum([column.domain.size for column in split.attributes])
    wrong = int(len(params["mixtures"]) != split.n_classes)
    for own in params["mixtures"]:
        weights, (rows,) = integers(own["weights"]), integers([own["rows"]])
        components = [integers(component) for component in own["shares"]]
        whole = rows >= 0 and bool(weights) and min(weights) > 0 and sum(weights) == _WEIGHTS
        whole = whole and len(components) == len(weights)
        whole = whole and all(len(component) == ends[-1] and min(component) >= 0 for component in components)
        if whole:
            sums = np.diff(np.cumsum(np.array(components), axis=1)[:, ends - 1], axis=1, prepend=0)
            whole = bool((sums == _SHARES).all())
        wrong += int(not whole)
    return wrong


def _triple_fits(params: Mapping[str, Any], split: PublicFacts, *, anchored: bool) -> Iterator[Check]:
    """Check that the mixture is as near to the table of a triple as its noise allows."""
    measured = measured_triple(params, anchored=anchored)
    if measured is None:
        return
    counts, rate = measured
    rows = max(sum(own["rows"] for own in params["mixtures"]), 1)
    distance = float(np.abs(counts - expected_of_triple(params, split, anchored=anchored)).sum()) / 2 / rows
    most = _MISFIT + 2 * _largest_noise(params, rate, counts.size) / rows
    yield Check(name="mixture_fits_triple", passed=distance <= most, observed=distance, required=most)


def _wrong_rows(params: Mapping[str, Any]) -> int:
    """Count classes whose rows are not what all noisy tables together say."""
    sums, weights = [], []
    for table in (*params["tables"], *params["pairs"]):
        counts = np.array(table["counts"], dtype=np.float64)
        sums.append(counts.reshape(len(counts), -1).sum(axis=1))
        weights.append(1 / (_variance(params, table["rate"]) * counts[0].size))
    measured = measured_triple(params, anchored=params["anchored"] is True)
    if measured is not None:
        counts, rate = measured
        sums.append(counts.sum(axis=1))
        weights.append(1 / (_variance(params, rate) * counts[0].size))
    sizes = np.maximum(np.array(weights) @ np.stack(sums) / sum(weights), 0.0)
    stated = np.array([own["rows"] for own in params["mixtures"]])
    return int((np.abs(stated - sizes) > 0.5 + 1e-6).sum())


def _distances(params: Mapping[str, Any], split: PublicFacts) -> Iterator[tuple[PublicColumn, float, float]]:
    """Yield the distance of the mixture from each column's own noisy table, and the largest allowed.

    The distance is of total variation over classes and values, in shares of all rows; the noise of the table adds half
    the sum of its absolute values at most, whose tail is bounded by Chernoff.
    """
    rows = sum(own["rows"] for own in params["mixtures"])
    for column, table, (expected, _) in zip(
        split.attributes, params["tables"], expected_values(params, split, 1 << 62), strict=True
    ):
        counts = np.array(table["counts"], dtype=np.float64)
        distance = float(np.abs(counts - expected).sum()) / 2
        noise = _largest_noise(params, table["rate"], counts.size)
        yield column, distance / max(rows, 1), (_MISFIT * rows + 2 * noise) / max(rows, 1)


def _largest_noise(params: Mapping[str, Any], rate: int, cells: int) -> float:
    """Return the bound that half the L1 norm of the noise of so many cells exceeds once in a billion tables at most."""
    loss = rate / 2**52
    if has_gaussian_tables(params):
        # E exp(t |x|) is at most 2 exp(t**2 / (4 loss)): the law is no wider than the continuous one; at the best t
        return math.sqrt(cells * (cells * math.log(2) - math.log(_FALSE_ALARM)) / (4 * loss))
    # E exp(loss |x| / 2) of one cell, for the discrete Laplace law of that rate
    decay, tilted = math.exp(-loss), math.exp(-loss / 2)
    moment = (1 - decay) / (1 + decay) * (1 + 2 * tilted / (1 - tilted))
    return (cells * math.log(moment) - math.log(_FALSE_ALARM)) / loss


def expected_values(
    params: Mapping[str, Any], split: PublicFacts, piece_rows: int
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield the rows that the mixture expects by class and value of each column, and how far rounding may be off.

    The rows of components are rounded systematically: what has been dealt to the first of them is off by less than one
    row, so a value is off by less than the sum of the changes of its share from one component to the next, and by less
    than the sum of its shares. In each component, and piece of it, the values are rounded with a random offset of its
    own: independent errors of mean 0 within a range of one row, for which Hoeffding's inequality holds.

    Parameters
    ----------
    params, split
        The mixtures, and the columns they are of.
    piece_rows : int
        Rows that a release draws together.
    """
    sizes = [column.domain.size for column in split.attributes]
    mixtures = [
        (own["rows"], np.array(own["weights"]) / _WEIGHTS, np.array(own["shares"]) / _SHARES)
        for own in params["mixtures"]
    ]
    pieces = sum(rows for rows, _, _ in mixtures) // piece_rows + 1
    for first, size in zip(np.cumsum([0, *sizes[:-1]]), sizes, strict=True):
        expected, allowed = np.zeros((len(mixtures), size)), np.zeros((len(mixtures), size))
        for at, (rows, weights, shares) in enumerate(mixtures):
            own = shares[:, first : first + size]
            expected[at] = rows * weights @ own
            steps = np.abs(np.diff(own, axis=0, append=0.0)).sum(axis=0)
            rounded = ((own > 0) & (own < 1)).sum(axis=0) + pieces
            chance = math.log(2 * len(mixtures) * sum(sizes) / _FALSE_ALARM)
            chosen = np.minimum(steps, own.sum(axis=0)) + np.sqrt(rounded * chance / 2)
            allowed[at] = np.where(own.max(axis=0) > 0, chosen, 0.0)  # what has no share is never dealt
        yield expected, allowed


def _variance(params: Mapping[str, Any], rate: int) -> float:
    if has_gaussian_tables(params):
        return gaussian_variance(rate)
    loss = rate / 2**52
    return 2 * math.exp(-loss) / math.expm1(-loss) ** 2
