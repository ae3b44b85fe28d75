"""Rules that `init` proposes: what many people of each value keep, as comments that make a claim conditional."""

from __future__ import annotations

import tomllib

import numpy as np
import pandas as pd
import pytest

import anonkit
from anonkit.drafting.policy_draft import draft_policy
from anonkit.policy.declaration import Policy


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
