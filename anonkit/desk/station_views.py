# SPDX-License-Identifier: Apache-2.0
"""Views of the stations: plain values for their templates, made from the current desk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from anonkit.desk.background_jobs import Job, JobState
from anonkit.desk.decided_release import NOISE, PRIVATE, RECEIVERS, RELEASE, recommendation
from anonkit.desk.release_desk import Desk
from anonkit.desk.session_files import EditedPolicy, newest_steps
from anonkit.desk.strip_view import expected_before, left_out_words, spending, strip_view
from anonkit.errors import PolicyError
from anonkit.methods import method_class, method_parameters
from anonkit.policy.column_declarations import Role
from anonkit.report.charts import Bar, bar_chart
from anonkit.report.wording import number, percent

STATIONS = ("table", "roles", "promise", "compare", "decide")
_ROLE_WORDS = {
    "identifier": "identifier: names a person, never released",
    "unit": "unit: whose row it is, never released",
    "household": "household: who lives together, never released",
    "weight": "weight: how many people a row stands for",
    "quasi_identifier": "quasi_identifier: known from elsewhere",
    "sensitive": "sensitive: nobody may learn it",
    "insensitive": "insensitive: released unchanged",
    "target": "target: what users predict",
    "target, sensitive": "target, sensitive: predicted, and a secret",
}
_PARAMETER_WORDS = {
    "k": "rows that look alike, at least; people where a column says whose a row is (2 or more)",
    "l": "different values of each sensitive column in every group, at least; empty: no rule",
    "t": "how much else a sensitive column may be distributed in a group, from 0 to 1; empty: no rule",
    "epsilon": "how much one person may change what is released (above 0, at most 40)",
    "delta": "probability that epsilon does not cover (0 to 0.01); empty: as the method has it",
}
_NEEDED = ("quasi_identifier", "sensitive", "target", "insensitive")
_MOST_LISTED = 300


def shared_view(desk: Desk, station: str) -> dict[str, Any]:
    """Return the content of every page: the line of stations, the strip, the jobs at work."""
    return {
        "station": station,
        "stations": [(name, name.capitalize()) for name in STATIONS],
        "is_open": bool(desk.decisions.approach),
        "strip": strip_view(desk),
        "table_name": desk.source.rsplit("/", 1)[-1],
        "command": desk.release().command(station),
        "python": desk.release().python(station),
        "undo": None if desk.session.undone is None else desk.session.step.did,
        "redo": None if desk.session.redone is None else desk.session.redone.did,
        "steps": [(step.number, step.did, step.at) for step in newest_steps(desk.session.steps)],
        "current": desk.session.current,
        "is_simulated": desk.is_simulated,
        "looked": desk.session.looked,
        "approach": desk.decisions.approach,
        "is_rehearsal": desk.is_rehearsal,
        "recipe": desk.release().recipe(),
        "last_step": desk.session.step.did,
        "jobs": [
            _job(job)
            for kind in ("draft", "names", "columns", "risk", "compare", "sides", "rehearse", "write")
            if (job := desk.latest(kind)) is not None and job.state is not JobState.DONE
        ],
        "at_work": desk.jobs.are_at_work,
    }


_KIND_WORDS = {
    "names": "Reading the names of the columns",
    "draft": "Drafting a policy",
    "columns": "Looking at the columns",
    "risk": "Finding what makes people unique",
    "compare": "Comparing releases",
    "sides": "Putting two releases side by side",
    "rehearse": "Rehearsing the release",
    "write": "Writing the release",
}


def _job(job: Job) -> dict[str, Any]:
    return {
        "words": _KIND_WORDS[job.kind],
        "kind": job.kind,
        "handle": job.handle,
        "state": str(job.state),
        "step": job.step,
        "share": round(100 * job.share),
        "message": job.message,
        "hint": job.hint,
    }


# --- table -----------------------------------------------------------------------------------------------------------


def table_view(desk: Desk) -> dict[str, Any]:
    """Return kinds, distributions and missing cells of the columns, as they come, and what singles people out."""
    job = desk.latest("columns")
    found = [] if job is None else list(job.parts)
    risk = desk.result("risk")
    shares = {} if risk is None else {each["column"]: each["share"] for each in risk["suda"]["columns"]}
    alone = {}
    for each in () if risk is None else risk["sets"]:
        if len(each["columns"]) == 1:
            alone[each["columns"][0]] = each["unique_rows"]
    declared = EditedPolicy.read(desk.policy_text).columns()
    return {
        "columns": [
            {
                **column,
                "chart": _chart(at, column),
                "distinct_shown": number(column["distinct"]),
                "missing_share": percent(column["missing"] / max(column["rows"], 1)),
                "alone": None if column["name"] not in alone else number(alone[column["name"]]),
                "share": None if column["name"] not in shares else percent(shares[column["name"]]),
                "domain": _domain(declared.get(column["name"], {})),
            }
            for at, column in enumerate(found)
        ],
        "names": desk.names[len(found) :],
        "risk": _risk_words(desk.class_counts, risk),
        "whose_rows": _whose_rows(desk),
        "sets": [] if risk is None else _worst_sets(risk),
        "coarsenings": [] if risk is None else risk["coarsenings"][:5],
    }


def _whose_rows(desk: Desk) -> tuple[str, str]:
    """Return a column that says whose a row is, and what follows from it or from there being none."""
    declared = EditedPolicy.read(desk.policy_text)
    for role, counted in (("household", "Households are counted"), ("unit", "People are counted")):
        for name, spec in declared.columns().items():
            if spec.get("role") == role:
                return name, f"says whose a row is. {counted}, not rows."
    if declared.has_one_row_per_person:
        return "", "No person has several rows: each row is a person."
    message = "Nobody has said whose the rows are, or that no person has several: say it at Roles."
    job = desk.latest("columns")
    for column in () if job is None or desk.is_simulated else job.parts:
        filled = column["rows"] - column["missing"]
        if column["identifier"] and column["distinct"] < filled:
            values = f"has {number(column['distinct'])} values in {number(filled)} rows"
            return column["name"], f"{values}: if it says whose a row is, give it the role unit. {message}"
    return "", message


def _chart(at: int, column: Mapping[str, Any]) -> str:
    if not column["bars"]:
        return ""
    return _cached_chart(f"c{at}", column["name"], tuple((label, share) for label, share in column["bars"]))


@lru_cache(maxsize=1024)
def _cached_chart(name: str, column: str, shares: tuple[tuple[str, float], ...]) -> str:
    """Return a chart; pages of many columns are loaded again and again while others are counted."""
    bars = [Bar(label=label, value=share, text=percent(share)) for label, share in shares]
    return bar_chart(
        bars, name=name, title=f"Distribution of {column}", description="Shares of rows, by value or range."
    )


def _risk_words(counts: Mapping[str, Any] | None, risk: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """Return the figures of the table: what is counted first, then what needs the whole search."""
    if counts is None:
        return []
    figures = [
        (counts["counted"], number(counts["people"])),
        ("smallest group", number(counts["k"])),
        (
            f"{counts['counted']} alone in their group",
            f"{number(counts['uniques'])} ({percent(counts['uniques'] / max(counts['people'], 1))})",
        ),
    ]
    if risk is None:
        return figures
    expected, file = expected_before(risk), risk["population"].get("file")
    if file is not None:
        figures.append(("people of the population in the smallest group", number(file["k_map"] or 0)))
        if file["unmatched_classes"]:
            figures.append(("groups that the file of the population lacks", number(file["unmatched_classes"])))
    if expected is not None:
        figures.append(("expected to be found in the population", f"{expected:,.1f}"))
    return figures


def _worst_sets(risk: Mapping[str, Any]) -> list[dict[str, Any]]:
    several = [each for each in risk["sets"] if len(each["columns"]) > 1 and each["unique_rows"]]
    several.sort(key=lambda each: -each["unique_rows"])
    return [{**each, "shown": number(each["unique_rows"])} for each in several[:5]]


# --- roles -----------------------------------------------------------------------------------------------------------


def roles_view(desk: Desk) -> dict[str, Any]:
    """Return a role a column, and which of them are not decided."""
    declared = EditedPolicy.read(desk.policy_text).columns()
    found = {column["name"]: column for column in desk.result("columns") or [] if not desk.is_simulated}
    rows = []
    for at, name in enumerate(all_columns(desk)):
        spec = declared.get(name, {})
        role = str(spec.get("role", ""))
        role = f"{role}, sensitive" if role == "target" and spec.get("sensitive") else role
        rows.append(
            {
                "number": at,
                "name": name,
                "role": role,
                "domain": _domain(spec),
                "open": _open_question(desk, spec),
                "why": (found.get(name) or {}).get("identifier"),
            }
        )
    one_row = EditedPolicy.read(desk.policy_text).has_one_row_per_person
    return {
        "rows": rows,
        "one_row": one_row,
        "whose_rows": _whose_rows(desk),
        "roles": list(_ROLE_WORDS.items()),
        "undecided": sum(bool(row["open"]) for row in rows),
    }


def all_columns(desk: Desk) -> list[str]:
    """Return the columns in the order of the table, then those of the policy alone."""
    names = desk.names
    return [*names, *(name for name in EditedPolicy.read(desk.policy_text).columns() if name not in names)]


def column_named(desk: Desk, at: int) -> str:
    """Return the column of a number.

    Raises
    ------
    PolicyError
        There is none.
    """
    names = all_columns(desk)
    if not 0 <= at < len(names):
        raise PolicyError("there is no such column", "go back to Roles")
    return names[at]


def _domain(spec: Mapping[str, Any]) -> str:
    """Return the declaration of a column's values, in a few words."""
    words = []
    if "bounds" in spec:
        words.append("{} to {}".format(*spec["bounds"]))
    if "categories" in spec:
        words.append(f"{len(spec['categories'])} categories")
    if "ladder" in spec:
        ladder = spec["ladder"]
        words.append("never coarser" if ladder == "none" else "bands of " + ", ".join(f"{width:g}" for width in ladder))
    if "tree" in spec:
        words.append("a hierarchy")
    return "; ".join(words)


