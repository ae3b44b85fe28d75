# SPDX-License-Identifier: Apache-2.0
"""A release that is killed leaves the old release or the new one, and the next command clears the rest away."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest

import anonkit
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.ledger import NAME as LEDGER

OLD_K, NEW_K = 4, 5
NAMES = ["out.datapackage.json", "out.params.json", "out.parquet", "out.report.html", "out.report.json"]
BOOKED = [".anonkit-ledger.json", *NAMES]
"""Names beside a release that a ledger knows: a pointer to it is there too."""
STAGED = re.compile(r"\.out\.anonkit-[0-9]+-[0-9a-f]{8}")
"""Folder in which files are prepared."""


class Scene:
    """A folder with an old release in it, and a place of its own for temporary files."""

    def __init__(self, folder: Path) -> None:
        self.temporary = folder / "tmp"
        self.output = folder / "data" / "out.parquet"
        self.table = folder / "in.csv"
        self.temporary.mkdir()
        self.output.parent.mkdir()
        self.environment = {**os.environ, "TMPDIR": str(self.temporary)}
        self.duration = 0.0
        """Seconds that the old release took."""

    def command(self, *args: object) -> list[str]:
        """Return a command line."""
        return [sys.executable, "-m", "anonkit", *map(str, args)]

    def release(self, k: int) -> list[str]:
        """Return the command line of a release over the one that is there."""
        roles = ("--identifier", "customer_id", "--accept-joint-k", "1")
        how = ("--force", "--quiet", "--no-utility")  # no model is trained: nothing is written while one is
        return self.command("release", self.table, self.output, "--method", "mondrian", "--k", k, *roles, *how)

    def run(self, command: list[str]) -> subprocess.CompletedProcess[bytes]:
        """Run a command to its end."""
        return subprocess.run(command, capture_output=True, check=False, env=self.environment)

    def check_whole(self) -> int:
        """Check that one whole release is there after the next command; return its k.

        What an interrupted run prepared and did not begin to put in place stays until the next release: a reader
        deletes nothing, and the ledger sees by it that nothing was put in place. The reader says so.
        """
        validated = self.run(self.command("validate", self.output, "--json"))
        assert validated.returncode == 0, validated.stdout[-2000:]
        names = sorted(path.name for path in self.output.parent.iterdir() if not path.name.startswith(LEDGER))
        left = [name for name in names if STAGED.fullmatch(name)]
        assert [name for name in names if name not in left] == BOOKED
        assert len(left) <= 1
        assert b"the next release there clears it away" in validated.stderr or not left
        self.check_cleared()
        report = json.loads(self.output.with_name("out.report.json").read_text(encoding="utf-8"))
        return int(report["method"]["parameters"]["k"])

    def check_nothing_beside(self) -> None:
        """Check that the folder has the files of one release, and nothing else."""
        assert sorted(path.name for path in self.output.parent.iterdir() if not path.name.startswith(LEDGER)) == BOOKED

    def check_cleared(self) -> None:
        """Check that no raw row is left among the temporary files."""
        left = [path for path in self.temporary.rglob("*") if path.is_file() and path.stat().st_size]
        assert left == []


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """A scene with 3,000 customers and an old release of them."""
    scene = Scene(tmp_path)
    customers = bank_customers(3000, seed=2, customer_id=True)
    texts = [c.cast(pa.string()) if pa.types.is_dictionary(c.type) else c for c in customers.columns]
    pyarrow.csv.write_csv(pa.table(texts, names=customers.column_names), scene.table)
    begun = time.monotonic()
    done = scene.run(scene.release(OLD_K))
    scene.duration = time.monotonic() - begun
    assert done.returncode == 0, done.stderr
    return scene


def _strike(scene: Scene, number: signal.Signals, share: float) -> int:
    """Start a release, send it a signal after a share of its usual time, and return its exit code."""
    with subprocess.Popen(scene.release(NEW_K), env=scene.environment, stderr=subprocess.DEVNULL) as process:
        time.sleep(share * scene.duration)
        process.send_signal(number)
        return process.wait()


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [1, pytest.param(40, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])])
def test_killed_at_a_random_moment(scene: Scene, rounds: int) -> None:
    """SIGKILL at any moment: the old release or the new one validates, and no raw row survives that command."""
    moments = random.Random(rounds)
    for _ in range(rounds):
        _strike(scene, signal.SIGKILL, moments.uniform(0.2, 1.1))
        assert scene.check_whole() in (OLD_K, NEW_K)
    assert scene.run(scene.release(NEW_K)).returncode == 0
    scene.check_nothing_beside()


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_interrupted_at_a_random_moment(scene: Scene) -> None:
    """Ctrl-C at any moment once the command runs: exit code 130 or done, and cleared up without a next command."""
    moments = random.Random(20)
    for _ in range(20):
        code = _strike(scene, signal.SIGINT, moments.uniform(0.3, 1.1))
        assert code in (0, 130, -signal.SIGINT)
        scene.check_nothing_beside()
        scene.check_cleared()
        assert scene.check_whole() in (OLD_K, NEW_K)


INTERRUPTED_CALLS = ("fsync", "rename", "replace")


def test_interrupted_at_every_step_of_the_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C before each sync and each rename, from the first to the last: one whole release, nothing beside it."""
    table = bank_customers(60, seed=2)
    output = tmp_path / "out.parquet"

    def release(epsilon: float) -> None:
        anonkit.release(
            table, method="rr", epsilon=epsilon, policy=bank_customers_policy(), output=output, force=True, ledger=None
        )

    left = 0

    def counted(call: Callable[..., Any]) -> Callable[..., Any]:
        def step(*args: Any, **kwargs: Any) -> Any:
            nonlocal left
            left -= 1
            if left == -1:
                raise KeyboardInterrupt
            return call(*args, **kwargs)

        return step

    found = []
    for step in range(100):
        release(OLD_K)
        left = step
        with monkeypatch.context() as patched:
            for name in INTERRUPTED_CALLS:
                patched.setattr(os, name, counted(getattr(os, name)))
            with suppress(KeyboardInterrupt):
                release(NEW_K)
        assert sorted(path.name for path in tmp_path.iterdir() if not path.name.startswith(LEDGER)) == NAMES
        assert anonkit.validate(output).passed
        found.append(anonkit.load(output).report["method"]["parameters"]["epsilon"])
        if left >= 0:
            break
    assert set(found) == {OLD_K, NEW_K}
    assert found == sorted(found)
