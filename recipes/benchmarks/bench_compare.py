"""Speed of this tree against an earlier commit: `make bench-compare [AGAINST=REF] [ONLY="NAME …"] [QUICK=1]`.

The timed parts of `make bench` are run by both trees in turn, each by its own scripts on its own package, so that a
machine that is busy for a while is busy for both. A line counts as worse when the median of its rounds grew by more
than the rounds of one tree differ among themselves, and by a tenth at least. Peers are not run: a ratio to a reference
that the part measures itself is compared as a ratio, everything else as seconds, rates and bytes.

Without AGAINST the last tag is taken, and where there is none the parent of HEAD. The exit code is 1 when something got
worse, 3 when a part failed or the commit is not there.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench import PARTS, ROOT
from benchmark_page import Record

LEAST = 0.1
"""The least growth of a figure that is reported, as a share."""
SPEED = tuple(name for name, generator in PARTS.items() if generator.startswith("measured_speed:"))
"""The parts whose figures are times, rates and bytes."""

Figures = Mapping[str, float]
"""Line to cost: the less the better."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """One line in both trees."""

    line: str
    before: float
    after: float
    noise: float
    """The largest ratio between a round and the median of its tree, less 1."""

    @property
    def ratio(self) -> float:
        """The factor by which the cost grew."""
        return self.after / self.before

    @property
    def is_worse(self) -> bool:
        """Return whether it grew beyond the spread of the rounds, and by `LEAST`."""
        return self.ratio > 1 + max(LEAST, self.noise)


def costs(part: str, records: Sequence[Record]) -> dict[str, float]:
    """Return the cost of every line of a part; a rate is turned over, a line without a figure is left out."""
    out = {}
    for record in records:
        figure = record.ratio if record.ratio is not None else record.ours
        if figure is None or not figure > 0:
            continue
        is_rate = record.ratio is None and (record.unit.endswith("/s") or (record.limit or "").startswith("ours >="))
        out[f"{part}: {record.what}"] = 1 / figure if is_rate else figure
    return out


def changes(before: Sequence[Figures], after: Sequence[Figures]) -> list[Change]:
    """Return the lines that both trees have in every round, those that grew most first."""
    shared = set.intersection(*(set(one) for one in (*before, *after)))
    found = []
    for line in shared:
        sides = [[one[line] for one in rounds] for rounds in (before, after)]
        middle = [median(side) for side in sides]
        noise = max(
            math.exp(abs(math.log(one / at))) - 1 for side, at in zip(sides, middle, strict=True) for one in side
        )
        found.append(Change(line=line, before=middle[0], after=middle[1], noise=noise))
    return sorted(found, key=lambda change: (-change.ratio, change.line))


def chosen(repository: Path, asked: str | None) -> tuple[str, str]:
    """Return the commit to compare with, and in words what it is.

    Raises
    ------
    LookupError
        There is no such commit.
    """
    told = asked
    if told is None:
        tag = _git(repository, "describe", "--tags", "--abbrev=0")
        told = tag or "HEAD^"
    commit = _git(repository, "rev-parse", "--verify", "--quiet", f"{told}^{{commit}}")
    if commit is None:
        raise LookupError(f"there is no commit {told!r}: AGAINST=REF names one")
    why = (
        "as asked"
        if asked is not None
        else "no tag is there: the parent of HEAD"
        if told == "HEAD^"
        else "the last tag"
    )
    return commit, f"{told} ({commit[:10]}), {why}"


def exported(repository: Path, commit: str, folder: Path) -> Path:
    """Write the tree of a commit into a folder of its own, once, and return it; the public tables are beside it."""
    tree = folder / commit
    if not tree.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        archive = subprocess.run(
            ["git", "archive", "--format=tar", commit], cwd=repository, capture_output=True, check=True
        ).stdout
        with tempfile.TemporaryDirectory(dir=folder) as aside, tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            tar.extractall(Path(aside) / "tree", filter="data")
            (Path(aside) / "tree").rename(tree)
    tables = folder / "shared"
    if not tables.exists() and (repository.parent / "shared").is_dir():
        tables.symlink_to(repository.parent / "shared")
    return tree


def _git(repository: Path, *words: str) -> str | None:
    done = subprocess.run(["git", *words], cwd=repository, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def measured(tree: Path, part: str, size: str) -> dict[str, float]:
    """Run one part by the scripts and the package of a tree, without peers; return its costs.

    Raises
    ------
    RuntimeError
        It failed; with the last line that it said.
    """
    with tempfile.TemporaryDirectory(prefix="anonkit-bench-") as folder:
        into, nobody = Path(folder) / "records.jsonl", Path(folder) / "peers"
        nobody.mkdir()
        scripts = next(path for top in ("recipes", "tests") if (path := tree / top / "benchmarks").is_dir())
        command = [sys.executable, "-W", "ignore", scripts / "bench.py", "--part", part, "--into", into]
        done = subprocess.run(
            [*command, "--size", size, "--environments", nobody],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (tree, tree / "tests", scripts)))},
            capture_output=True, text=True, check=False, cwd=folder,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError((done.stderr.strip().splitlines() or ["no message"])[-1])
        lines = [json.loads(line) for line in into.read_text(encoding="utf-8").splitlines()]
    return costs(part, [Record(**line["record"]) for line in lines if "record" in line])


def compared(old: Path, new: Path, parts: Sequence[str], size: str, rounds: int) -> Iterator[tuple[str, list[Change]]]:
    """Yield for each part its lines in both trees, which take turns in being first."""
    for part in parts:
        found: dict[Path, list[Figures]] = {old: [], new: []}
        for at in range(rounds):
            for tree in (old, new) if at % 2 == 0 else (new, old):
                found[tree].append(measured(tree, part, size))
        yield part, changes(found[old], found[new])


def main(words: list[str] | None = None) -> int:
    """Compare both trees, print every line, those that got worse marked; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--against", help="the commit to compare with; by default the last tag, else the parent of HEAD"
    )
    parser.add_argument("--only", nargs="*", default=[], choices=SPEED, help="these parts alone")
    parser.add_argument("--quick", action="store_true", help="small sizes: to see whether it runs")
    parser.add_argument("--rounds", type=int, default=3, help="how often each tree runs each part")
    given = parser.parse_args(words)
    if given.rounds < 2:
        parser.error("--rounds must be 2 at least: the noise is what rounds of one tree differ by")
    try:
        commit, told = chosen(ROOT, given.against or None)
    except LookupError as error:
        print(error, file=sys.stderr)
        return 3
    old = exported(ROOT, commit, ROOT / ".benchmarks" / "against")
    print(f"this tree against {told}; medians of {given.rounds} rounds, cost after / before, noise of the rounds")
    worse, failed = 0, 0
    for part in given.only or SPEED:
        try:
            for _, lines in compared(old, ROOT, [part], "quick" if given.quick else "full", given.rounds):
                for line in lines:
                    worse += line.is_worse
                    mark = "WORSE" if line.is_worse else ""
                    print(f"{line.ratio:6.2f}  ±{line.noise:4.0%}  {mark:5}  {line.line}", flush=True)
        except RuntimeError as error:
            failed += 1
            print(f"{part}: does not run in both trees: {error}", file=sys.stderr)
    print("nothing got worse beyond its noise" if not worse else f"{worse} lines got worse beyond their noise")
    return 3 if failed else int(worse > 0)


if __name__ == "__main__":
    sys.exit(main())
