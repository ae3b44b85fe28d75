"""`anonkit.validate`: a release from its files, a table against requirements."""

from __future__ import annotations

import sys

import pyarrow as pa
import pytest

import anonkit
from anonkit.errors import ParameterError
from anonkit.pipeline.validating import without_pandas

ROWS = pa.table({"age": [30, 30, 41, 41], "ill": ["a", "b", "a", "a"]})


def test_a_table_is_counted_against_requirements() -> None:
    """k holds for two rows a class, three are not there; one value a class breaks l = 2."""
    assert anonkit.validate(ROWS, quasi_identifiers=["age"], k=2).passed
    assert not anonkit.validate(ROWS, quasi_identifiers=["age"], k=3).passed
    assert not anonkit.validate(ROWS, quasi_identifiers=["age"], sensitive=["ill"], k=2, l=2).passed


def test_a_table_without_a_requirement_is_wrong_usage() -> None:
    """Nothing would be checked."""
    with pytest.raises(ParameterError):
        anonkit.validate(ROWS)


def test_modules_are_looked_for_as_before() -> None:
    """pandas is kept out while pyarrow looks for it, and not a moment longer."""
    before = list(sys.meta_path)
    without_pandas()
    assert sys.meta_path == before
