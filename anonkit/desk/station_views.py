# SPDX-License-Identifier: Apache-2.0
"""Views of the stations: plain values for their templates, made from the current desk."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from anonkit.desk.background_jobs import Job, State
from anonkit.desk.decided_release import NOISE, PRIVATE, RECEIVERS, RELEASE, compared_settings, recommendation
from anonkit.desk.edited_policy import EditedPolicy, read_tree, tree_text
from anonkit.desk.release_desk import Desk
from anonkit.desk.session_history import told_steps
from anonkit.errors import PolicyError
from anonkit.methods import method_class, method_parameters
from anonkit.policy.column_declarations import Role
from anonkit.report.charts import Bar, bar_chart
from anonkit.report.wording import number, percent

STATIONS = ("table", "roles", "promise", "compare", "decide")
_ROLE_WORDS = {
    "identifier": "identifier: names a person, never released",
    "unit": "unit: whose row it is, never released",
    "quasi_identifier": "quasi_identifier: known from elsewhere",
    "sensitive": "sensitive: nobody may learn it",
    "insensitive": "insensitive: released unchanged",
    "target": "target: what users predict",
    "target, sensitive": "target, sensitive: predicted, and a secret",
}
_NEEDED = ("quasi_identifier", "sensitive", "target", "insensitive")
_MOST_LISTED = 300


def shared_view(desk: Desk, station: str) -> dict[str, Any]:
    """Return what every page shows: the line of stations, the strip, the jobs at work."""
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
        "steps": [(step.number, step.did, step.at) for step in told_steps(desk.session.steps)],
        "current": desk.session.current,
        "is_simulated": desk.is_simulated,
        "looked": desk.session.looked,
        "approach": desk.decisions.approach,
        "is_rehearsal": desk.is_rehearsal,
        "jobs": [
            _job(job)
            for kind in ("draft", "names", "columns", "risk", "compare", "sides", "rehearse", "write")
            if (job := desk.latest(kind)) is not None and job.state is not State.DONE
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


# --- the strip -------------------------------------------------------------------------------------------------------


def strip_view(desk: Desk) -> list[tuple[str, str, str]]:
    """Return name, figure and what is to be known of it: before, and after the release as it is decided now."""
    decisions, risk, rehearsal = desk.decisions, desk.result("risk"), desk.result("rehearse")
    report = {} if rehearsal is None else rehearsal["report"]
    k, epsilon = decisions.parameters.get("k"), decisions.parameters.get("epsilon")
    k_now = _pending(desk, "risk") if risk is None else number(risk["sample"]["k"])
    k_after = "–" if k is None else number(k)
    return [
        ("k", f"{'not counted' if desk.is_simulated else k_now} → {k_after}", "people alike, now → required"),
        ("People found", f"{_found_before(desk, risk)} → {_found_after(desk, report)}", "expected, before → after"),
        ("Usefulness", _usefulness(desk, rehearsal), "of models trained on the release"),
        ("Columns kept", _kept(desk, report), "of those of the table"),
        ("ε spent", _spent(report, epsilon), "of the budget of the dataset"),
    ]


def _pending(desk: Desk, kind: str) -> str:
    job = desk.latest(kind)
    if job is None:
        return "not counted"
    return "pending" if job.state is State.AT_WORK else str(job.state)


def _found_before(desk: Desk, risk: Mapping[str, Any] | None) -> str:
    if desk.is_simulated:
        return "not counted"
    if risk is None:
        return _pending(desk, "risk")
    individual = risk["population"]["individual"]
    return f"{individual['sum'] if individual is not None else risk['classes']:,.0f}"


def _found_after(desk: Desk, report: Mapping[str, Any]) -> str:
    if desk.decisions.has_epsilon:
        return "not by rows"
    if not report:
        return _pending(desk, "rehearse")
    share = report.get("disclosure_risk", {}).get("marketer", {}).get("success_rate")
    return "–" if share is None else f"{share * report['rows']['out']:,.0f}"


def _usefulness(desk: Desk, rehearsal: Mapping[str, Any] | None) -> str:
    if rehearsal is None:
        return _pending(desk, "rehearse")
    foreseen = rehearsal["report"].get("foreseen") or {}
    prediction = foreseen.get("prediction")
    if prediction is not None:
        return f"{prediction['measure'].upper()} {prediction['released']:.3f}, on simulated rows"
    told = (rehearsal["report"].get("utility") or {}).get("prediction_of_target") or {}
    if isinstance(told, str):  # why it was not measured
        return "not measured"
    for measure in ("auc", "r2"):
        if told.get(measure) is not None:
            low, high = told.get("ci", {}).get(measure, (None, None))
            within = "" if low is None else f" ({low:.2f} to {high:.2f})"
            return f"{measure.upper()} {told[measure]:.3f}{within}"
    return "nothing is predicted"


def _kept(desk: Desk, report: Mapping[str, Any]) -> str:
    columns = report.get("columns") or (report.get("foreseen") or {}).get("columns")
    if not columns:
        declared = EditedPolicy.read(desk.policy_text).columns().values()
        released = sum(spec.get("role") not in ("identifier", "unit") for spec in declared)
        return f"{released} of {len(declared)} at most" if declared else "–"
    return f"{sum(column['action'] != 'dropped' for column in columns)} of {len(columns)}"


def _spent(report: Mapping[str, Any], epsilon: float | None) -> str:
    if epsilon is None:
        return "none"
    ledger = report.get("ledger") or {}
    before, budget = ledger.get("epsilon_before"), ledger.get("budget")
    spent = f"{before:g} + {epsilon:g}" if isinstance(before, int | float) else f"{epsilon:g}"
    return f"{spent} of {budget:g}" if isinstance(budget, int | float) else spent


# --- table -----------------------------------------------------------------------------------------------------------


def table_view(desk: Desk) -> dict[str, Any]:
    """Return kinds, distributions and missing cells of the columns, and what singles people out."""
    found = desk.result("columns") or []
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
                "missing_share": percent(column["missing"] / max(column["rows"], 1)),
                "alone": None if column["name"] not in alone else number(alone[column["name"]]),
                "share": None if column["name"] not in shares else percent(shares[column["name"]]),
                "domain": _domain(declared.get(column["name"], {})),
            }
            for at, column in enumerate(found)
        ],
        "names": desk.names if not found else [],
        "risk": None if risk is None else _risk_words(risk),
        "sets": [] if risk is None else _worst_sets(risk),
        "coarsenings": [] if risk is None else risk["coarsenings"][:5],
    }


def _chart(at: int, column: Mapping[str, Any]) -> str:
    if not column["bars"]:
        return ""
    bars = [Bar(label=label, value=share, text=percent(share)) for label, share in column["bars"]]
    return bar_chart(
        bars, name=f"c{at}", title=f"Distribution of {column['name']}", description="Shares of rows, by value or range."
    )


def _risk_words(risk: Mapping[str, Any]) -> list[tuple[str, str]]:
    sample, people = risk["sample"], max(risk["people"], 1)
    told = [
        (risk["counted"], number(risk["people"])),
        ("smallest group", number(sample["k"])),
        (
            f"{risk['counted']} alone in their group",
            f"{number(sample['uniques'])} ({percent(sample['uniques'] / people)})",
        ),
    ]
    individual = risk["population"]["individual"]
    if individual is not None:
        told.append(("expected to be found in the population", f"{individual['sum']:,.1f}"))
    return told


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
    for at, name in enumerate(_columns(desk)):
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
    one_row = EditedPolicy.read(desk.policy_text).says_one_row_a_person
    return {
        "rows": rows,
        "one_row": one_row,
        "roles": list(_ROLE_WORDS.items()),
        "undecided": sum(bool(row["open"]) for row in rows),
    }


def _columns(desk: Desk) -> list[str]:
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
    names = _columns(desk)
    if not 0 <= at < len(names):
        raise PolicyError("there is no such column", "go back to Roles")
    return names[at]


def _domain(spec: Mapping[str, Any]) -> str:
    """Return what is declared of a column's values, in a few words."""
    told = []
    if "bounds" in spec:
        told.append("{} to {}".format(*spec["bounds"]))
    if "categories" in spec:
        told.append(f"{len(spec['categories'])} categories")
    if "ladder" in spec:
        ladder = spec["ladder"]
        told.append("never coarser" if ladder == "none" else "bands of " + ", ".join(f"{width:g}" for width in ladder))
    if "tree" in spec:
        told.append("a hierarchy")
    return "; ".join(told)


