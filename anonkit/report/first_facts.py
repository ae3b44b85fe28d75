# SPDX-License-Identifier: Apache-2.0
"""The first facts of a release, on the terminal and on the page: one order of topics, and their sentences.

Rows and columns in and out; the target and how it came about; whose rows they are; the promise; the risk; the secrets;
the usefulness; whom it is meant for; the files and what to do next. Everything follows from the report: nothing is
judged anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from anonkit.errors import in_python, on_command_line, option, spoken
from anonkit.report.block_words import measures, population_sentences
from anonkit.report.promise_words import words_of
from anonkit.report.promise_words.class_words import Json, Phrase, PromiseVerdict, listed_with_and, named, plain
from anonkit.report.wording import (
    bound,
    check_words,
    delta_words,
    number,
    one_in,
    pairs_words,
    people_alike,
    percent,
    value_words,
    words,
)

Sentence = Sequence[Phrase]

_MANY_ALONE = 0.05
"""Share of rows alone above which it must not be overlooked."""
_SURE, _TELLING = 0.9, 2.0
"""Confidence, and lift, from which on a class's disclosure of a secret must not be overlooked."""
_SECRETS = 4
"""Columns whose values get sentences."""
_FEW = 3
"""Measures of a kind that has no sentence of its own."""
_PAIRS = "Pairs of columns: "
_LISTED = 12
"""Names of columns in a list of a short text."""
_LEFT_OUT = ("Secrets", "Usefulness", "Promise", "Risk", "Files")
"""Topics that a short text is without the details of, the first of them soonest."""
_TREATED = {
    "kept": "is released unchanged",
    "generalized": "is released in ranges or groups",
    "averaged": "is released as means of groups",
    "numbered": "has a random number for each person or household",
    "randomized": "is released with noise",
    "synthesized": "is made from noisy counts",
    "dropped": "is not released",
}
_IDENTIFIERS = ("identifier", "unit")
_PROTECTS_ONE = spoken(python='role = "sensitive" in the policy protects one', typed="--sensitive NAME protects one")


@dataclass(frozen=True, kw_only=True)
class Topic:
    """One topic of the first facts."""

    label: str
    """At most ten letters: it is beside its sentences on the terminal."""
    sentences: Sequence[Sentence]
    details: frozenset[int] = frozenset()
    """Positions of the sentences that a short text can do without; none that must not be overlooked."""


def text_of(sentence: Sentence) -> str:
    """Return a sentence as text."""
    return "".join(phrase.text for phrase in sentence)


def first_facts(report: Json, files: Sequence[str] = (), *, typed: bool = False) -> list[Topic]:
    """Return the first facts of a release, in the order of terminal and page, without topics of no sentence.

    Parameters
    ----------
    report : mapping
        Content of `report.json`; of a plan, which has no table yet, the promise alone.
    files : sequence of str
        The files of the release as they are shown, the data first.
    typed : bool
        The reader is on the command line: options are spelled as it has them, else as a policy does.
    """
    topics = {
        "Promise": _promise(report),
        "Recipients": _recipients(report),
        "Files": _files(files),
    }
    if report["rows"] or report["columns"]:
        topics |= {
            "Table": _table(report),
            "Target": _target(report),
            "Whose rows": _whose(report),
            "Risk": risk_sentences(report),
            "Population": map(plain, population_sentences(report["disclosure_risk"].get("population"))),
            "Secrets": _secrets(report),
            "Usefulness": usefulness_sentences(report),
        }
    order = (
        *("Table", "Target", "Whose rows", "Promise", "Risk", "Population", "Secrets", "Usefulness"),
        *("Recipients", "Files"),
    )
    spelled = on_command_line if typed else in_python
    facts = ((label, [_spelled(sentence, spelled) for sentence in topics[label]]) for label in order if label in topics)
    return [
        Topic(label=label, sentences=sentences, details=frozenset(_details(label, sentences, report)))
        for label, sentences in facts
        if sentences
    ]


def _details(label: str, sentences: Sequence[Sentence], report: Json) -> Iterator[int]:
    """Yield the positions of sentences that say more of what another one says; none that must not be overlooked."""
    has_condition = bool(report["guarantee"]["parameters"].get("domains_from_data"))
    for at, sentence in enumerate(sentences):
        if any(phrase.is_bad for phrase in sentence):
            continue
        if label == "Files":
            is_detail = at == 0
        elif label == "Promise":
            is_detail = at == 1 and not has_condition  # the statement, which names the condition
        elif label == "Secrets":  # the first of a column begins with its name
            is_detail = not sentence[0].is_name and at > 0
        elif label == "Usefulness":
            is_detail = at > 0 and not text_of(sentence).startswith(_PAIRS)
        else:
            is_detail = label == "Risk" and at > 0
        if is_detail:
            yield at


