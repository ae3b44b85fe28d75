"""One small release of each family, made once: few columns and few draws, so that each of its leaves can be forged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from checks import drawn_tables
from checks.forgeries import Files

import anonkit
from anonkit.policy.declaration import Policy

_COLUMNS: dict[str, dict[str, Any]] = {
    "who": {"role": "identifier"},
    "age": {"role": "quasi_identifier", "bounds": [0, 80]},
    "sex": {"role": "quasi_identifier", "categories": ["f", "m"]},
    "ward": {"role": "quasi_identifier", "categories": ["east", "north", "south"]},
    "ill": {"role": "target", "categories": ["no", "yes"]},
}
_SENSITIVE = {**_COLUMNS, "ill": {"role": "sensitive", "categories": ["no", "yes"]}}
_ANONYMOUS: dict[str, Any] = {"method": "mondrian", "k": 5, "l": 2, "columns": _SENSITIVE}
FAMILIES: dict[str, dict[str, Any]] = {
    "k-anonymous": _ANONYMOUS,
    "bounds": {**_ANONYMOUS, "cells": "bounds"},
    "whose rows": {**_ANONYMOUS, "rows_each": 4},
    "local": {"method": "rr", "epsilon": 2.0},
    "forest": {"method": "dp-forest", "epsilon": 4.0, "trees": 2, "depth": 2, "n_rows": 160},
    "led forest": {"method": "dp-forest", "epsilon": 4.0, "n_rows": 600},
    "marginals": {"method": "dp-marginals", "epsilon": 8.0},
    "tables": {"method": "dp-tables", "epsilon": 2.0, "aggregate": ["sex, ward", "mean(age) by sex", "median(age)"]},
    "safepub": {},
}


def made(family: str, folder: Path) -> Files:
    """Make the release of a family in a folder and read it."""
    out = folder / "out.parquet"
    asked = dict(FAMILIES[family])
    if family == "safepub":
        anonkit.release(drawn_tables.people(), policy=drawn_tables.POLICY, output=out, **drawn_tables.EASY)
    else:
        policy = Policy.from_dict({"columns": asked.pop("columns", _COLUMNS)})
        people = _together() if family == "led forest" else _people()
        if rows_each := asked.pop("rows_each", 0):
            numbers = [f"person {at // rows_each}" for at in range(people.num_rows)]
            people = people.set_column(0, "who", pa.array(numbers))
        anonkit.release(people, policy=policy, output=out, ledger=None, **asked)
    return Files.read(out)


def _together() -> pa.Table:
    """People whose target follows from sex and ward together and from neither alone: the pair leads the tree."""
    people = _people(600)
    ill = [
        (one == "f") ^ (other == "east")
        for one, other in zip(*(people[name].to_pylist() for name in ("sex", "ward")), strict=True)
    ]
    return people.set_column(people.column_names.index("ill"), "ill", pa.array(["yes" if one else "no" for one in ill]))


def _people(n_rows: int = 160) -> pa.Table:
    drawn = np.random.default_rng(1)
    ward = drawn.choice(["east", "north", "south"], n_rows)
    return pa.table(
        {
            "who": [f"person {at}" for at in range(n_rows)],
            "age": drawn.integers(0, 80, n_rows).astype(float),
            "sex": drawn.choice(["f", "m"], n_rows),
            "ward": ward,
            "ill": np.where((ward == "east") ^ (drawn.random(n_rows) < 0.2), "yes", "no"),
        }
    )
