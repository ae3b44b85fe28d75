"""The report says which checks were made while the release was written: each of them, whatever it is called."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks.forgeries import Files, forged, verdict
from checks.small_releases import FAMILIES


@pytest.mark.quick_cases("k-anonymous", "forest", "tables")
@pytest.mark.parametrize("family", FAMILIES)
def test_a_check_that_is_taken_out_of_the_report_is_missed(
    small_releases: dict[str, Files], family: str, tmp_path: Path
) -> None:
    """One after the other, page and hashes made anew; nothing else is wrong with the release."""
    true = small_releases[family]
    stated = [check["name"] for check in true.report["verification"]["checks"]]
    assert verdict(forged(true, lambda _: None, tmp_path)) == (0, ())
    for at, name in enumerate(stated):

        def without(files: Files, at: int = at) -> None:
            del files.report["verification"]["checks"][at]

        missed = "whose_rows" if name.startswith("k_anonymity_candidate:") else "verification"
        code, failed = verdict(forged(true, without, tmp_path))
        assert (code, set(failed) - {"documents"}) == (1, {missed}), name  # a schema may demand the check, too
