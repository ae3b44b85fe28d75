"""No library's warning reaches anyone who releases, audits or compares: not on the terminal, not in a library call."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

import anonkit

CALLS = {
    "release": "anonkit.release(path, method='rfka', k=5, target='class', output=out, ledger=None)",
    "audit": (
        "anonkit.release(path, method='mondrian', k=5, target='class', output=out, ledger=None);"
        "anonkit.audit(out, path, attacks=20)"
    ),
    "compare": (
        "anonkit.compare(path, target='class', methods=['rfka', 'mondrian', 'dp-forest'], k=[5], epsilon=[1.0],"
        " rows=400, attacks=10, domains_from_data=True)"
    ),
}


@pytest.fixture
def rare(tmp_path: Path) -> Path:
    """A table with two rare classes, a constant column, and numbers of very different size."""
    r = random.Random(7)
    lines = ["age,income,sex,constant,class"]
    for at in range(400):
        label = "third" if at % 130 == 0 else "fourth" if at == 7 else r.choice(["first", "second"])
        lines.append(f"{r.randrange(18, 80)},{r.lognormvariate(9, 2):.2f},{r.choice('FM')},same,{label}")
    path = tmp_path / "rare.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    "call", [pytest.param(one, marks=pytest.mark.slow if one == "compare" else ()) for one in CALLS]
)
def test_a_library_call_makes_no_warning(rare: Path, tmp_path: Path, call: str) -> None:
    """With every warning an error, calls on a table with rare classes succeed and say nothing."""
    script = f"import anonkit; path, out = {str(rare)!r}, {str(tmp_path / 'out.parquet')!r}; {CALLS[call]}"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=False, env=dict(os.environ)
    )

    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


@pytest.mark.slow
def test_nothing_is_warned_of_on_the_terminal(rare: Path) -> None:
    """The command that trains most models writes its notes to stderr, and no word of a library."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "anonkit", "compare", str(rare), "--target", "class", "--methods", "rfka"),
            *("--k", "3,5", "--rows", "400", "--attacks", "10"),
        ],
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ),
    )

    assert done.returncode == 0, done.stderr
    assert "arning" not in done.stderr
    assert "sklearn" not in done.stderr


@pytest.mark.slow
def test_a_recount_ends_without_a_word_of_the_database(rare: Path, tmp_path: Path) -> None:
    """DuckDB lists on stderr what is open as the interpreter ends: a receiver would read it below the verdict."""
    out = tmp_path / "out.parquet"
    anonkit.release(rare, method="mondrian", k=5, target="class", output=out, ledger=None)
    done = subprocess.run(
        [sys.executable, "-m", "anonkit", "validate", str(out)],
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ),
    )

    assert done.returncode == 0, done.stderr
    assert "checks passed" in done.stdout
    assert done.stderr == ""
