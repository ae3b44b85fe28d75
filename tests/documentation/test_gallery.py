# SPDX-License-Identifier: Apache-2.0
"""The gallery: its pictures are those that its script makes, they are small, and a picture can be made."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from documentation.gallery import GALLERY, Picture, photographed

LARGEST = 1_500_000
"""Bytes of all pictures together."""


def test_the_page_shows_every_picture_that_the_script_makes(repository: Path) -> None:
    """No picture is missing, and none is left of a page that is not made any more."""
    page = (repository / "docs" / "gallery.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\(gallery/([\w-]+)\.png\)", page)) == set(GALLERY)
    assert {path.stem for path in (repository / "docs" / "gallery").iterdir()} == set(GALLERY)
    assert "python tests/documentation/gallery.py" in page


def test_the_pictures_are_small_enough_for_a_repository(repository: Path) -> None:
    """One and a half megabytes in all, at most."""
    assert sum(path.stat().st_size for path in (repository / "docs" / "gallery").iterdir()) <= LARGEST


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("name", ["report-k-anonymity", "terminal"])
def test_a_picture_is_made_as_large_as_declared(name: str, tmp_path: Path) -> None:
    """From a release to a file of few colours."""
    from PIL import Image

    if not any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))):
        pytest.skip("a Chromium is not there")
    picture: Picture = GALLERY[name]
    photographed(picture, picture.page(tmp_path), tmp_path / "picture.png")
    with Image.open(tmp_path / "picture.png") as image:
        assert image.size == (picture.width, picture.height)
        assert len(image.convert("RGB").getcolors(1 << 24) or ()) > 8
