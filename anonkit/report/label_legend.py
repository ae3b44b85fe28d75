# SPDX-License-Identifier: Apache-2.0
"""Legend of the labels of a k-anonymous release: one example of every form that it shows, with its meaning."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_BETWEEN = re.compile(r"\[([^,]+), ([^,]+)\)")
_NUMBERED = re.compile(r" \([0-9]+\)$")
_MANY = 60
"""Letters of an example; a longer label of the same form gives way to a shorter one."""


def label_legend(columns: Sequence[Mapping[str, Any]]) -> Sequence[tuple[str, str]]:
    """Return the forms of labels that generalized columns show, as pairs of an example and what it means.

    Where a column does not list its labels, all forms that it can have are there, with a and b for values.

    Parameters
    ----------
    columns : sequence of mapping
        Those of `report.json`: `action`, and `values` where the labels are listed.
    """
    values = [
        None if value is None else str(value)
        for column in columns
        if column.get("action") == "generalized"
        for value in column.get("values") or ()
    ]
    examples: dict[str, tuple[str, str]] = {}
    for value in values:
        for form, example, meaning in _forms(value):
            known = examples.get(form)
            if known is None or len(example) < len(known[0]) > _MANY:
                examples[form] = example, meaning
    if any(column.get("action") == "generalized" and column.get("values") is None for column in columns):
        examples = {**_GENERAL, **examples}
    return [examples[form] for form in _ORDER if form in examples]


_GENERAL = {
    "between": ("[a, b)", "from a up to b, without b"),
    "below": ("< a", "below a"),
    "from": (">= b", "b or more"),
    "set": ("a|b", "one of a or b; which one is not shown"),
    "complement": ("not a|b", "any value but a and b"),
    "anything": ("*", "any value: the cell shows nothing"),
}
_ORDER = ("between", "below", "from", "set", "complement", "other", "anything", "missing", "numbered")


def _forms(value: str | None) -> Iterable[tuple[str, str, str]]:
    """Yield the forms of a label: its name, an example, what that means."""
    if value is None or value == "missing":
        yield "missing", "missing" if value else "(empty)", "the source has no value"
        return
    if _NUMBERED.search(value):
        yield "numbered", value, "the number tells apart groups that would have the same label"
    plain = _NUMBERED.sub("", value)
    if plain == "*":
        yield "anything", "*", "any value: the cell shows nothing"
        return
    parts = plain.removeprefix("not ").split("|")
    if plain.startswith("not "):
        yield "complement", plain, f"any value but {_listed(parts, 'and')}"
    elif len(parts) > 1:
        yield "set", plain, f"one of {_listed(parts, 'or')}; which one is not shown"
    for part in parts:
        between = _BETWEEN.fullmatch(part)
        if between:
            yield "between", part, f"from {between[1]} up to {between[2]}, without {between[2]}"
        elif part.startswith("< "):
            yield "below", part, f"below {part[2:]}"
        elif part.startswith(">= "):
            yield "from", part, f"{part[3:]} or more"
        elif part == "other":
            yield "other", part, "a value that is not listed"


def _listed(parts: Sequence[str], word: str) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {word} {parts[-1]}"
