"""The tutorial of a PostgreSQL table, by the letter: its code blocks run against a real server."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from postgresql import PASSWORD, Server

from anonkit.policy.column_declarations import Role
from anonkit.policy.declaration import Policy

PAGE = Path(__file__).parents[2] / "docs" / "tutorials" / "from-a-database.md"


@pytest.mark.slow
def test_the_tutorial_of_a_database_runs_by_the_letter(postgresql: Server, tmp_path: Path) -> None:
    """Every block ends well, in one shell, in the order of the page; the files that it names are there."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert len(blocks) == 5
    assert shutil.which("psql")
    command = tmp_path / "bin" / "anonkit"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m anonkit "$@"\n')
    command.chmod(0o755)
    settings = {
        "PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(PAGE.parents[2]),
        "PGPORT": str(postgresql.port),
        "PGPASSWORD": PASSWORD,
    }
    work = tmp_path / "work"
    work.mkdir()
    with postgresql.connect() as connection:
        connection.execute("DROP TABLE IF EXISTS public.customers")
    try:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", "\n".join(blocks)],
            cwd=work, env={**os.environ, **settings}, capture_output=True, text=True, check=False,
        )  # fmt: skip
    finally:
        with postgresql.connect() as connection:
            connection.execute("DROP TABLE IF EXISTS public.customers")
    assert done.returncode == 0, done.stderr
    assert PASSWORD not in done.stdout + done.stderr
    for name in ("policy.toml", "out.parquet", "out.report.json", "grown.toml", "monthly.parquet"):
        assert (work / name).exists(), name
    assert Policy.load(work / "policy.toml").names(Role.IDENTIFIER) == ("customer_id",)
