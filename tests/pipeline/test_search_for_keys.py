# SPDX-License-Identifier: Apache-2.0
"""Keys with a k of their own: kept by every k-anonymous method, counted on the release, validated, or refused."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anonkit
from anonkit.errors import AnonkitError, ChoiceError, GuaranteeError, PolicyError
from anonkit.pipeline.search_for_keys import attempts
from anonkit.policy.declaration import Policy
from anonkit.policy.publication import KeyCombination

KEYS: list[dict[str, Any]] = [{"columns": ["age", "sex"], "k": 40}, {"columns": ["place"], "k": 60}]
ROLES: dict[str, Any] = {name: {"role": "quasi_identifier"} for name in ("age", "sex", "place", "job")}


def people(n_rows: int = 600, seed: int = 5) -> pa.Table:
    """Return people; few of them live in one of the places."""
    draw = np.random.default_rng(seed)
    return pa.table(
        {
            "age": draw.integers(18, 90, n_rows),
            "sex": draw.choice(["f", "m"], n_rows, p=[0.85, 0.15]).tolist(),
            "place": draw.choice(list("abcd"), n_rows, p=[0.5, 0.3, 0.15, 0.05]).tolist(),
            "job": draw.choice(["clerk", "cook", "nurse"], n_rows).tolist(),
        }
    )


def released(table: pa.Table, **asked: Any) -> anonkit.Release:
    """Return a release under the keys."""
    how = {"method": "mondrian", "k": 5, "policy": {"columns": ROLES, "keys": KEYS}, "no_target": True, "ledger": None}
    return anonkit.release(table, **{**how, "utility": False, **asked})


def rarest(table: pa.Table, columns: list[str]) -> int:
    """Return the rows of the rarest combination of those of some columns that a table has."""
    names = [name for name in columns if name in table.column_names]
    rows = zip(*(table.column(name).to_pylist() for name in names), strict=True) if names else [()] * table.num_rows
    return min(Counter(rows).values())


@pytest.mark.quick_cases("rfka")
@pytest.mark.parametrize("method", ["mondrian", "rfka", "datafly", "incognito", "greedy-hamdist"])
def test_every_key_holds(method: str, tmp_path: Path) -> None:
    """For any search: counted on the written rows, promised, verified and validated."""
    out = tmp_path / "out.parquet"
    aim: dict[str, Any] = {"no_target": False, "target": "job"} if method == "greedy-hamdist" else {}
    release = released(people(), method=method, output=out, **aim)
    table = pq.read_table(out)
    for key in KEYS:
        assert rarest(table, key["columns"]) >= key["k"]
    assert rarest(table, ["age", "sex", "place"]) >= 5
    assert release.report["guarantee"]["parameters"]["keys"] == KEYS
    assert release.params["model"]["k"] == release.report["method"]["parameters"]["k"] == 5
    assert "Every combination of age, sex is shared by at least 40 records." in release.report["guarantee"]["statement"]
    found = anonkit.validate(out)
    assert found.passed, [check for check in found.checks if not check.passed]
    counted = {check.name: (check.observed, check.required) for check in found.checks}
    assert counted["k_anonymity_key:age, sex"] == (rarest(table, ["age", "sex"]), 40)


@pytest.mark.slow
def test_without_the_keys_they_would_not_hold(tmp_path: Path) -> None:
    """The same search breaks one of them, so that the larger groups are their doing."""
    out = tmp_path / "out.parquet"
    release = released(people(), policy={"columns": ROLES}, output=out)
    table = pq.read_table(out)
    assert any(rarest(table, key["columns"]) < key["k"] for key in KEYS)
    assert "keys" not in release.report["guarantee"]["parameters"]
    assert not any("every key of the policy" in note for note in release.report["notes"])
    assert any("every key of the policy" in note for note in released(people()).report["notes"])


def test_a_batch_holds_the_keys_of_the_earlier_release(tmp_path: Path) -> None:
    """`apply` reads them from the params, and counts them in the batch."""
    first, second = tmp_path / "first.parquet", tmp_path / "second.parquet"
    released(people(), output=first)
    batch = anonkit.apply(first, people(seed=6), output=second, ledger=None, max_suppression=0.3)
    table = pq.read_table(second)
    for key in KEYS:
        assert rarest(table, key["columns"]) >= key["k"]
    assert batch.report["guarantee"]["parameters"]["keys"] == KEYS
    assert anonkit.validate(second).passed


def test_the_search_is_asked_for_what_the_keys_need() -> None:
    """First for k, then the middle, then the largest; k alone if no key requires more."""
    assert attempts(5, [KeyCombination(columns=("a",), k=80)]) == [5, 20, 80]
    assert attempts(5, [KeyCombination(columns=("a",), k=6)]) == [5, 6]
    assert attempts(5, [KeyCombination(columns=("a",), k=5)]) == [5]
    assert attempts(5, []) == [5]


def test_keys_that_cannot_hold_refuse_the_release() -> None:
    """With a line that says so, and a remedy."""
    keys = [{"columns": ["age"], "k": 5000}]
    with pytest.raises(GuaranteeError, match="keys of the policy need larger groups than k = 5"):
        released(people(), policy={"columns": ROLES, "keys": keys})
    with pytest.raises(GuaranteeError) as failure:
        released(people(4), policy={"columns": ROLES, "keys": keys})
    assert "keys" not in str(failure.value)


COLUMNS = {name: {"role": "quasi_identifier", "categories": ["f", "m"]} for name in ("sex", "other")}


@pytest.mark.parametrize(
    ("keys", "more", "error", "words"),
    [
        ([{"columns": ["agee"], "k": 9}], {}, PolicyError, "'agee' is not in the table"),
        ([{"columns": ["ill"], "k": 9}], {}, PolicyError, "'ill' is no quasi-identifier"),
        ([{"columns": ["age"], "k": 1}], {}, PolicyError, "2 or more"),
        ([{"columns": ["age"], "k": True}], {}, PolicyError, "2 or more"),
        ([{"columns": ["age", "age"], "k": 9}], {}, PolicyError, "each once"),
        ([{"columns": [], "k": 9}], {}, PolicyError, "each once"),
        ([{"k": 9}], {}, PolicyError, "list of texts"),
        ([{"columns": ["age"], "k": 9, "l": 2}], {}, PolicyError, "unknown key 'l'"),
        ([{"columns": ["age"], "k": 9}, {"columns": ["age"], "k": 8}], {}, PolicyError, "the same columns"),
        (KEYS, {"unit": "who"}, ChoiceError, "nobody could recount"),
        (KEYS, {"method": "rr", "epsilon": 2.0}, ChoiceError, "'rr' does not promise them"),
        (KEYS, {"method": "safepub", "epsilon": 1.0, "delta": 1e-3}, ChoiceError, "'safepub' does not promise them"),
    ],
)
def test_keys_that_nobody_could_count_are_refused(
    keys: list[dict[str, Any]], more: dict[str, Any], error: type[AnonkitError], words: str
) -> None:
    """Before anything is searched or drawn, naming the column or the method."""
    table = people(60).append_column("ill", pa.array(["n", "y"] * 30)).append_column("who", pa.array(range(60)))
    columns = {**ROLES, "ill": {"role": "sensitive"}, "who": {"role": "identifier"}}
    noisy = {"columns": {name: {"categories": ["f", "m"]} for name in ("sex",)}}
    asked = {key: value for key, value in more.items() if key != "method"}
    if more.get("method") == "rr":
        policy = {**noisy, "keys": keys}
        table = table.select(["sex", "job"])
        policy["columns"]["job"] = {"categories": ["clerk", "cook", "nurse"]}
        with pytest.raises(error, match=words):
            anonkit.release(table, method="rr", policy=policy, target="job", ledger=None, **asked)
        return
    if more.get("method") == "safepub":
        from checks import drawn_tables

        policy = Policy.given(drawn_tables.POLICY)
        name = policy.quasi_identifiers[0]
        changed = Policy(**{**vars(policy), "keys": (KeyCombination(columns=(name,), k=40),)})
        with pytest.raises(error, match=words):
            anonkit.release(drawn_tables.people(), policy=changed, **drawn_tables.EASY)
        return
    with pytest.raises(error, match=words):
        released(table, policy={"columns": columns, "keys": keys}, **asked)
