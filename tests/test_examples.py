"""Every example runs as the notebook it is, in a fresh process, and shows what it promises to show."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from notebook_cells import cells_of

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
SHOWN = {
    "consumer": ("forest trained on k-anonymous rows: 0.", "accuracy by hand: 0.", '<div class="anonkit-view">'),
    "engineer": ("made anew: True - handed back: True", "try again: False", '<div class="anonkit-view">'),
    "owner": ("DO NOT PUBLISH", "Dry run of", "not protected:", '<svg xmlns="http://www.w3.org/2000/svg"'),
    "reviewer": ("everything holds", "its own promise: True", "k = 10: False", "a row was taken out: ['"),
}
"""Contents of the cells of each, among others."""


@pytest.mark.docs
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_cell_by_cell(path: Path) -> None:
    """It ends well, and what its cells show is there."""
    command = [sys.executable, ROOT / "tests" / "notebook_cells.py", path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for shown in SHOWN[path.stem]:
        assert shown in done.stdout


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("import os\n# %%\n", "begins with a cell"),
        ("# %% [markdown]\nimport os\n", "code in it"),
    ],
)
def test_what_is_no_notebook_is_refused(text: str, fault: str) -> None:
    """Code before the first cell, or in a cell of text."""
    with pytest.raises(ValueError, match=fault):
        cells_of(text)


def test_cells_keep_their_lines() -> None:
    """An error in a cell names the line of the file."""
    (_, first), (is_text, _), (_, last) = cells_of("# %%\na = 1\n# %% [markdown]\n# words\n# %% b\nb = 2")
    assert first.splitlines()[1] == "a = 1"
    assert is_text
    assert last.splitlines()[5] == "b = 2"