def _open_question(desk: Desk, spec: Mapping[str, Any]) -> str:
    """Return the open decision on a column; empty where there is none."""
    role = spec.get("role")
    if role is None:
        return "no role"
    if desk.decisions.approach == NOISE and role in _NEEDED:
        known = ("bounds", "categories", "tree", "levels", "grid", "cells")
        if not any(key in spec for key in known):
            return "no domain"
    return ""


# --- promise ---------------------------------------------------------------------------------------------------------


def promise_view(desk: Desk) -> dict[str, Any]:
    """Return the questions about the promise, and what follows from the answers."""
    decisions = desk.decisions
    declared = EditedPolicy.read(desk.policy_text)
    columns = declared.columns()
    with_role = {role: [name for name, spec in columns.items() if spec.get("role") == role] for role in map(str, Role)}
    offered = [(name, method_class(name).summary) for name in decisions.methods]
    parameters = {each.name for each in method_parameters(decisions.method)} if decisions.method else set()
    return {
        "receivers": list(RECEIVERS.items()),
        "receiver": decisions.receiver or "named",
        "population": None if desk.population is None else desk.population.rsplit("/", 1)[-1],
        "sample": "" if decisions.sample is None else f"{100 * decisions.sample:g}",
        "recipients": ", ".join(desk.policy.publication.recipients),
        "known": with_role["quasi_identifier"],
        "secret": [*with_role["sensitive"], *(n for n in with_role["target"] if columns[n].get("sensitive"))],
        "target": with_role["target"],
        "methods": offered,
        "method": decisions.method,
        "parameters": [
            {
                "name": name,
                "value": "" if name not in decisions.parameters else f"{decisions.parameters[name]:g}",
                "words": words,
            }
            for name, words in _PARAMETER_WORDS.items()
            if name in parameters
        ],
        "why": recommendation(decisions),
        "here": _meaning_here(desk),
    }


