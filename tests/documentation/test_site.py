# SPDX-License-Identifier: Apache-2.0
"""The documentation site: it builds, nothing in it is broken or foreign, and every page can be found."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections import Counter
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from documentation.built_pages import Page
from documentation.test_site_in_browser import chromium
from markdown_it import MarkdownIt

COMPARED = {
    "h1",
    "h2",
    "h3",
    "h4",
    "li",
    "ol",
    "ul",
    "tr",
    "td",
    "th",
    "pre",
    "code",
    "strong",
    "em",
    "img",
    "blockquote",
}
"""Elements that a page must have on the site as the repository shows it."""


@pytest.fixture(scope="session")
def pages(site: Path) -> dict[str, Page]:
    """Path on the site -> page."""
    found = {path.relative_to(site).as_posix(): path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    return {name: Page.of(text) for name, text in found.items()}


def built(page: str) -> str:
    """Return where a page of docs is on the site."""
    return re.sub(r"(README)?\.md$", lambda end: "index.html" if end[1] else ".html", page)


def resolved(page: str, link: str) -> str:
    """Return where a relative link of a page leads, seen from the root of the site."""
    return os.path.normpath(os.path.join(os.path.dirname(page), unquote(urlsplit(link).path)))


def docs_of(repository: Path) -> list[str]:
    """Return the pages of docs."""
    docs = repository / "docs"
    return sorted(path.relative_to(docs).as_posix() for path in docs.rglob("*.md"))


def is_foreign(address: str) -> bool:
    """Return whether a link leads to another host, not to the site or the page itself."""
    return bool(urlsplit(address).netloc) or urlsplit(address).scheme not in ("", "data")


@pytest.mark.docs
def test_every_page_of_docs_is_reached_from_the_navigation(repository: Path, pages: dict[str, Page]) -> None:
    """A page that somebody adds is in the menu, listed or not."""
    menu = {resolved("index.html", link) for link in pages["index.html"].navigation if urlsplit(link).path}
    assert {built(page) for page in docs_of(repository)} - menu - {"index.html"} == set()
    assert "explanation/privacy-promise.html" in menu


@pytest.mark.docs
def test_the_promise_is_the_second_page(site: Path) -> None:
    """The page after the first one states the promises, and their limits."""
    following = re.search(r'<a href="([^"]+)"[^>]*md-footer__link--next', (site / "index.html").read_text("utf-8"))
    assert following is not None
    assert following[1] == "explanation/privacy-promise.html"


@pytest.mark.docs
def test_nothing_is_loaded_from_another_host(site: Path, pages: dict[str, Page]) -> None:
    """No font, script, style or picture is foreign: the site is read offline, and nobody sees who reads it."""
    loaded = {address for page in pages.values() for address in page.loaded}
    assert {address for address in loaded if is_foreign(address)} == set()
    for style in site.rglob("*.css"):
        assert not any(
            map(is_foreign, re.findall(r"(?:url\(|@import)\s*['\"]?([^)'\";]+)", style.read_text("utf-8")))
        ), style


def test_what_a_page_loads_from_elsewhere_would_be_seen() -> None:
    """The control of the test above: scripts, styles, fonts, frames and pictures of another host are found."""
    foreign = (
        '<link rel="preconnect" href="//fonts.example.org"><link href="https://a.example.org/x.css" rel="stylesheet">'
        '<script src="https://b.example.org/x.js"></script><img src="http://c.example.org/x.png">'
        '<iframe src="https://d.example.org"></iframe><p style="background: url(https://e.example.org/x.svg)">'
    )
    assert [is_foreign(address) for address in Page.of(foreign).loaded] == [True] * 6
    assert not Page.of(
        '<a href="https://a.example.org">x</a><link rel="canonical" href="https://b.example.org">'
    ).loaded


@pytest.mark.docs
def test_every_link_and_picture_of_the_site_leads_to_a_file_and_an_anchor_of_it(
    site: Path, pages: dict[str, Page]
) -> None:
    """Menus, files outside docs and pictures included, which the builder does not follow."""
    broken = []
    for name, page in pages.items():
        for link in (*page.links, *page.loaded):
            if is_foreign(link) or not link or name == "404.html":
                continue
            target = resolved(name, link) if urlsplit(link).path else name
            anchor = unquote(urlsplit(link).fragment)
            known = not anchor or anchor.startswith("__") or target not in pages or anchor in pages[target].anchors
            if not ((site / target).is_file() and known):
                broken.append(f"{name}: {link}")
    assert broken == []


@pytest.mark.docs
def test_pages_read_on_the_site_as_in_the_repository(repository: Path, pages: dict[str, Page]) -> None:
    """The site's Markdown and GitHub's make the same headings, lists, tables, code and pictures of every page."""
    markdown = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    sources = {page: repository / "docs" / page for page in docs_of(repository)}
    sources |= {name: repository / name for name in ("CONTRIBUTING.md", "CHANGELOG.md", "recipes/README.md")}
    different = {}
    for name, path in sources.items():
        here = Page.of(markdown.render(path.read_text(encoding="utf-8")), article=False).blocks
        there = pages[built(name)].blocks
        only = [
            (where, element, text[:100])
            for where, found in (("repository", here - there), ("site", there - here))
            for element, text in found
            if element in COMPARED
        ]
        if only:
            different[name] = only
    assert different == {}


@pytest.mark.docs
def test_every_page_can_be_searched_without_a_server(repository: Path, site: Path) -> None:
    """The index is a script, which a browser reads from a file, and has all pages of docs."""
    script = (site / "search" / "search_index.js").read_text(encoding="utf-8")
    assert script.startswith("var __index = ")
    found = {entry["location"].split("#")[0] for entry in json.loads(script.removeprefix("var __index = "))["docs"]}
    assert {built(page) for page in docs_of(repository)} <= found | {"index.html"}
    assert "iframe-worker.js" in (site / "index.html").read_text(encoding="utf-8")


def in_browser(folder: Path, address: str) -> str:
    """Return the page that Chromium has made of an address after its scripts ran, without any network."""
    command = [
        chromium(), "--headless", "--no-sandbox", f"--user-data-dir={folder}", "--host-resolver-rules=MAP * ~NOTFOUND",
        "--virtual-time-budget=20000", "--dump-dom", address,
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
@pytest.mark.browser
def test_a_page_opened_as_a_file_searches(site: Path, tmp_path: Path) -> None:
    """Without a server and a network a word finds the page that it is in, also one with a hyphen."""
    shown = in_browser(tmp_path, f"{(site / 'index.html').as_uri()}?q=max-suppression")
    found = re.findall(r'<a href="([^"?#]+)[^"]*" class="md-search-result__link"', shown)
    assert any(link.endswith(("methods/rfka.html", "reference/cli.html")) for link in found), found


# the navigation, and the pages outside docs


def test_pages_that_nobody_lists_are_in_the_section_of_their_folder(tmp_path: Path) -> None:
    """Tutorials under Tutorials, papers in a section that comes with them, others under Explanation."""
    from documentation.navigation import sections

    (tmp_path.parent / "outside.md").write_text("# No page of docs\n", encoding="utf-8")
    for name in ("tutorials/a.md", "tutorials/b.md", "papers/x.md", "explanation/why.md", "methods/m.md", "loose.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("# A title\n", encoding="utf-8")
    (tmp_path / "methods" / "README.md").write_text("# M\n\n## Promise: none\n\n[m](m.md)\n", encoding="utf-8")
    (tmp_path / "README.md").write_text(
        "# D\n\n## Start\n\n[soon](tutorials/b.md), [outside](../outside.md)\n\n"
        "## Tutorials\n\n### First\n\n[b](tutorials/b.md)\n\n```\n[no](loose.md)\n```\n\n"
        "## Methods\n\n[all](methods/README.md)\n\n## Explanation\n",
        encoding="utf-8",
    )
    found = {section.title: list(section.pages()) for section in sections(tmp_path)}

    assert found == {
        "Start": ["README.md"],
        "Tutorials": ["tutorials/b.md", "tutorials/a.md"],
        "Methods": ["methods/README.md", "methods/m.md"],
        "Explanation": ["explanation/why.md", "loose.md"],
        "Papers": ["papers/x.md"],
    }


def test_no_page_is_twice_in_the_navigation(repository: Path) -> None:
    """Back and forward lead through all pages of docs, once."""
    from documentation.navigation import sections

    listed = Counter(page for section in sections(repository / "docs") for page in section.pages())
    assert listed == Counter(docs_of(repository))


@pytest.mark.docs
def test_files_outside_docs_that_pages_link_are_on_the_site(site: Path) -> None:
    """Recipes, examples and the files for contributors are pages at their path in the repository."""
    for name in ("recipes/bank-rfka.toml.html", "recipes/index.html", "CONTRIBUTING.html", "CHANGELOG.html"):
        assert (site / name).exists(), name
    assert "simulate" in (site / "recipes" / "bank-rfka.toml.html").read_text(encoding="utf-8")
