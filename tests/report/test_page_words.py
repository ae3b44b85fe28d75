"""Pages of real releases, read as their reader reads them: everyday words, and files by their own names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from report.test_page import _Page

import anonkit
from anonkit.datasets import bank_customers, bank_customers_policy

METHODS: dict[str, dict[str, Any]] = {
    "mondrian": {"k": 5},
    "rfka": {"k": 20, "trees": 5, "max_suppression": 0.3},
    "errph": {"p_keep": 0.6, "bins": 8},
    "dp-forest": {"epsilon": 1.0},
}
WORDS_OF_THE_CODE = (
    "('", "', ", "cuts are on it", "mildest division", "the account", "has no line", "rf-oob)", "p keep", "not set,",
    "neighbouring tables:", "cheapest path", "out.parquet", "majority class",
)  # fmt: skip
"""Former words of pages that readers did not understand."""


@pytest.mark.quick_cases("dp-forest")
@pytest.mark.parametrize("method", METHODS)
def test_a_page_has_everyday_words_and_the_names_of_its_files(method: str, tmp_path: Path) -> None:
    """Nothing of the code, the real name of every file, and the page still shows its report when files are renamed."""
    release = anonkit.release(
        bank_customers(200, seed=1), method=method, policy=bank_customers_policy(), ledger=None,
        output=tmp_path / "customers 2026.parquet", **METHODS[method],
    )  # fmt: skip
    text = _Page((tmp_path / "customers 2026.report.html").read_text(encoding="utf-8")).text

    assert [words for words in WORDS_OF_THE_CODE if words in text.lower()] == []
    assert "customers 2026.params.json" in text
    assert "anonkit validate customers 2026.parquet" in text
    release.save(tmp_path / "other" / "renamed.parquet")
    assert anonkit.validate(tmp_path / "other" / "renamed.parquet").passed


@pytest.mark.slow
def test_a_release_in_memory_has_no_name_yet(tmp_path: Path) -> None:
    """Its page says NAME, and validates under whatever name it is saved, NAME among them."""
    release = anonkit.release(
        bank_customers(60, seed=1), method="mondrian", k=5, policy=bank_customers_policy(), ledger=None
    )

    for name in ("NAME", "<b>", "a & b"):
        release.save(tmp_path / f"{name}.parquet")
        assert "NAME.parquet" in (tmp_path / f"{name}.report.html").read_text(encoding="utf-8")
        assert anonkit.validate(tmp_path / f"{name}.parquet").passed


@pytest.mark.quick_cases("<b>*")
@pytest.mark.parametrize("name", ["NAME", "<b>&amp;", "é"])
def test_any_name_of_files_is_on_the_page(name: str, tmp_path: Path) -> None:
    """Escaped, and read back by the check of the page; a page with a path for a name is none of its report."""
    place = tmp_path / f"{name}.parquet"
    anonkit.release(
        bank_customers(60, seed=1), method="mondrian", k=5, policy=bank_customers_policy(), ledger=None, output=place
    )
    assert anonkit.validate(place).passed

    page = tmp_path / f"{name}.report.html"
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace("<dt><code>", "<dt><code>x/", 1), encoding="utf-8")
    failed = [check.name for check in anonkit.validate(place).checks if not check.passed]
    assert "page" in failed
