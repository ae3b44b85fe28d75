# SPDX-License-Identifier: Apache-2.0
"""A small experiment on simulated rows, for the tests of experiments."""

from __future__ import annotations

from pathlib import Path

RECIPE = """
[experiment]
title = "A small experiment"
paper = "Nobody: nowhere, 2026"
repeats = 2
measures = ["accuracy", "breach"]

[grid]
p_0 = [0.2, 0.9]

[data.customers]
simulate = { rows = 400, test = 200 }

[system.ppnb]
method = "ppnb"
axes = { p_0 = "p_keep" }

[system.commonest]
comparator = "commonest"

[[claim]]
says = "Accuracy rises."
measure = "accuracy"
left = "ppnb"
is = "rises"
along = "p_0"

[[claim]]
says = "Hiding less is more of a breach."
measure = "breach"
left = "ppnb"
is = "rises"
along = "p_0"

[[panel]]
x = "p_0"
measure = "accuracy"

[quick.experiment]
repeats = 1
"""


def written(folder: Path, text: str = RECIPE, name: str = "small") -> Path:
    """Write a recipe and return its path."""
    path = folder / f"{name}.toml"
    path.write_text(text, encoding="utf-8")
    return path
