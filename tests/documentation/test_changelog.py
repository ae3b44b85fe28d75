"""The changelog is a list of changes by version, short enough to be read through, privacy first."""

from __future__ import annotations

import re
from pathlib import Path

CHANGELOG = (Path(__file__).parents[2] / "CHANGELOG.md").read_text(encoding="utf-8")
SECTIONS = ["Privacy", "Added", "Changed", "Fixed"]
LONGEST = 240
"""Characters of an item as a reader sees it, without the targets of its links."""


def _versions() -> dict[str, str]:
    """Return the text of each version by its heading."""
    parts = re.split(r"^## (.+)\n", CHANGELOG, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def _items(text: str) -> list[str]:
    """Return the items of a list, each on one line."""
    found = re.findall(r"^- (.+(?:\n  .+)*)", text, flags=re.MULTILINE)
    return [" ".join(re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", item).split()) for item in found]


def test_an_item_is_at_most_240_characters() -> None:
    """Every change is one short item; where it leads is behind its link."""
    items = _items(CHANGELOG)
    assert len(items) == len(re.findall(r"^- ", CHANGELOG, flags=re.MULTILINE)) > 100
    assert not [(len(item), item) for item in items if len(item) > LONGEST]


def test_each_version_has_each_section_once_privacy_first() -> None:
    """A version has no section twice and no other than the four, in their order; none is empty."""
    assert len(_versions()) >= 2
    for version, text in _versions().items():
        sections = re.split(r"^### (.+)\n", text, flags=re.MULTILINE)[1:]
        assert sections[::2] == [name for name in SECTIONS if name in sections[::2]], version
        assert all(_items(section) for section in sections[1::2]), version


def test_no_item_occurs_twice() -> None:
    """A change is one item, in one version."""
    items = _items(CHANGELOG)
    assert len(set(items)) == len(items)
