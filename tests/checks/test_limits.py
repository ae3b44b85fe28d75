"""What a receiver spends on a release is in proportion to what was sent, whatever its documents state.

Every number and every length of every document is changed, all hashes made anew, and the release is looked at by a
process that may take one gigabyte more than it has: it ends with a verdict or a refusal, in seconds.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import re
import resource
import shutil
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from checks.forgeries import Files, Path_
from checks.leaf_mutants import Mutant
from checks.small_releases import FAMILIES, made

import anonkit
from anonkit.bundle.json_documents import parse_json, read_json
from anonkit.bundle.release_names import DATA, NAMED
from anonkit.checks.validation import validate
from anonkit.cli import anonkit as commands
from anonkit.cli.boundary import run
from anonkit.consumers.released_rows import ReleasedRows
from anonkit.errors import AnonkitError, ReleaseFormatError
from anonkit.size_limits import LARGEST_FILES, MOST_CELLS, STATED_SIZES

MEMORY = 1 << 30
"""Bytes that looking at a forged release may take, beyond what the process has when it begins."""
SECONDS = 20
NUMBERS = (0, -1, 1, 2, 255, 2**20 + 1, 2**31, 4 * 10**8, 10**18, 10**40, -(10**18), 0.5, -0.5, 1e-308, 1e308, 1e18)
LONG = 100_000


def _places(document: Any, path: Path_ = ()) -> Iterator[tuple[Path_, Any]]:
    yield path, document
    inner = document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    for key, value in inner:
        yield from _places(value, (*path, key))


def _mutants(files: Files) -> dict[tuple[str, str], list[Mutant]]:
    """Return every change of a number or a length, by the place and the change; positions in lists are one place."""
    found: dict[tuple[str, str], list[Mutant]] = defaultdict(list)
    for document in ("params", "report", "descriptor", "manifest"):
        for path, value in _places(getattr(files, document)):
            for change, to in _changes(value) if path else ():
                mutant = Mutant(document=document, path=path, change=change, to=to)
                found[mutant.place, change].append(mutant)
    return found


def _changes(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield from ((f"{number}", number) for number in NUMBERS if number != value)
    elif isinstance(value, str):
        yield "long", value + "x" * LONG
    elif isinstance(value, list):
        yield "none", []
        yield "long", (value or [0]) * (LONG // max(len(value), 1))
    elif isinstance(value, dict):
        yield "wide", {**value, **{f"key {at}": 1 for at in range(LONG)}}


# --- looked at by a process with a limit ----------------------------------------------------------------------------


def _looked_at(data: Path) -> str:
    """Do what a receiver does, and return how it ended."""
    said = []
    for look in (validate, _read_as_a_receiver, lambda path: run(commands, ["report", str(path), "--json"], "anonkit")):
        try:
            look(data)
            said.append("looked at")
        except AnonkitError as error:
            said.append(f"refused ({error.code})")
        except MemoryError:
            return f"{getattr(look, '__name__', 'report')}: out of memory"
        except Exception as error:
            return f"{getattr(look, '__name__', 'report')}: {type(error).__name__} at {_place_of(error)}"
    return ", ".join(said)


def _place_of(error: BaseException) -> str:
    trace, place = error.__traceback__, ""
    while trace is not None:
        name = str(trace.tb_frame.f_globals.get("__name__", ""))
        if name.startswith("anonkit"):
            place = f"{name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


def _read_as_a_receiver(data: Path) -> None:
    from anonkit.consumers.learned_models import learned_from

    release = anonkit.load(data)
    table = release.to_arrow()
    repr(release)
    release.to_dict()
    learned_from(release.params, table)


def _in_child(work: Callable[[], str]) -> tuple[str, float, int]:
    """Return what some work says, how long it took, and how much memory, in a process that may take so much."""
    begun, (receiving, sending) = time.monotonic(), multiprocessing.Pipe(duplex=False)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            receiving.close()
            devnull = os.open(os.devnull, os.O_WRONLY)
            os.dup2(devnull, 1)
            os.dup2(devnull, 2)
            before = _virtual_memory()
            resource.setrlimit(resource.RLIMIT_AS, (before + MEMORY, before + MEMORY))
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            signal.signal(signal.SIGPROF, signal.SIG_DFL)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            said = work()
            sending.send((said, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak))
            code = 0
        except BaseException as error:
            sending.send((f"{type(error).__name__}", 0))
        finally:
            os._exit(code)
    sending.close()
    try:
        said, kilobytes = receiving.recv()
    except EOFError:
        said, kilobytes = "killed", 0
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        said = f"killed by {signal.Signals(os.WTERMSIG(status)).name}"
    return said, time.monotonic() - begun, kilobytes


def _virtual_memory() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def _is_fine(said: str) -> bool:
    return all(part == "looked at" or part.startswith("refused (") for part in said.split(", ")) and "INTERNAL" not in said


def _fuzzed(family: str, folder: Path, most: int | None, seed: int = 1) -> list[tuple[str, str, str, float]]:
    """Return what went wrong: place, change, what was said, seconds."""
    original = made(family, folder)
    validate(folder / "out.parquet")  # what is imported, and worked out once, is no part of what a forgery costs
    _read_as_a_receiver(folder / "out.parquet")
    groups, drawn = _mutants(original), random.Random(seed)
    chosen = [drawn.choice(group) for group in groups.values()]
    if most is not None:
        chosen = drawn.sample(chosen, min(most, len(chosen)))
    wrong, worst, largest = [], 0.0, 0
    for at, mutant in enumerate(chosen):
        place = folder / f"forged-{at}"
        place.mkdir()

        def work(mutant: Mutant = mutant, place: Path = place) -> str:
            files = original.copy()
            mutant.edit(files)
            return _looked_at(files.write(place))

        said, seconds, kilobytes = _in_child(work)
        worst, largest = max(worst, seconds), max(largest, kilobytes)
        if not _is_fine(said):
            wrong.append((mutant.place, mutant.change, said, round(seconds, 1)))
        shutil.rmtree(place)
    print(f"{family}: {len(chosen)} of {len(groups)} places and changes, worst {worst:.1f} s, {largest / 1024:.0f} MB")
    return wrong


needs_limits = pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are those of Linux")


@needs_limits
@pytest.mark.parametrize("family", ["k-anonymous", "forest"])
def test_a_few_numbers_and_lengths(family: str, tmp_path: Path) -> None:
    """Drawn places of two families."""
    assert _fuzzed(family, tmp_path, 12) == []


@needs_limits
@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_number_and_every_length(family: str, tmp_path: Path) -> None:
    """Each place of each document, with every change of it."""
    assert _fuzzed(family, tmp_path, int(os.environ.get("ANONKIT_FUZZED", "1500"))) == []