def shortened(topics: Sequence[Topic]) -> Iterator[list[Topic]]:
    """Yield the topics whole, with long lists of columns cut, and then with ever fewer details.

    Never without a sentence that must not be overlooked, and never with such a sentence cut.
    """
    yield list(topics)
    cut = [replace(topic, sentences=[_cut(sentence) for sentence in topic.sentences]) for topic in topics]
    yield cut
    for n_without in range(1, len(_LEFT_OUT) + 1):
        yield [_without_details(topic) if topic.label in _LEFT_OUT[:n_without] else topic for topic in cut]


def _without_details(topic: Topic) -> Topic:
    return replace(
        topic, sentences=[sentence for at, sentence in enumerate(topic.sentences) if at not in topic.details]
    )


def _cut(sentence: Sentence) -> Sentence:
    """Return a sentence with the first names of a long list, and how many more there are."""
    names = [at for at, phrase in enumerate(sentence) if phrase.is_name]
    if len(names) <= _LISTED or any(phrase.is_bad for phrase in sentence):
        return sentence
    begin, end = names[_LISTED] - 1, names[-1] + 1
    if sentence[end : end + 1] and sentence[end].text.startswith(" ("):
        end += 1
    more = Phrase(f" and {number(len(names) - _LISTED)} more")
    return [*sentence[:begin], more, *sentence[end:]]


def remaining_notes(report: Json) -> list[str]:
    """Return the notes of a report without those in the first facts: on a target that nobody declared."""
    guessed = tuple(
        f"Target {column['name']!r}:"
        for column in report["columns"]
        if column["role"] == "target" and column.get("declared") is False
    )
    return [note for note in report["notes"] if not (guessed and note.startswith(guessed))]


def _spelled(sentence: Sentence, spelled: Callable[[str], str]) -> Sentence:
    return [replace(phrase, text=spelled(phrase.text)) for phrase in sentence]


def guessed_target(report: Json) -> Sentence | None:
    """Return the sentence on a target that nobody declared, also where nothing else is shown; None without one."""
    for column in report["columns"]:
        if column["role"] == "target" and column.get("declared") is False:
            return [Phrase("Target: ", is_bad=True), *_of_target(column)]
    return None


# --- the table -----------------------------------------------------------------------------------------------


def _table(report: Json) -> Iterator[Sentence]:
    rows, columns = report["rows"], _of_the_table(report["columns"])
    yield plain(_rows_words(rows))
    if not columns:
        return
    added = [column for column in columns if _is_added(column)]
    columns = [column for column in columns if not _is_added(column)]
    dropped = [column for column in columns if column["action"] == "dropped"]
    released = [column for column in columns if column["action"] != "dropped"]
    text = f"{number(len(released))} of {number(len(columns))} columns are released{': ' if released else ''}"
    yield [Phrase(text), *_with_values(released), Phrase(".")]
    for label, chosen in (
        ("Added: ", [column["name"] for column in added]),
        ("Dropped: ", [column["name"] for column in dropped if column["role"] not in _IDENTIFIERS]),
        ("Left out as identifiers: ", [column["name"] for column in dropped if column["role"] in _IDENTIFIERS]),
    ):
        if chosen:
            yield [Phrase(label), *named(chosen), Phrase(".")]


def _is_added(column: Json) -> bool:
    """Return True if a column is the method's, such as a count: its reason says what it is."""
    return column["action"] == "synthesized" and column["role"] == "insensitive" and bool(column.get("reason"))


def _of_the_table(columns: Sequence[Json]) -> list[Json]:
    """Return the columns without the unit that is made of several, under their own names: it is in no source."""
    names = {column["name"] for column in columns}
    return [
        column
        for column in columns
        if column["role"] != "unit" or ", " not in column["name"] or not names.issuperset(column["name"].split(", "))
    ]


def _rows_words(rows: Json) -> str:
    read, suppressed = rows.get("in"), rows.get("suppressed")
    text = f"{number(rows['out'])} rows" if read is None else f"{number(rows['out'])} of {number(read)} rows"
    text += " are released"
    left_out = [
        (suppressed, f" ({percent(suppressed / read)}) in too small groups" if suppressed and read else ""),
        (rows.get("dropped_missing"), " with missing values"),
        (rows.get("dropped_without_unit"), " without a unit"),
        (rows.get("beyond_rows_per_person"), " of people who have more than are used"),
    ]
    counts = ", ".join(f"{number(count)}{why}" for count, why in left_out if count)
    return f"{text}; left out: {counts}." if counts else f"{text}."


