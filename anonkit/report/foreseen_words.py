# SPDX-License-Identifier: Apache-2.0
"""A plan under noise in sentences: what the ledger would book, and what simulated rows let foresee.

The owner's measures in words: what is left out of each class of the target, and how well the target is predicted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from anonkit.report.first_facts import Sentence
from anonkit.report.promise_words.class_words import Json, Phrase, named, plain
from anonkit.report.wording import bound, number, percent, words

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
    """Yield the rows left out of the whole table and of each class of the target; nothing where there are none."""
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


_IDENTIFIERS = ("identifier", "unit")
_TABLES = 4
"""Tables whose noise is stated: the noisiest."""
_MOVED = 3
"""Columns that moved farthest, of each measure."""
_NAMES = {"auc": "AUC", "r2": "R²"}


def account_sentences(report: Json) -> Iterator[Sentence]:
    """Yield the account of a planned release; that nothing is booked now comes first."""
    booked = report.get("ledger")
    if booked is None:
        yield plain("Nothing is booked, and the release would not be: it has no ledger.")
        return
    costs = " and ".join(
        f"{key} {bound(report['budget'][key])}" for key in ("epsilon", "delta") if report["budget"][key]
    )
    if "release_of_dataset" not in booked:
        yield plain(
            f"Nothing is booked now. The release would be: {costs}. Without a name of the dataset, only its owner "
            "learns what it adds to."
        )
        return
    yield plain(
        f"Nothing is booked now. The release would be: {costs}, as release {number(booked['release_of_dataset'])} of "
        "its dataset."
    )
    for total in booked.get("totals", ()):
        yield plain(f"All of them together would cost {_loss(total)}.")
    allowed = [
        f"{name} {bound(booked[key])}"
        for name, key in (("epsilon", "epsilon_budget"), ("delta", "delta_budget"))
        if booked.get(key) is not None
    ]
    if allowed:
        yield plain(f"The budget is {' and '.join(allowed)}{_whose(booked.get('budget_neighbours'))}.")


def _loss(total: Json) -> str:
    if total["epsilon"] in ("inf", float("inf")):
        return f"no bounded epsilon{_whose(total)}"
    delta = f" and delta {bound(total['delta'])}" if total["delta"] else ""
    return f"epsilon {bound(total['epsilon'])}{delta}{_whose(total)}"


def _whose(kind: Json | None) -> str:
    """Return for which neighbours a loss or a budget is; nothing where it names none."""
    if kind is None:
        return ""
    if kind["neighbours"] == "unknown":
        return ", for unknown neighbours"
    one = "one row" if kind["unit"] is None else f"one value of {kind['unit']}"
    return f", for {one} {kind['neighbours']}"


def foreseen_sentences(report: Json) -> Iterator[Sentence]:
    """Yield the facts of a release of simulated rows; that they are simulated comes first."""
    foreseen = report.get("foreseen")
    if foreseen is None:
        return
    if "not_foreseen" in foreseen:
        yield plain(f"Nothing can be foreseen without looking at the table: {foreseen['not_foreseen']}.")
        return
    yield [
        Phrase(
            f"Simulated: {number(foreseen['simulated_rows'])} rows were drawn from the declared domains", is_bad=True
        ),
        Phrase(
            " and released as yours would be. No cell of your table was read for these figures. In your table columns "
            "depend on each other otherwise, and it may have more rows or fewer."
        ),
    ]
    if "refused" in foreseen:
        yield plain(f"Nothing is known about these rows: {foreseen['refused']}.")
        return
    yield from _columns(foreseen)
    yield from _noise(foreseen["noise"])
    yield from _moved(foreseen["changes"])
    yield from _predicted(foreseen["prediction"])


def _columns(foreseen: Json) -> Iterator[Sentence]:
    columns = foreseen["columns"]
    released = [column["name"] for column in columns if column["action"] != "dropped"]
    head = (
        f"{number(foreseen['rows'])} rows and {number(len(released))} of {number(len(columns))} columns were released: "
    )
    yield [Phrase(head), *named(released), Phrase(".")]
    for label, is_identifier in (("Dropped: ", False), ("Left out as identifiers: ", True)):
        names = [
            column["name"]
            for column in columns
            if column["action"] == "dropped" and (column["role"] in _IDENTIFIERS) == is_identifier
        ]
        if names:
            yield [Phrase(label), *named(names), Phrase(".")]


def _noise(tables: Sequence[Json]) -> Iterator[Sentence]:
    """Yield the noise of the noisiest tables; they come first."""
    if not tables:
        return
    reaches = ", ".join(f"{number(table['reaches'])} ({_table(table)})" for table in tables[:_TABLES])
    rest = f"; less in {number(len(tables) - _TABLES)} more" if len(tables) > _TABLES else ""
    yield plain(f"Noise carries a count, 19 times in 20, by no more than {reaches}{rest}.")


def _table(table: Json) -> str:
    cells = table["cells"]
    return table["table"] if cells in (None, 1) else f"{table['table']}: {number(cells)} cells"


def _moved(changes: Sequence[Json]) -> Iterator[Sentence]:
    for measure, worded in (
        ("share of the rows", ("Shares of values moved most in ", percent, " of the rows")),
        ("standard deviations", ("Numbers moved most in ", number, " standard deviations")),
    ):
        head, figure, unit = worded
        found = [change for change in changes if change["measure"] == measure][:_MOVED]
        if found:
            parts: list[Phrase] = [Phrase(head)]
            for at, change in enumerate(found):
                parts.append(Phrase(", " if at else ""))
                parts += [
                    Phrase(change["name"], is_name=True),
                    Phrase(f" ({figure(change['value'])}{unit if not at else ''})"),
                ]
            yield [*parts, Phrase(".")]


def _predicted(scores: Json | None) -> Iterator[Sentence]:
    if scores is None:
        return
    name = _NAMES[scores["measure"]]
    beside = (
        "" if scores["simulated"] is None else f"; from the simulated rows themselves {number(scores['simulated'])}"
    )
    yield [
        Phrase("The best model learned from it predicts "),
        Phrase(scores["target"], is_name=True),
        Phrase(f" with {name} {number(scores['released'])}{beside}; guessing has {number(scores['guessing'])}."),
    ]
