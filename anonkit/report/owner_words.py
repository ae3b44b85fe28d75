# SPDX-License-Identifier: Apache-2.0
"""The owner's measures in words: what is left out of each class of the target, and how well the target is predicted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from anonkit.report.wording import number, percent, words

IN_WORDS = ("rows_left_out", "prediction_for_all_rows", "mondrian_preview", "rows_breaking_rules")
"""Keys of the owner's measures that `owner_lines` puts into words."""
_LISTED = 12


def owner_lines(owner: Mapping[str, Any]) -> list[str]:
    """Return the owner's measures of columns, rows left out and the target, a line each; nothing where there are none.

    Privacy
    -------
    Names classes of the target with exact counts of the source: for the owner alone.
    """
    left_out, predicted = owner.get("rows_left_out"), owner.get("prediction_for_all_rows")
    preview = owner.get("mondrian_preview")
    return [
        *([] if not preview else preview_lines(preview)),
        *([] if not left_out else left_out_lines(left_out)),
        *([] if not predicted else prediction_lines(predicted)),
        *(
            f'rows of the source that break the public rule "{rule}": {number(rows)}; they were counted as they are'
            for rule, rows in owner.get("rows_breaking_rules", {}).items()
        ),
    ]


def preview_lines(block: Mapping[str, Any]) -> Iterator[str]:
    """Yield the number of quasi-identifiers that `mondrian` would show, and those that this release does not."""
    searched = (
        "all rows" if block["rows"] == block["of"] else f"{number(block['rows'])} of {number(block['of'])} rows, drawn"
    )
    more = f", with {', '.join(map(str, block['more']))}" if block["more"] else ""
    least = "" if block["rows"] == block["of"] else "at least "  # with fewer rows for the same k, as a rule
    yield (
        f"mondrian would show {least}{number(len(block['columns']))} of {number(block['quasi_identifiers'])} "
        f"quasi-identifiers (this release shows {number(block['shown'])}){more}; searched on {searched}"
    )


def left_out_lines(block: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is left out of the whole table and of each class of the target; nothing where nothing is."""
    if not any(entry["left_out"] for entry in block["classes"]):
        return
    shown = [entry for entry in block["classes"] if entry["left_out"]][:_LISTED]
    more = len(block["classes"]) + block.get("more_classes", 0) - len(shown)
    classes = "; ".join(_class_words(entry) for entry in shown)
    yield (
        f"{block['counted']} left out, by class of {block['target']}: {classes}"
        f"{f'; {number(more)} more classes' if more else ''}; of the whole table {_share_words(block)}"
    )


def _class_words(entry: Mapping[str, Any]) -> str:
    name = "missing" if entry["class"] is None else number(entry["class"])
    return f"{name} {_share_words(entry)}{', clearly more than of the others' if entry['stands_out'] else ''}"


def _share_words(entry: Mapping[str, Any]) -> str:
    return f"{number(entry['left_out'])} of {number(entry['in'])} ({percent(entry['share'])})"


def prediction_lines(block: Mapping[str, Any]) -> Iterator[str]:
    """Yield the scores of models of the source and of the release on the target of all rows, and their difference."""
    without = f", {number(block['rows_left_out'])} left out among them" if block["rows_left_out"] else ""
    yield (
        f"prediction of {block['target']} for all rows ({number(block['rows'])} measured{without}), "
        "by models trained on the source and on the release:"
    )
    for key, difference in block["difference"].items():
        low, high = (_signed(end) for end in difference["ci"])
        yield (
            f"- {words(key)} {number(block['from_source'][key])} and {number(block['from_release'][key])}, "
            f"difference {_signed(difference['value'])} (95% interval {low} to {high}): {difference['shows']}"
        )
    if "of_mean" in block:
        yield "- always predicting the mean: " + ", ".join(
            f"{words(key)} {number(score)}" for key, score in block["of_mean"].items()
        )


def _signed(value: float) -> str:
    return f"+{number(value)}" if value > 0 else number(value).replace("-", "−")
