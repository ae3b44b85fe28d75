# SPDX-License-Identifier: Apache-2.0
"""The main facts of a report as Markdown, for the pages of pipeline tools and build servers.

Tables are those of GitHub Flavored Markdown. Whatever came with the table (column names, labels, notes) is untrusted
text: every sign that Markdown or HTML gives a meaning is escaped, so that it makes no markup. (Tools that turn a bare
address into a link do that to any string.)

A reviewer's facts beside the first ones: attacks, the ledger, and earlier releases.

Put into words from the report alone, and on the owner's request from an audit and from the report of an earlier
release. Nothing is judged anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import starmap
from typing import Any

from anonkit.errors import ReleaseFormatError
from anonkit.report.block_words import column_row, row_counts
from anonkit.report.charts import safe_text
from anonkit.report.document import diff_reports, is_seeded, title_of
from anonkit.report.first_facts import Sentence, first_facts, remaining_notes, risk_sentences, text_of, verdict
from anonkit.report.promise_words import words_of
from anonkit.report.promise_words.class_words import capital, plain
from anonkit.report.wording import (
    bound,
    check_words,
    date_text,
    gathered,
    heading,
    number,
    percent,
    required_words,
    shuffle_words,
)

ATTACKS = ("singling_out", "linkability", "inference", "membership")
SHOWN_DIFFERENCES = 40
_FEW = 3
"""Differences on the first sheet; the rest is below."""
_LONGEST_FACT = 60
_FOUND, _NONE, _WEAK, _FEW_ATTACKS = "risk", "none measurable", "attack too weak", "not enough attacks"
"""Verdicts of an attack, as `anonkit.auditing.attacks.success_rates` gives them."""


def risk_words(report: Mapping[str, Any], audit: Mapping[str, Any] | None) -> list[Sentence]:
    """Return the largest risk that was measured, and by whom: counted on the table, or shown by an attack.

    An audit can put a larger risk before the counted one, never a smaller one in its place.
    """
    counted = list(risk_sentences(report))
    if audit is None:
        return [*counted, plain("Attacks need the source: ask the owner for an audit.")]
    attacks = [plain(text) for text in (*_attack_words(audit), *_bound_words(audit))]
    released = [float(attack["risk"]) for attack in _attempted(audit).values() if attack["verdict"] == _FOUND]
    highest = report["disclosure_risk"]["prosecutor"]["max"] if report["disclosure_risk"] else 0.0
    is_larger = max(released, default=0.0) > highest
    return [attacks[0], *counted, *attacks[1:]] if is_larger else [*counted, *attacks]


def _attempted(audit: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {name: audit[name] for name in ATTACKS if audit.get(name, {}).get("n_attacks")}


def _attack_words(audit: Mapping[str, Any]) -> list[str]:
    """Return the findings of the attacks, or the risk that they leave open, and which of them are too weak."""
    attempted = _attempted(audit)
    successful = {name: attack for name, attack in attempted.items() if attack["verdict"] == _FOUND}
    silent = {name: attack for name, attack in attempted.items() if attack["verdict"] == _NONE}
    few = {name: attack for name, attack in attempted.items() if attack["verdict"] == _FEW_ATTACKS}
    weak = [_name(name) for name, attack in attempted.items() if attack["verdict"] == _WEAK]
    if successful:
        worst = max(successful, key=lambda name: float(successful[name]["risk"]))
        attack = successful[worst]
        secret = f" of {attack['secret']}" if "secret" in attack else ""
        sentence = (
            f"{capital(_name(worst))}{secret}: {percent(attack['risk'])} of the people "
            f"({' to '.join(percent(end) for end in attack['ci'])}, 95% interval). The attack succeeds for "
            f"{percent(attack['attack_rate'])}, its control for {percent(attack['control_rate'])}."
        )
    elif silent:
        attacks = f"{len(silent)} attacks" if len(silent) > 1 else "1 attack"
        widest = percent(max(float(attack["ci"][1]) for attack in silent.values()))
        sentence = f"{attacks} showed no risk; the widest of their intervals leaves {widest} open (95% interval)."
    else:
        sentence = "Not measured: no attack was made often enough to tell."
    powers = [f"{_name(name)} ({_power(attack)})" for name, attack in few.items()]
    secrets = audit.get("inference", {}).get("secrets", {})
    return [
        sentence,
        *([f"Inference of each secret: {'; '.join(starmap(_secret_words, secrets.items()))}."] if secrets else []),
        *([f"Not enough attacks: {', '.join(powers)}."] if powers else []),
        *([f"Too weak to tell anything: {', '.join(weak)}."] if weak else []),
    ]


def _secret_words(name: str, attack: Mapping[str, Any]) -> str:
    """Return the evidence on a secret, and on holders of single values of it, none of which is named."""
    values = attack["by_value"]
    disclosed = [entry for entry in values if _FOUND in (entry["verdict"], entry["verdict_without_control"])]
    apart = f", holders of {len(disclosed)} of {len(values)} values distinguished from others" if disclosed else ""
    return f"{name} {percent(attack['risk'])} ({attack['verdict']}){apart}"


def _power(attack: Mapping[str, Any]) -> str:
    """Return the width of an attack's interval, and the smallest risk that its attempts would have shown."""
    low, high = (percent(end) for end in attack["ci"])
    least = attack.get("least_detectable_risk")
    return f"{low} to {high}" + ("" if least is None else f"; below {percent(least)} nothing would have shown")


