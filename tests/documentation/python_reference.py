# SPDX-License-Identifier: Apache-2.0
"""The second part of docs/reference/python.md, from docstrings: `python tests/documentation/python_reference.py`."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

from python_sources import (
    Found,
    bases,
    definition,
    fields,
    is_dataclass,
    is_module,
    is_of_class,
    is_property,
    methods,
    public_names,
    returned_classes,
    signature,
    tree,
)

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "python.md"
MARKER = "<!-- What follows is written by python tests/documentation/python_reference.py -->\n"
MODULES = (
    "anonkit",
    "anonkit.consumers",
    "anonkit.datasets",
    "anonkit.engines",
    "anonkit.ledger",
    "anonkit.errors",
    "anonkit.report.schemas",
    "anonkit.checks.expectations",
    "anonkit.integrations.airflow",
    "anonkit.integrations.dagster",
    "anonkit.integrations.dbt",
    "anonkit.integrations.prefect",
    "anonkit.protocols",
)
"""Modules that users import from, in the order of the page."""
NOT_FOR_USERS = {
    "anonkit.errors": ("spoken", "option", "in_python", "on_command_line", "did_you_mean"),
}
"""Names of a module that are for anonkit's own code, though they bear no underscore."""

_ITEM = re.compile(r"[*-] ")
_SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
_CODE = re.compile(r"(``?)(.+?)\1")


def text_of(words: str) -> str:
    """Return a text of a docstring as Markdown: code as code, all other signs as themselves."""
    parts, end = [], 0
    for code in _CODE.finditer(words):
        parts += [_plain(words[end : code.start()]), f"`{code[2]}`"]
        end = code.end()
    return "".join([*parts, _plain(words[end:])])


def _plain(words: str) -> str:
    return re.sub(r"([*<\[\]|\\]|(?<!\w)_|_(?!\w))", r"\\\1", words)


def paragraphs(lines: str) -> str:
    """Return running text with its paragraphs, lists and examples."""
    blocks = []
    for part in re.split(r"\n\s*\n", lines.strip("\n")):
        if part.lstrip().startswith(">>>"):
            blocks.append(fenced(textwrap.dedent(part)).rstrip())
        elif _ITEM.match(part.lstrip()):
            blocks.append(re.sub(r"\n(?!- )", " ", _listed(part)))
        else:
            blocks.append(text_of(" ".join(part.split())))
    return "\n\n".join(filter(None, blocks)) + "\n"


def _listed(block: str) -> str:
    return "\n".join(f"- {text_of(line[2:])}" if _ITEM.match(line) else text_of(line) for line in _dedented(block))


def _dedented(block: str) -> list[str]:
    return [line.strip() for line in block.splitlines()]


def entries(lines: str) -> Iterator[tuple[str, str]]:
    """Yield the heads and the texts of a section of numpydoc."""
    head, body = "", []
    for line in lines.splitlines():
        if line and not line[0].isspace():
            if head:
                yield head, "\n".join(body)
            head, body = line.strip(), []
        else:
            body.append(line)
    if head:
        yield head, "\n".join(body)


def listed(lines: str) -> str:
    """Return a section of parameters, results or errors as a list."""
    items = []
    for head, body in entries(lines):
        names, _, kind = head.partition(" : ")
        told = ", ".join(f"`{name.strip()}`" for name in names.split(","))
        told += f" ({text_of(kind)})" if kind else ""
        words = text_of(" ".join(body.split()))
        items.append(f"- {told}{': ' if words else ''}{words}\n")
    return "".join(items)


def documented(doc: str) -> str:
    """Return a docstring of numpydoc as Markdown."""
    first, *rest = _SECTION.split(doc)
    parts = [paragraphs(first)]
    for title, lines in zip(rest[::2], rest[1::2], strict=True):
        is_list = title in ("Parameters", "Returns", "Raises", "Yields", "Attributes", "Other Parameters")
        section, after = lines, ""
        if is_list:
            blocks = re.split(r"\n\s*\n", lines.strip("\n"))
            while len(blocks) > 1 and _is_sentence(blocks[-1]):
                after = f"\n{paragraphs(blocks.pop())}{after}"
            section = "\n".join(blocks)
        parts.append(f"**{title}**\n\n{listed(section) if is_list else paragraphs(section)}{after}")
    return "\n".join(parts)


def in_line(doc: str) -> str:
    """Return a docstring as one line: its text, and what it raises."""
    first, *rest = _SECTION.split(doc)
    raised = [
        f"Raises {told}"
        for title, lines in zip(rest[::2], rest[1::2], strict=True)
        if title == "Raises"
        for told in listed(lines).removeprefix("- ").splitlines()
    ]
    return " ".join([text_of(" ".join(first.split())), *raised])


def _is_sentence(block: str) -> bool:
    """Return whether a paragraph follows a list and is no entry of it."""
    return not block.startswith(" ") and "\n" not in block and block.endswith(".")


def fenced(code: str) -> str:
    """Return code as a block that is read and not run."""
    return f"```text\n{code}\n```\n"


