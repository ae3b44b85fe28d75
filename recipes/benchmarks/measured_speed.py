"""The parts of the benchmark that measure time and memory: generators of records, each for one table of the page.

Processor seconds where both sides are one process, by the clock where a command is started; medians of rounds in which
both sides take turns, since a machine is never quite its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from bench import Given
from benchmark_page import Missing, Record

Lines = Iterator[Record | Missing]
USUAL_EIGHT = ("age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country")


def seconds(work: Callable[[], object], repeats: int) -> float:
    """Return the median processor seconds of some repeats."""
    taken = []
    for _ in range(repeats):
        begun = time.process_time()
        work()
        taken.append(time.process_time() - begun)
    return median(taken)


def clock(command: list[Any]) -> float:
    """Return the seconds a command takes."""
    begun = time.perf_counter()
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise ChildProcessError((done.stderr.strip().splitlines() or ["no message"])[-1])
    return time.perf_counter() - begun


def k_rr(given: Given) -> Lines:
    """Million rows a second of the mechanism, beside libraries that randomize a value a call."""
    from randomized_speed import SIZES, mechanisms

    rows, repeats = given.pick(100_000, 1_000_000), given.pick(1, 3)
    named = {name: processor for name, processor, _ in mechanisms(rows, repeats)}
    ours = named["k-ary response, equal"]
    what = "k-ary response, 8 columns"
    yield Record(what=what, unit="M rows/s", ours=ours, limit="ours >= 20", runs=3 * repeats)
    sizes, peers = [*SIZES, 7, 15], {"multi-freq-ldpy": 20_000, "pure-ldp": 20_000, "opendp": 200}
    for peer, n_rows in peers.items():
        found = given.peer(peer, "k_rr", sizes=sizes, rows=given.pick(200, n_rows), epsilon=1.0, repeats=repeats)
        if isinstance(found, Missing):
            yield found
            continue
        theirs = median(one["rows_per_s"] for one in found) / 1e6
        yield Record(what=what, unit="M rows/s", ours=ours, peer=peer, theirs=theirs, runs=repeats)
    for name, rate in named.items():
        if name != "k-ary response, equal":
            yield Record(what=f"{name}, 8 columns", unit="M rows/s", ours=rate, runs=3 * repeats)


def ppnb_release(given: Given) -> Lines:
    """A release of a CSV file against the bare conversion; with `--large` the memory of 50 million rows."""
    from randomized_speed import command, memory

    rows, rounds = given.pick(50_000, 1_000_000), given.pick(1, 5)
    pairs = list(command(rows, rounds, given.work))
    for at, which in ((1, "processor"), (0, "clock")):
        yield Record(
            what=f"{rows:,} rows x 9, seconds of the {which}",
            unit="s",
            ours=median(float(ours[at]) for ours, _ in pairs),
            peer="pyarrow, CSV to Parquet alone",
            theirs=median(float(floor[at]) for _, floor in pairs),
            ratio=median(float(ours[at] / floor[at]) for ours, floor in pairs),
            limit="ratio <= 2",
            runs=rounds,
            note=(
                "pyarrow on one thread for both sides; the first release of the process is not counted. Of a "
                "release's 0.93 s of the processor, by a profile of 2026-11-23: every cell read as text 0.22, "
                "categories and numbers found in the texts 0.11, noise and answers 0.20, shuffle 0.07, Parquet with "
                "zstd 0.15, the written file read again 0.08 and counted 0.06, copy, hash, report and page 0.04. `rr`"
                " of the same table, each row asked for one attribute: 1.13 s, ratio 2.06, of which the ε of its "
                "shuffled view takes 0.12."
            ),
        )
    if given.size == "large":
        taken, peak = memory(50_000_000, given.work)
        yield Record(what="50,000,000 rows x 9, peak memory", unit="GiB", ours=peak, limit="ours <= 1.86")
        yield Record(what="50,000,000 rows x 9, by the clock", unit="s", ours=taken)


def consumer(given: Given) -> Lines:
    """Naive Bayes learned from a release: from its file, from its counts."""
    from randomized_speed import command
    from randomized_speed import consumer as learned

    rows, rounds = given.pick(50_000, 1_000_000), given.pick(1, 5)
    list(command(rows, 1, given.work))
    from_file, from_counts = learned(rounds, given.work)
    yield Record(what=f"from the file, {rows:,} x 8", unit="s", ours=from_file, limit="ours <= 1", runs=rounds)
    yield Record(what="from its counts", unit="s", ours=from_counts, limit="ours <= 0.1", runs=rounds)


def rfka_time(given: Given) -> Lines:
    """The whole command on Adult against a fit, on small tables, and applied to a batch."""
    from rfka_adult import ADULT, Taken, baseline, command, timed

    note = (
        "scikit-learn's `RandomForestClassifier(1000, oob_score=True, n_jobs=-1).fit` on the codes of all 14 columns."
    )
    rounds, out = given.pick(1, 2, 3), given.work / "out.parquet"
    told = ("--target", "income", "--no-ledger", "--force")
    limits = {"rfka": 0.2, "mondrian": 0.15}
    taken: dict[str, list[Taken]] = {method: [] for method in limits}
    fits: list[Taken] = []
    frame = pd.read_csv(ADULT, keep_default_na=False)
    source = ADULT
    if given.size == "quick":
        source = given.work / "some.csv"
        frame.sample(2_000, random_state=0).to_csv(source, index=False)
    for _ in range(rounds):
        for method, each in taken.items():
            each.append(command(out, *told, method=method, source=source))
        fits.append(baseline())
    for method, each in taken.items():
        for which, how in (("clock", "by the clock"), ("processor", "seconds of all processors")):
            own, fit = ([getattr(one, which) for one in some] for some in (each, fits))
            yield Record(
                what=f"{method}, Adult, {how}", unit="s", ours=median(own), peer="the fit", theirs=median(fit),
                ratio=median(a / b for a, b in zip(own, fit, strict=True)), limit=f"ratio <= {limits[method]}",
                runs=rounds, note=note,
            )  # fmt: skip
    for rows in given.pick((500,), (500, 3_000, 12_000)):
        small = given.work / f"small-{rows}.csv"
        frame.sample(rows, random_state=1).to_csv(small, index=False)
        for method in limits:
            each = [command(out, *told, method=method, source=small) for _ in range(rounds)]
            what, limit = f"{method}, {rows:,} rows of Adult", "ours <= 2.5"
            by_clock, cpu = median(one.clock for one in each), median(one.processor for one in each)
            yield Record(what=f"{what}, by the clock", unit="s", ours=by_clock, limit=limit, runs=rounds)
            yield Record(what=f"{what}, seconds of all processors", unit="s", ours=cpu, runs=rounds)
    earlier, batch = given.work / "earlier.parquet", given.work / "batch.csv"
    command(earlier, *told, "--max-suppression", "0.05", source=given.work / f"small-{rows}.csv")
    frame.sample(500, random_state=2).to_csv(batch, index=False)
    apply = [sys.executable, "-m", "anonkit", "apply", given.work / "earlier.params.json", batch, out]
    batches = []
    for _ in range(rounds):
        with timed() as one:
            clock([*apply, "--max-suppression", "1", "--no-ledger", "--force", "--quiet"])
        batches += one
    batch_seconds = median(one.clock for one in batches)
    yield Record(what="apply, 500 rows, by the clock", unit="s", ours=batch_seconds, limit="ours <= 1.5", runs=rounds)
    cpu = median(one.processor for one in batches)
    yield Record(what="apply, 500 rows, seconds of all processors", unit="s", ours=cpu, runs=rounds)


def selection(given: Given) -> Lines:
    """The selection loop against one group-by."""
    from selection_loop import rounds

    each = list(rounds(given.pick(200_000, 5_000_000), given.pick(1, 5)))
    yield Record(
        what="by the clock", unit="s", ours=median(one["selection"] for one in each), peer="one group-by in DuckDB",
        theirs=median(one["group_by"] for one in each),
        ratio=median(one["selection"] / one["group_by"] for one in each), limit="ratio <= 3", runs=len(each),
        note="Two threads of DuckDB; the loop has one.",
    )  # fmt: skip


def class_sizes(given: Given) -> Lines:
    """Everything that the independent recount says of Adult, beside pycanon's seven measures."""
    from rfka_adult import ADULT

    from anonkit.checks.disclosure import measure

    frame = pd.read_csv(ADULT, keep_default_na=False)
    table, repeats = pa.Table.from_pandas(frame, preserve_index=False), given.pick(1, 7)
    measure(table, USUAL_EIGHT, sensitive=["income"])
    each = []
    for _ in range(repeats):
        begun = time.perf_counter()
        measure(table, USUAL_EIGHT, sensitive=["income"])
        each.append(time.perf_counter() - begun)
    ours, what = median(each), "k, l, entropy l, recursive (c, l), t, α, all sizes; 8 columns, by the clock"
    yield Record(what=what, unit="s", ours=ours, limit="ours <= 0.1", runs=repeats)
    rows = given.pick(2_000, len(frame))
    found = given.peer("pycanon", "seven", file=str(ADULT), rows=rows, columns=USUAL_EIGHT, sensitive="income")
    if isinstance(found, Missing):
        yield found
    else:
        theirs = sum(one["seconds"] for one in found)
        yield Record(what=what, unit="s", ours=ours, peer="pycanon, its seven measures, one run", theirs=theirs)


