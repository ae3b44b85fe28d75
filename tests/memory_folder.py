# SPDX-License-Identifier: Apache-2.0
"""A folder in memory for the files of the gate's tests, if the machine has a file system of it.

A release waits for the disk some fifty times, at each of its files and at each step of the ledger, and the gate makes
thousands. It waits so that what is written outlives a power cut, which no test can see: all that tests see, who reads
and writes and in what order, is the same in memory.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

MEMORY = Path("/dev/shm")
"""The file system in memory of Linux; containers have a small one of 64 MB, which is left alone."""
NEEDED_BYTES = 4 << 30
"""Bytes that must be free there: what all workers write in one gate, several times over."""
_CHOSEN = ("TMPDIR", "TEMP", "TMP", "PYTEST_DEBUG_TEMPROOT")


def memory_folder(place: Path) -> Path | None:
    """Return a folder in memory in which tests can work; None where there is none, or too little room in it."""
    try:
        found = os.statvfs(place)
    except (OSError, AttributeError):
        return None
    has_space = found.f_bavail * found.f_frsize >= NEEDED_BYTES
    may_run_programs = not found.f_flag & os.ST_NOEXEC  # tests make environments, and start what is in them
    return place if has_space and may_run_programs and os.access(place, os.W_OK | os.X_OK) else None


def keep_files_in_memory(config: pytest.Config) -> None:
    """Let temporary files of the tests, and of the programs they start, be in memory, unless somebody said where.

    The long tests stay on the disk: they may write more than there is memory for.
    """
    if "not slow" not in (config.getoption("markexpr") or "") or any(os.environ.get(name) for name in _CHOSEN):
        return
    folder = memory_folder(MEMORY)
    if folder is not None:
        os.environ["TMPDIR"] = str(folder)
        tempfile.tempdir = None  # looked for anew
