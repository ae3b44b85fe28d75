# SPDX-License-Identifier: Apache-2.0
"""The parts of an HTML page that the tests of the site read: the files it loads, its links, its text."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"br", "hr", "img", "input", "link", "meta", "source", "wbr", "path", "rect", "circle"}
LOADS = {
    "script": "src", "img": "src", "iframe": "src", "source": "src", "embed": "src", "object": "data", "video": "src",
    "audio": "src", "input": "src", "track": "src",
}  # fmt: skip
"""Element -> attribute by which a browser loads something with the page."""
NOT_LOADED = {"canonical", "prev", "next", "alternate", "license", "author"}
"""Relations of a link element that load nothing."""


@dataclass
class Page(HTMLParser):
    """One page, read."""

    loaded: list[str] = field(default_factory=list)
    """The files that a browser loads with the page."""
    links: list[str] = field(default_factory=list)
    """The targets of the links of the page."""
    navigation: set[str] = field(default_factory=set)
    """The targets of the links of its navigation."""
    anchors: set[str] = field(default_factory=set)
    """Names in the page that a link may end with."""
    blocks: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(element, its text) of the article, how often."""

    @classmethod
    def of(cls, text: str, *, article: bool = True) -> Page:
        """Read a page; its blocks are those of its article, unless the text is an article itself."""
        page = cls()
        page._open: list[tuple[str, list[str], bool]] = []
        page._inside = 0 if article else 1
        page._bounded = article
        page.feed(text)
        page.close()
        return page

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if values.get(name)}
        if LOADS.get(tag) in values:
            self.loaded.append(values[LOADS[tag]])
        if tag == "link" and not set(values.get("rel", "").split()) & NOT_LOADED:
            self.loaded.append(values.get("href", ""))
        self.loaded += re.findall(r"url\(\s*['\"]?([^)'\"]+)", values.get("style", ""))
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
            if "md-nav__link" in values.get("class", ""):
                self.navigation.add(values["href"])
        if tag == "article" and self._bounded:
            self._inside += 1
        if tag == "img" and self._inside:
            self.blocks[tag, values.get("alt", "")] += 1
        if tag not in VOID:
            self._open.append((tag, [], "headerlink" in values.get("class", "")))

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        while self._open:
            name, parts, aside = self._open.pop()
            text = "".join(parts)
            if not aside:
                if self._inside:
                    self.blocks[name, " ".join(text.split())] += 1
                if self._open:
                    self._open[-1][1].append(text)
            if name == tag:
                break
        if tag == "article" and self._bounded:
            self._inside -= 1

    def handle_data(self, data: str) -> None:
        if self._open:
            self._open[-1][1].append(data)