def tree_times(given: Given) -> Lines:
    """Processor seconds of fit and predict on Adult."""
    from published_trees import Bench, adult
    from sklearn.ensemble import RandomForestClassifier
    from tree_times import PRESETS, default_forest

    task, repeats = adult(), given.pick(1, 3)
    data = adult_numbers(given, task)
    default_forest(task)  # warm: compiled and imported
    default = seconds(lambda: default_forest(task), repeats)
    yield Record(what="dp-forest, rows drawn too", unit="CPU s", ours=default, limit="ours <= 0.3", runs=repeats)
    of_25 = 0.0
    for name, (method, more) in PRESETS.items():
        work = lambda m=method, x=more: Bench(task).forest(m, epsilon=1.0, **x).predict_proba(task.test)  # noqa: E731
        took = seconds(work, repeats)
        of_25 = took if name.startswith("edprf") else of_25
        limit = "ours <= 0.5" if "25 trees" in name else None
        yield Record(what=name, unit="CPU s", ours=took, limit=limit, runs=repeats)
    forest = RandomForestClassifier(25, max_depth=5, n_jobs=1, random_state=0)
    plain = np.load(data)
    theirs = seconds(lambda: forest.fit(plain["train"], plain["labels"]).predict_proba(plain["test"]), repeats)
    what = "edprf, 25 trees, 5 splits"
    yield Record(what=what, unit="CPU s", ours=of_25, peer="scikit-learn without privacy, 25 x 5", theirs=theirs)
    note = "The peers get numbers made beforehand, anonkit starts from the table as it was read."
    found = given.peer("diffprivlib", "times", file=str(data), sizes=[[25, 5], [10, 5], [25, 12]], repeats=repeats)
    if isinstance(found, Missing):
        yield found
    else:
        for trees, depth in ((25, 5), (10, 5), (25, 12)):
            took = median(one["seconds"] for one in found if (one["trees"], one["depth"]) == (trees, depth))
            peer = f"diffprivlib forest, {trees} x {depth}"
            own, line = (of_25, what) if depth == 5 and trees == 25 else (default, "dp-forest, rows drawn too")
            yield Record(what=line, unit="CPU s", ours=own, peer=peer, theirs=took, runs=repeats, note=note)
    found = given.peer("interpret", "times", file=str(data), repeats=repeats)
    if isinstance(found, Missing):
        yield found
    else:
        took = median(one["seconds"] for one in found)
        yield Record(
            what="dp-forest, rows drawn too", unit="CPU s", ours=default, peer="DP-EBM (δ = 1e-5)", theirs=took,
            runs=repeats,
        )  # fmt: skip


