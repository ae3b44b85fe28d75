# SPDX-License-Identifier: Apache-2.0
"""Methods of a trusted owner through the command, on tables that are small, odd or wrong: a release or a clear no."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

LONG = pytest.mark.slow
SLOW = ("diffprfs", "c45-arithmetic", "diffp-c45", "dp-nb", "dp-marginals")
METHODS = ("edprf", "diffgen", "dp-tree", *(pytest.param(name, marks=LONG) for name in SLOW))
A, N, Y = 'categories = ["u", "v", "w"]', "bounds = [0, 10]", 'role = "target"\ncategories = ["0", "1"]'
MANY = json.dumps([f"c{at}" for at in range(10_000)])


def policy(top: str = "", **columns: str) -> str:
    """A policy of these columns."""
    told = {"a": A, "n": N, "y": Y, **columns}
    return top + "".join(f"[columns.{json.dumps(name)}]\n{text}\n" for name, text in told.items() if text)


def rows(*lines: str, times: int = 20) -> str:
    """A table of the usual columns."""
    return "a,n,y\n" + ("\n".join(lines) + "\n") * times


RELEASED: dict[str, tuple[str, str]] = {
    "no row": ("a,n,y\n", policy()),
    "one row": (rows("u,3,1", times=1), policy()),
    "one class in the rows": (rows("u,3,1", "v,4,1"), policy()),
    "one class in all": (rows("u,3,1", "v,4,1"), policy(y='role = "target"\ncategories = ["1"]')),
    "one category": ("a,y\n" + "u,1\nu,0\n" * 20, policy(a='categories = ["u"]', n="")),
    "ten thousand categories": (rows("c1,3,1", "c9999,4,0"), policy(a=f"categories = {MANY}")),
    "Unicode": (
        "年齢\u202e,数,да\n" + "東京,3,é\nΩ≈ç,5,нет\n" * 20,
        policy(a="", n="", y="", **{
            "年齢\u202e": 'categories = ["東京", "Ω≈ç"]', "数": N, "да": 'role = "target"\ncategories = ["é", "нет"]',
        }),
    ),
    "missing is a category": (rows("u,,1", ",4,0"), policy('missing = "category"\n')),
    "far outside the bounds": (rows("u,-50,1", "v,1e300,0"), policy()),
    "numbers as categories": (rows("1,3,1", "2,4,0"), policy(a='categories = ["1", "2"]')),
    "a missing number": (rows("u,,1", "v,4,0"), policy()),
    "a missing class": (rows("u,3,", "v,4,0"), policy()),
    "texts for numbers": (rows("u,many,1", "v,4,0"), policy()),
    "a category not declared": (rows("w,3,1", "v,4,0"), policy()),
    "a number to predict": (rows("u,3,1", "v,4,0"), policy(y='role = "target"\nbounds = [0, 1]')),
}  # fmt: skip

REFUSED: dict[str, tuple[str, str, str]] = {
    "rows to drop": (rows("u,3,1"), policy(a=A + '\nmissing = "drop"'), "column 'a': dropping rows tells"),
    "missing refused": (rows("u,3,1"), policy(a=A + '\nmissing = "error"'), "column 'a': a refusal tells"),
    "strangers refused": (rows("u,3,1"), policy(n=N + '\noutside = "refuse"'), "column 'n': a refusal tells"),
    "a class without categories": (rows("u,3,1"), policy(y='role = "target"\ntype = "text"'), "column 'y' has no"),
    "no attribute": ("y\n1\n0\n", policy(a="", n=""), "the policy declares none"),
}


@pytest.mark.quick_cases("*-dp-tree", "no row-*", "a missing number-edprf", "far outside the bounds-diffgen")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", [pytest.param(one, marks=LONG if "thousand" in one else ()) for one in RELEASED])
def test_a_small_or_odd_table_is_released(cli: Any, tmp_path: Path, name: str, method: str) -> None:
    """Rows in the declared domains, files that validate: also of an empty table, which a refusal would give away."""
    table, declared = RELEASED[name]
    (tmp_path / "in.csv").write_text(table, encoding="utf-8")
    (tmp_path / "policy.toml").write_text(declared, encoding="utf-8")
    output = tmp_path / "out.parquet"
    asked = ("--method", method, "--epsilon", "1", "--policy", tmp_path / "policy.toml", "--no-ledger")
    ran = cli("release", tmp_path / "in.csv", output, *asked, "--json")
    assert ran.code == 0, ran.out
    assert sorted(pq.read_schema(output).names) == sorted(table.splitlines()[0].split(","))
    assert cli("validate", output, "--json").code == 0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_public_domain_is_refused_in_words(cli: Any, tmp_path: Path, name: str, method: str) -> None:
    """The column and the rule, never a cell; nothing is written."""
    table, declared, words = REFUSED[name]
    (tmp_path / "in.csv").write_text(table, encoding="utf-8")
    (tmp_path / "policy.toml").write_text(declared, encoding="utf-8")
    asked = ("--method", method, "--epsilon", "1", "--policy", tmp_path / "policy.toml", "--no-ledger")
    ran = cli("release", tmp_path / "in.csv", tmp_path / "out.parquet", *asked, "--json")
    assert ran.code not in (0, 1)
    assert words in ran.document["message"]
    assert "SECRET" not in ran.out + ran.err
    assert not list(tmp_path.glob("out*"))
