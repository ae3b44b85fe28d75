"""Conditions on the rows of a mixture: their effect is stated; lists, ranges and missing are read in any form.

Intervals of counting queries on noisy tables: their coverage.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import anonkit
from anonkit.consumers import MarginalModel, MixtureQuestions
from anonkit.consumers.marginal_queries import NoisyCells, answer
from anonkit.errors import ParameterError
from anonkit.mechanisms.exact_samplers import UniformStream, gaussian_counts, noisy_counts
from anonkit.published.noisy_tables import GAUSSIAN, LAPLACE
from anonkit.randomness import Randomness

LEVEL, TIMES = 0.8, 250


def covered(asked: Any, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The coverage of intervals over redraws of the tables, in all and by a side alone."""
    hits, measured = np.zeros(truth.shape), np.zeros(truth.shape)
    for seed in range(TIMES):
        found = asked(seed)
        hits += (found.lower <= truth) & (truth <= found.upper)
        measured += found.basis == "measured"
    return hits / TIMES, measured / TIMES


@pytest.mark.quick_cases("discrete-laplace")
@pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN])
def test_intervals_hold_the_true_count_as_often_as_they_say(law: str) -> None:
    """One column, a sum over another, a condition, and what splits all tables; by fresh noise of a known law."""
    noised = noisy_counts if law == LAPLACE else gaussian_counts
    rate = 1 << (48 if law == LAPLACE else 42)  # noise of 23 rows
    true = np.random.default_rng(1).integers(60, 90, (2, 3, 4))
    groups = (np.arange(2), np.arange(3), np.array([0, 1, 2, 2]))
    merged = np.stack([true[:, :, 0], true[:, :, 1], true[:, :, 2] + true[:, :, 3]], axis=2)

    @cache
    def tables(seed: int) -> tuple[list[NoisyCells], list[NoisyCells]]:
        words = UniformStream(Randomness.seeded(seed))
        first, second = noised(true.sum(2), rate, words), noised(true.sum(1), rate, words)
        both = noised(merged, rate, words)
        return [
            NoisyCells(names=("t", "a"), counts=first, groups=groups[:2], rate=rate, law=law),
            NoisyCells(names=("t", "b"), counts=second, groups=(groups[0], np.arange(4)), rate=rate, law=law),
        ], [NoisyCells(names=("t", "a", "b"), counts=both, groups=groups, rate=rate, law=law)]

    def ask(names: list[str], **allowed: list[bool]) -> Any:
        return lambda seed: answer(*tables(seed), names, {k: np.array(v) for k, v in allowed.items()}, LEVEL)

    some = [True, False, True]
    for asked, truth in (
        (ask(["a"]), true.sum(axis=(0, 2))),
        (ask(["b", "t"]), true.sum(axis=1).T),
        (ask(["t"]), true.sum(axis=(1, 2))),
        (ask(["t"], a=some), true[:, [0, 2]].sum(axis=(1, 2))),
        (ask(["a", "b"]), true.sum(axis=0)),
        (ask(["b"], a=some, t=[False, True]), true[1, [0, 2]].sum(axis=0)),
        (ask(["a"], b=[True, True, False, False]), true[:, :, :2].sum(axis=(0, 2))),
        (ask(["a"], b=[False, False, True, False]), true[:, :, 2].sum(axis=0)),
    ):
        hits, measured = covered(asked, truth)
        assert hits.min() > LEVEL - 0.08  # three standard deviations of 250 draws
        assert set(measured.ravel()) <= {0.0, 1.0}
        if (measured == 1).any():
            assert hits[measured == 1].max() < LEVEL + 0.1  # not wider than they need be
    assert answer(*tables(1), ["a", "c"], {}, LEVEL) is None
    outside = answer(*tables(1), ["a"], {"a": np.array(some)}, LEVEL)
    assert outside is not None
    assert (outside.counts[1], outside.lower[1], outside.upper[1]) == (0, 0, 0)


