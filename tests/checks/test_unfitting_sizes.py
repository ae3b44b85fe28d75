"""Sizes in files that somebody may have forged, and rows that are lost on their way, are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from anonkit.bundle.release_place import DESCRIPTOR, Place
from anonkit.checks.file_integrity import read_descriptor
from anonkit.checks.people import PeopleCounts
from anonkit.errors import ReleaseFormatError


@pytest.mark.parametrize("raw", [[1, 2], [1, 2, 3, 4, 0], [1, 2, 3, 4, -1], [1, 2, 3, 4, True], [1, 2, 3, 4, 5.0]])
def test_sizes_of_people_are_five_whole_numbers_above_none(raw: list[Any]) -> None:
    """Nothing else is in a class of people."""
    people = {"classes": "", "sensitive": {}, "parts": [[raw]]}
    with pytest.raises(ReleaseFormatError, match="the counts of people in the params"):
        PeopleCounts.from_params(people)


def test_a_descriptor_of_more_files_than_a_release_has_is_refused(tmp_path: Path) -> None:
    """Before any of them is looked for."""
    place = Place.of(tmp_path / "out.parquet")
    listed = [{"name": f"file{at}", "path": f"file{at}"} for at in range(100)]
    (tmp_path / f"out{DESCRIPTOR}").write_text(json.dumps({"resources": listed}), encoding="utf-8")
    with pytest.raises(ReleaseFormatError):
        read_descriptor(place)
