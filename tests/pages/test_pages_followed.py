"""Every page, by the letter: its blocks in order, in a folder with its inputs, by real programs (`make test-docs`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pages.blocks import blocks_of, pages
from pages.following import follow, make_inputs
from pages.page import Page, registered, settings
from pages.readers import QuickReader, Reader
from postgresql import PASSWORD, Server

FOLLOWED = [
    page for page in pages() if blocks_of(page) and any(kind != "covered" for _, kind in settings(page).kinds(page))
]
_OWN_LINE = r"(?:(?:docs|recipes)/\S+|[A-Z]+\.md|\S*/anonkit/(?!\S*site-packages/)\S+\.py):\d+"
OWN_WARNING = re.compile(rf"^{_OWN_LINE}: \w*Warning:.*", re.MULTILINE)
"""A warning about a line of a page or of the package; other libraries warn of each other."""
QUICK = sorted(page for page, read in registered().items() if read.quick)


@pytest.fixture
def server(postgresql: Server) -> Iterator[Server]:
    """A PostgreSQL server of the page alone: pages name schemas and tables as they like."""
    own = Server.start()
    yield own
    own.remove()


def _needed(page: Page, folder: Path, request: pytest.FixtureRequest) -> tuple[dict[str, str], dict[str, str]]:
    """Return variables and stand-ins of a page, with what they name of this machine."""
    known = {"folder": str(folder)}
    environment = dict(page.environment)
    for name in page.needs:
        fixture = request.getfixturevalue(name)
        if name == "server":
            known["port"] = str(fixture.port)
            environment |= {"PGPORT": str(fixture.port), "PGPASSWORD": PASSWORD, "PGHOST": "127.0.0.1"}
    return environment, {told: here.format(**known) for told, here in page.stand_ins.items()}


@pytest.mark.docs
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("name", FOLLOWED)
def test_a_page_runs_by_the_letter(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Every block ends well and prints what the page says; no secret is printed."""
    page, folder = settings(name), tmp_path / "here"
    folder.mkdir()
    environment, stand_ins = _needed(page, folder, request)
    make_inputs(page, folder)
    reader = Reader(folder, environment)
    try:
        follow(name, page, folder, reader, stand_ins)
    finally:
        reader.close()
    assert PASSWORD not in reader.shown
    assert OWN_WARNING.findall(reader.shown) == []


@pytest.mark.quick_cases("docs/methods/rr.md", "docs/reference/cli.md")
@pytest.mark.parametrize("name", QUICK)
def test_a_quick_page_runs_in_the_gate(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """The same in this process, where every warning is an error."""
    page, folder = settings(name), tmp_path / "here"
    folder.mkdir()
    make_inputs(page, folder)
    follow(name, page, folder, QuickReader(folder, monkeypatch, capfd), page.stand_ins)
