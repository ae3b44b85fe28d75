# SPDX-License-Identifier: Apache-2.0
"""The tutorial of the desk shows the pictures that its script makes, and they are small."""

from __future__ import annotations

import re
from pathlib import Path

from documentation.desk_pictures import PICTURES, STATIONS, photographed_stations

LARGEST = 400_000
"""Bytes of all pictures together."""


def test_the_tutorial_shows_every_picture_of_the_desk(repository: Path) -> None:
    """One a station, each with words for anyone who does not see it."""
    page = (repository / "docs" / "tutorials" / "desk.md").read_text(encoding="utf-8")
    shown = re.findall(r'src="desk/([\w-]+)\.png" width="\d+" alt="[^"]{20,}"', page)
    assert tuple(shown) == STATIONS
    assert photographed_stations() == set(STATIONS)


def test_the_pictures_of_the_desk_are_small() -> None:
    """A repository is cloned by everybody."""
    assert sum(path.stat().st_size for path in PICTURES.iterdir()) <= LARGEST
