"""The page of benchmarks is made of what parts left, whole or not; nothing is measured here but the start of Python."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BENCHMARKS = ROOT / "recipes" / "benchmarks"
sys.path.append(str(BENCHMARKS))  # the parts are scripts of one folder, and import each other so

from benchmark_page import TABLES, Missing, Part, Record, page, parts_in  # noqa: E402

MEASURED = [table for table in TABLES if table.left_out is None]
PEERS = sorted(folder for folder in (BENCHMARKS / "peers").iterdir() if folder.is_dir())


def _part(name: str, **more: object) -> Part:
    given = {"date": "2026-01-02 03:04 UTC", "load": 0.25, "seconds": 12.0, "size": "full", "machine": {"cores": "2"}}
    return Part(name=name, **{**given, **more})  # type: ignore[arg-type]


STORED = {
    "k-rr": _part(
        "k-rr",
        records=[
            Record(
                what="in memory", unit="M rows/s", ours=33.0, peer="slow-ldp", theirs=0.25, limit="ours >= 20", runs=3
            ),
            Record(what="a|b", unit="M rows/s", ours=None, note="Not drawn."),
        ],
        missing=[Missing(what="other-ldp", reason="does not run: No module named 'x'")],
        versions={"slow-ldp": "1.2.0"},
    ),
    "ppnb-release": _part(
        "ppnb-release",
        records=[Record(what="1,000 rows", unit="s", ours=3.0, peer="bare", theirs=1.0, ratio=2.5, limit="ratio <= 2")],
    ),
    "start": _part("start", failed="not done after 12 minutes", size="quick"),
}


def test_every_table_that_was_agreed_on_is_on_the_page() -> None:
    """Measured, failed, not yet measured or left out: each has its heading, and what it lacks is said."""
    for parts in ({}, STORED):
        text = page(parts)
        for table in TABLES:
            assert f"### {table.title}\n" in text
            section = text.partition(f"### {table.title}\n")[2].partition("\n##")[0]
            if table.left_out is not None:
                assert f"Left out: {table.left_out}" in section
            elif table.name not in parts:
                assert f"Not measured yet: `make bench ONLY={table.name}`." in section


def test_the_committed_page_has_every_table() -> None:
    """The page in the documentation was made by this generator: same headings, in the same order."""
    committed = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert re.findall(r"^#+ .*$", committed, re.MULTILINE) == re.findall(r"^#+ .*$", page({}), re.MULTILINE)


def test_tables_of_an_earlier_page_stay_where_nothing_newer_is_there() -> None:
    """On a new machine one part is run: the others keep their sections and their rows of the summary."""
    earlier = page(STORED)
    newer = _part("ppnb-release", records=[Record(what="fast", unit="s", ours=1.0, limit="ours <= 2")])
    text = page({newer.name: newer}, earlier)
    assert "| in memory | 33 M rows/s | slow-ldp |" in text
    assert "| fast | 1 s |" in text
    assert "| 1,000 rows |" not in text
    assert "Targets met: **2** of 2" in text
    assert text.count("(#randomized-response-of-eight-columns-in-memory) | 1 | 1 |") == 1
    assert "make bench ONLY=consumer`." in text
    assert "slow-ldp 1.2.0" in text
    assert page(STORED, earlier) == earlier
    again = page({newer.name: newer}, text)
    assert again == text


def test_a_target_is_met_or_missed_in_plain_words() -> None:
    """By the figure, by the ratio, or by the lead over a peer; a line without a requirement is neither."""
    text = page(STORED)
    assert "| in memory | 33 M rows/s | slow-ldp | 0.25 M rows/s | 132 | ≥ 20 M rows/s | met |" in text
    assert "| 1,000 rows | 3 s | bare | 1 s | 2.5 | ≤ 2 x | **MISSED** |" in text
    assert "| a\\|b | – |  |  |  |  |  |" in text
    assert "Targets met: **1** of 2" in text
    assert re.search(r"\n\| \[.*\]\(#.*\) \| 0 \| 1 \| 1,000 rows: ratio 2.5 to bare, asked ≤ 2 x \|\n", text)


@pytest.mark.parametrize(
    ("limit", "met"),
    [("ours <= 1", True), ("ours >= 2", False), ("ratio <= 0.4", False), ("lead >= -1", True), ("lead >= 0", False)],
)
def test_a_target_is_compared_as_it_is_written(limit: str, met: bool) -> None:
    """One figure of 1 beside one of 2."""
    assert Record(what="x", ours=1.0, theirs=2.0, limit=limit).met is met
    assert Record(what="x", ours=None, theirs=2.0, limit=limit).met is None


def test_what_is_better_below_must_be_no_higher() -> None:
    """A distance from the truth has to lie under a rival's, or little above it."""
    told = {"what": "distance", "ours": 1.0, "peer": "slow-ldp", "theirs": 2.0}
    part = _part("k-rr", records=[Record(**told, limit="lead <= 0.005"), Record(**told, limit="lead <= 0")])
    text = page({"k-rr": part})
    assert "| at most 0.005 above | met |" in text
    assert "| level or below | met |" in text


def test_small_sizes_are_not_judged() -> None:
    """They show that a part runs: neither met nor missed, and the table counts as one that was not measured."""
    small = _part("start", size="quick", records=[Record(what="help", unit="s", ours=9.0, limit="ours <= 0.1")])
    text = page({"start": small})
    assert "| help | 9 s |  |  |  | ≤ 0.1 s |  |" in text
    assert "Targets met: **0** of 0" in text
    assert "[Start of the command](#start-of-the-command)" in text