def _meaning_here(desk: Desk) -> list[str]:
    """Return the meaning of the promise for this table, in whole sentences."""
    decisions, counts, sentences = desk.decisions, desk.class_counts, []
    k, epsilon, l, t, delta = (decisions.parameters.get(name) for name in ("k", "epsilon", "l", "t", "delta"))  # noqa: E741
    if k is not None:
        sentences.append(
            f"Anyone who looks for a person finds at least {k:g} rows that fit, and cannot tell which is theirs."
        )
        if counts is not None:
            most = counts["people"] // int(k)
            sentences.append(
                f"The {number(counts['people'])} {counts['counted']} make at most {number(most)} groups then."
            )
    if l is not None:
        sentences.append(f"Each group shows at least {l:g} different values of every sensitive column.")
    if t is not None:
        sentences.append(
            f"In no group is a sensitive column distributed otherwise than in the whole release by more than {t:g}, "
            "where 0 is alike and 1 as far apart as can be."
        )
    if epsilon is not None:
        import math

        factor = math.exp(float(epsilon))
        sentences.append(
            f"Whatever is released would have been released with a chance at most {factor:,.1f} times as high or as "
            "low, had one person not been in the table."
        )
    if delta:
        sentences.append(
            f"This factor may be exceeded with a probability of at most {delta:g}, about one in {1 / delta:,.0f}."
        )
    return sentences


