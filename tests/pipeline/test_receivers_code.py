# SPDX-License-Identifier: Apache-2.0
"""The code that the page of a release prints for its receiver runs as printed, in a folder with its files alone."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import anonkit
from anonkit.ledger.account import Where

TABLE = pa.table(
    {
        "age": [20 + at % 40 for at in range(200)],
        "job": [("clerk", "nurse", "pilot")[at % 3] for at in range(200)],
        "income": [("low", "high")[at // 7 % 2] for at in range(200)],
    }
)


@pytest.mark.slow
def test_the_printed_code_reads_the_ends_of_labels_and_trains_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The blocks of the page in their order: the table, the ends of its intervals, a model that predicts own rows."""
    how: dict[str, Any] = {"method": "mondrian", "k": 5, "target": "income", "utility": False}
    release = anonkit.release(TABLE, output=tmp_path / "out.parquet", ledger=Where.NOWHERE, **how)
    page = (tmp_path / "out.report.html").read_text(encoding="utf-8")
    section = page.partition("For the receiver of the table")[2].partition("</section>")[0]
    blocks = re.findall(r"<pre><code>(.*?)</code></pre>", section, flags=re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in blocks:
        exec(unescape(block), names)

    assert len(blocks) == 3
    labels, ends = names["table"]["age"], names["ends"]["age"]
    assert list(names["ends"]) == ["age"]
    assert len(labels) == release.report["rows"]["out"]
    lows, highs = zip(*ends, strict=True)
    assert all((low is None) == label.startswith("<") for label, low in zip(labels, lows, strict=True))
    assert {low for low in lows if low is not None} | {high for high in highs if high is not None} <= set(range(20, 61))
    assert set(names["model"].predict(TABLE.to_pandas().head(5))) <= {"low", "high"}
    assert "from a up to b, without b" in page