def _with_values(columns: Sequence[Json]) -> Iterator[Phrase]:
    for at, column in enumerate(columns):
        values = column.get("released_values") if column["action"] == "generalized" else None
        yield Phrase(", " if at else "")
        yield Phrase(str(column["name"]), is_name=True)
        if values:
            yield Phrase(f" ({number(values)} values)")


def _target(report: Json) -> Iterator[Sentence]:
    columns = report["columns"]
    targets = [column for column in columns if column["role"] == "target"]
    for column in targets:
        yield list(_of_target(column))
        if column.get("declared") is False:
            yield plain(
                f"Say {option('target', column['name'])} if it is one, {option('no_target', True)} if nothing is to be "
                "predicted."
            )
    if columns and not targets:
        yield plain("No column was named as the one to predict.")
    others = [column["name"] for column in columns if _is_unchanged_beside(column)]
    if others:
        yield [Phrase("Released unchanged too: "), *named(others), Phrase(".")]
    as_they_are = [column["name"] for column in columns if column.get("released_as_is")]
    if as_they_are:
        yield [
            Phrase("Released as they are on the owner's word, though their cells look like identifiers: ", is_bad=True),
            *named(as_they_are, is_bad=True),
            Phrase(".", is_bad=True),
        ]


def _of_target(column: Json) -> Iterator[Phrase]:
    is_guessed = column.get("declared") is False
    yield Phrase(str(column["name"]), is_name=True, is_bad=is_guessed)
    treated = _TREATED.get(column["action"], f"is {column['action']}")
    if is_guessed:
        treated = treated.removeprefix("is ")
        yield Phrase(f" was guessed to be the column to predict, {treated}.", is_bad=True)
        yield Phrase(" Nobody declared it.")
    else:
        named_so = ", as declared" if column.get("declared") else ""
        yield Phrase(f" is the column to predict{named_so}. It {treated}.")


def _is_unchanged_beside(column: Json) -> bool:
    return column["action"] == "kept" and column["role"] in ("insensitive", "sensitive")


# --- people, promise, risk -----------------------------------------------------------------------------------


def _whose(report: Json) -> Iterator[Sentence]:
    persons = [column["name"] for column in report["columns"] if column.get("may_be_person") is True]
    yield from words_of(report["guarantee"]).whose(report["guarantee"])
    if persons:
        so = spoken(python=f'In the policy {persons[0]} = {{ role = "unit" }}', typed=f"--unit {persons[0]}")
        none = spoken(python='unit = "none"', typed="--unit none")
        yield [
            Phrase("One row is protected, not one person with several rows. Is one of these a person: ", is_bad=True),
            *named(persons, is_bad=True),
            Phrase(f"? {so} protects people; {none} says that rows are independent.", is_bad=True),
        ]


def title(report: Json) -> Sentence:
    """Return the promise by its name, its figures and its method in one line."""
    method, promise = report["method"], report["guarantee"]
    headline, parameters = words_of(promise).headline(promise), promise["parameters"]
    preset = f", preset {method['preset']}" if method.get("preset") else ""
    settings = "".join(
        f", {words(key)} = {bound(parameters[key])}" for key in ("k", "epsilon", "delta") if parameters.get(key)
    )
    condition = ", under a condition" if parameters.get("domains_from_data") else ""
    return [Phrase(f"{headline.text}{settings}{condition}, by {method['name']}{preset}", is_bad=headline.is_bad)]


def _promise(report: Json) -> Iterator[Sentence]:
    yield title(report)
    yield plain(report["guarantee"]["statement"])
    if report["rows"] or report["columns"]:
        found = verdict(report)
        yield [Phrase(found.stressed, is_bad=not found.is_good), Phrase(found.rest)]
    budget = report["budget"]
    spent = " and ".join(f"{words(key)} = {bound(budget[key])}" for key in ("epsilon", "delta") if budget.get(key))
    if spent:
        yield plain(f"It spends {spent} of the privacy budget.")
    delta = delta_words(report)
    if delta is not None:
        yield [Phrase(delta[0], is_bad=True), Phrase(delta[1])]


