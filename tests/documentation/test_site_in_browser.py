# SPDX-License-Identifier: Apache-2.0
"""The site as a browser shows it: no page is wider than its window, and none asks another host for anything."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from html import unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

WIDTHS = (400, 1200)
"""Pixels: a phone, a small screen."""
AT_ONCE = 20
"""Pages in one run of the browser."""
PROBE = """<!DOCTYPE html><meta charset="utf-8"><body>{frames}<script>
addEventListener("load", () => {{
  const found = {{}};
  for (const frame of document.querySelectorAll("iframe")) {{
    const root = frame.contentDocument.documentElement;
    const pictures = [...frame.contentDocument.querySelectorAll(".md-content img")];
    const asked = frame.contentWindow.performance.getEntriesByType("resource").map(one => one.name);
    found[`${{frame.title}} at ${{frame.width}}`] = {{
      wider: Math.max(0, root.scrollWidth - root.clientWidth),
      broken: pictures.filter(one => one.complete && !one.naturalWidth).length,
      foreign: asked.filter(one => !one.startsWith(location.origin) && !one.startsWith("data:")),
    }};
  }}
  document.body.textContent = JSON.stringify(found);
}});
</script>"""


def chromium() -> str:
    """Return the program; where there is none the test is skipped, and fails in CI."""
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("a Chromium is not there")
    return program


class Silent(SimpleHTTPRequestHandler):
    """Serves a folder without a word."""

    def log_message(self, *_: object) -> None:
        """Stay silent."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder on this machine while the context lasts."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Silent, directory=folder)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def seen(site: Path, profile: Path, pages: list[str]) -> dict[str, Any]:
    """Return what a browser without any other network finds on pages of the site, at every width."""
    frames = "".join(
        f'<iframe title="{page}" src="{page}" width="{width}" height="900"></iframe>'
        for page in pages
        for width in WIDTHS
    )
    (site / "probe.html").write_text(PROBE.format(frames=frames), encoding="utf-8")
    with served(site) as address:
        command = [
            chromium(), "--headless", "--no-sandbox", f"--user-data-dir={profile}", "--disable-gpu",
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--dump-dom", f"{address}/probe.html",
        ]  # fmt: skip
        shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    (site / "probe.html").unlink()
    body = re.search(r"<body>(.*)</body>", shown, re.DOTALL)
    assert body is not None
    found: dict[str, Any] = json.loads(unescape(body[1]))
    return found


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.browser
def test_no_page_is_wider_than_its_window_and_none_asks_another_host(site: Path, tmp_path: Path) -> None:
    """Tables and code scroll in themselves, every picture is there; the control has all three faults."""
    (site / "control.html").write_text(
        '<div style="width: 3000px">wide</div><div class="md-content"><img src="https://fonts.example.org/x.png"></div>',
        encoding="utf-8",
    )
    pages = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html") if path.name != "404.html")

    found: dict[str, Any] = {}
    for first in range(0, len(pages), AT_ONCE):
        found |= seen(site, tmp_path, pages[first : first + AT_ONCE])

    (site / "control.html").unlink()
    control = [found.pop(f"control.html at {width}") for width in WIDTHS]
    assert all(one["wider"] and one["broken"] and one["foreign"] for one in control)
    assert len(found) == (len(pages) - 1) * len(WIDTHS)
    assert {page: one for page, one in found.items() if any(one.values())} == {}