# --- decide ----------------------------------------------------------------------------------------------------------


def decide_view(desk: Desk) -> dict[str, Any]:
    """Return the rehearsed release: promise, limits, attacks against controls, budget; and what was written."""
    rehearsal, written = desk.result("rehearse"), desk.result("write")
    report = None if rehearsal is None else rehearsal["report"]
    return {
        "report": report,
        "owner": {} if rehearsal is None else rehearsal["owner"],
        "attacks": _attacks(desk),
        "is_signed": desk.release().sign is not None,
        "is_written": written is not None,
        "exists": (desk.folder / RELEASE).exists(),
        "shown_folder": desk.shown_folder,
        "turn": desk.turn,
        "files": {} if written is None else _files(desk, written),
        "decided": bool(desk.decisions.method),
        "method": desk.decisions.method,
        "left_out": left_out_words(None if rehearsal is None else rehearsal["owner"].get("rows_left_out")),
        "spent": spending(report or {}, desk.decisions.parameters.get("epsilon"), desk.policy.bookkeeping.budget),
        "foreseen": None if report is None else report.get("foreseen"),
    }


def _attacks(desk: Desk) -> list[dict[str, str]]:
    """Return the attacks of the comparison on the release that is nearest to the decided one."""
    document, decisions = desk.result("compare"), desk.decisions
    wanted = decisions.parameters.get("epsilon", decisions.parameters.get("k"))
    for point in () if document is None else document["points"]:
        if point["method"] == decisions.method and point["value"] == wanted:
            return [
                {
                    "name": name.replace("_", " "),
                    "attack": percent(
                        attack["attack_rate"]["value"]
                        if isinstance(attack["attack_rate"], dict)
                        else attack["attack_rate"]
                    ),
                    "control": percent(
                        attack["control_rate"]["value"]
                        if isinstance(attack["control_rate"], dict)
                        else attack["control_rate"]
                    ),
                    "risk": f"{attack['risk']:.3f} ({attack['ci'][0]:.2f} to {attack['ci'][1]:.2f})",
                }
                for name, attack in point["attacks"].items()
                if attack.get("n_attacks")
            ]
    return []


_FILE_WORDS = {
    "page": "privacy report, to read and sign",
    "data": "the released rows",
    "params": "what receivers need to use them",
    "report": "the report for programs",
    "descriptor": "descriptor with the hash of every file",
    "signature": "signature over all files",
}


def _files(desk: Desk, written: Mapping[str, Any]) -> dict[str, list[dict[str, str]]]:
    """Return the files that are there: those of the release, and those that its owner keeps."""
    private = desk.folder / PRIVATE
    dossiers = sorted(private.glob("*.dossier.html")) if private.is_dir() else []
    owner_files = [("dossier with source and release side by side", path) for path in dossiers]
    owner_files += [("roles and domains of the columns", desk.folder / "policy.toml")]
    owner_files += [("makes the next release without this page", desk.folder / "recipe.toml")]
    released = [(_FILE_WORDS.get(role, role), Path(path)) for role, path in written["files"].items()]
    return {whose: _listed(desk, files) for whose, files in (("released", released), ("kept", owner_files))}


def _listed(desk: Desk, files: Sequence[tuple[str, Path]]) -> list[dict[str, str]]:
    return [
        {
            "words": words,
            "name": f"{PRIVATE}/{path.name}" if path.parent == desk.folder / PRIVATE else path.name,
            "handle": desk.handle(path),
            "is_page": str(path.suffix == ".html"),
        }
        for words, path in files
        if path.is_file()
    ]