def verdict(report: Json) -> PromiseVerdict:
    """Return True if the promise was found to hold, the worst first: checks that failed, or that are not there."""
    promise, checks = report["guarantee"], report["verification"]["checks"]
    own, broken = words_of(promise), [check for check in checks if not check["passed"]]
    if broken:
        rest = f" {len(broken)} of {len(checks)} checks failed."
        return PromiseVerdict(stressed="The promise does not hold:", rest=rest, is_good=False)
    if unchecked := own.unchecked(promise, {check["name"] for check in checks}):
        listed = ", ".join(check_words(name)[0] for name in unchecked)
        return PromiseVerdict(
            stressed="Not all of the promise was checked:", rest=f" no check of {listed}.", is_good=False
        )
    return own.verdict(promise, len(checks))


def risk_sentences(report: Json) -> Iterator[Sentence]:
    """Yield the risk of re-identification as it is counted on the released table, or what is known in its place."""
    risk = report.get("disclosure_risk")
    if not risk:
        yield plain(f"Not counted: {words_of(report['guarantee']).uncounted_risk(report['guarantee'])}")
        return
    by_people = risk.get("counted") == "people"
    record, records, whose = ("person", "people", "their") if by_people else ("row", "rows", "its")
    if by_people and _of_households(report):
        record, records, whose = "household", "households", "its"
    of_one = report["guarantee"]["parameters"].get("rows_known") is not None
    one = "one member" if _of_households(report) else "one row"
    known, alike = f"the quasi-identifiers of {one}" if of_one else f"{whose} quasi-identifiers", people_alike(report)
    if alike is not None:
        whole = "a household by all its members" if _of_households(report) else "a person by all rows"
        yield plain(f"{one_in(1 / alike)} at most: the chance to re-identify {whole} together.")
    attacker = risk["prosecutor"]
    highest, mean = one_in(attacker["max"]), one_in(attacker["mean"])
    yield plain(f"{highest} at most, {mean} on average: the chance to re-identify a {record} by {known}.")
    share, threshold = percent(attacker["share_at_risk"]), percent(attacker["risk_threshold"])
    yield plain(f"{share} of the {records} have a risk above {threshold}.")
    yield from _clear(risk.get("with_clear_columns"), number(report["guarantee"]["parameters"].get("k")), records)


def _of_households(report: Json) -> bool:
    return report["guarantee"]["parameters"].get("households") is True


def _clear(block: Json | None, k: str, records: str) -> Iterator[Sentence]:
    """Yield the risk if target and insensitive columns are known too, and sensitive ones of few values."""
    for part in () if block is None else (block, block.get("sensitive")):
        if not part or not part["columns"]:
            continue
        is_bad, are = part["share_alone"] > _MANY_ALONE, "is" if len(part["columns"]) == 1 else "are"
        yield [
            Phrase("If ", is_bad=is_bad),
            *listed_with_and(part["columns"], is_bad=is_bad),
            Phrase(
                f" {are} known too: {percent(part['share_alone'])} of the {records} are alone, "
                f"{percent(part['share_below_k'])} are in groups below {k}, and the smallest group has "
                f"{number(part['k'])}.",
                is_bad=is_bad,
            ),
        ]


# --- secrets -------------------------------------------------------------------------------------------------


def _secrets(report: Json) -> Iterator[Sentence]:
    risk, promise = report["disclosure_risk"], report["guarantee"]["parameters"]
    by_value: Json = risk.get("by_value", {})
    sensitive = [name for name in promise.get("sensitive", ()) if name in by_value]
    if risk and not promise.get("sensitive"):
        yield plain(f"No column is declared sensitive. {_PROTECTS_ONE}.")
    names = [*sensitive, *(name for name in by_value if name not in sensitive)]
    for name in names[:_SECRETS]:
        yield from _secret(name, by_value[name], risk, promise, is_sensitive=name in sensitive)
    if len(names) > _SECRETS:
        yield [Phrase("More in the report: "), *named(names[_SECRETS:]), Phrase(".")]


