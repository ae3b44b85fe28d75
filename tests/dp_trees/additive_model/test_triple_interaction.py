"""Three attributes that lead the tree: what one row moves, the price, which are candidates, what is found, the grid."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from checks.forgeries import Edit, Files, forged, verdict
from hypothesis import given, settings
from hypothesis import strategies as st

import anonkit
from anonkit.auditing.epsilon_audit import lower_bound
from anonkit.budget_rules.tree_rule import rule_for
from anonkit.dp_trees.additive_model.pair_prequeries import PairInteraction, PairQuestions
from anonkit.mechanisms.accounting import sensitivity_of, units_of
from anonkit.published.tree_model import Split, TreeSchema
from anonkit.randomness import Randomness
from tests.dp_trees.additive_model.test_pair_prequeries import counter_of_rows
from tests.dp_trees.tables import attribute, schema_of
from tests.mechanisms.test_private_selection import law_of_permute_and_flip

THREE = schema_of(*(attribute(name, 2, Split.ONE_VS_REST) for name in "abc"))
QUESTION = PairInteraction(schema=THREE, rows=1024.0, epsilon=40.0)
"""With a public number of rows far above that of the tables below: pairs and the triple are candidates."""
CELLS = list(itertools.product((0, 1), repeat=4))
Rows = list[tuple[int, ...]]


def gains(question: PairInteraction, rows: Rows) -> np.ndarray:
    """The gains of pairs and triples of a table, the class last."""
    counter = counter_of_rows(question.schema, rows)
    return np.concatenate(
        [question.gains(question.tables(counter)), question.gains_of_triples(question.tables_of_triples(counter))]
    )


def small_tables() -> dict[tuple[tuple[int, ...], ...], np.ndarray]:
    """The gains of all tables of up to three rows."""
    assert QUESTION.rule.triples == ((0, 1, 2),)
    return {
        rows: gains(QUESTION, list(rows))
        for number in range(4)
        for rows in itertools.combinations_with_replacement(CELLS, number)
    }


@pytest.mark.slow
def test_no_small_table_moves_a_gain_by_more_than_a_row_and_the_law_is_within_its_price() -> None:
    """All tables of three attributes of two values, two classes and up to two rows, and one row more."""
    known, widest, worst = small_tables(), 0, 0.0
    draw = QUESTION.draw(units_of(1.0))
    laws: dict[tuple[int, ...], np.ndarray] = {}

    def law(found: np.ndarray) -> np.ndarray:
        # all candidates are raised alike, as by many rows more: of few rows none is always taken
        scores = (0, *(found - known[()]).tolist())
        return laws.setdefault(scores, law_of_permute_and_flip(list(scores), draw.rate / (1 << 52)))

    for rows, before in known.items():
        for more in CELLS if len(rows) < 3 else ():
            after = known[tuple(sorted([*rows, more]))]
            assert np.abs(after - before).max() <= 1
            widest = max(widest, int(max((after - before).max(), 0) - min((after - before).min(), 0)))
            worst = max(worst, float(np.abs(np.log(law(after) / law(before))).max()))
    assert 1 <= widest <= 2 == sensitivity_of(draw.query)
    assert 0.3 < worst <= 1.0 + 1e-9


ROW = st.tuples(*(st.integers(0, 1) for _ in range(4)))


@settings(max_examples=60, deadline=None)
@given(st.lists(ROW, max_size=14), ROW)
def test_one_row_moves_the_gains_of_pairs_and_of_the_triple_by_one(rows: Rows, more: tuple[int, ...]) -> None:
    """At most, for any rows."""
    assert np.abs(gains(QUESTION, [*rows, more]) - gains(QUESTION, rows)).max() <= 1


@pytest.mark.slow
def test_an_audit_of_the_choice_stays_below_its_price() -> None:
    """Two tables one row apart, by whether the triple was chosen; fixed seeds, alpha 1e-3."""
    question, epsilon = PairInteraction(schema=THREE, rows=256.0, epsilon=400.0), 2.0
    rows = [(a, b, c, a ^ b ^ c) for a, b, c in itertools.product((0, 1), repeat=3)] * 8
    assert question.rule.triples
    draw = question.draw(units_of(epsilon))
    seen = []
    for at, own in enumerate((rows, [*rows, (0, 0, 0, 1)])):
        tables, triples = (one(counter_of_rows(THREE, own)) for one in (question.tables, question.tables_of_triples))
        found = [
            question.choose(draw, tables, Randomness.seeded(seed), triples).pair == (0, 1, 2)
            for seed in range(at * 3_000, (at + 1) * 3_000)
        ]
        seen.append(np.array(found, dtype=np.int64))
    assert lower_bound(seen[0], seen[1]).lower_bound <= epsilon


def rows_of(kind: str, n: int = 20_000) -> tuple[Rows, TreeSchema]:
    """Six attributes and a class: the parity of three, of two, each by itself, or nothing."""
    schema = schema_of(
        attribute("a", 3, Split.ONE_VS_REST), attribute("n", 16, Split.CUT),
        attribute("m", 16, Split.CUT), attribute("b", 2, Split.ONE_VS_REST),
        attribute("w", 9, Split.ONE_VS_REST), attribute("c", 2, Split.ONE_VS_REST),
    )  # fmt: skip
    draw = np.random.default_rng(11)
    codes = np.stack([draw.integers(0, one.codes, n) for one in schema.attributes])
    labels = draw.integers(0, 2, n)
    if kind == "three":
        labels = (codes[1] // 8 + codes[3] + codes[5]) % 2
    elif kind == "two":
        labels = (codes[3] + codes[5]) % 2
    elif kind == "each":
        labels = (codes[1] >= 8) | ((draw.random(n) < 0.2) & (codes[0] == 1))
    labels = np.where(draw.random(n) < 0.1, 1 - labels, labels).astype(np.int64)
    return [tuple(row) for row in np.vstack([codes, labels]).T.tolist()], schema


@pytest.mark.parametrize(("kind", "chosen"), [("three", (1, 3, 5)), ("two", (3, 5)), ("each", None), ("nothing", None)])
def test_three_are_chosen_where_no_two_of_them_say_anything(kind: str, chosen: tuple[int, ...] | None) -> None:
    """In nine of ten releases; where two are enough they lead, and where each says something by itself, none does."""
    rows, schema = rows_of(kind)
    rule = rule_for(epsilon=1.0, rows=len(rows), attributes=6, classes=2)
    asked = PairQuestions.of(rule, schema, epsilon=1.0, rows=float(len(rows)))
    counter = counter_of_rows(schema, rows)
    found = [asked.measure(counter, units_of(1.0), Randomness.seeded(seed)).interaction for seed in range(10)]
    assert sum(one is not None and one.pair == chosen for one in found) >= 9


def test_a_release_that_three_attributes_lead_validates_and_no_other_passes_for_it(tmp_path: Path) -> None:
    """The params name them; two of them, or others, are refused: the tree begins with another grid."""
    rows, schema = rows_of("three", 12_000)
    named = {one.name: pa.array(own) for one, own in zip(schema.attributes, np.array(rows).T, strict=False)}
    columns: dict[str, Any] = {
        one.name: {"bounds": [0, 16]} if one.is_number else {"categories": [str(at) for at in range(one.codes)]}
        for one in schema.attributes
    }
    table = pa.table(
        {name: own if "bounds" in columns[name] else own.cast(pa.string()) for name, own in named.items()}
        | {"y": pa.array([str(row[-1]) for row in rows])}
    )
    columns["y"] = {"role": "target", "categories": ["0", "1"]}
    release = anonkit.release(
        table, method="dp-forest", policy={"columns": columns}, epsilon=2.0, n_rows=12_000, seed=1, ledger=None
    )
    assert release.params["rule"]["interaction"]["pair"] == ["b", "c", "n"]
    shown = release.to_pandas()
    odd = ((shown["n"] >= 8).astype(int) + shown["b"].astype(int) + shown["c"].astype(int)) % 2
    assert (odd == shown["y"].astype(int)).mean() > 0.75  # one in ten was flipped
    release.save(tmp_path / "true" / "out.parquet")
    files = Files.read(tmp_path / "true" / "out.parquet")
    assert verdict(forged(files, lambda one: None, tmp_path)) == (1, ("randomness",))
    for names in (["b", "n"], ["a", "b", "c"], ["n", "c", "b"], ["b", "c", "w"], []):
        code, failed = verdict(forged(files, _naming(names), tmp_path))
        assert code != 0
        assert set(failed) - {"randomness"}, names


def _naming(names: list[str]) -> Edit:
    return lambda files: files.params["rule"]["interaction"].update(pair=names)