def test_what_is_missing_is_named_with_its_reason() -> None:
    """A peer that does not run, a part that did not end, and small sizes that say nothing."""
    text = page(STORED)
    assert "* **Not in this run:** other-ldp: does not run: No module named 'x'" in text
    assert "* **The part did not end:** not done after 12 minutes" in text
    assert "2026-01-02 03:04 UTC, **quick** sizes, load 0.2 at its begin" in text


def test_links_within_the_page_lead_somewhere() -> None:
    """Every anchor is that of a heading."""
    text = page(STORED)
    headings = {
        re.sub(r"[^\w -]", "", line.lstrip("# ").lower()).replace(" ", "-")
        for line in text.splitlines()
        if line.startswith("#")
    }
    assert set(re.findall(r"\(#([^)]*)\)", text)) <= headings


def test_results_are_kept_as_documents(tmp_path: Path) -> None:
    """The results of a part are read back as they were, so that the page can be made again."""
    for name, part in STORED.items():
        (tmp_path / f"{name}.json").write_text(part.to_json(), encoding="utf-8")
    assert page(parts_in(tmp_path)) == page(STORED)


@pytest.mark.slow
def test_a_part_that_fails_loses_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is named on the page, the next one runs, results stay, and the exit code is 1."""
    import bench

    monkeypatch.setattr(bench, "PARTS", {"consumer": "nowhere:nothing", "start": bench.PARTS["start"]})
    monkeypatch.setattr(bench, "__file__", str(_broken(tmp_path)))
    written = tmp_path / "page.md"
    given = ["--quick", "--environments", str(tmp_path), "--page", str(written)]
    assert bench.main(given) == 1
    found = parts_in(tmp_path / "results")
    assert found["consumer"].failed is not None
    assert "nowhere" in found["consumer"].failed
    assert found["start"].failed is None
    assert found["start"].records[0].ours is not None
    assert "The part did not end" in written.read_text(encoding="utf-8")
    assert bench.main([*given, "--only", "start"]) == 0
    assert set(parts_in(tmp_path / "results")) == {"consumer", "start"}


def _broken(folder: Path) -> Path:
    """A benchmark one part of which is not there, for the processes of its parts."""
    script = folder / "broken.py"
    script.write_text(
        f"import sys\nsys.path.insert(0, {str(BENCHMARKS)!r})\nimport bench\n"
        "bench.PARTS['consumer'] = 'nowhere:nothing'\nsys.exit(bench.main())\n",
        encoding="utf-8",
    )
    return script


def test_a_peer_that_is_not_there_is_a_reason(tmp_path: Path) -> None:
    """Not installed, with the last line that pip said."""
    from bench import Given

    given = Given(size="quick", environments=tmp_path, data=tmp_path, work=tmp_path)
    assert given.peer("pure-ldp", "k_rr") == Missing(what="pure-ldp", reason="not installed (make bench installs it)")
    (tmp_path / "pure-ldp").mkdir()
    (tmp_path / "pure-ldp" / "pip.log").write_text(
        "Collecting\nERROR: no matching distribution\nnotice\n", encoding="utf-8"
    )
    found = given.peer("pure-ldp", "k_rr")
    assert isinstance(found, Missing)
    assert found.reason == "not installed (ERROR: no matching distribution)"


def test_every_measured_table_has_its_part() -> None:
    """And every part a table."""
    done = subprocess.run(
        [sys.executable, BENCHMARKS / "bench.py", "--list"], capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) == {table.name for table in MEASURED}


@pytest.mark.parametrize("folder", PEERS, ids=lambda folder: folder.name)
def test_a_peer_is_pinned_and_has_a_script(folder: Path) -> None:
    """An installed peer is named with a range, pinned to a version, and run by one script that compiles."""
    wanted = re.match(r"[\w-]+", (folder / "requirements.txt").read_text(encoding="utf-8"))
    assert wanted is not None
    pins = (folder / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert any(re.match(rf"{wanted[0].replace('-', '[-_]')}==", pin) for pin in pins)
    assert all(re.fullmatch(r"[\w.-]+==[\w.!+]+", pin) for pin in pins)
    compile((folder / "run.py").read_text(encoding="utf-8"), folder.name, "exec")


def test_every_script_that_make_bench_does_not_run_is_named_with_what_it_measures() -> None:
    """By the first line of its text; the parts of `make bench` are not among them."""
    text = page({})
    scripts = {one.name for one in BENCHMARKS.glob("*.py") if not one.name.startswith(("__", "bench", "measured_"))}
    assert "before_after.py" in scripts
    told = dict(re.findall(r"^\| `([a-z_]+\.py)` \| (.+) \|$", text, re.MULTILINE))
    assert set(told) == scripts
    assert all(told.values())


def test_every_part_finds_the_scripts_that_it_is_made_of() -> None:
    """The folder has all that a generator imports: a missing script would be seen only after hours."""
    named = set()
    for script in BENCHMARKS.glob("*.py"):
        for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                named.add(str(node.module))
            elif isinstance(node, ast.Import):
                named.update(one.name for one in node.names)
    missing = {one for one in named if importlib.util.find_spec(one.partition(".")[0]) is None}
    assert not missing, missing