def _secret(name: str, values: Sequence[Json], risk: Json, promise: Json, *, is_sensitive: bool) -> Iterator[Sentence]:
    """Yield the worst confidence of a column in the classes, its most exposed value, and its values without a cap."""
    largest = max(values, key=lambda each: (each["highest_confidence"], each["lift"]), default=None)
    if largest is None:
        return
    records = "people" if risk.get("counted") == "people" else "rows"
    is_bad = is_sensitive and largest["highest_confidence"] >= _SURE and largest["lift"] >= _TELLING
    yield [
        Phrase(name, is_name=True, is_bad=is_bad),
        Phrase(f": up to {percent(largest['highest_confidence'])} of the values in a group are ", is_bad=is_bad),
        Phrase(value_words(largest["value"]), is_name=True, is_bad=is_bad),
        Phrase(f"; {percent(largest['base_rate'])} of the table's are.", is_bad=is_bad),
    ]
    lifted = max(values, key=lambda each: each["share_above_half"] * (each["base_rate"] <= 1 / 2))
    if lifted["share_above_half"] and lifted["base_rate"] <= 1 / 2:
        yield [
            Phrase(f"{percent(lifted['share_above_half'])} of those with "),
            Phrase(value_words(lifted["value"]), is_name=True),
            Phrase(" are in groups where most have it."),
        ]
    uniform = risk.get("uniform_classes") or {}
    if uniform.get("target") == name:
        share, beside, records = uniform["share"], f" ({percent(uniform['expected_share'])} by chance)", "rows"
    else:
        share, beside = risk["l_diversity"].get(name, {}).get("share_of_one_value", 0.0), ""
    if share:
        yield plain(f"{percent(share)} of the {records} are in groups of one value{beside}.")
    cap = promise.get("confidence_cap") or {}
    exempt = [each["value"] for each in values if each["base_rate"] > cap.get("exempt_above", 1)]
    if name in cap.get("columns", ()) and exempt:
        listed = ", ".join(map(value_words, exempt))
        yield plain(f"No cap: {listed}, which more than {percent(cap['exempt_above'])} of the table have.")


# --- usefulness ----------------------------------------------------------------------------------------------


def usefulness_sentences(report: Json) -> Iterator[Sentence]:
    """Yield the public measures of the release's usefulness, each figure beside what guessing has."""
    utility = report["utility"]
    scores = utility.get("prediction_of_target")
    target = next((column["name"] for column in report["columns"] if column["role"] == "target"), None)
    if isinstance(scores, Mapping) and target is not None:
        yield from _scores(scores, target)
    elif isinstance(scores, str):
        yield plain(f"How well the target can be predicted: {scores}.")
    else:
        yield plain(_other_measures(utility))
    marginals = report.get("marginals")
    if marginals is not None:
        triple = marginals.get("triple", ())
        pairs = pairs_words(marginals["columns"], marginals["pairs"], anchored=marginals["anchored"], triple=triple)
    else:
        pairs = ""
    if pairs:
        yield plain(f"{_PAIRS}{pairs}.")


def _scores(scores: Json, target: str) -> Iterator[Sentence]:
    intervals = scores.get("ci", {})

    def figure(key: str) -> str:
        ends = f" ({' to '.join(number(end) for end in intervals[key])})" if key in intervals else ""
        return f"{number(scores[key])}{ends}"

    predicted = (Phrase("Models of the released rows predict "), Phrase(target, is_name=True))
    of_mean = scores.get("of_mean", {})
    if "auc" in scores:
        yield [*predicted, Phrase(f" with AUC {figure('auc')}; guessing has 0.5.")]
    if "r2" in scores:
        yield [*predicted, Phrase(f" with R² {figure('r2')}; always the mean has {number(of_mean.get('r2'))}.")]
    if "mae" in scores:
        yield plain(f"Their mean error is {figure('mae')}; that of the mean is {number(of_mean.get('mae'))}.")
    if "accuracy" in scores:
        yield plain(
            f"They are right for {percent(scores['accuracy'])} of the rows; always saying the commonest class is right "
            f"for {percent(scores.get('majority'))}."
        )


def _other_measures(utility: Json) -> str:
    """Return the first few public measures of what the release keeps."""
    numeric = [measure for measure in measures(utility) if not measure["is_text"]]
    numeric.sort(key=lambda measure: "auc" not in measure["name"].lower() and "accuracy" not in measure["name"].lower())
    if not numeric:
        return "No figure of it is public. The owner's dossier compares the release with the source."
    out, before = [], ""
    for measure in numeric[:_FEW]:
        within, _, name = measure["name"].rpartition(": ")
        label = name if within and within == before else measure["name"]
        out.append(f"{label}: {measure['value']}" + (f" ({measure['interval']})" if measure["interval"] else ""))
        before = within
    return f"{'; '.join(out)}."


# --- files ---------------------------------------------------------------------------------------------------


def _recipients(report: Json) -> Iterator[Sentence]:
    if meant := report.get("recipients"):
        yield [Phrase("The table is meant for "), *listed_with_and(meant), Phrase(", as its owner declares.")]


def _files(files: Sequence[str]) -> Iterator[Sentence]:
    if not files:
        return
    data, *others = files
    yield plain(f"{data} is the data. With it go {', '.join(others)}.")
    page = next((name.rpartition("/")[2] for name in others if name.endswith(".html")), "the page")
    yield plain(f"Read {page} before you hand them out. anonkit validate {data} recounts everything.")
