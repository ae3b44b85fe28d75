# SPDX-License-Identifier: Apache-2.0
"""Predictions of a target that splits all tables of dp-marginals: by these tables, drawn in by their noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import anonkit
from anonkit.consumers import MarginalModel, MixtureClassifier
from anonkit.consumers.factors import ClassConditionals
from anonkit.domains.coded_columns import IntArray
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy

NAMES = ("a", "b", "c", "d")


def _rows(seed: int, n: int) -> tuple[IntArray, IntArray]:
    """A class; `a` follows it, `b` repeats `a`, `c` and `d` agree in one class and differ in the other."""
    draw = np.random.default_rng(seed)
    labels = draw.integers(0, 2, n)
    a = np.where(draw.random(n) < 0.7, labels, 1 - labels)
    b = np.where(draw.random(n) < 0.95, a, 1 - a)
    c = draw.integers(0, 2, n)
    d = np.where(draw.random(n) < 0.75, c ^ labels, draw.integers(0, 2, n))
    return np.stack([a, b, c, d]), labels


def _frame(codes: IntArray, labels: IntArray) -> pd.DataFrame:
    names = np.array(["low", "high"], dtype=object)
    return pd.DataFrame({name: names[own] for name, own in zip(NAMES, codes, strict=True)} | {"y": names[labels]})


def _policy() -> Policy:
    roles = dict.fromkeys(NAMES, Role.QUASI_IDENTIFIER) | {"y": Role.TARGET}
    return Policy(
        columns={name: Column(name=name, categories=("low", "high"), role=role) for name, role in roles.items()}
    )


@pytest.fixture(scope="module")
def params() -> dict[str, Any]:
    """Params of a release whose tables are split by the class."""
    table = _frame(*_rows(1, 20_000))
    release = anonkit.release(table, method="dp-marginals", epsilon=1.0, policy=_policy(), ledger=None, seed=1)
    assert release.params["anchored"]
    return dict(release.params)


def _pairs_kept(params: dict[str, Any], number: int) -> dict[str, Any]:
    return params | {"pairs": params["pairs"][:number]}


def test_a_measured_pair_says_what_its_columns_do_not(params: dict[str, Any]) -> None:
    """Of independent columns the parity of two is nothing; the table of the pair predicts as well as the truth does."""
    codes, labels = _rows(2, 10_000)
    table = _frame(codes, labels)
    with_pairs = MixtureClassifier().fit(params=_pairs_kept(params, 3))
    without = MixtureClassifier().fit(params=_pairs_kept(params, 0))
    assert ["c", "d"] in [one["names"] for one in params["pairs"][:3]]
    right, alone = ((model.predict(table) == table["y"]).mean() for model in (with_pairs, without))
    assert alone < 0.72 < 0.8 < right
    assert np.allclose(with_pairs.predict_proba(table).sum(axis=1), 1)


def test_unknown_cells_and_missing_columns_say_nothing(params: dict[str, Any]) -> None:
    """A cell outside its domain predicts as a table without the column does."""
    table = _frame(*_rows(3, 200))
    model = MixtureClassifier().fit(params=_pairs_kept(params, 3))
    with pytest.warns(UserWarning, match="no value of its domain"):
        unknown = model.predict_proba(table.assign(c="never"))
    assert np.allclose(unknown, model.predict_proba(table.drop(columns="c")))
    again = MixtureClassifier().fit(params=_pairs_kept(params, 3))
    assert np.array_equal(model.predict_proba(table), again.predict_proba(table))


def test_where_most_pairs_were_measured_the_mixture_is_read(params: dict[str, Any]) -> None:
    """Evidence of pairs that close circles is no sum: from more than half of all pairs on the mixture predicts."""
    counts = range(len(params["pairs"]) + 1)
    read = [MarginalModel(_pairs_kept(params, number)).class_conditionals() for number in counts]
    assert [isinstance(one, ClassConditionals) for one in read] == [number <= 3 for number in counts]
    assert MixtureClassifier(target="a").fit(params=params)._tables is None
