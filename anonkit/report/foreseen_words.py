# SPDX-License-Identifier: Apache-2.0
"""A plan under noise in sentences: what the ledger would book, and what simulated rows let foresee."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from anonkit.report.first_facts import Sentence
from anonkit.report.promise_words.phrases import Json, Phrase, named, plain
from anonkit.report.wording import bound, number, percent

_IDENTIFIERS = ("identifier", "unit")
_TABLES = 4
"""Tables whose noise is stated: the noisiest."""
_MOVED = 3
"""Columns that moved farthest, of each measure."""
_NAMES = {"auc": "AUC", "r2": "R²"}


def account_sentences(report: Json) -> Iterator[Sentence]:
    """Yield what a release would be booked as; that nothing is booked now comes first."""
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
    """Yield what a release of simulated rows was like; that they are simulated comes first."""
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
    told = ", ".join(f"{number(table['reaches'])} ({_table(table)})" for table in tables[:_TABLES])
    rest = f"; less in {number(len(tables) - _TABLES)} more" if len(tables) > _TABLES else ""
    yield plain(f"Noise carries a count, 19 times in 20, by no more than {told}{rest}.")


def _table(table: Json) -> str:
    cells = table["cells"]
    return table["table"] if cells in (None, 1) else f"{table['table']}: {number(cells)} cells"


def _moved(changes: Sequence[Json]) -> Iterator[Sentence]:
    for measure, words in (
        ("share of the rows", ("Shares of values moved most in ", percent, " of the rows")),
        ("standard deviations", ("Numbers moved most in ", number, " standard deviations")),
    ):
        head, figure, unit = words
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
