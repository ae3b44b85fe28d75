# SPDX-License-Identifier: Apache-2.0
"""Recoded columns read anew: whether every cell is one that the published recoding can make."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from anonkit.data_files import read_rows
from anonkit.guarantee import Check


def label_checks(data: Path, params: Mapping[str, Any]) -> Iterator[Check]:
    """Check that recoded columns hold only labels that the recoding knows."""
    recoding = params.get("recoding")
    if not isinstance(recoding, Mapping) or recoding.get("kind") != "global":
        return
    for column in recoding["columns"]:
        if "labels" not in column:
            continue
        try:
            cells = read_rows(data, [column["name"]]).column(0)
        except (pa.ArrowException, OSError):
            continue  # the `columns` check says that it is missing
        strangers = [value for value in pc.unique(cells).to_pylist() if value not in set(column["labels"])]
        yield Check(name=f"domain:{column['name']}", passed=not strangers, observed=len(strangers), required=0)