def _open_question(desk: Desk, spec: Mapping[str, Any]) -> str:
    """Return what is not decided of a column; empty where all is."""
    role = spec.get("role")
    if role is None:
        return "no role"
    if desk.decisions.approach == NOISE and role in _NEEDED:
        known = ("bounds", "categories", "tree", "levels", "grid", "cells")
        if not any(key in spec for key in known):
            return "no domain"
    return ""


def column_view(desk: Desk, at: int, typed: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return what is declared of one column, for its editor; what was typed and refused stays."""
    name = column_named(desk, at)
    spec = EditedPolicy.read(desk.policy_text).columns().get(name, {})
    rows = _tree_of(desk, spec)
    bounds = spec.get("bounds", ["", ""])
    ladder = spec.get("ladder", [])
    fields = {
        "low": str(bounds[0]),
        "high": str(bounds[1]),
        "categories": "\n".join(map(str, spec.get("categories", []))),
        "ladder": "none" if ladder == "none" else ", ".join(f"{width:g}" for width in ladder),
        "tree": tree_text(rows) if rows else "",
        "keep": "yes" if spec.get("keep") else "",
    }
    found = [column for column in desk.result("columns") or [] if column["name"] == name]
    counts = found[0]["counts"] if found and not desk.is_simulated else []
    typed_rows = rows
    if typed is not None:
        fields |= typed
    return {
        "name": name,
        "number": at,
        "fields": fields,
        "role": spec.get("role", ""),
        "levels": _levels(typed_rows, counts),
        "bands": _bands(fields["ladder"], counts),
        "has_tree": bool(rows),
        "has_counts": bool(counts),
    }


def _tree_of(desk: Desk, spec: Mapping[str, Any]) -> list[list[str]]:
    tree = spec.get("tree")
    if isinstance(tree, list):
        return [list(map(str, path)) for path in tree]
    if isinstance(tree, str):
        try:
            return read_tree((desk.folder / tree).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, PolicyError):
            return []
    return []


def tree_file(desk: Desk, at: int) -> str:
    """Return the hierarchy of a column as CSV, to be kept elsewhere.

    Raises
    ------
    PolicyError
        It has none.
    """
    rows = _tree_of(desk, EditedPolicy.read(desk.policy_text).columns().get(column_named(desk, at), {}))
    if not rows:
        raise PolicyError("this column has no hierarchy", "go back to Roles")
    return tree_text(rows)


def _levels(rows: Sequence[Sequence[str]], counts: Sequence[Sequence[Any]]) -> list[dict[str, Any]]:
    """Return the groups of every level of a hierarchy, with the rows in each where they may be counted."""
    n = {str(value): rows_ for value, rows_ in counts}
    levels = []
    for level in range(len(rows[0]) if rows else 0):
        groups: dict[str, int] = {}
        for path in rows:
            groups[path[level]] = groups.get(path[level], 0) + n.get(path[0], 0)
        shown = sorted(groups.items(), key=lambda pair: -pair[1]) if n else list(groups.items())
        smallest = min(groups.values()) if n else None
        levels.append({"level": level, "groups": shown[:12], "n": len(groups), "smallest": smallest})
    return levels


def _bands(ladder: str, counts: Sequence[Sequence[Any]]) -> list[dict[str, Any]]:
    """Return how many bands every width makes, with the rows in the smallest."""
    values = [(float(value), n) for value, n in counts if isinstance(value, int | float)]
    if not values or not re.fullmatch(r"[0-9.,\s]+", ladder):
        return []
    found = []
    for word in re.split(r"[,\s]+", ladder.strip(", \n")):
        width = float(word) if re.fullmatch(r"[0-9]+(\.[0-9]+)?", word) else 0.0
        if width > 0:
            sizes: dict[float, int] = {}
            for value, n in values:
                sizes[value // width] = sizes.get(value // width, 0) + n
            found.append({"width": f"{width:g}", "n": len(sizes), "smallest": min(sizes.values())})
    return found


# --- promise ---------------------------------------------------------------------------------------------------------


def promise_view(desk: Desk) -> dict[str, Any]:
    """Return the questions about the promise, and what follows from the answers."""
    decisions = desk.decisions
    declared = EditedPolicy.read(desk.policy_text)
    columns = declared.columns()
    with_role = {role: [name for name, spec in columns.items() if spec.get("role") == role] for role in map(str, Role)}
    offered = [(name, getattr(method_class(name), "title", "") or name) for name in decisions.methods]
    parameters = {} if not decisions.method else {each.name: each for each in method_parameters(decisions.method)}
    return {
        "receivers": list(RECEIVERS.items()),
        "receiver": decisions.receiver or "named",
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
                "help": parameters[name].help,
                "range": parameters[name].range,
            }
            for name in ("k", "l", "t", "epsilon", "delta")
            if name in parameters
        ],
        "why": recommendation(decisions),
        "here": _meaning_here(desk),
    }


def _meaning_here(desk: Desk) -> list[str]:
    """Return what the promise means for this table, in whole sentences."""
    decisions, risk, told = desk.decisions, desk.result("risk"), []
    k, epsilon, l = (decisions.parameters.get(name) for name in ("k", "epsilon", "l"))  # noqa: E741
    if k is not None:
        told.append(
            f"Anyone who looks for a person finds at least {k:g} rows that fit, and cannot tell which is theirs."
        )
        if risk is not None:
            most = risk["people"] // int(k)
            told.append(f"The {number(risk['people'])} {risk['counted']} make at most {number(most)} groups then.")
    if l is not None:
        told.append(f"Each group shows at least {l:g} different values of every sensitive column.")
    if epsilon is not None:
        import math

        factor = math.exp(float(epsilon))
        told.append(
            f"Whatever is released would have been released with a chance at most {factor:,.1f} times as high or as "
            "low, had one person not been in the table."
        )
    return told


# --- compare ---------------------------------------------------------------------------------------------------------


def compare_view(desk: Desk) -> dict[str, Any]:
    """Return the releases of a comparison, as a plot and as rows, and two of them side by side."""
    from anonkit.comparing.frontier_plot import HEIGHT, MARKS, MEASURES, WIDTH, drawable, plot, shape

    job = desk.latest("compare")
    points = [] if job is None else list(job.parts)
    document = desk.result("compare")
    measure = "r2" if points and all(point.get("auc") is None for point in points) and "r2" in points[0] else "auc"
    raw = None if document is None else document["raw"].get(measure)
    drawn = drawable(points, measure) if points else []
    methods = list(dict.fromkeys(point["method"] for point in drawn))
    return {
        "target": bool(desk.policy.target),
        "settings": compared_settings(desk.decisions),
        "is_done": document is not None,
        "is_at_work": job is not None and job.state is State.AT_WORK,
        "plot": plot(drawn, raw, measure) if drawn else "",
        "width": WIDTH,
        "height": HEIGHT,
        "legend": [(at % len(MARKS), shape(at, 0, 0), name) for at, name in enumerate(methods)],
        "measure": MEASURES[measure],
        "raw": None if raw is None else f"{raw:.3f}",
        "price": None if document is None else document["looking"]["note"],
        "points": [_point(at, point, measure) for at, point in enumerate(points)],
        "sides": _sides(desk.result("sides")),
    }


def _point(at: int, point: Mapping[str, Any], measure: str) -> dict[str, Any]:
    linked = point["attacks"].get("linkability")
    score = point.get(measure)
    return {
        "number": at,
        "label": point["label"],
        "score": "–" if score is None else f"{score:.3f}",
        "risk": "–" if not linked else f"{linked['risk']:.3f} ({linked['ci'][0]:.2f} to {linked['ci'][1]:.2f})",
        "refused": point["refused"],
    }


def _sides(found: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return two candidates column by column, and example rows."""
    if found is None:
        return None
    first, second = found["candidates"]
    other = {change["name"]: change for change in second["changes"]}
    columns = [
        {"name": change["name"], "a": _distortion(change), "b": _distortion(other.get(change["name"], {}))}
        for change in first["changes"]
    ]
    return {
        "labels": (first["label"], second["label"]),
        "rows": found["rows"],
        "out": [candidate["rows"].get("out") for candidate in (first, second)],
        "columns": columns,
        "left_out": [_left_out(candidate["left_out"]) for candidate in (first, second)],
        "examples": [_examples(candidate) for candidate in (first, second)],
    }


def _distortion(change: Mapping[str, Any]) -> dict[str, Any]:
    """Return what became of a column, and how far its distribution moved, in five steps for a colour."""
    distance = change.get("distance")
    action = str(change.get("action", "–"))
    if action == "dropped":
        return {"words": "left out", "step": 4}
    if not distance:
        return {"words": action, "step": 0}
    value = distance.get("in_standard_deviations")
    value = distance["value"] if value is None else value
    return {"words": f"{action}, moved by {value:.2f}", "step": min(4, int(8 * value))}


def _left_out(rows: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    if not rows:
        return []
    return [(str(each["class"]), f"{each['left_out']:,} of {each['in']:,}") for each in rows["classes"]]


def _examples(candidate: Mapping[str, Any]) -> dict[str, Any] | None:
    examples = candidate["examples"]
    if not examples or not examples["before"]:
        return None
    names = list(examples["before"][0])
    after = examples["after"]
    rows = []
    for at, before in enumerate(examples["before"]):
        then = after[at] if at < len(after) else None
        cells = [
            {
                "before": before[name],
                "after": None if then is None else then.get(name),
                "changed": then is None or before[name] != then.get(name),
            }
            for name in names
        ]
        rows.append({"cells": cells, "is_out": then is None})
    return {"label": candidate["label"], "names": names, "rows": rows, "corresponds": examples["corresponds"]}


# --- decide ----------------------------------------------------------------------------------------------------------


def decide_view(desk: Desk) -> dict[str, Any]:
    """Return the rehearsed release: promise, limits, attacks against controls, budget; and what was written."""
    rehearsal, written = desk.result("rehearse"), desk.result("write")
    report = None if rehearsal is None else rehearsal["report"]
    return {
        "report": report,
        "owner": {} if rehearsal is None else rehearsal["owner"],
        "recipe": desk.release().recipe(),
        "attacks": _attacks(desk),
        "is_signed": desk.release().sign is not None,
        "is_written": written is not None,
        "exists": (desk.folder / RELEASE).exists(),
        "files": [] if written is None else _files(desk, written),
        "decided": bool(desk.decisions.method),
        "method": desk.decisions.method,
        "left_out": _left_out(None if rehearsal is None else rehearsal["owner"].get("rows_left_out")),
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


def _files(desk: Desk, written: Mapping[str, Any]) -> list[dict[str, str]]:
    from pathlib import Path

    listed = [(_FILE_WORDS.get(role, role), Path(path)) for role, path in written["files"].items()]
    private = desk.folder / PRIVATE
    own = sorted(private.glob("*.dossier.html")) if private.is_dir() else []
    listed += [("dossier with source and release side by side: for you alone", path) for path in own]
    listed += [("policy", desk.folder / "policy.toml"), ("recipe", desk.folder / "recipe.toml")]
    return [
        {"words": words, "name": path.name, "handle": desk.handle(path), "is_page": str(path.suffix == ".html")}
        for words, path in listed
        if path.is_file()
    ]
