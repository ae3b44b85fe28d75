"""A release that is killed while it is published, and run again: drawn once, charged once, whole in the end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import anonkit

pytestmark = pytest.mark.usefixtures("ledger_beside")

METHODS: dict[str, dict[str, Any]] = {
    "rr": {"epsilon": 1.0, "budget": 1.0},
    "dp-forest": {"epsilon": 1.0, "budget": 1.0, "trees": 1},
    "dp-marginals": {"epsilon": 20.0, "budget": 20.0, "bins": 4},
    "rfka": {"k": 3, "trees": 5},
}
SUFFIXES = (".datapackage.json", ".params.json", ".parquet", ".report.html", ".report.json")
STEPS = ("os.rename", "sqlite3.connect")
"""The files are marked complete and put in place by renames; each step of the ledger is a connection of its own."""
CALLS = (*STEPS, "open", "os.fsync", "os.mkdir", "os.remove", "os.rmdir")

# One process imports what a first child has used, and makes no release, so that no thread runs in it. It forks one
# child that is killed before its n-th call on the way from the reservation to the end, and one that asks again, for
# n = 0, 1, … until a child is not killed any more.
_KILLS = """
import contextlib, importlib, json, os, sys
from pathlib import Path
import duckdb, pyarrow.parquet, anonkit, anonkit.pipeline.release_path
from anonkit.bundle.data_files import sha256
from anonkit.bundle.atomic import sweep_records
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.ledger import NAME, Ledger

root, method, more, calls, stem = Path(sys.argv[1]), sys.argv[2], *map(json.loads, sys.argv[3:6])
os.environ["XDG_STATE_HOME"] = str(root / "state")

def ask(folder):
    table, output = bank_customers(60, seed=1), folder / f"{stem}.parquet"
    booked = {"output": output, "ledger": folder / NAME}
    return anonkit.release(table, method=method, policy=bank_customers_policy(), **booked, **more)

def killed(folder, number):
    left = number + 1
    def seen(call, args=()):
        nonlocal left
        if active and call in calls and str(root) in (str(args[0]) if args else str(root)):
            left -= 1
            if not left:
                os.kill(os.getpid(), 9)
    active, sync, reserve = [], os.fsync, Ledger.reserve
    def synced(descriptor):
        seen("os.fsync")
        sync(descriptor)
    def reserved(*args, **kwargs):
        active.append(True)
        return reserve(*args, **kwargs)
    os.fsync, Ledger.reserve = synced, reserved
    sys.addaudithook(seen)
    ask(folder)

def again(folder):
    data = folder / f"{stem}.parquet"
    published = sha256(data) if data.exists() else None
    reused = [ask(folder).reused, ask(folder).reused]
    sweep_records()  # as every release does that is written: a record is deleted after its folder
    entries = [entry for standing in Ledger(folder / NAME).datasets() for entry in standing.counted]
    return {
        "published": published,
        "reused": reused,
        "kept": published in (None, sha256(data)),
        "states": [str(entry.state) for entry in entries],
        "valid": anonkit.validate(data).passed,
        "records": len(list((root / "state").rglob("*.json"))),
        "names": sorted(path.name for path in folder.iterdir() if not path.name.startswith('.anonkit-ledger')),
    }

def child(work):
    pid = os.fork()
    if pid:
        return os.waitpid(pid, 0)[1]
    try:
        work()
    except BaseException:
        import traceback
        traceback.print_exc()
        os._exit(1)
    os._exit(0)

def used():
    ask(root / "first")
    modules = [name for name in sys.modules if name.split(".")[0] != "__main__"]
    (root / "modules.json").write_text(json.dumps(modules))

(root / "first").mkdir()
if child(used):
    sys.exit(1)
for name in json.loads((root / "modules.json").read_text()):
    with contextlib.suppress(ImportError):
        importlib.import_module(name)

# what a process works out once and keeps: two children of every step would work it out anew
from anonkit.methods import make_method
from anonkit.report.page import render_page
parameters = {name: value for name, value in more.items() if name != "budget"}
make_method(method, parameters).guarantee(bank_customers_policy())
render_page(json.loads((root / "first" / f"{stem}.report.json").read_text()))

number, told = 0, []
while True:
    folder = root / str(number)
    folder.mkdir()
    status = child(lambda: killed(folder, number))
    if status not in (0, 9):
        sys.exit(1)
    if child(lambda: (root / "told.json").write_text(json.dumps(again(folder)))):
        sys.exit(1)
    told.append({"killed": status == 9, **json.loads((root / "told.json").read_text())})
    if status == 0:
        break
    number += 1
print(json.dumps(told))
"""


def _killed_at_every(calls: tuple[str, ...], method: str, folder: Path, stem: str = "out") -> list[Any]:
    environment = {**os.environ, "PYTHONPATH": str(Path(anonkit.__file__).parents[1])}
    arguments = [str(folder), method, *map(json.dumps, (METHODS[method], calls, stem))]
    done = subprocess.run(
        [sys.executable, "-c", _KILLS, *arguments], env=environment, capture_output=True, check=False, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    told: list[Any] = json.loads(done.stdout)
    return told


def _check(told: list[Any], stem: str = "out") -> None:
    """Every time one whole release that is charged once; once it was published, that one and no other."""
    for one in told:
        assert one["valid"], one
        assert one["states"] == ["committed"], one
        assert one["names"] == [f"{stem}{suffix}" for suffix in SUFFIXES], one
        assert one["records"] == 0, one
        assert one["kept"], one
        assert one["reused"][1], one
    reused = [one["reused"][0] for one in told]
    assert reused == sorted(reused), reused  # drawn anew up to the mark, finished and handed back from it on


@pytest.mark.slow
@pytest.mark.parametrize("stem", ["out", "data[12]", "*", "[!a]?", "a*b", "q?", "a b'\"~"])
def test_killed_at_every_step_of_publication_and_run_again(tmp_path: Path, stem: str) -> None:
    """Before the ledger is written, between that and the mark, between any two renames, before it is committed."""
    told = _killed_at_every(STEPS, "rr", tmp_path, stem)
    _check(told, stem)
    assert len(told) >= 10
    assert {one["reused"][0] for one in told} == {False, True}
    assert [one["killed"] for one in told] == [True] * (len(told) - 1) + [False]


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("method", METHODS)
def test_killed_at_every_call_of_publication_and_run_again(tmp_path: Path, method: str) -> None:
    """At every call to the system on the way from the reservation to the end, under every kind of promise."""
    told = _killed_at_every(CALLS, method, tmp_path)
    _check(told)
    assert len(told) >= 40
    assert {one["reused"][0] for one in told} == {False, True}
