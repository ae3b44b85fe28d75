"""Speed of the randomized methods: mechanisms in memory, the command against a bare conversion, the consumer.

Run it:  python recipes/benchmarks/randomized_speed.py [--rows 1000000] [--rounds 3] [--memory-rows 50000000]
One thread of pyarrow for both sides; times of the processor beside those of the clock, for a machine that others use.
`--memory-rows` also releases a Parquet file of so many rows in a process of its own, with its peak memory.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

import anonkit
from anonkit.consumers import NaiveBayes
from anonkit.mechanisms.randomizers import NumberRandomizer, randomizer_of
from anonkit.published.channels.category_channels import RandomizedResponse
from anonkit.published.channels.number_channels import PUBLISHED, BandResponse, TransformedResponse
from anonkit.published.channels.response_channel import ResponseMatrix

SIZES = (2, 5, 8, 12, 16, 42)
"""Categories of the six categorical columns; two numbers and a label of two classes are beside them."""
KEY = bytes(range(32))


def generated(n_rows: int, seed: int) -> pa.Table:
    """Return a table of 8 attributes and a target."""
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {}
    for at, size in enumerate(SIZES):
        codes = pa.array(rng.integers(0, size, n_rows, dtype=np.int32))
        columns[f"c{at}"] = pa.DictionaryArray.from_arrays(codes, [f"value-{value:02d}" for value in range(size)])
    columns["n0"] = np.round(rng.normal(50, 15, n_rows), 1)
    columns["n1"] = rng.integers(0, 1000, n_rows)
    labels = pa.array(rng.integers(0, 2, n_rows, dtype=np.int32))
    columns["y"] = pa.DictionaryArray.from_arrays(labels, ["no", "yes"])
    return pa.table(columns)


def policy(path: Path) -> Path:
    """Write the policy of these tables."""
    lines = ["[columns]"]
    lines += [f"c{at} = {{ categories = {[f'value-{v:02d}' for v in range(size)]} }}" for at, size in enumerate(SIZES)]
    lines += ["n0 = { bounds = [0, 100] }", "n1 = { bounds = [0, 1000] }"]
    lines += ['y = { role = "target", categories = ["no", "yes"] }']
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def best(action: Callable[[], object], rounds: int) -> tuple[float, float]:
    """Return the shortest time of a few, in seconds: of the clock, and of the processor."""
    times = []
    for _ in range(rounds):
        begun, worked = time.perf_counter(), time.process_time()
        action()
        times.append((time.perf_counter() - begun, time.process_time() - worked))
    return min(clock for clock, _ in times), min(processor for _, processor in times)


def mechanisms(n_rows: int, rounds: int) -> Iterator[tuple[str, float, float]]:
    """Yield every mechanism with its million rows a second of 8 columns: by the processor, by the clock."""
    rng = np.random.default_rng(0)
    sizes = (*SIZES, 7, 15)

    def run(name: str, channels: list[Any], codes: list[np.ndarray[Any, Any]]) -> tuple[str, float, float]:
        def once() -> None:
            for stream, (channel, column) in enumerate(zip(channels, codes, strict=True)):
                is_number = isinstance(channel, TransformedResponse)
                randomizer = NumberRandomizer(channel) if is_number else randomizer_of(channel)
                randomizer.randomize(column, key=KEY, stream=stream)

        clock, processor = (n_rows / seconds / 1e6 for seconds in best(once, 3 * rounds))
        return name, processor, clock

    codes = [rng.integers(0, size, n_rows).astype(np.uint8) for size in sizes]
    equal = [RandomizedResponse.from_epsilon(size, 1.0) for size in sizes]
    uneven = [RandomizedResponse.weighted(list(range(1, size + 1)), p_keep=0.5) for size in sizes]
    yield run("k-ary response, equal", equal, codes)
    yield run("uneven blind answers", uneven, codes)
    yield run(
        "own matrix", [ResponseMatrix.from_probabilities(one.response_matrix().tolist()) for one in uneven], codes
    )
    cells = [rng.integers(0, 64, n_rows).astype(np.uint8) for _ in sizes]
    yield run("square wave, 64 cells", [BandResponse.square_wave(1.0, 64)] * 8, cells)
    numbers = [rng.normal(50, 10, n_rows) for _ in sizes]
    yield run("TRR, N(1,1)", [TransformedResponse.centred(*PUBLISHED["N(1,1)"], (0, 100))] * 8, numbers)


def command(n_rows: int, rounds: int, folder: Path) -> Iterator[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
    """Yield the seconds, by clock and by processor, of a ppnb release of a CSV file, and of converting it alone.

    The release stays in the folder as `out.parquet`.
    """
    source, declared = folder / "in.csv", policy(folder / "policy.toml")
    pacsv.write_csv(pa.table({name: _text(column) for name, column in _columns(generated(n_rows, 1))}), source)
    pa.set_cpu_count(1)

    def bare() -> None:
        pq.write_table(pacsv.read_csv(source), folder / "bare.parquet", compression="zstd")

    def ours() -> None:
        anonkit.release(
            source, method="ppnb", p_keep=0.5, policy=declared, output=folder / "out.parquet", force=True, ledger=None
        )

    ours()
    for _ in range(rounds):
        floor = np.array(best(bare, 1))
        yield np.array(best(ours, 1)), floor


def consumer(rounds: int, folder: Path) -> tuple[float, float]:
    """Return the seconds in which naive Bayes is learned from the release in a folder: from its file, from counts."""
    from_file = best(lambda: NaiveBayes.from_release(folder / "out.parquet").model_.factors, rounds)
    model = NaiveBayes.from_release(folder / "out.parquet")
    from_counts = best(lambda: NaiveBayes().fit_statistics(model.statistics_).model_.factors, rounds)
    return from_file[0], from_counts[0]


def _columns(table: pa.Table) -> list[tuple[str, pa.ChunkedArray]]:
    return list(zip(table.column_names, table.columns, strict=True))


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column


_RELEASE = """
import resource, sys, anonkit
folder = sys.argv[1]
anonkit.release(folder + "/large.parquet", method="ppnb", p_keep=0.5, policy=folder + "/policy.toml",
                output=folder + "/out.parquet", force=True, ledger=None)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def memory(n_rows: int, folder: Path) -> tuple[float, float]:
    """Return seconds and peak memory in GiB of a release of a large Parquet file, in a process of its own."""
    policy(folder / "policy.toml")
    piece = generated(1_000_000, 2)
    with pq.ParquetWriter(folder / "large.parquet", piece.schema, compression="zstd") as writer:
        for _ in range(n_rows // piece.num_rows):
            writer.write_table(piece)
    del piece
    begun = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", _RELEASE, str(folder)], capture_output=True, text=True, check=True)
    taken = time.perf_counter() - begun
    return taken, int(done.stdout) / 2**20


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--memory-rows", type=int, default=0)
    given = parser.parse_args()
    if given.rows:
        for name, processor, clock in mechanisms(given.rows, given.rounds):
            print(f"in memory, 8 columns: {name:24} {processor:6.1f} M rows/s (by the clock {clock:.1f})", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        if given.rows:
            ratios = []
            for taken, floor in command(given.rows, given.rounds, Path(folder)):
                ratios.append(taken / floor)
                for which, at in (("clock", 0), ("processor", 1)):
                    told = f"{taken[at]:.2f} s, bare {floor[at]:.2f} s, ratio {ratios[-1][at]:.2f}"
                    print(f"command, {given.rows:,} x 9, {which}: {told}", flush=True)
            print("median ratio: clock {:.2f}, processor {:.2f}".format(*np.median(ratios, axis=0)))
            told = "consumer, clock: from file {:.2f} s, from counts {:.3f} s"
            print(told.format(*consumer(given.rounds, Path(folder))), flush=True)
        if given.memory_rows:
            told = "{:,} rows x 9: {:.0f} s, peak memory {:.2f} GiB"
            print(told.format(given.memory_rows, *memory(given.memory_rows, Path(folder))), flush=True)
    print(f"peak memory of this process {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")


if __name__ == "__main__":
    main()