def adult_numbers(given: Given, task: Any) -> Path:
    """Write Adult as the peers are given it: numbers, codes of categories, public bounds, and return the file."""
    from published_trees import BOUNDS
    from tree_times import numbers

    names = [name for name in task.train.column_names if name != task.target]
    data = numbers(task)
    truth = (np.array(task.test.column(task.target).to_pylist()) == ">50K").astype(np.int64)
    path = given.work / "adult.npz"
    np.savez(path, **data, truth=truth, numeric=np.array([name in BOUNDS for name in names]))  # type: ignore[arg-type]
    return path


_PEAK = """
def peak_kib():  # a process that was just started has the peak of the one that started it in its resource usage
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))

"""
_OWN_TREE = (
    _PEAK
    + """
import json, sys, time
import anonkit
from dp_forest import adult_policy
begun = time.process_time()
anonkit.release(sys.argv[1], method="dp-forest", epsilon=1.0, depth=int(sys.argv[3]), policy=adult_policy(),
                output=sys.argv[2], force=True, ledger=None, **json.loads(sys.argv[4]))
print(json.dumps({"seconds": time.process_time() - begun,
                  "peak": peak_kib() / 2**20}))
"""
)
_SCAN = (
    _PEAK
    + """
import json, sys, time
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
begun = time.process_time()
counts = {}
for batch in pq.ParquetFile(sys.argv[1]).iter_batches(1 << 18):
    label = (batch.column("income").dictionary_encode() if not pa.types.is_dictionary(batch.column("income").type)
             else batch.column("income"))
    classes = label.indices.to_numpy()
    for name in batch.schema.names:
        column = batch.column(name)
        if pa.types.is_integer(column.type):
            values = column.to_numpy()
            low, high = (17, 1_500_000) if name == "fnlwgt" else (0, 100_000) if name == "capital-gain" else (0, 4_500)
            codes = np.clip((values - low) * 16 // (high - low), 0, 15)
        else:
            codes = column.dictionary_encode().indices.fill_null(63).to_numpy()
        counts[name] = counts.get(name, 0) + np.bincount(codes * 2 + classes, minlength=128)[:128]
print(json.dumps({"seconds": time.process_time() - begun,
                  "peak": peak_kib() / 2**20}))
"""
)


