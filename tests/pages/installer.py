"""A `pip` for the reader of the tests: it installs nothing, and refuses extras that anonkit does not have."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[2] / "pyproject.toml"


def refused(words: list[str], declared: set[str]) -> list[str]:
    """Return the extras of anonkit that words of `pip install` name and the package does not declare."""
    named = re.findall(r"(?:anonkit|^\.)\[([^\]]*)\]", "\n".join(words), re.MULTILINE)
    return sorted({extra.strip() for one in named for extra in one.split(",")} - declared)


if __name__ == "__main__":
    missing = refused(sys.argv[1:], set(tomllib.loads(PROJECT.read_text())["project"]["optional-dependencies"]))
    if sys.argv[1:2] != ["install"] or missing:
        sys.exit(f"pip {' '.join(sys.argv[1:])}: anonkit has no extras {missing}")
