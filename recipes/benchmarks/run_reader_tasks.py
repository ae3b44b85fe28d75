"""Errors of a reader's tasks on rows of Adult by every method and peer, beside lines that were named before the run.

    python recipes/benchmarks/run_reader_tasks.py peers [--limit 600] [--only NAME:EPSILON[:RUN] …]
    python recipes/benchmarks/run_reader_tasks.py own [--seeds 3] [--keep]
    python recipes/benchmarks/run_reader_tasks.py page

`peers` takes most of an hour of the processor: rows stay in `.benchmarks/reader-tasks`, so that tasks and own methods
can be run again without them. A peer that takes more processor seconds than the limit is ended, and the page says so.
`own` takes a few minutes. `page` scores what has no score yet and writes docs/methods/details/reader_tasks.md.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from benchmark_reader_tasks import DELTA, written
from dp_forest import adult_policy
from measured_marginals import PUBLISHED
from plausibility import TABLES
from reader_tasks import BINS, EPSILONS, Adult, Domains, Task, area

import anonkit

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"
STORE = ROOT / ".benchmarks" / "reader-tasks"
PAGE = ROOT / "docs" / "methods" / "details" / "reader_tasks.md"
BINNED, OWN = "binned", "own"
"""Every number the middle of one of 16 public bins for all; or what each releases of the table as it is."""
METHODS = ("dp-marginals", "dp-forest", "dp-nb", "dp-tree")
WITH_RULES = "dp-marginals, rules"


@dataclass(frozen=True, kw_only=True)
class Peer:
    """A peer that draws rows from codes of public domains."""

    environment: str
    job: str = "codes"
    told: dict[str, Any] = field(default_factory=dict)
    """The arguments of its script besides file, out and epsilon."""
    own: bool = False
    """True for a peer that gets the table as it is, with public domains, and cuts numbers itself."""


PEERS = {
    "datasynthesizer": Peer(environment="datasynthesizer"),
    "datasynthesizer, own": Peer(environment="datasynthesizer", job="rows", own=True),
    "mst": Peer(environment="opendp-mbi", job="rows", told={"delta": DELTA}),
    "privbayes": Peer(environment="dpmm", told={"delta": DELTA, "model": "privbayes"}),
    "aim": Peer(environment="dpmm", told={"delta": DELTA, "model": "aim", "megabytes": 1}),
    "dpctgan": Peer(environment="smartnoise-synth", told={"delta": DELTA}),
}
REASONS = {
    ("dpctgan", 0.1): "cannot: its accountant (orders up to 63, δ = 1e-9) is at .25 before its first step",
}
"""Peers that could not have rows at an epsilon."""
NOT_RUN = "not run yet: `run_reader_tasks.py peers --only {name}:{epsilon:g}`"


class Table:
    """Adult with its public domains, as it is and in codes."""

    def __init__(self) -> None:
        policy = adult_policy()
        self.domains = Domains(
            numbers={name: tuple(map(float, one.bounds)) for name, one in policy.columns.items() if one.bounds},
            categories={
                name: tuple(map(str, one.categories)) for name, one in policy.columns.items() if one.categories
            },
        )
        self.names = [*self.domains.numbers, *self.domains.categories]
        self.train = _read("adult_train.csv.gz", self.names)
        self.test = _read("adult_test.csv", self.names)
        self.sizes = [size - 1 for size in self.domains.sizes]
        """Codes of each column, without the one for missing cells: there are none."""
        self.codes = self.domains.codes(self.train)

    def shown(self, codes: np.ndarray, *, spread: bool) -> pd.DataFrame:
        """Return codes as cells: the middle of a bin, or, spread out, any whole number of it."""
        random, cells = np.random.default_rng(0), {}
        codes = np.minimum(codes, np.array(self.sizes) - 1)
        for at, name in enumerate(self.names):
            if name in self.domains.numbers:
                low, high = self.domains.numbers[name]
                width, inside = (high - low) / BINS, random.random(len(codes)) if spread else 0.5
                cells[name] = low + (codes[:, at] + inside) * width
                cells[name] = np.rint(cells[name]) if spread else cells[name]
            else:
                cells[name] = np.array(self.domains.categories[name], dtype=object)[codes[:, at]]
        return pd.DataFrame(cells)

    def tasks(self, source: pd.DataFrame, asked: pd.DataFrame) -> tuple[Task, ...]:
        """Return the tasks of one setting."""
        years = dict(source.groupby("education")["education-num"].first())
        return Adult(domains=self.domains, asked=asked, number_of=years).tasks()


def _read(name: str, columns: Sequence[str]) -> pd.DataFrame:
    table = pd.read_csv(DATA / name, keep_default_na=False)
    table["income"] = table["income"].str.rstrip(".")
    return table[list(columns)]


class Scores:
    """Errors of every release that was scored, by setting, method, epsilon and seed; kept in a file."""

    def __init__(self) -> None:
        self.file = STORE / "scores.json"
        self.known: dict[str, dict[str, float]] = json.loads(self.file.read_text()) if self.file.exists() else {}
        self.table = Table()
        self.sources, self.asked = {}, {}
        for setting in (BINNED, OWN):
            for kept, one in ((self.sources, self.table.train), (self.asked, self.table.test)):
                codes = self.table.domains.codes(one)
                kept[setting] = self.table.shown(codes, spread=False) if setting == BINNED else one

    def add(self, setting: str, name: str, epsilon: float, seed: int, rows: pd.DataFrame) -> None:
        """Score rows, unless they were scored, and keep the errors."""
        source = self.sources[setting]
        tasks = self.table.tasks(source, self.asked[setting])
        found = {one.name: one.error(source, rows) for one in tasks if one.binned or setting == OWN}
        self.known[key(setting, name, epsilon, seed)] = found
        self.file.write_text(json.dumps(self.known, indent=1))
        print(key(setting, name, epsilon, seed), {task: round(error, 4) for task, error in found.items()}, flush=True)

    def add_source(self) -> None:
        """Keep the AUC of models that learn from the table itself."""
        models = {"forest": "forest", "regression": "logistic regression", "boosting": "boosting"}
        asked = self.asked[BINNED], self.table.domains, "income", ">50K"
        self.known[key(BINNED, "source", 0.0, 0)] = {
            f"AUC, {name}": area(self.sources[BINNED], model, *asked) for name, model in models.items()
        }
        self.file.write_text(json.dumps(self.known, indent=1))

    def forget(self, names: Sequence[str]) -> None:
        """Drop the scores of methods."""
        self.known = {one: found for one, found in self.known.items() if one.split("|")[1] not in names}


def key(setting: str, name: str, epsilon: float, seed: int) -> str:
    """Return the key of a release."""
    return f"{setting}|{name}|{epsilon:g}|{seed}"


def run_peers(table: Table, limit: int, only: Sequence[str]) -> None:
    """Run what is asked and has no rows yet, one after the other."""
    STORE.mkdir(parents=True, exist_ok=True)
    stored = STORE / "adult.npz"
    np.savez(stored, codes=table.codes, sizes=np.array(table.sizes))
    table.train.to_csv(STORE / "adult.csv", index=False)
    for asked in only or [f"{name}:{epsilon:g}" for epsilon in EPSILONS for name in PEERS]:
        name, epsilon, run = f"{asked}:0".split(":")[:3]
        peer = PEERS[name]
        out = STORE / f"{name}-{float(epsilon):g}-{run}.{'csv' if peer.own else 'npy'}"
        if out.exists():
            continue
        told = {"file": str(stored), "out": str(out), "epsilon": float(epsilon), **peer.told}
        if peer.own:
            domains = {"known": table.domains.categories, "bounds": table.domains.numbers}
            told |= {"file": str(STORE / "adult.csv"), **domains}
        python = ROOT / ".benchmarks" / peer.environment / "bin" / "python"
        script = Path(__file__).parent / "peers" / peer.environment / "run.py"
        done = subprocess.run(
            [python, "-W", "ignore", script, peer.job, json.dumps(told)],
            capture_output=True, text=True, check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit)),
        )  # fmt: skip
        said = [line for line in done.stderr.splitlines() if any(map(str.isalnum, line))] or ["no message"]
        reason = (
            f"ended after {limit} CPU seconds" if done.returncode in (-9, -24) else f"does not run: {said[-1][:160]}"
        )
        kept = {"missing": reason} if done.returncode else json.loads(done.stdout.splitlines()[-1])
        kept = {what: kept[what] for what in ("missing", "seconds") if what in kept}
        out.with_suffix(".json").write_text(json.dumps(kept))
        print(asked, kept, flush=True)


def own_rows(table: Table, seeds: int) -> Iterator[tuple[str, str, float, int, Callable[[], pd.DataFrame]]]:
    """Yield how our methods' rows are made at every epsilon, in both settings, and the references."""
    adult = TABLES["adult"]()
    plain, full = adult.policy(plain=True), adult.policy(plain=False)
    coded = pd.DataFrame(table.codes, columns=table.names)
    for at, name in enumerate(table.names):
        if name in table.domains.categories:
            coded[name] = np.array(table.domains.categories[name], dtype=object)[table.codes[:, at]]
    binned = {"columns": {name: dict(one) for name, one in plain["columns"].items()}}
    for name in table.domains.numbers:
        binned["columns"][name]["bounds"] = [0, BINS - 1]
    for epsilon in EPSILONS:
        for seed in range(seeds):
            for method in METHODS:
                yield BINNED, method, epsilon, seed, partial(_of_bins, table, coded, method, binned, epsilon)
                yield OWN, method, epsilon, seed, partial(_released, table.train, method, plain, epsilon)
            yield OWN, WITH_RULES, epsilon, seed, partial(_released, table.train, METHODS[0], full, epsilon)
            apart = _independent(table, epsilon, seed)
            yield BINNED, "independent", epsilon, seed, partial(table.shown, apart, spread=False)
            yield OWN, "independent", epsilon, seed, partial(table.shown, apart, spread=True)
    for seed in range(max(2, seeds)):
        anew = np.random.default_rng(seed).integers(len(table.train), size=len(table.train))
        yield BINNED, "anew", 0.0, seed, partial(table.shown, table.codes[anew], spread=False)
        yield OWN, "anew", 0.0, seed, partial(lambda at: table.train.iloc[at].reset_index(drop=True), anew)