def members(found: Found, name: str) -> Iterator[str]:
    """Yield what a class has: its fields, properties and methods, and those of bases that are not for users."""
    assert isinstance(found.node, ast.ClassDef)
    family = [found, *(one for one in bases(found) if one.node.name.startswith("_"))]  # type: ignore[union-attr]
    told = {}
    for one in reversed(family):
        told |= {field: (kind, text) for field, kind, text in fields(one.node)}  # type: ignore[arg-type]
    values = {
        method.name: (ast.unparse(method.returns) if method.returns else "", ast.get_docstring(method) or "")
        for one in reversed(family)
        for method in methods(one.node)  # type: ignore[arg-type]
        if is_property(method)
    }
    for title, rows in (("Fields", told), ("Properties", values)):
        if rows:
            lines = "".join(
                f"- `{field}`{f' (`{kind}`)' if kind else ''}{': ' if text else ''}{in_line(text)}\n"
                for field, (kind, text) in rows.items()
            )
            yield f"**{title}**\n\n{lines}"
    seen: set[str] = set()
    for one in family:
        for method in methods(one.node):  # type: ignore[arg-type]
            if not is_property(method) and method.name not in seen:
                seen.add(method.name)
                doc = ast.get_docstring(method) or _inherited(method.name, family)
                owner = f"{name}." if is_of_class(method) else ""
                call = fenced(signature(method, f"def {owner}{method.name}", method=True))
                yield f"#### {name}.{method.name}\n\n{call}\n{documented(doc)}"


def _inherited(method: str, family: Iterable[Found]) -> str:
    """Return the docstring of a method where the nearest base has it that says one."""
    docs = (
        ast.get_docstring(one) or ""
        for found in family
        for one in methods(found.node)
        if one.name == method  # type: ignore[arg-type]
    )
    return next(filter(None, docs), "")


def made(found: Found) -> str:
    """Return how a class is made, where that is said by a constructor of its own."""
    for one in (found, *bases(found)):
        for node in one.node.body:  # type: ignore[union-attr]
            if isinstance(node, ast.FunctionDef) and node.name == "__init__":
                return signature(node, f"class {found.node.name}", method=True).removesuffix(" -> None")  # type: ignore[union-attr]
    return ""


def heading(name: str, found: Found) -> str:
    """Return the heading of a name: `Release` and `release` have anchors of their own."""
    return f"class {name}" if isinstance(found.node, ast.ClassDef) else name


def entry(name: str, found: Found) -> str:
    """Return one name of the page."""
    head = f"### {heading(name, found)}\n\n"
    last = name.split(".")[-1]
    if isinstance(found.node, ast.FunctionDef):
        return f"{head}{fenced(signature(found.node, f'def {last}'))}\n{documented(found.doc)}"
    if isinstance(found.node, ast.ClassDef):
        call = made(found)
        shown = f"{fenced(call)}\n" if call else ""
        above = [one.node.name for one in bases(found) if not one.node.name.startswith("_")]  # type: ignore[union-attr]
        facts = ["Made of its fields, by keyword."] if is_dataclass(found.node) and not call else []
        facts += [f"Subclass of {', '.join(f'`{one}`' for one in above)}."] if above else []
        kind = f"{' '.join(facts)}\n\n" if facts else ""
        return f"{head}{kind}{shown}" + "\n".join([documented(found.doc), *members(found, name.split(".")[-1])])
    value = ast.unparse(found.node.value) if found.node.value else ""
    return f"{head}`{last} = {value}`\n\n{paragraphs(found.doc)}"


def names_of(module: str) -> list[str]:
    """Return the names of a module that the page has."""
    return [
        name
        for name in public_names(module)
        if not name.startswith("__")
        and name not in NOT_FOR_USERS.get(module, ())
        and not (is_module(f"{module}.{name}") and definition(module, name) is None)
    ]


def generated() -> str:
    """Return the second part of the page: every public name, then the classes of what calls return."""
    parts: list[str] = []
    told: dict[tuple[str, str], str] = {}
    returned: dict[tuple[str, str], Found] = {}
    short: list[str] = []
    for module in MODULES:
        first, *_ = (ast.get_docstring(tree(module)) or "").split("\n\n")
        parts.append(f"## {module}\n\n{paragraphs(first)}")
        for name in names_of(module):
            found = definition(module, name)
            assert found is not None, f"{module}.{name}"
            key = (found.module, _defined(found, name))
            if key in told:
                parts.append(f"### {module}.{name}\n\nIt is [{told[key].split()[-1]}](#{anchor(told[key])}).\n")
                continue
            told[key] = heading(f"{module}.{name}", found)
            short.append(f"| [`{module}.{name}`](#{anchor(told[key])}) | {_summary(found.doc)} |\n")
            parts.append(entry(f"{module}.{name}", found))
            if module != "anonkit.protocols":
                returned |= {(one.module, one.node.name): one for one in returned_classes(found)}  # type: ignore[union-attr]
    values = {key: one for key, one in sorted(returned.items(), key=lambda item: item[0][1]) if key not in told}
    if values:
        parts.append("## What calls return\n\nValues that nobody makes by hand.\n")
        parts += [entry(f"{module}.{name}", one) for (module, name), one in values.items()]
    index = f"## All names\n\n| name | in short |\n| --- | --- |\n{''.join(short)}"
    return "\n".join([index, *parts])


def _summary(doc: str) -> str:
    """Return the first sentence of a docstring, for a cell of a table."""
    first = " ".join(doc.split("\n\n")[0].split())
    return text_of(re.split(r"(?<=[.])\s", first)[0])


def anchor(title: str) -> str:
    """Return the name of a heading in the page, as GitHub and the site make it."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def _defined(found: Found, name: str) -> str:
    return found.node.name if isinstance(found.node, ast.FunctionDef | ast.ClassDef) else name


def rewritten(page: str) -> str:
    """Return the page with the docstrings of today."""
    return f"{page.split(MARKER)[0]}{MARKER}\n{generated()}"


if __name__ == "__main__":
    PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
