"""Attacks and comparisons of tables in which people have several rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import anonkit
import anonkit.comparing.comparison as comparing
import anonkit.comparing.train_test_halves as train_test_halves
from anonkit.auditing.release_audit import _people
from anonkit.policy.declaration import Policy
from anonkit.policy.target_task import Task


def _visits(n_people: int = 60) -> pd.DataFrame:
    """Return three visits a person, ids spelled in two ways."""
    random = np.random.default_rng(5)
    place = random.choice(["a", "b", "c"], n_people)
    rows = [
        (f"{who}.0" if visit else f"{who}", place[who], int(random.integers(20, 60)), random.choice(["y", "n"]))
        for who in range(n_people)
        for visit in range(3)
    ]
    return pd.DataFrame(rows, columns=["who", "zip", "age", "label"])


@pytest.mark.untraced
def test_people_are_drawn_and_found_by_any_row() -> None:
    """The audit of a release of people attacks each person once."""
    made = anonkit.release(_visits(), method="mondrian", k=5, unit="who", target="label", ledger=None)
    found = anonkit.audit(made, _visits(), attacks=500, runs=0)
    assert found.attack("linkability").attack.attacks == 60
    assert found.attack("inference").attack.attacks == 60
    assert 0 < found.attack("linkability").attack.value <= 1


def test_nobody_is_in_both_halves_of_a_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    """People are divided, not rows; the person's number is no feature of the models on the raw table."""
    seen: list[pa.Table] = []

    def models(train: pa.Table, test: pa.Table, target: str, task: Task, weight: str | None) -> dict[str, Any]:
        assert weight is None
        seen.extend([train, test])
        return {}

    first, second, _ = train_test_halves.halves_of(_visits(), Policy().with_roles(unit="who", target="label"), 150, 0)
    mine, others = ({float(one) for one in half.column("who").to_pylist()} for half in (first, second))
    assert mine
    assert others
    assert not mine & others
    assert len(mine) * 3 == first.num_rows
    assert first.num_rows + second.num_rows <= 150
    monkeypatch.setattr(train_test_halves, "models_of_rows", models)
    policy = Policy().with_roles(unit="who")
    comparing.compare(_visits(), target="label", methods=["mondrian"], k=[5], policy=policy, attacks=20)
    assert seen
    assert all("who" not in table.column_names for table in seen)


@pytest.mark.untraced
@pytest.mark.parametrize("roles", [{"identifiers": ["who"]}, {"unit": ["who", "zip"]}])
def test_rows_of_one_candidate_or_of_a_unit_of_two_columns_are_one_person(roles: dict[str, Any]) -> None:
    """A person's other rows are no other people: 60 people are attacked, not 180 rows."""
    made = anonkit.release(_visits(), method="mondrian", k=5, target="label", ledger=None, **roles)
    found = anonkit.audit(made, _visits(), attacks=500, runs=0)
    assert found.attack("linkability").attack.attacks == 60


def test_a_row_without_a_value_is_a_person_of_its_own_and_of_two_candidates_the_finer_counts() -> None:
    """A missing value distinguishes nobody; a candidate that the source lacks distinguishes nothing."""
    source = pa.table({"a": ["x", "x", None, None, "y", "z"], "b": ["s", "s", "s", "t", "t", "t"]})
    named = [{"columns": [name], "values": 2} for name in ("b", "a", "gone")]
    report = {"columns": [], "guarantee": {"parameters": {"candidates": named}}}
    people = _people(source, {}, report)
    assert people is not None
    assert people.tolist() == [0, 0, 3, 4, 1, 2]
    assert _people(source, {}, {"guarantee": {"parameters": {"candidates": [named[2]]}}}) is None
    assert _people(source.slice(0, 0), {}, report) is None