def _released(rows: pd.DataFrame, method: str, policy: dict[str, Any], epsilon: float) -> pd.DataFrame:
    release = anonkit.release(rows, method=method, policy=policy, epsilon=epsilon, ledger=None)
    return release.to_pandas()[list(rows.columns)]


def _of_bins(table: Table, coded: pd.DataFrame, method: str, policy: dict[str, Any], epsilon: float) -> pd.DataFrame:
    """Return released rows of codes, every number as the middle of its bin."""
    rows = _released(coded, method, policy, epsilon)
    for name, (low, high) in table.domains.numbers.items():
        rows[name] = low + (rows[name].astype(float) + 0.5) * (high - low) / BINS
    return rows


def _independent(table: Table, epsilon: float, seed: int) -> np.ndarray:
    """Return rows of independent columns: epsilon divided evenly, Laplace counts, negative ones cut off."""
    random, columns = np.random.default_rng(seed), []
    for at, size in enumerate(table.sizes):
        noise = random.laplace(scale=len(table.sizes) / epsilon, size=size)
        counts = np.maximum(np.bincount(table.codes[:, at], minlength=size) + noise, 0)
        shares = counts / counts.sum() if counts.sum() > 0 else np.full(size, 1 / size)
        columns.append(random.choice(size, len(table.codes), p=shares))
    return np.column_stack(columns)


