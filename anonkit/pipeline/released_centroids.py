# SPDX-License-Identifier: Apache-2.0
"""Centroids of a release as its rows show them: combinations that no row shows are not published."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from anonkit.checks.centroid_cells import shown_combinations

KEY = "centroids"


def shown_centroids(recoding: Mapping[str, Any], spool: Path) -> Mapping[str, Any]:
    """Return a recoding with those centroids alone that rows of a table show, in the columns that it still has.

    Where rows show the nearest centroid, all stay: without one a row would be nearest to another.

    Parameters
    ----------
    recoding : mapping
        In its form in `params.json`.
    spool : Path
        The private Parquet file, or folder, of the rows.
    """
    if KEY not in recoding:
        return recoding
    centroids = recoding[KEY]
    names = [column["name"] for column in recoding["columns"]]
    means = [column["name"] for column in recoding["columns"] if column["kind"] == "means"]
    if not means:
        return {key: value for key, value in recoding.items() if key != KEY}
    lines = list(zip(*(centroids["columns"][name] for name in names), strict=True))
    shown = set(lines) if centroids["rows"] == "nearest" else shown_combinations(spool, names, means)
    kept = [at for at, line in enumerate(lines) if line in shown]
    again = {old: new for new, old in enumerate(kept)}
    lost = {
        name: [again[at] for at in places if at in again]
        for name, places in centroids.get("missing", {}).items()
        if name in means
    }
    lost = {name: places for name, places in lost.items() if places}
    left = {
        **{key: value for key, value in centroids.items() if key != "missing"},
        "scale": {name: centroids["scale"][name] for name in means},
        "columns": {name: [centroids["columns"][name][at] for at in kept] for name in names},
        **({"missing": lost} if lost else {}),
    }
    return {**recoding, KEY: left}
