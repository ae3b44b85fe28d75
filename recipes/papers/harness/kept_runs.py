# SPDX-License-Identifier: Apache-2.0
"""Runs that are done, one line each in a file beside the results, so that an experiment can be interrupted.

A run is known by everything that decides about its outcome: whoever changes one system of a recipe runs that system
again, and no other. A line that was not written to its end is as if it were not there.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from anonkit.bundle.atomic import reason_of
from anonkit.errors import EngineError
from papers.harness.systems import RunOutcome


def run_key(identity: Mapping[str, Any]) -> str:
    """Return what a run is known by: the hash of all that decides about it."""
    text = json.dumps(identity, sort_keys=True, default=str)
    return sha256(text.encode()).hexdigest()[:32]


class KeptRuns:
    """The file of runs that are done.

    Parameters
    ----------
    path : Path
    anew : bool
        Forget what is there.

    Raises
    ------
    EngineError
        The file cannot be written.
    """

    def __init__(self, path: Path, *, anew: bool = False) -> None:
        self.path = path
        self._runs: dict[str, RunOutcome] = {}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if anew:
                path.unlink(missing_ok=True)
            text = path.read_bytes() if path.exists() else b""
            self._file = path.open("ab")
            if text and not text.endswith(b"\n"):
                self._file.write(b"\n")  # what was torn stays a line of its own
        except OSError as error:
            raise EngineError(f"cannot write {str(path)!r}: {reason_of(error)}") from None
        for line in text.splitlines():
            self._read(line)

    def _read(self, line: bytes) -> None:
        try:
            entry = json.loads(line)
            self._runs[entry["run"]] = RunOutcome(
                samples=tuple({name: float(value) for name, value in one.items()} for one in entry["samples"]),
                promise=entry["promise"],
                epsilon=None if entry["epsilon"] is None else float(entry["epsilon"]),
                refused=entry["refused"],
            )
        except (ValueError, KeyError, TypeError, AttributeError):
            return  # torn: the run is done again

    def __contains__(self, key: str) -> bool:
        return key in self._runs

    def __getitem__(self, key: str) -> RunOutcome:
        return self._runs[key]

    def keep(self, key: str, outcome: RunOutcome) -> None:
        """Write a run that is done; it is on the disk when this returns.

        Raises
        ------
        EngineError
            The disk is full.
        """
        entry = {
            "run": key,
            "promise": outcome.promise,
            "epsilon": _number(outcome.epsilon),
            "refused": outcome.refused,
            "samples": [{name: _number(value) for name, value in one.items()} for one in outcome.samples],
        }
        try:
            self._file.write(json.dumps(entry).encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise EngineError(f"cannot write {str(self.path)!r}: {reason_of(error)}") from None
        self._runs[key] = outcome

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _number(value: float | None) -> float | str | None:
    """Return a number for JSON, which has no infinity."""
    return str(value) if value is not None and not math.isfinite(value) else value