def main() -> None:
    """Do what is asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=["peers", "own", "page"])
    parser.add_argument("--limit", type=int, default=600, help="processor seconds of a peer's run")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME:EPSILON[:RUN]")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--keep", action="store_true", help="score the runs of own methods that have no score yet")
    given = parser.parse_args()
    if given.what == "peers":
        run_peers(Table(), given.limit, given.only)
        return
    scores = Scores()
    if given.what == "own":
        if not given.keep:
            scores.forget([*METHODS, WITH_RULES, "independent", "anew"])
        scores.add_source()
        for *named, made in own_rows(scores.table, given.seeds):
            if key(*named) not in scores.known:
                scores.add(*named, made())
        git = ["git", "-C", str(ROOT), "log", "-1", "--format=%h", "--abbrev=8", "--", "anonkit"]
        (STORE / "commit").write_text(subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip())
        return
    missing = _score_peers(scores)
    tasks = scores.table.tasks(scores.sources[OWN], scores.asked[OWN])
    commit = (STORE / "commit").read_text().strip()
    PAGE.write_text(written(scores.known, tasks, missing, PUBLISHED, commit), encoding="utf-8")


def _score_peers(scores: Scores) -> dict[tuple[str, float], str]:
    """Score rows of peers that are new; return the processor seconds of each run, or why it has no rows."""
    said: dict[tuple[str, float], str] = {}
    for name, epsilon in product(PEERS, EPSILONS):
        said[name, epsilon] = REASONS.get((name, epsilon), NOT_RUN.format(name=name, epsilon=epsilon))
        for told in sorted(STORE.glob(f"{name}-{epsilon:g}-*.json")):
            found, run = json.loads(told.read_text()), int(told.stem.rpartition("-")[2])
            said[name, epsilon] = found.get("missing") or f"{found['seconds']:.0f} CPU s"
            for setting in (OWN,) if PEERS[name].own else (BINNED, OWN):
                if "missing" not in found and key(setting, name, epsilon, run) not in scores.known:
                    scores.add(setting, name, epsilon, run, _rows_of(scores.table, name, told, setting))
    return said


def _rows_of(table: Table, name: str, told: Path, setting: str) -> pd.DataFrame:
    if PEERS[name].own:
        return pd.read_csv(told.with_suffix(".csv"), keep_default_na=False)[table.names]
    return table.shown(np.load(told.with_suffix(".npy")), spread=setting == OWN)


if __name__ == "__main__":
    sys.exit(main())