COLUMNS = {
    "age": {"bounds": [18, 90]},
    "job": {"categories": [" clerk", "nurse", "a=b"]},
    "a, b": {"categories": ["x", "y"]},
}


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of numbers in bins of 4.5 years, and of odd names and values; each may be missing."""
    random, output = np.random.default_rng(1), tmp_path_factory.mktemp("given") / "out.parquet"
    table = pd.DataFrame({
        "age": np.where(random.random(900) < 0.1, np.nan, random.integers(18, 91, 900)),
        "job": random.choice(np.array([" clerk", "nurse", "a=b", None], dtype=object), 900),
        "a, b": random.choice(["x", "y"], 900),
    })  # fmt: skip
    policy = anonkit.Policy.from_dict({"target": False, "columns": COLUMNS})
    anonkit.release(table, method="dp-marginals", epsilon=8.0, policy=policy, seed=1, output=output)
    return output


@pytest.fixture(scope="module")
def model(released: Path) -> MarginalModel:
    """Its mixture."""
    return MarginalModel.from_release(released)


def ages(model: MarginalModel, condition: object) -> list[float]:
    """The middles of the bins that a condition on age comes to."""
    table = model.given({"age": condition}).marginal("age")
    return [label for label, rows in zip(table.labels[0], table.model, strict=True) if rows > 0]


@pytest.mark.parametrize(
    ("condition", "ranges", "words"),
    [
        (30, [(27, 31.5)], "[27, 31.5), the bin of 30"),
        ("30..50", [(31.5, 49.5)], "[31.5, 49.5), the bins whose middles lie in 30..50"),
        ((30, 50), [(31.5, 49.5)], "[31.5, 49.5), the bins whose middles lie in 30..50"),
        ((-5, 1e6), [(18, 90)], "[18, 90], the bins whose middles lie in -5..1000000"),
        (
            ["20..30", (50, 60), 90, None],
            [(18, 31.5), (49.5, 58.5), (85.5, 90)],
            "[18, 31.5) or [49.5, 58.5) or [85.5, 90] or missing, the bin of 90 and the bins whose middles lie in "
            "20..30 or 50..60",
        ),
        ("", [], "missing"),
    ],
)
def test_a_condition_on_a_number_says_its_whole_bins(
    model: MarginalModel, condition: object, ranges: list[tuple[float, float]], words: str
) -> None:
    """The counted bins are stated, as numbers and in words; rows and tables are of those bins."""
    told = model.given({"age": condition}).conditions["age"]
    assert [list(ends) for ends in told.ranges] == [list(ends) for ends in ranges]
    assert told.words == words
    inside = [middle for middle in model.marginal("age").labels[0] if any(low < middle < high for low, high in ranges)]
    assert [middle for middle in ages(model, condition) if not np.isnan(middle)] == inside
    assert model.conditions == {}


def test_conditions_one_after_another_are_told_as_what_is_left(model: MarginalModel) -> None:
    """Both are named; of a column without numbers its values are."""
    told = model.given({"age": "20..60", "job": ["nurse", None]}).given({"age": (40, 90)}).conditions
    assert told["age"].ranges == ((40.5, 58.5),)
    assert told["age"].words == (
        "[40.5, 58.5), the bins whose middles lie in 20..60, the bins whose middles lie in 40..90"
    )
    assert told["job"].to_dict() == {"values": ["nurse", None]}
    assert told["job"].words == "nurse or missing"


@pytest.mark.parametrize(
    ("condition", "message", "hint"),
    [
        ("50..30", r"low end of 50\.\.30 is above its high end", "30..50"),
        ((50, 30), r"low end of 50\.\.30 is above", "30..50"),
        ("30..30", r"no bin has its middle in 30\.\.30", "[27, 31.5) around 29.25 and [31.5, 36) around 33.75"),
        ("200..300", r"no bin has its middle in 200\.\.300", "[85.5, 90] around 87.75"),
        (["20..30", "200..300"], r"no bin has its middle in 200\.\.300", "near"),
        ("0..1", "no bin has its middle", "[18, 22.5) around 20.25"),
        (91, "no such number", "bounds are 18 and 90"),
        (True, "holds numbers", "30..50"),
        ([[20, 30]], "holds numbers", "30..50"),
        (("20", "x"), "holds numbers", "30..50"),
    ],
)
def test_a_range_that_holds_no_bin_is_refused_in_its_own_words(
    model: MarginalModel, condition: object, message: str, hint: str
) -> None:
    """With the bins that are near, which are public."""
    with pytest.raises(ParameterError, match=message) as caught:
        model.given({"age": condition})
    assert hint in str(caught.value.hint)


def test_any_form_of_a_list_is_one_and_any_form_of_missing_too(model: MarginalModel) -> None:
    """Of pandas and numpy as well."""
    wanted = ages(model, [30, 50])
    for listed in (np.array([30, 50]), pd.Series([30.0, 50.0]), pd.Index([30, 50]), range(30, 51, 20), {30, 50},
                   (one for one in (30, 50)), pd.array([30, 50]), ["30", "50"]):  # fmt: skip
        assert ages(model, listed) == wanted
    assert ages(model, np.float32(30)) == ages(model, np.array(30)) == ages(model, 30)
    assert ages(model, ((20, 30), (50, 60))) == ages(model, ["20..30", "50..60"]) == ages(model, ("20..30", "50..60"))
    for name in ("age", "job"):
        rows = model.given({name: None}).rows
        for missing in (np.nan, np.float32("nan"), pd.NA, pd.NaT, "", [None], np.array([np.nan]), pd.Series([pd.NA])):
            assert model.given({name: missing}).rows == rows
    assert model.given({"job": pd.Series(["nurse", "a=b"])}).rows == model.given({"job": ["nurse", "a=b"]}).rows


def test_a_text_is_taken_as_it_stands_before_its_outer_spaces_go(model: MarginalModel) -> None:
    """A value that has some is found, and one that has none is found with some."""
    assert model.given({"job": " clerk"}).conditions["job"].values == (" clerk",)
    assert model.given({"job": " nurse "}).conditions["job"].values == ("nurse",)
    with pytest.raises(ParameterError, match="no such value") as caught:
        model.given({"job": "clerk"})
    assert "' clerk'" in str(caught.value.hint)


def test_the_outcome_for_machines_has_what_conditions_come_to(released: Path) -> None:
    """Beside the tables, whose keys stay; without conditions there is no such key."""
    ask: Any = {"tables": (("job",),), "given": {"age": ["20..30", 40], "a, b": "x"}}
    told = anonkit.reconstruct(released, questions=MixtureQuestions(**ask)).to_dict()
    assert told["given"] == {
        "age": {
            "ranges": [[18, 31.5], [36, 40.5]],
            "missing": False,
            "asked": ["the bin of 40 and the bins whose middles lie in 20..30"],
        },
        "a, b": {"values": ["x"]},
    }
    assert set(told["tables"][0]) == {"columns", "level", "cells"}
    assert "given" not in anonkit.reconstruct(released, questions=MixtureQuestions(tables=(("job",),))).to_dict()


@pytest.mark.parametrize("wrong", [{"n_rows": 1.5}, {"n_rows": "x"}, {"n_rows": True}, {"n_rows": -1}, {"seed": -1},
                                   {"seed": "x"}, {"batch_rows": 0}])  # fmt: skip
def test_numbers_of_rows_that_are_none_are_refused_at_once(model: MarginalModel, wrong: dict[str, Any]) -> None:
    """Before the first batch is requested; integers of numpy are integers."""
    with pytest.raises(ParameterError, match="must be an integer"):
        model.batches(**{"n_rows": 5, **wrong})
    if "batch_rows" not in wrong:
        with pytest.raises(ParameterError, match="must be an integer"):
            model.draw(**{"n_rows": 5, **wrong})
    assert model.draw(np.int64(5), seed=np.int64(1)).equals(model.draw(5, seed=1))
