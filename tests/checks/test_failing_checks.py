"""A check whose own arithmetic fails: a defect while a release is made, damage where the files of others are read."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import pytest
from checks.small_releases import made

import anonkit
from anonkit.checks import central, draw_loss, local_promise
from anonkit.errors import InternalError, ReleaseFormatError

FAILING = {
    "forest": (central, "row_checks"),
    "marginals": (central, "noise_checks"),
    "tables": (central, "aggregate_checks"),
    "local": (local_promise, "_budget"),
    "safepub": (draw_loss, "_contradictions"),
}
ERRORS = (OverflowError, ZeroDivisionError, FloatingPointError)


@pytest.mark.quick_cases("local", "tables")
@pytest.mark.parametrize("family", FAILING)
def test_arithmetic_that_fails_is_damage_only_in_files_of_others(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A release names the check that failed; `validate` says that the files are damaged, whatever the error."""
    made(family, tmp_path)
    again = tmp_path / "again"
    again.mkdir()
    for kind in ERRORS:

        def failing(*_: object, kind: type[ArithmeticError] = kind, **__: object) -> NoReturn:
            raise kind("a cell of the table")

        monkeypatch.setattr(*FAILING[family], failing)
        with pytest.raises((InternalError, kind)) as defect:
            made(family, again)
        assert not any(again.iterdir())
        if isinstance(defect.value, InternalError):  # else what the check raised itself, which the command line words
            assert defect.value.message.startswith("internal error in anonkit.checks.")
            assert defect.value.message.endswith(f"({kind.__name__})")
        with pytest.raises(ReleaseFormatError) as damage:
            anonkit.validate(tmp_path / "out.parquet")
        assert "cell of" not in str(damage.value)
