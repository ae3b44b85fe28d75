"""A phone in the dark, of which only the keyboard is used, before the pages of a desk."""

from __future__ import annotations

import shutil
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
MINUTES = 6 * 60_000
"""Milliseconds that a job may take where other jobs share the processor."""
MOST_TABS = 1200
"""Controls of a page at most: a table of 300 columns has two for each."""
_KEEPS_OUT = ("serious", "critical")


class Phone:
    """A narrow window in the dark, of which only the keyboard is used."""

    def __init__(self, browser: Any) -> None:
        context = browser.new_context(viewport={"width": 400, "height": 800}, color_scheme="dark")
        context.set_default_timeout(MINUTES)
        self.page = context.new_page()
        self.complaints: list[str] = []
        self.page.on(
            "console", lambda message: self.complaints.append(message.text) if message.type == "error" else None
        )
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append("a script of a name ran"))

    def go_to(self, what: str, kind: str = "") -> None:
        """Go to a control by Tab; `kind` is what it is, such as SELECT, where others have the same words."""
        for _ in range(MOST_TABS):
            self.page.keyboard.press("Tab")
            words, tag = self.page.evaluate(
                "() => { const at = document.activeElement; return ["
                "at.labels?.[0]?.innerText || at.innerText || at.ariaLabel || '', at.tagName]; }"
            )
            if what in words and tag != "BODY" and kind in ("", tag):
                return
        raise AssertionError(f"{what!r} cannot be reached by Tab")

    def press(self, what: str, key: str = "Enter") -> None:
        """Go to a control by Tab, and press it."""
        self.go_to(what)
        self.page.keyboard.press(key)

    def choose(self, menu: str, words: str) -> None:
        """Go to a menu by Tab, and choose what begins with some words by typing them."""
        self.go_to(menu, "SELECT")
        self.page.keyboard.type(words)
        chosen = self.page.evaluate("() => document.activeElement.selectedOptions[0].label")
        assert chosen.startswith(words), (menu, chosen)

    def write(self, field: str, text: str) -> None:
        """Go to a field by Tab, and type into it."""
        self.go_to(field)
        self.page.keyboard.press("Control+A")
        self.page.keyboard.type(text)

    def see(self, heading: str) -> None:
        """Wait for a heading; the page is no wider than its window."""
        self.page.get_by_role("heading", name=heading, exact=True).wait_for()
        self.page.wait_for_load_state("load")  # a heading is there before the styles that keep wide lines in
        wider = self.page.evaluate("() => document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wider <= 0, heading
        assert self.top_stays(), heading
        assert serious(self.page) == [], heading

    def wait_for_work(self) -> None:
        """Wait until the figures are there, and no job is at work or has failed."""
        self.page.locator(".figures").wait_for()
        self.page.locator(".job").first.wait_for(state="hidden")

    def top_stays(self) -> bool:
        """Return whether the line of stations and the strip are visible from the end of the page too."""
        self.page.evaluate("() => window.scrollTo(0, document.documentElement.scrollHeight)")
        seen = self.page.evaluate(
            "() => { const strip = document.getElementById('strip')?.getBoundingClientRect();"
            " return !strip || (strip.top >= 0 && strip.bottom <= innerHeight / 3); }"
        )
        self.page.evaluate("() => window.scrollTo(0, 0)")
        return bool(seen)


def serious(page: Any) -> list[str]:
    """Return what axe finds that keeps people from using a page."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page, options={"preload": False}).response["violations"]  # its styles break the policy
    return [f"{each['id']}: {each['nodes'][0]['target']}" for each in found if each["impact"] in _KEEPS_OUT]
