# SPDX-License-Identifier: Apache-2.0
"""Centroids of a release as its rows show them: combinations that no row shows are not published."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from anonkit.checks.centroid_cells import shown_combinations
from anonkit.k_anonymity.numbers_in_groups import scale_of

KEY = "centroids"


def shown_centroids(recoding: Mapping[str, Any], spool: Path) -> Mapping[str, Any]:
    """Return a recoding with those centroids alone that rows of a table show, each once, in its columns.

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
    missing = {name: set(centroids.get("missing", {}).get(name, ())) for name in means}
    flags = list(zip(*([at in missing[name] for at in range(len(lines))] for name in means), strict=True))
    kept = [at for at, line in enumerate(lines) if line in shown]
    kept = list({(lines[at], flags[at]): at for at in reversed(kept)}.values())[::-1]
    lost = {name: [new for new, old in enumerate(kept) if old in missing[name]] for name in means}
    lost = {name: places for name, places in lost.items() if places}
    columns = {name: [centroids["columns"][name][at] for at in kept] for name in names}
    grouped = centroids["rows"] == "grouped"
    left = {
        **{key: value for key, value in centroids.items() if key != "missing"},
        "scale": {name: list(scale_of(columns[name])) if grouped else centroids["scale"][name] for name in means},
        "columns": columns,
        **({"missing": lost} if lost else {}),
    }
    return {**recoding, KEY: left}