def _bound_words(audit: Mapping[str, Any]) -> list[str]:
    loss_bound = audit.get("epsilon")
    if loss_bound is None:
        return []
    claim = "no bound is claimed" if loss_bound["claimed"] == "inf" else f"{bound(loss_bound['claimed'])} is claimed"
    return [f"ε is at least {loss_bound['lower_bound']:.3g} (95% confidence), {claim}: {loss_bound['verdict']}."]


def ledger_words(report: Mapping[str, Any]) -> str:
    """Return the position of the release among those of its dataset."""
    position = report.get("ledger") or {}
    accepted = position.get("joint_k_accepted")
    joint = (
        ""
        if accepted is None
        else f" Joint view accepted at {number(accepted)}: combined with others, groups may be so small."
    )
    begun = (
        " It begins a new ledger: earlier releases of its folder are not counted." if position.get("new_ledger") else ""
    )
    return _position_words(position) + joint + begun


def _position_words(ledger_position: Mapping[str, Any]) -> str:
    others = "whether there are other releases of these data is for the owner to say."
    if "release_of_dataset" not in ledger_position:
        return f"{'Booked by its owner' if ledger_position else 'No ledger is named here'}: {others}"
    position = f"Release {number(ledger_position['release_of_dataset'])} of this dataset in its ledger."
    totals = ledger_position.get("totals") or []
    if not totals:
        return position
    losses = "; ".join(map(_total_words, totals))
    return f"{position} The randomized ones together: {losses}{_allowed_words(ledger_position)}."


def _total_words(total: Mapping[str, Any]) -> str:
    """Return the composed loss of releases for one kind of neighbours."""
    beside = f" and δ = {bound(total['delta'])}" if total["delta"] else ""
    loss = "no bound" if total["epsilon"] == "inf" else f"ε = {bound(total['epsilon'])}{beside}"
    if total["neighbours"] == "unknown":
        return f"{loss} of unknown neighbours"
    return f"{loss} for {_whose(total)}"


def _whose(kind: Mapping[str, Any]) -> str:
    unit = "one row" if kind["unit"] is None else f"one value of “{kind['unit']}”"
    return f"{unit} {kind['neighbours']}"


def _allowed_words(ledger_position: Mapping[str, Any]) -> str:
    """Return the budget of all releases of the dataset, where a budget limits that."""
    budgets = (("ε", ledger_position.get("epsilon_budget")), ("δ", ledger_position.get("delta_budget")))
    limits = [f"{sign} = {bound(budget)}" for sign, budget in budgets if budget is not None]
    neighbours = ledger_position.get("budget_neighbours")
    whom = "" if neighbours is None else f" for {_whose(neighbours)}"
    return f"; {' and '.join(limits)} {'are' if len(limits) > 1 else 'is'} allowed{whom}" if limits else ""


def change_words(report: Mapping[str, Any], difference: Mapping[str, Any] | None) -> str:
    """Return the differences from the previous release, as far as it is known here."""
    if difference is not None:
        keys = [heading(change["key"].rpartition(".")[2]) for change in difference["rows"]]
        more = f", and {len(keys) - _FEW} more" if len(keys) > _FEW else ""
        named = f": {', '.join(keys[:_FEW])}{more}" if keys else ""
        return f"{capital(difference['promise'])}. {len(keys)} figures differ{named}."
    earlier = (report.get("ledger") or {}).get("previous_release")
    if earlier is None:
        is_named = "release_of_dataset" in (report.get("ledger") or {})
        return "No earlier release is known." if is_named else "Not known."
    loss = earlier.get("epsilon")
    loss_words = "" if loss is None else ", without a bound" if loss == "inf" else f", ε = {bound(loss)}"
    loss_words += f", δ = {bound(earlier['delta'])}" if earlier.get("delta") else ""
    return (
        f"The previous one was made by {earlier['method']} on {date_text(earlier['created'])} "
        f"({earlier['kind']}{loss_words}). anonkit report --diff compares the two."
    )