def tree_growth(given: Given) -> Lines:
    """A release of the default tree of many rows of Adult's columns against one scan; with `--large` Spark too."""
    depth = 6
    sizes = given.pick((32_561,), (1_000_000,), (1_000_000, 10_000_000))
    frame = pd.read_csv(given.data / "adult_train.csv.gz")
    piece = pa.Table.from_pandas(frame, preserve_index=False)
    for rows in sizes:
        source, out = given.work / f"adult-{rows}.parquet", given.work / "out.parquet"
        with pq.ParquetWriter(source, piece.schema) as writer:
            left = rows
            while left > 0:
                writer.write_table(piece.slice(0, left))
                left -= piece.num_rows
        repeats = given.pick(1, 3, 1)
        cells = json.dumps({"as_": "cells"})
        own, scans = [], []
        for _ in range(repeats):
            own.append(_printed([sys.executable, "-W", "ignore", "-c", _OWN_TREE, source, out, str(depth), cells]))
            scans.append(_printed([sys.executable, "-c", _SCAN, source]))
        what = f"{rows:,} rows, depth {depth}, rows as counted cells"
        yield Record(
            what=what, unit="CPU s", ours=median(one["seconds"] for one in own), peer="one scan with 14 histograms",
            theirs=median(one["seconds"] for one in scans),
            ratio=median(one["seconds"] / scan["seconds"] for one, scan in zip(own, scans, strict=True)),
            limit=f"ratio <= {depth + 2}", runs=repeats, note="Reading, checks and all files are in anonkit's time.",
        )  # fmt: skip
        peak = max(one["peak"] for one in own)
        yield Record(
            what=f"{rows:,} rows, peak memory", unit="GiB", ours=peak, peer="one scan",
            theirs=max(one["peak"] for one in scans), runs=repeats,
        )  # fmt: skip
    if given.size == "large":
        yield from _on_spark(given, 10_000_000)
    else:
        yield Missing(what="ten million rows, and Spark", reason="`make bench LARGE=1`")


_OWN_PROCESS = (
    _PEAK
    + """
import json, sys, time, tomllib
import anonkit
from anonkit.policy.declaration import Policy
recipe, source, out, options = sys.argv[1:]
with open(recipe, "rb") as file:
    policy = Policy.from_dict(tomllib.load(file)["policy"])
anonkit.release(source, policy=policy, output=out, force=True, ledger=None, **json.loads(options))
print(json.dumps({"seconds": time.process_time(),
                  "peak": peak_kib() / 1024}))
"""
)


