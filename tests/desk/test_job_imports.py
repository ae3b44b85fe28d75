"""Imports of the desk's jobs: every module of the list is there, so that no job imports it at its first figure."""

from __future__ import annotations

import subprocess
import sys

import pytest

from anonkit.desk import job_imports


@pytest.mark.slow
def test_the_modules_of_jobs_are_imported_at_once() -> None:
    """By a process that imports the list alone."""
    code = f"import sys, anonkit.desk.job_imports; sys.exit(not set({job_imports.MODULES!r}) <= set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert len(set(job_imports.MODULES)) == len(job_imports.MODULES)
