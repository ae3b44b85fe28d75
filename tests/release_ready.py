"""Obstacles to publishing a version: `python tests/release_ready.py v1.2.3`.

A placeholder that only the owner can fill, a version that is not the one of the tag, a changelog that does not name it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

PLACEHOLDERS = {"CITATION.cff": "https://example.org/ADDRESS-OF-THE-REPOSITORY"}
"""File -> the words in its first line that the owner replaces; no other page needs a name that only the owner knows."""


def version_of(repository: Path) -> str:
    """Return the version in anonkit/__init__.py."""
    text = (repository / "anonkit" / "__init__.py").read_text(encoding="utf-8")
    stated = re.search(r'^__version__ = "([^"]+)"$', text, re.MULTILINE)
    if stated is None:
        raise ValueError("anonkit/__init__.py states no version")
    return stated[1]


def obstacles(repository: Path, tag: str) -> Iterator[str]:
    """Yield, one sentence each, why the tree must not be published under `tag`."""
    version = version_of(repository)
    if tag != f"v{version}":
        yield f"the tag is {tag}, anonkit.__version__ is {version}"
    cited = re.search(r"^version: (.+)$", (repository / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    if cited is None or cited[1].strip("\"'") != version:
        yield f"CITATION.cff does not cite {version}"
    changelog = (repository / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## {re.escape(version)}\b", changelog, re.MULTILINE):
        yield f"CHANGELOG.md has no heading for {version}"
    for name, placeholder in PLACEHOLDERS.items():
        if placeholder in (repository / name).read_text(encoding="utf-8"):
            yield f"{name} still says {placeholder}"


def main(tag: str) -> int:
    """Print every obstacle; return the exit code."""
    found = list(obstacles(Path(__file__).parents[1], tag))
    for obstacle in found:
        print(obstacle, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "no tag"))
