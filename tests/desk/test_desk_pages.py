"""The whole line in a real browser: by keyboard alone, on a phone, in the dark, with names that are no names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from desk.phone import CHROMIUM, MINUTES, Phone
from desk.test_station_views import HOSTILE
from pyarrow import parquet

pytestmark = [pytest.mark.slow, pytest.mark.browser]


def test_from_the_question_to_a_release_by_keyboard(
    browser: Any, served: Any, table: Path, declared: Path, tmp_path: Path
) -> None:
    """Noise on a phone in the dark: every station fits, nothing is blocked, and the release is there in the end."""
    phone = Phone(browser)
    phone.page.goto(served(str(table), "--policy", str(declared)))
    phone.see("Noise or classes?")
    phone.press("Noise (ε)")
    phone.see("Table")
    phone.page.locator(".column svg").first.wait_for()
    phone.see("age")
    for station in ("Roles", "Promise"):
        phone.press(f"Next: {station}")
        phone.see(station)
    phone.press("Save answers and recommend")
    phone.page.locator("text=Anyone who receives the table may know anything").wait_for()
    for station in ("Compare", "Decide"):
        phone.press(f"Next: {station}")
        phone.see(station)
    phone.press("Start the dry run")
    phone.see("What is promised")
    phone.press("Write release")
    phone.see("Written")
    phone.press("Undo")

    assert (tmp_path / "out" / "release.parquet").exists()
    assert phone.complaints == []
    kept = phone.page.evaluate("() => [...Object.values(localStorage), ...Object.values(sessionStorage)]")
    assert [one for one in kept if not re.fullmatch("/[a-z]*", one)] == []  # the path of the page, and nothing it shows


def test_a_button_that_is_pressed_while_the_page_looks_again_is_pressed(
    browser: Any, served: Any, table: Path, declared: Path, tmp_path: Path
) -> None:
    """A change in another tab replaces no button under the pointer: the click would be lost without a message."""
    phone = Phone(browser)
    phone.page.goto(served(str(table), "--policy", str(declared)))
    phone.press("Noise (ε)")
    phone.see("Table")
    for station in ("Roles", "Promise"):
        phone.press(f"Next: {station}")
        phone.see(station)
    phone.press("Save answers and recommend")
    phone.page.locator("text=Anyone who receives the table may know anything").wait_for()
    for station in ("Compare", "Decide"):
        phone.press(f"Next: {station}")
        phone.see(station)
    phone.press("Start the dry run")
    phone.page.locator("#write").wait_for()
    phone.page.locator("#write").scroll_into_view_if_needed()
    phone.page.locator("#write").hover()
    phone.page.mouse.down()
    other = phone.page.context.new_page()
    other.goto(phone.page.url)
    other.locator("#start").click()
    other.locator("#write").wait_for()
    phone.page.wait_for_timeout(4_000)
    phone.page.mouse.up()
    phone.page.get_by_role("heading", name="Written", exact=True).wait_for()
    assert (tmp_path / "out" / "release.parquet").exists()
    assert phone.complaints == []


def test_from_the_question_to_a_release_without_script(
    browser: Any, served: Any, table: Path, declared: Path, tmp_path: Path
) -> None:
    """Every step is a form or a link; a page with a job at work loads itself again."""
    context = browser.new_context(java_script_enabled=False)
    context.set_default_timeout(MINUTES)
    page = context.new_page()

    def press(name: str, role: str = "button") -> None:
        page.get_by_role(role, name=name, exact=True).first.click()

    page.goto(served(str(table), "--policy", str(declared)))
    page.get_by_role("button", name="Classes (k)").click()
    page.locator(".figures").wait_for()
    press("Next: Roles", "link")
    page.get_by_label("occupation", exact=True).select_option("sensitive")
    press("Save")
    press("Undo")
    press("Redo")
    assert page.get_by_label("occupation", exact=True).input_value() == "sensitive"
    press("Next: Promise")
    press("Save answers and recommend")
    press("Next: Compare")
    page.get_by_role("heading", name="Compare", exact=True).wait_for()
    press("Decide", "link")
    press("Start the dry run")
    page.get_by_role("heading", name="What is promised", exact=True).wait_for()
    press("Write release")
    page.get_by_role("heading", name="Written", exact=True).wait_for()
    assert (tmp_path / "out" / "release.parquet").exists()
    context.close()


def test_hostile_names_run_nothing(browser: Any, served: Any, tmp_path: Path) -> None:
    """HTML in names and cells is text, and nothing of it loads or runs."""
    rows = {name: [HOSTILE[at % len(HOSTILE)] for at in range(40)] for name in HOSTILE}
    parquet.write_table(pa.table({**rows, "age": list(range(40))}), tmp_path / "in.parquet")
    phone = Phone(browser)
    phone.page.goto(served(str(tmp_path / "in.parquet")))
    phone.press("Classes (k)")
    phone.page.locator(".column").first.wait_for()
    for station in ("Roles", "Promise", "Compare", "Decide"):
        phone.press(f"Next: {station}")
        phone.see(station)
    assert phone.complaints == []


def test_a_name_that_was_turned_to_this_machine_is_refused(browser: Any, served: Any, table: Path) -> None:
    """A rebound name in a real browser: it reaches the port, and sees nothing."""
    address = served(str(table))
    port = address.partition("127.0.0.1:")[2].partition("/")[0]
    assert CHROMIUM is not None
    rebound = browser.browser_type.launch(
        executable_path=CHROMIUM, args=["--no-sandbox", "--host-resolver-rules=MAP evil.example 127.0.0.1"]
    )
    page = rebound.new_page()
    answer = page.goto(f"http://evil.example:{port}/{address.partition('/open')[2]}")
    assert answer is not None
    assert answer.status in (403, 404)
    answer = page.goto(address.replace("127.0.0.1", "evil.example"))
    assert answer is not None
    assert answer.status == 403
    rebound.close()
    page = browser.new_page()
    answer = page.goto(address)
    assert answer is not None
    assert answer.status == 200
