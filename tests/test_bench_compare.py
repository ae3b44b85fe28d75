"""`make bench-compare`: what counts as worse, and which commit this tree is compared with."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[1] / "recipes" / "benchmarks"))

from bench_compare import LEAST, SPEED, changes, chosen, costs, exported, main
from benchmark_page import Record

FIGURES = st.floats(0.01, 100)


@given(st.lists(FIGURES, min_size=1, max_size=5), st.floats(1.01, 10))
def test_a_cost_that_grew_beyond_the_noise_is_worse(rounds: list[float], factor: float) -> None:
    """The same rounds are never worse; grown ones are when the growth is above their spread and a tenth."""
    before = [{"line": one} for one in rounds]
    (same,) = changes(before, before)
    assert not same.is_worse
    (grown,) = changes(before, [{"line": factor * one} for one in rounds])
    assert grown.ratio == pytest.approx(factor)
    assert grown.is_worse == (grown.ratio > 1 + max(LEAST, grown.noise))
    (fallen,) = changes(before, [{"line": one / factor} for one in rounds])
    assert not fallen.is_worse


def test_lines_of_one_tree_alone_are_not_compared() -> None:
    """A line is compared where every round of both trees has it; the worst comes first."""
    found = changes([{"a": 1.0, "b": 1.0, "gone": 1.0}], [{"a": 2.0, "b": 3.0, "new": 1.0}])
    assert [change.line for change in found] == ["b", "a"]


def test_a_rate_is_turned_over_and_a_ratio_goes_before_seconds() -> None:
    """Costs are such that less is better, whatever the unit; what was not measured is left out."""
    records = [
        Record(what="rows", unit="M rows/s", ours=20.0, limit="ours >= 20"),
        Record(what="both", unit="s", ours=3.0, theirs=1.5, ratio=2.1),
        Record(what="alone", unit="s", ours=4.0),
        Record(what="nothing", unit="s", ours=None),
    ]
    assert costs("part", records) == {"part: rows": 0.05, "part: both": 2.1, "part: alone": 4.0}


def _repository(folder: Path) -> Path:
    def git(*words: str) -> None:
        author = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *author, *words], cwd=folder, check=True, capture_output=True)

    git("init", "-q")
    for text in ("first", "second"):
        (folder / "file").write_text(text, encoding="utf-8")
        git("add", "file")
        git("commit", "-q", "-m", text)
    return folder


def test_the_last_tag_is_taken_else_the_parent(tmp_path: Path) -> None:
    """Without a tag the parent of HEAD is, and the words say so; a commit that is requested goes before both."""
    repository = _repository(tmp_path)
    parent, told = chosen(repository, None)
    assert "no tag is there" in told
    subprocess.run(["git", "tag", "v1", parent], cwd=repository, check=True)
    assert chosen(repository, None) == (parent, f"v1 ({parent[:10]}), the last tag")
    head, told = chosen(repository, "HEAD")
    assert head != parent
    assert told.endswith("as asked")
    with pytest.raises(LookupError, match="there is no commit 'nowhere'"):
        chosen(repository, "nowhere")


def test_a_tree_is_written_once(tmp_path: Path) -> None:
    """The tree of the commit, not of the folder, and untouched when it is there."""
    (tmp_path / "r").mkdir()
    repository = _repository(tmp_path / "r")
    commit, _ = chosen(repository, "HEAD^")
    tree = exported(repository, commit, tmp_path / "against")
    assert (tree / "file").read_text(encoding="utf-8") == "first"
    (tree / "file").write_text("touched", encoding="utf-8")
    assert exported(repository, commit, tmp_path / "against") == tree
    assert (tree / "file").read_text(encoding="utf-8") == "touched"


def test_a_commit_that_is_not_there_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    """With exit code 3, and nothing is run; the parts are those of speed."""
    assert main(["--against", "no-such-commit"]) == 3
    assert "AGAINST=REF" in capsys.readouterr().err
    assert {"k-rr", "ppnb-release"} <= set(SPEED)
