"""Where the files of a release stand is read from one argument."""

from __future__ import annotations

import pytest

from anonkit.bundle.release_place import Place
from anonkit.errors import ParameterError


@pytest.mark.parametrize("output", ["out.csv", "out", "out.txt"])
def test_an_output_of_another_name_is_refused(output: str) -> None:
    """A release is a Parquet file with sidecars, or a folder."""
    with pytest.raises(ParameterError, match=r"must end in \.parquet"):
        Place.of(output)
