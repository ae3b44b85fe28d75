# SPDX-License-Identifier: Apache-2.0
"""Hooks for MkDocs: navigation by the pages, files outside docs as pages, links that lead to them.

A link of a page is written as it works in the repository, so that it works where the repository is read. A file
outside docs that is linked (a recipe, an example, CONTRIBUTING.md) is a page of the site at its path in the repository,
with the files that it links in turn; links are rewritten to the place of the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from posixpath import dirname, join, normpath, relpath
from typing import Any

from mkdocs.structure.files import File, Files, InclusionLevel
from navigation import INDEX, links_of, outside_fences, sections

ROOT = Path(__file__).parents[2]
LANGUAGES = {".py": "python", ".toml": "toml", ".yaml": "yaml", ".yml": "yaml", ".sql": "sql", ".json": "json"}
PICTURES = {".svg", ".png", ".csv"}
MORE = {"CONTRIBUTING.md": "Contributing", "CHANGELOG.md": "Changelog", "recipes/README.md": "Recipes"}
"""Files outside docs that are in the navigation, at the end of the reference."""

_CELL = re.compile(r"<t[dh]\b.*?</t[dh]>", re.DOTALL)
_LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")


def on_config(config: Any) -> Any:
    """Make the navigation."""
    config.nav = navigation()
    return config


def navigation() -> list[Any]:
    """Return the sections of docs, the pages outside docs at the end of the reference."""
    found = sections(ROOT / "docs")
    # the README of a folder is the index of a section of its own, not that of the reference
    more = [{title: [page_of(name)] if name.endswith(INDEX) else page_of(name)} for name, title in MORE.items()]
    nav: list[Any] = []
    for one in found:
        entry = one.as_nav()
        if one.title == "Reference":
            entry[one.title] += more
        # a section of one page is that page
        (only, *others) = entry[one.title]
        nav.append({one.title: only} if not others and isinstance(only, str) else entry)
    return nav


def linked_files() -> dict[str, str]:
    """Return every file outside docs that a page links, by its path in the repository, with the page of it."""
    found: dict[str, str] = {}
    waiting = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").rglob("*.md"))]
    for name in MORE:
        found[name] = page_of(name)
        waiting.append(name)
    while waiting:
        page = waiting.pop()
        for linked in _linked(page):
            if linked.startswith("docs/") or linked == "docs" or linked in found or linked == INDEX:
                continue
            found[linked] = page_of(linked)
            if linked.endswith(".md"):
                waiting.append(linked)
            elif (ROOT / linked).is_dir():
                waiting += [name for name in _inside(linked) if name.endswith(".md")]
                found |= {name: page_of(name) for name in _inside(linked)}
    return found


def _linked(page: str) -> Iterator[str]:
    for line, is_text in outside_fences((ROOT / page).read_text(encoding="utf-8")):
        for target in links_of(line) if is_text else ():
            linked = normpath(join(dirname(page), target))
            if not linked.startswith("..") and (ROOT / linked).exists():
                yield linked


def _inside(folder: str) -> list[str]:
    names = (ROOT / folder).rglob("*")
    return sorted(
        path.relative_to(ROOT).as_posix() for path in names if path.is_file() and "__pycache__" not in path.parts
    )


def page_of(name: str) -> str:
    """Return where a file of the repository is on the site, as a source of MkDocs."""
    if name == "docs" or name.startswith("docs/"):
        inner = name.removeprefix("docs").removeprefix("/")
        return inner if (ROOT / name).is_file() else join(inner, INDEX)
    if name == INDEX:
        return INDEX
    if (ROOT / name).is_dir():
        return join(name, INDEX)
    return name if name.endswith(".md") or Path(name).suffix in PICTURES else f"{name}.md"


def rewritten(text: str, name: str) -> str:
    """Return the text of a file of the repository with links that lead to where its targets are on the site."""
    lines = []
    for line, is_text in outside_fences(text):
        lines.append(_LINK.sub(lambda link: _relinked(link, name), line) if is_text else line)
    return "".join(lines)


def _relinked(link: re.Match[str], name: str) -> str:
    before, target, anchor, after = link.groups()
    linked = normpath(join(dirname(name), target))
    if "://" in target or target.startswith("mailto:") or linked.startswith("..") or not (ROOT / linked).exists():
        return link[0]  # an address, or a broken link, which MkDocs refuses
    return f"{before}{relpath(page_of(linked), dirname(page_of(name)) or '.')}{anchor or ''}{after}"


def shown(name: str) -> str:
    """Return a file outside docs as Markdown."""
    path = ROOT / name
    if path.is_dir():
        items = "".join(f"- [{inner}]({relpath(inner, name)})\n" for inner in _inside(name))
        return rewritten(f"# {name}\n\n{items}", join(name, INDEX))
    text = path.read_text(encoding="utf-8")
    if name.endswith(".md"):
        return rewritten(text, name)
    return f"# {name}\n\n````{LANGUAGES.get(path.suffix, 'text')}\n{text.rstrip()}\n````\n"


def on_files(files: Files, config: Any) -> Files:
    """Add the files outside docs that pages link."""
    for name, page in linked_files().items():
        level = InclusionLevel.UNDEFINED if name in MORE else InclusionLevel.NOT_IN_NAV
        if Path(name).suffix in PICTURES:
            files.append(File.generated(config, page, abs_src_path=str(ROOT / name)))
        elif not (ROOT / name).is_dir() or not (ROOT / name / INDEX).exists():
            files.append(File.generated(config, page, content=shown(name), inclusion=level))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Rewrite the links of a page of docs to files outside docs."""
    if page.file.generated_by is not None:
        return markdown
    return rewritten(markdown, f"docs/{page.file.src_uri}")


def on_page_content(html: str, page: Any, config: Any, files: Files) -> str:
    """Show a bar that was escaped in a cell's code as a bar, as the repository does."""
    return _CELL.sub(lambda cell: cell[0].replace("\\|", "|"), html)
