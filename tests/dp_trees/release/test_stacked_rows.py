"""Rows of stacked trees: a class with the probabilities of the scores, and no row that a rule forbids."""

from __future__ import annotations

import numpy as np
import pytest

from anonkit.dp_trees.release import stacked_trees
from anonkit.dp_trees.release.stacked_trees import StackedRows, check_shown_rules, microdata_of, shown_rules
from anonkit.errors import PolicyError
from anonkit.mechanisms.exact_samplers import UniformStream
from anonkit.policy.declaration import Policy
from anonkit.published.count_evidence import places_of
from anonkit.published.released_codes import cells_of_places, shown_domain
from anonkit.randomness import Randomness
from tests.dp_trees.additive_model.test_stacked import LEARNED, SCHEMA, run, table

COLUMNS = {
    "a": {"categories": ["a0", "a1"]},
    "b": {"categories": ["b0", "b1", "b2"]},
    "n": {"bounds": [0, 8]},
    "y": {"role": "target", "categories": ["c0", "c1"]},
}
RULES = [{"never": {"a": "a1", "b": "b2"}}, {"never": {"b": "b0", "y": "c1"}}]
POLICY = Policy.from_dict({"columns": COLUMNS})
RULED = Policy.from_dict({"columns": COLUMNS, "constraints": RULES})
FOUND = run(LEARNED, *table(6_000), epsilon=4.0)


def drawn(policy: Policy) -> tuple[np.ndarray, np.ndarray]:
    """Labels, and the codes of the cells of each attribute, of some thousand rows."""
    rules = shown_rules(policy, SCHEMA, None).code_rules
    rows = StackedRows(forest=FOUND.forest, scores=FOUND.scores, world=FOUND.world, code_rules=rules)
    numbers = FOUND.world.numbers(FOUND.world.rows, UniformStream(Randomness.seeded(1)))
    labels, *shown = rows(numbers, Randomness.seeded(2))
    cells = [
        cells_of_places(one.domain, shown_domain(one.domain))[own]
        for one, own in zip(SCHEMA.attributes, shown, strict=True)
    ]
    return labels, np.stack(cells)


def test_classes_come_as_often_as_the_published_scores_say() -> None:
    """Of the rows that are drawn: their number within four standard deviations, in each half of the probabilities."""
    labels, cells = drawn(POLICY)
    chances = FOUND.scores.probabilities(places_of(FOUND.forest, cells), cells)[:, 1]
    assert labels.size > 5_000
    for part in (chances < 0.5, chances >= 0.5):
        assert part.sum() > 500
        expected, variance = chances[part].sum(), (chances * (1 - chances))[part].sum()
        assert abs(labels[part].sum() - expected) < 4 * np.sqrt(variance)


def test_no_row_breaks_a_rule_and_others_stay_as_they_are() -> None:
    """Rules between attributes, and of an attribute with the target: without them such rows are drawn."""
    for policy, is_ruled in ((POLICY, False), (RULED, True)):
        labels, cells = drawn(policy)
        broken = ((cells[0] == 1) & (cells[1] == 2)).sum(), ((cells[1] == 0) & (labels == 1)).sum()
        assert (max(broken) == 0) if is_ruled else (min(broken) > 100)
        assert cells.shape[1] > 5_000


def test_rules_that_leave_no_row_are_refused_before_anything_is_drawn() -> None:
    """Every pair of two columns is forbidden."""
    columns = {
        **COLUMNS,
        "b": {"categories": ["b0"], "missing": "first"},
        "a": {"categories": ["a0"], "missing": "first"},
    }
    policy = Policy.from_dict({"columns": columns, "constraints": [{"never": {"a": "a0", "b": "b0"}}]})
    with pytest.raises(PolicyError):
        check_shown_rules(policy, [4])
    check_shown_rules(RULED, [4])


@pytest.mark.parametrize(("n_rows", "size"), [(0, 3), (1, 3), (10, 1 << 22), (1_000_000, 10)])
def test_parts_cover_all_rows_and_are_never_too_large(n_rows: int, size: int) -> None:
    """Chances of a part of the rows are in memory at once."""
    parts = [np.arange(n_rows)[part] for part in stacked_trees._parts(n_rows, size)]
    assert sum(map(len, parts)) == n_rows
    assert all(len(part) * size <= max(1 << 22, size) for part in parts)


def test_a_class_without_a_chance_is_never_drawn() -> None:
    """Not where rounding leaves the sum of the others below one."""
    chances = np.tile([0.25, 0.0, 0.75 - 1e-3, 0.0], (4_000, 1))
    labels = stacked_trees._sampled_classes(chances, UniformStream(Randomness.seeded(3)))
    assert set(labels.tolist()) == {0, 2}
    assert (labels == 0).mean() == pytest.approx(0.25, abs=0.03)


def test_the_rows_of_a_release_are_as_many_as_the_noisy_counts_say() -> None:
    """By leaf and class; the columns are those of the schema, numbers at places within their cells."""
    piece = microdata_of(FOUND, POLICY, Randomness.seeded(4))
    assert list(piece.domains) == ["y", "a", "b", "n"]
    assert piece.domains["n"].size > SCHEMA.attributes[2].codes
    assert piece.numbers.sum() == pytest.approx(6_000, abs=300)
