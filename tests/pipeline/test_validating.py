"""`anonkit.validate`: a release from its files, a table against requirements; no pandas is imported on the way."""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pytest

import anonkit
from anonkit.errors import ParameterError

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


def test_pyarrow_looks_for_pandas_while_there_is_none() -> None:
    """Its first array imports no pandas then; and whoever asks for a data frame afterwards gets one."""
    code = (
        "import sys; from anonkit.pipeline.validating import without_pandas; without_pandas(); "
        "assert 'pandas' not in sys.modules; import pyarrow; table = pyarrow.table({'a': [1]}); "
        "assert 'pandas' not in sys.modules; table.to_pandas(); assert 'pandas' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
