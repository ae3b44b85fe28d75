"""Linting, strict typing and the rules of the tree, as tests."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TEXT = (".py", ".md", ".toml", ".txt", ".j2", ".json", ".yml", ".yaml", ".cff", "")


def _run(repository: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *command], cwd=repository, capture_output=True, text=True, check=False)


@pytest.mark.pinned
def test_ruff_finds_nothing(repository: Path) -> None:
    """The linter has nothing to say."""
    done = _run(repository, "ruff", "check", "--no-cache", ".")
    assert done.returncode == 0, done.stdout


@pytest.mark.pinned
def test_ruff_would_format_nothing(repository: Path) -> None:
    """Every file is in the one format."""
    done = _run(repository, "ruff", "format", "--check", "--no-cache", ".")
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
@pytest.mark.pinned
def test_mypy_finds_nothing(repository: Path) -> None:
    """The package is strictly typed; `make lint` says the same, and hosted runs begin with it."""
    done = _run(repository, "mypy", "--cache-dir", os.devnull)  # nobody would read what a cache of it held
    assert done.returncode == 0, done.stdout


def _tracked(repository: Path) -> list[Path]:
    listed = subprocess.run(["git", "ls-files"], cwd=repository, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    paths = [repository / name for name in listed.stdout.splitlines()]
    return [path for path in paths if path.suffix in TEXT and path.exists()]


def test_no_file_names_a_registry_host_or_a_machine_path(repository: Path) -> None:
    """Files name packages, never where they come from, and no path of one machine."""
    hosts = "|".join(("py" + "pi", "python" + "hosted", r"registry\.npm" + "js", r"deb\.deb" + "ian"))
    forbidden = re.compile(rf"({hosts})\.(org|com)|(^|[^A-Za-z0-9_.])/(wo" + r"rk|ro" + r"ot)/")
    bad = [str(path) for path in _tracked(repository) if forbidden.search(path.read_text(encoding="utf-8"))]
    assert not bad


def test_links_between_docs_pages_lead_somewhere(repository: Path) -> None:
    """No relative link in the pages at the top or in docs is broken."""
    broken = []
    for page in [*repository.glob("*.md"), *(repository / "docs").rglob("*.md")]:
        for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            if "://" not in link and not (page.parent / link).exists():
                broken.append(f"{page.relative_to(repository)} -> {link}")
    assert not broken
