"""Rules that `init` proposes: what many people of each value keep, as comments that make a claim conditional.

Rows that break a public rule: counted by the rule, batch by batch, and rules that hold left out.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.typing import NDArray

import anonkit
from anonkit.drafting.policy_draft import draft_policy
from anonkit.drafting.row_constraints import broken_rules
from anonkit.policy.declaration import Policy
from anonkit.protocols import BatchCount

COLUMNS: dict[str, Any] = {
    "city": {"categories": ["Bonn", "Ulm"], "missing": "first"},
    "land": {"categories": ["west", "south"], "missing": "first"},
    "age": {"bounds": [0, 99], "missing": "first"},
}
RULES = [
    {"determines": {"from": "city", "to": "land", "map": [["Bonn", "west"], ["Ulm", "south"]]}},
    {"never": {"city": "Ulm", "age": [0, 17]}},
    {"never": {"city": "Bonn", "age": 50}},
]
ROWS = pa.record_batch(
    {
        "city": ["Bonn", "Bonn", "Ulm", "Ulm", "Ulm"],
        "land": ["west", "south", "south", "west", "west"],
        "age": [20.0, 30.0, 17.0, 18.0, 3.0],
    }
)


def add_up(count: BatchCount, names: Sequence[str], size: int) -> NDArray[np.int64]:
    """Sum the counts of the rows, one batch a row, each with the named columns alone."""
    total = np.zeros(size, dtype=np.int64)
    for at in range(ROWS.num_rows):
        total += count(ROWS.slice(at, 1).select(list(names)), at)
    return total


def test_rows_are_counted_by_the_rule_that_they_break() -> None:
    """Three lands that do not follow from the city, two children of Ulm; nobody of Bonn is fifty."""
    found = broken_rules(Policy.from_dict({"columns": COLUMNS, "constraints": RULES}), add_up)
    assert list(found.values()) == [3, 2]
    first, second = found
    assert "land" in first
    assert "age" in second


def test_a_policy_without_rules_counts_nothing() -> None:
    """The source is not looked at."""

    def refused(*_: object) -> NDArray[np.int64]:
        raise AssertionError

    assert broken_rules(Policy.from_dict({"columns": COLUMNS}), refused) == {}


def people(n: int, rare: int = 0) -> pd.DataFrame:
    """People of cities in lands, of whom no one from the north wears a hat; of one city there are few."""
    rng = np.random.default_rng(3)
    city = rng.choice(["Bonn", "Kiel", "Ulm"], n)
    city[:rare] = "Rust"
    land = np.where(city == "Kiel", "north", "south")
    hat = np.where(land == "north", "none", rng.choice(["none", "cap"], n))
    return pd.DataFrame({"city": city, "land": land, "hat": hat, "age": rng.integers(20, 60, n), "n": np.arange(n) % 3})


def uncommented(draft: str) -> str:
    """The draft with its rules adopted."""
    head, rules = draft.split("# Rules that every row of the table keeps")
    kept = [line.removeprefix("# ") for line in rules.splitlines()[2:] if line != "#"]
    return head + "\n".join(kept) + "\n"


def test_rules_are_comments_and_conditional_once_adopted() -> None:
    """As a comment nothing happens; adopted the release says in every file that its claim is conditional."""
    draft = draft_policy(people(900))
    (rules,) = draft.split("# Rules that every row of the table keeps")[1:]
    assert all(line.startswith("#") for line in rules.splitlines()[1:] if line)
    assert "the guarantee depends on the rule being public" in rules
    assert rules.count('# source = "data"') == rules.count("# [[constraints]]") == 3
    assert 'from = "city", to = "land", map = [["Bonn", "south"], ["Kiel", "north"], ["Ulm", "south"]]' in rules
    assert 'never = { "land" = "north", "hat" = "cap" }' in rules
    adopted = tomllib.loads(uncommented(draft))["constraints"]
    columns = {
        "city": {"categories": ["Bonn", "Kiel", "Ulm"]},
        "land": {"categories": ["north", "south"]},
        "hat": {"categories": ["cap", "none"]},
    }
    policy = Policy.from_dict({"columns": columns, "target": False, "constraints": adopted})
    release = anonkit.release(
        people(900)[["city", "land", "hat"]], method="dp-marginals", policy=policy, epsilon=1.0, seed=1, ledger=None
    )
    assert len(release.params["conditions"]) == 3
    assert all("was found in the table" in text for text in release.params["conditions"])
    shown = release.to_pandas().dropna(subset=["city"])
    assert (shown["land"] == np.where(shown["city"] == "Kiel", "north", "south")).all()


@pytest.mark.parametrize(("n", "rare"), [(900, 29), (40, 0)])
def test_no_rule_is_drafted_on_few_people(n: int, rare: int) -> None:
    """A map needs at least 30 people of each value; values that do not meet by chance are no rule."""
    assert "determines" not in draft_policy(people(n, rare))
    assert ("# never = {" in draft_policy(people(n, rare))) == (n == 900)