def release_times(given: Given) -> Lines:
    """Whole releases of Adult by the methods that are neither trees nor boxes: `dp-marginals`, tables, `safepub`."""
    from published_trees import ENGINE, adult

    from anonkit.methods.dp_marginals import DPMarginals
    from anonkit.randomness import Randomness

    task, repeats = adult(), given.pick(1, 3)

    def learned_and_drawn() -> None:
        source = ENGINE.scan(task.train, task.policy)
        draft = DPMarginals(epsilon=1.0).release(source, task.policy, engine=ENGINE, rng=Randomness.secure())
        for _ in draft.data.batches():
            pass

    learned_and_drawn()  # warm: compiled and imported
    ours = seconds(learned_and_drawn, repeats)
    yield Record(what="dp-marginals, learned and drawn", unit="CPU s", ours=ours, limit="ours <= 0.5", runs=repeats)
    frame = pd.read_csv(given.data / "adult_train.csv.gz")
    piece = pa.Table.from_pandas(frame, preserve_index=False)
    tables = ["income, sex", "mean(age) by sex", "quantile(hours-per-week, 0.25, 0.5, 0.75)"]
    asked = (
        ("dp-marginals", frame.shape[0], {"epsilon": 1.0}, "ours <= 2"),
        ("dp-marginals", given.pick(100_000, 1_000_000), {"epsilon": 1.0}, "ours <= 8"),
        ("dp-tables", frame.shape[0], {"epsilon": 1.0, "aggregate": tables}, None),
        ("safepub", frame.shape[0], {"epsilon": 1.0, "delta": 1e-6, "k": 10}, None),
    )
    for method, rows, options, limit in asked:
        source = given.work / f"adult-{rows}.parquet"
        if not source.exists():
            copies = pa.concat_tables([piece] * -(-rows // piece.num_rows))
            pq.write_table(copies.slice(0, rows), source)
        recipe = Path(__file__).parents[2] / "recipes" / "adult-dp-forest.toml"
        words = [recipe, source, given.work / "out.parquet", json.dumps({"method": method, **options})]
        found = [_printed([sys.executable, "-W", "ignore", "-c", _OWN_PROCESS, *words]) for _ in range(repeats)]
        what = f"{method}, {rows:,} rows, the whole process"
        yield Record(what=what, unit="CPU s", ours=median(one["seconds"] for one in found), limit=limit, runs=repeats)
        most = "ours <= 300" if method == "dp-marginals" and rows == frame.shape[0] else None
        yield Record(what=f"{what}, peak memory", unit="MB", ours=max(one["peak"] for one in found), limit=most)


def _on_spark(given: Given, rows: int) -> Lines:
    """The same method on a standalone Spark cluster of two workers, beside this machine alone."""
    from engines_growth import REPOSITORY, measure
    from spark_cluster import Cluster

    local = measure("local", "dp-forest", rows, given.work, None, None)
    with Cluster(given.work / "cluster", REPOSITORY, memory="1600m") as cluster:
        spark = measure("spark", "dp-forest", rows, given.work, cluster, None)
    for one in (local, spark):
        if one["exit"]:
            yield Missing(what=f"{one['engine']}, {rows:,} rows", reason=str(one.get("message", "it failed")))
            return
    yield Record(
        what=f"simulated customers, {rows:,} rows, Spark, by the clock", unit="s", ours=spark["wall_s"],
        peer="the same on this machine alone", theirs=local["wall_s"],
        note="Two workers of one core on the machine that also runs the driver: no cluster.",
    )  # fmt: skip


def _printed(command: list[Any]) -> dict[str, float]:
    """Return the object that a command prints."""
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise ChildProcessError((done.stderr.strip().splitlines() or ["no message"])[-1])
    found: dict[str, float] = json.loads(
        done.stdout[done.stdout.rindex("{") :]
    )  # after what DuckDB shows of its progress
    return found


def start(given: Given) -> Lines:
    """The start of the command beside an empty Python."""
    repeats = given.pick(2, 15)
    ours, bare = [], []
    for _ in range(repeats):
        ours.append(clock([sys.executable, "-m", "anonkit", "--help"]))
        bare.append(clock([sys.executable, "-c", "pass"]))
    yield Record(
        what="anonkit --help, by the clock", unit="s", ours=median(ours), peer="python -c pass", theirs=median(bare),
        ratio=median(own / other for own, other in zip(ours, bare, strict=True)), limit="ours <= 0.1", runs=repeats,
    )  # fmt: skip


_OWN_COUNTS = (
    _PEAK
    + """
import json, sys, time
import duckdb
from anonkit.engines.local.local_engine import LocalEngine
from anonkit.policy.declaration import Policy
names = json.loads(sys.argv[2])
begun, worked = time.perf_counter(), time.process_time()
engine = LocalEngine(memory_limit="400MB")
source = engine.scan(sys.argv[1], Policy())
sizes = engine.class_sizes(source, names[:8], 10)
counts = engine.count_sets(source, [(name, "label") for name in names])
print(json.dumps({"clock": time.perf_counter() - begun, "seconds": time.process_time() - worked, "k": sizes.smallest,
                  "sets": len(counts), "peak": peak_kib() / 1024}))
"""
)
_BY_HAND = (
    _PEAK
    + """
import json, sys, time
import duckdb
names = json.loads(sys.argv[2])
begun, worked = time.perf_counter(), time.process_time()
connection = duckdb.connect()
connection.execute("SET memory_limit='400MB'")
table = f"read_parquet('{sys.argv[1]}')"
groups = ", ".join(names[:8])
counted = f"SELECT count(*) AS n FROM {table} GROUP BY {groups}"
smallest = connection.execute(f"SELECT min(n) FROM ({counted})").fetchone()[0]
sets = ", ".join(f"({name}, label)" for name in names)
listed = ", ".join(names)
connection.execute(f"SELECT {listed}, label, count(*) FROM {table} GROUP BY GROUPING SETS ({sets})").fetchall()
print(json.dumps({"clock": time.perf_counter() - begun, "seconds": time.process_time() - worked, "k": smallest,
                  "peak": peak_kib() / 1024}))
"""
)


def counting(given: Given) -> Lines:
    """The counts of every k-anonymous search, on a table larger than its cap of memory, against hand-written SQL."""
    rows, repeats = given.pick(100_000, 5_000_000), given.pick(1, 3)
    sizes = (74, 9, 16, 7, 15, 5, 2, 42, 16, 99, 50, 20, 6, 30)
    source, names = given.work / "counted.parquet", [f"q{at}" for at in range(len(sizes))]
    rng = np.random.default_rng(0)
    with pq.ParquetWriter(source, pa.schema([*((name, pa.int32()) for name in names), ("label", pa.int32())])) as out:
        for start_row in range(0, rows, 500_000):
            n = min(500_000, rows - start_row)
            columns = []
            for size in sizes:
                shares = 1 / np.arange(1, size + 1)
                columns.append(rng.choice(size, n, p=shares / shares.sum()).astype(np.int32))
            out.write_table(pa.table([*columns, rng.integers(0, 2, n, dtype=np.int32)], names=[*names, "label"]))
    own, by_hand = [], []
    for _ in range(repeats):
        own.append(_printed([sys.executable, "-c", _OWN_COUNTS, source, json.dumps(names)]))
        by_hand.append(_printed([sys.executable, "-c", _BY_HAND, source, json.dumps(names)]))
    if own[0]["k"] != by_hand[0]["k"]:
        raise AssertionError("anonkit and DuckDB count different classes")
    for key, which in (("seconds", "CPU s"), ("clock", "s by the clock")):
        yield Record(
            what=f"{rows:,} rows", unit=which, ours=median(one[key] for one in own), peer="DuckDB by hand",
            theirs=median(one[key] for one in by_hand),
            ratio=median(one[key] / other[key] for one, other in zip(own, by_hand, strict=True)),
            limit="ratio <= 1.2", runs=repeats,
        )  # fmt: skip
    yield Record(
        what="peak memory of the process", unit="MB", ours=max(one["peak"] for one in own), peer="DuckDB by hand",
        theirs=max(one["peak"] for one in by_hand), runs=repeats,
        note=(
            "The cap of 400 MB is DuckDB's own; Python and its libraries stand beside it in both processes. Both have "
            "imported DuckDB before the clock starts."
        ),
    )  # fmt: skip
