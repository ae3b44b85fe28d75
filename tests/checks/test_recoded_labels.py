"""Labels of a recoding, read from params.json anew: declared names pass, names that mislead do not."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anonkit
from anonkit.checks.recoded_labels import label_checks
from anonkit.policy.declaration import Policy

CODES = ["01067", "01069", "10115", "10117"]
TREE = [[code, f"{code[:3]}**", f"{code[:1]}****"] for code in CODES]


@pytest.mark.parametrize("method", ["rfka", "datafly", "incognito"])
@pytest.mark.parametrize("search_rows", [None, 40])
def test_a_release_along_a_declared_tree_validates(method: str, search_rows: int | None, tmp_path: Path) -> None:
    """Groups are called as the policy says, which stands in no file; also in a recoding found on a sample."""
    policy = Policy.from_dict({"columns": {"zip": {"role": "quasi_identifier", "tree": TREE}, "y": {"role": "target"}}})
    table = pa.table({"zip": [code for code in CODES for _ in range(15)], "y": ["n"] * 30 + ["j"] * 30})
    asked = {"k": 16, "trees": 5} if method == "rfka" else {"k": 16}
    anonkit.release(
        table,
        method=method,
        policy=policy,
        output=tmp_path / "a.parquet",
        search_rows=search_rows,
        ledger=None,
        **asked,
    )
    assert set(anonkit.load(tmp_path / "a.parquet").to_arrow().column("zip").to_pylist()) == {"010**", "101**"}
    assert anonkit.validate(tmp_path / "a.parquet").passed


@pytest.mark.parametrize(
    ("labels", "declared", "wrong"),
    [
        (["010**", "010**", "101**", "101**"], CODES, 0),
        (["010**", "010**", "10115", "10117"], CODES, 0),
        (["010**", "010**", "101**", "101**"], [], 2),
        (["010**", "010**", "101**", "101**"], CODES[:3], 2),
        (["10115", "10115", "101**", "101**"], CODES, 1),
        (["10115", "10117", "010**", "010**"], CODES, 2),
        (["01067|01069", "01067|01069", "101**", "101**"], CODES, 1),
        (["01067|01069", "01067|01069", "10115|10117", "10115|10117"], CODES, 0),
        (["01067|01069", "01067|01069", "*", "*"], CODES, 0),
        (["010**", "010**", "*", "*"], CODES, 0),
    ],
)
def test_names_that_no_tree_can_give_are_refused(
    labels: list[str], declared: list[str], wrong: int, tmp_path: Path
) -> None:
    """A name is free where values are declared, but for values of other groups, and beside groups called by theirs."""
    shown = list(dict.fromkeys(labels))
    pq.write_table(pa.table({"zip": labels}), tmp_path / "a.parquet")
    axis = {"name": "zip", "kind": "categories", "values": CODES, "other": False, "missing": False, "labels": labels}
    params = {
        "recoding": {"kind": "global", "columns": [axis]},
        "columns": [{"name": "zip", **({"domain": {"categories": declared}} if declared else {})}],
    }
    report = {"columns": [{"name": "zip", "released_values": len(shown), "values": shown}]}
    checks = {check.name: check for check in label_checks(tmp_path / "a.parquet", ["zip"], params, report)}

    assert checks["labels:zip"].observed == wrong
    assert checks["domain:zip"].passed
    assert checks["told:zip"].passed
