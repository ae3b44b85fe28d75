"""Datafly: one level of a declared hierarchy a column, found greedily."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import anonkit
from anonkit.errors import GuaranteeError
from anonkit.policy.declaration import Policy

ZIPS = ["02138", "02139", "02141", "02142"]
TREE = [[code, code[:4] + "*", code[:3] + "**"] for code in ZIPS]
POLICY = Policy.from_dict(
    {
        "columns": {
            "zip": {"role": "quasi_identifier", "tree": TREE},
            "born": {"role": "quasi_identifier", "ladder": [10, 50]},
            "sex": {"role": "quasi_identifier"},
            "ill": {"role": "target"},
        }
    }
)
ROWS = [(code, 1960 + 3 * year, sex) for code in ZIPS for year in range(4) for sex in "fm"]
TABLE = pa.table(
    {
        "zip": [code for code, _, _ in ROWS],
        "born": [year for _, year, _ in ROWS],
        "sex": [sex for _, _, sex in ROWS],
        "ill": ["yes" if at % 3 else "no" for at in range(len(ROWS))],
    }
)
"""32 people: four zip codes, four years of birth of one decade, two sexes, one of each."""


def test_the_release_by_hand() -> None:
    """Years and zip codes are four each: years, first by name, become one decade, then zip codes two prefixes.

    Prefix and sex make four classes of eight.
    """
    release = anonkit.release(TABLE, method="datafly", k=8, policy=POLICY, max_suppression=0.0, seed=1)
    shown = release.to_arrow()
    classes = shown.group_by(["zip", "sex"]).aggregate([([], "count_all")])

    assert shown.column_names == ["zip", "sex", "ill"]  # one decade for all has no information
    assert set(shown.column("zip").to_pylist()) == {"0213*", "0214*"}
    assert classes.column("count_all").to_pylist() == [8, 8, 8, 8]
    assert release.report["rows"]["suppressed"] == 0


def test_rows_that_may_go_save_a_level() -> None:
    """One man in a fifth zip code would cost all the others a level; within the limit he is left out."""
    alone = pa.table({"zip": ["02142"], "born": [1930], "sex": ["m"], "ill": ["no"]})
    table = pa.concat_tables([TABLE, alone])
    strict = anonkit.release(table, method="datafly", k=8, policy=POLICY, max_suppression=0.0, seed=1)
    loose = anonkit.release(table, method="datafly", k=8, policy=POLICY, max_suppression=0.05, seed=1)

    assert loose.report["rows"]["suppressed"] == 1
    assert "sex" in loose.to_arrow().column_names
    assert strict.report["rows"]["suppressed"] == 0
    assert loose.owner["search"]["steps"] <= strict.owner["search"]["steps"]


def test_what_cannot_be_reached_is_refused() -> None:
    """Even one class of all rows has two values of the target, and three are requested."""
    with pytest.raises(GuaranteeError, match="even with every quasi-identifier dropped"):
        anonkit.release(TABLE, method="datafly", k=2, l=3, sensitive=["ill"], policy=POLICY)


def test_the_next_batch_is_recoded_alike(tmp_path: Path) -> None:
    """`apply` gives the same table again for the same rows, and validates."""
    anonkit.release(TABLE, method="datafly", k=8, policy=POLICY, output=tmp_path / "a.parquet", ledger=None)
    again = anonkit.apply(tmp_path / "a.params.json", TABLE, output=tmp_path / "b.parquet", ledger=None)
    first = anonkit.load(tmp_path / "a.parquet").to_arrow()

    assert anonkit.validate(tmp_path / "b.parquet").passed
    assert sorted(map(str, again.to_arrow().to_pylist())) == sorted(map(str, first.to_pylist()))