def difference(report: Mapping[str, Any], older: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the differences from the report of an earlier release, ready to be shown; None without one."""
    if older is None:
        return None
    comparison = diff_reports(report, older)
    rows = [
        {"key": change.key, "before": _shown(change.before), "after": _shown(change.after)}
        for change in comparison.differences
    ]
    return {
        "promise": comparison.verdict,
        "made": date_text(older["created"]),
        "method": older["method"]["name"],
        "rows": rows,
        "shown": rows[:SHOWN_DIFFERENCES],
    }


def attack_rows(audit: Mapping[str, Any] | None) -> list[dict[str, str]]:
    """Return the attacks of an audit with their controls, one row each."""
    out = []
    for name in ATTACKS if audit is not None else ():
        attack = audit.get(name) if audit is not None else None
        if attack is None:
            continue
        none = not attack["n_attacks"]
        out.append(
            {
                "name": capital(_name(name)) + (f" of {attack['secret']}" if "secret" in attack else ""),
                "rate": "–" if none else percent(attack["attack_rate"]),
                "control": "–" if none else percent(attack["control_rate"]),
                "risk": "–" if none else percent(attack["risk"]),
                "interval": "–" if none else "–".join(percent(end) for end in attack["ci"]),
                "verdict": attack["verdict"] if not none else "not attacked",
                **{key: percent(rate) for key, rate in attack["controls"].items()},
            }
        )
    return out


def loss_rows(audit: Mapping[str, Any] | None) -> Sequence[tuple[str, str]]:
    """Return the findings of an audit on epsilon: (what, text)."""
    loss_bound = None if audit is None else audit.get("epsilon")
    if loss_bound is None:
        return ()
    claim = "no bound" if loss_bound["claimed"] == "inf" else f"ε = {bound(loss_bound['claimed'])}"
    return (
        ("Claimed", claim),
        ("At least", f"ε = {loss_bound['lower_bound']:.3g}, with 95% confidence: {loss_bound['verdict']}"),
        ("Most that could be shown", f"ε = {loss_bound['most_measurable']:.3g}"),
        ("Distinguished", capital(loss_bound["neighbours"])),
        ("How", capital(loss_bound["how"])),
    )


def _name(attack: str) -> str:
    return attack.replace("_", " ")


def _shown(value: object) -> str:
    text = "nothing" if value is None else number(value)
    return text if len(text) <= _LONGEST_FACT else f"{text[:_LONGEST_FACT]}…"


_SIGNS = re.compile(
    r"""
    (?! (?<=\w)-(?=\w) | (?<=\w)[.:](?=\s|$) | (?<=\d)\.(?=\d) )  # a hyphen, the end of a clause, a decimal point
    [!-/:-@\[-`{-~]
    """,
    re.VERBOSE | re.ASCII,
)
"""ASCII punctuation but for where it can mean nothing: any of it may be escaped by a backslash."""
_PLAIN = frozenset(",;'()%=?/")
"""Punctuation that means nothing without a sign that is escaped; the source is read too, and reads better without."""
_BREAKS = re.compile(r"\s+")
_NUMBERED = re.compile(r"\A(\d+)([.)])")
"""Begin of a numbered list."""
_ELSEWHERE = ("Promise",)
"""Topics of the first facts that have their own place."""
_SHOWN_COLUMNS = 60
_LONGEST = 40
"""Letters of what a check found, or required, that are shown whole: cells of a table are not wrapped everywhere."""
_BEGINNING = 12
"""Letters that are shown of what is longer."""


def report_markdown(report: Mapping[str, Any]) -> str:
    """Return the main facts of a report as Markdown: the promise, its checks and limits, columns, risk, utility.

    Parameters
    ----------
    report : mapping
        What `out.report.json` holds.

    Raises
    ------
    ReleaseFormatError
        The report lacks a block, or a block is not what it should be.

    Privacy
    -------
    It shows the public report and nothing else, so that it may be shown where a pipeline's users read it.
    """
    try:
        return "\n".join(_lines(report)) + "\n"
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
        raise ReleaseFormatError(
            "the report is not one of anonkit", "anonkit validate tells what was changed"
        ) from error


def validation_markdown(checks: Iterable[Mapping[str, Any]]) -> str:
    """Return checks as a Markdown table, those that failed first.

    Parameters
    ----------
    checks : iterable of mapping
        As `Check.to_dict` gives them.
    """
    return "\n".join(_checks(checks)) + "\n"


def escaped(text: object) -> str:
    """Return a text as one line of Markdown that shows it and does nothing."""
    line = safe_text(_BREAKS.sub(" ", str(text))).strip()
    line = _SIGNS.sub(lambda sign: sign[0] if sign[0] in _PLAIN else f"\\{sign[0]}", line)
    return _NUMBERED.sub(r"\1\\\2", line)


def _lines(report: Mapping[str, Any]) -> Iterator[str]:
    promise, checks = report["guarantee"], report["verification"]["checks"]
    words = words_of(promise)
    yield f"### {escaped(words.headline(promise).text)}: {escaped(title_of(report))}"
    yield ""
    yield _verdict(report)
    yield ""
    yield escaped(promise["statement"])
    yield ""
    yield from (f"- **{escaped(what)}:** {escaped(text)}" for what, text in _facts(report))
    if file_alone := shuffle_words(report.get("shuffle")):
        yield from ("", escaped(file_alone))
    yield from ("", "#### Checks made on the released table", "")
    yield from _checks(checks)
    yield from ("", "#### What is not protected", "")
    yield from _list(promise["not_protected"])
    if promise["assumptions"]:
        yield from ("", "#### What is assumed", "")
        yield from _list(promise["assumptions"])
    yield from ("", "#### Columns", "")
    yield from _columns(report["columns"])
    if notes := remaining_notes(report):
        yield from ("", "#### Notes", "")
        yield from _list(notes)


def _verdict(report: Mapping[str, Any]) -> str:
    """Return True if the promise holds, the worst first."""
    found, sentences = verdict(report), []
    if is_seeded(report):
        sentences.append("**Not for release.** Its randomness comes from a known seed: it was made for tests.")
    sentences.append(f"**{escaped(found.stressed.removeprefix('✓ '))}**{_after(found.rest)}")
    return "\n\n".join(sentences)


def _after(text: str) -> str:
    return f" {escaped(text)}" if text.strip() else ""


def _facts(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the first facts of a report, as (what, text)."""
    method, promise = report["method"], report["guarantee"]
    preset = f", preset {method['preset']}" if method.get("preset") else ""
    figures = {capital(what): figure for figure, what in words_of(promise).figures(report)}
    yield from figures.items()
    yield "Method", f"{method['name']}{preset}"
    yield "Made", f"{date_text(report['created'])}, by anonkit {report['anonkit_version']}"
    for topic in first_facts(report):
        if topic.label not in _ELSEWHERE:
            yield topic.label, " ".join(map(text_of, topic.sentences))
    yield "Ledger", ledger_words(report)
    yield from (fact for fact in row_counts(report["rows"]) if fact[0] not in figures)


def _checks(checks: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    yield "|  | Check | Found | Required |"
    yield "| --- | --- | --- | --- |"
    for check in sorted(gathered(checks), key=lambda check: bool(check["passed"])):
        cells = (check_words(check["name"])[0], _short(_found(check)), _short(required_words(check)))
        yield f"| {'passed' if check['passed'] else '**FAILED**'} | {' | '.join(map(escaped, cells))} |"


def _found(check: Mapping[str, Any]) -> str:
    """Return the finding of a check; a truth value beside a required count is one."""
    found, required = check["observed"], check["required"]
    is_count = isinstance(found, bool) and isinstance(required, int) and not isinstance(required, bool)
    return number(int(found) if is_count else found)


def _short(text: str) -> str:
    """Return a finding as a cell shows it; a hash widens no table, and is in full in the files."""
    return text if len(text) <= _LONGEST else f"{text[:_BEGINNING]}…"


def _columns(columns: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    rows = [column_row(column) for column in columns]
    shown = [
        (row["name"], row["role"], row["action"], "–" if row["count"] is None else number(row["count"]))
        for row in rows[:_SHOWN_COLUMNS]
    ]
    yield from _table(("Column", "Role", "Treatment", "Values"), shown)
    if len(rows) > _SHOWN_COLUMNS:
        yield from ("", f"and {len(rows) - _SHOWN_COLUMNS} more columns")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"| {' | '.join('---' for _ in head)} |"
    yield from (f"| {' | '.join(escaped(cell) for cell in row)} |" for row in rows)


def _list(texts: Sequence[str]) -> Iterator[str]:
    yield from (f"- {escaped(text)}" for text in texts)
    if not texts:
        yield "- none stated"
