# SPDX-License-Identifier: Apache-2.0
"""The pictures of docs/tutorials/desk.md, made anew: `PYTHONPATH=.:tests python tests/documentation/desk_pictures.py`.

A Chromium goes through the desk as the tutorial does, on simulated customers with a seed, and photographs each station.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "tutorials" / "desk"
STATIONS = ("question", "table", "roles", "hierarchy", "promise", "compare", "beside", "decide", "written")
COLOURS = 32
_SIZE = {"width": 900, "height": 760}
_MINUTES = 6 * 60_000


def main() -> None:
    """Go through the desk, and write every picture."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        folder = Path(scratch)
        address, process = _served(folder)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        context = browser.new_context(viewport=_SIZE)
        context.set_default_timeout(_MINUTES)
        try:
            _go_through(context.new_page(), address, partial(_photographed, folder))
        finally:
            browser.close()
            process.send_signal(signal.SIGINT)
            process.wait(60)


def _served(folder: Path) -> tuple[str, Any]:
    """Return the address of a desk about simulated customers, and its process."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
    from pyarrow import csv

    from anonkit.bundle.private_files import write_private
    from anonkit.datasets import bank_customers

    csv.write_csv(bank_customers(1_000, seed=1, customer_id=True), folder / "customers.csv")
    key = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    write_private(folder / "owner.pem", key.decode("ascii"))
    process = subprocess.Popen(
        [sys.executable, "-m", "anonkit", "desk", "customers.csv", "--sign", "owner.pem", "--no-browser"],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "ANONKIT_LEDGER": str(folder / "ledger")},
    )
    assert process.stdout is not None
    return process.stdout.readline().strip(), process


def _go_through(page: Any, address: str, photographed: Any) -> None:
    page.goto(address)
    photographed(page, "question")
    page.get_by_role("button", name="Classes (k)").click()
    page.locator("dl.figures").wait_for()
    page.locator(".column svg").nth(8).wait_for()
    page.locator(".job").first.wait_for(state="hidden")
    photographed(page, "table")
    page.get_by_role("link", name="Next: Roles").click()
    page.get_by_role("combobox", name="customer_value").select_option("target, sensitive")
    page.get_by_role("checkbox").first.check()
    page.locator("#save").click()
    page.locator("text=no person has several rows").first.wait_for(state="attached")
    photographed(page, "roles")
    page.get_by_role("link", name="values of occupation").click()
    for number in (0, 1):
        page.locator(f"input[name=tick-{number}]").check()
    page.locator("#group-name").fill("outdoors")
    page.locator("#group").click()
    page.locator("text=Level 2: 1 group,").wait_for()
    page.locator("#hierarchy").scroll_into_view_if_needed()
    photographed(page, "hierarchy", "#hierarchy")
    page.get_by_role("link", name="Promise").click()
    page.get_by_role("button", name="Save answers and recommend").click()
    page.locator("text=What it means here").wait_for()
    photographed(page, "promise", "fieldset:has(#method)")
    page.get_by_role("button", name="Next: Compare").click()
    page.locator("#start").click()
    page.get_by_role("button", name="Put A and B side by side").wait_for()
    photographed(page, "compare")
    page.locator("input[name=a]").first.check()
    page.locator("input[name=b]").last.check()
    page.get_by_role("button", name="Put A and B side by side").click()
    page.get_by_role("heading", name=" beside ").wait_for()
    photographed(page, "beside", "h2")
    page.get_by_role("link", name="Decide").first.click()
    page.get_by_role("button", name="Start the dry run").click()
    page.get_by_role("heading", name="What is promised").wait_for()
    photographed(page, "decide")
    page.get_by_role("button", name="Write release, signed").click()
    page.get_by_role("heading", name="Written", exact=True).wait_for()
    photographed(page, "written", "h2:has-text('Written')")


def _photographed(folder: Path, page: Any, name: str, anchor: str = "") -> None:
    """Write what a window shows, from an anchor on, in few colours."""
    from PIL import Image

    page.wait_for_load_state("load")
    if anchor:
        page.locator(anchor).first.evaluate("at => window.scrollTo(0, at.getBoundingClientRect().top + scrollY - 130)")
    else:
        page.evaluate("() => window.scrollTo(0, 0)")
    taken = folder / f"{name}.png"
    page.screenshot(path=str(taken))
    with Image.open(taken) as picture:
        picture.convert("RGB").quantize(COLOURS).save(PICTURES / f"{name}.png", optimize=True)


def photographed_stations() -> set[str]:
    """Return the names of the pictures that are there."""
    return {path.stem for path in PICTURES.glob("*.png")}


if __name__ == "__main__":
    main()
