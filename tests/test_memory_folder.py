# SPDX-License-Identifier: Apache-2.0
"""The files of the gate are in memory where that is safe, and where somebody says where they are, there."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from memory_folder import NEEDED_BYTES, keep_files_in_memory, memory_folder

GATE, LONG = "not slow and not docs", "slow"
NOEXEC = getattr(os, "ST_NOEXEC", 8)


@pytest.fixture
def file_system(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A file system with room, in which programs may run."""
    found = SimpleNamespace(f_bavail=NEEDED_BYTES, f_frsize=1, f_flag=0)
    monkeypatch.setattr(os, "statvfs", lambda place: found, raising=False)
    monkeypatch.setattr(os, "ST_NOEXEC", NOEXEC, raising=False)
    return found


def _asked(markers: str) -> Any:
    return SimpleNamespace(getoption=lambda name: {"markexpr": markers}[name])


def test_a_folder_in_memory_has_space_and_lets_programs_run(tmp_path: Path, file_system: SimpleNamespace) -> None:
    """The 64 MB that a container has are too few, and environments that tests make have programs."""
    assert memory_folder(tmp_path) == tmp_path
    assert memory_folder(tmp_path / "absent") is None
    file_system.f_bavail = 64 << 20
    assert memory_folder(tmp_path) is None
    file_system.f_bavail, file_system.f_flag = NEEDED_BYTES, NOEXEC
    assert memory_folder(tmp_path) is None


def test_no_file_system_in_memory_is_none(tmp_path: Path) -> None:
    """A system without the place, as any other than Linux, has no file system in memory."""
    assert memory_folder(tmp_path / "absent") is None


def test_the_gate_works_in_memory_unless_somebody_says_where(
    tmp_path: Path, file_system: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Long tests stay on the disk; what is set in the environment holds."""
    monkeypatch.setattr("memory_folder.MEMORY", tmp_path)
    for name in ("TMPDIR", "TEMP", "TMP", "PYTEST_DEBUG_TEMPROOT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(tempfile, "tempdir", tempfile.gettempdir())
    keep_files_in_memory(_asked(LONG))
    assert "TMPDIR" not in os.environ
    with monkeypatch.context() as chosen:
        chosen.setenv("TMP", "elsewhere")
        keep_files_in_memory(_asked(GATE))
        assert "TMPDIR" not in os.environ
    monkeypatch.setenv("TMPDIR", "")
    keep_files_in_memory(_asked(GATE))
    assert (os.environ["TMPDIR"], tempfile.gettempdir()) == (str(tmp_path), str(tmp_path))
