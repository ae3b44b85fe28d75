"""Releases with central differential privacy, forged with all files and hashes rewritten: none validates."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from checks.forgeries import Edit, Files, forged, verdict

import anonkit
from anonkit.checks.central import domain_checks
from anonkit.checks.central_account import expected_account, published_account
from anonkit.checks.central_model import forest_checks
from anonkit.checks.central_params import PublicColumn, domain_of, facts_of
from anonkit.errors import ReleaseFormatError
from anonkit.policy.column_declarations import Column, Missing, Role
from anonkit.policy.declaration import Policy
from anonkit.promises.guarantee import REPLACE
from anonkit.promises.noise_promises import CentralDP

POLICY = Policy(
    columns={
        "who": Column(name="who", role=Role.UNIT),
        "age": Column(name="age", bounds=(0.0, 64.0)),
        "job": Column(name="job", categories=("clerk", "farmer", "miner", "nurse")),
        "ill": Column(name="ill", role=Role.TARGET, categories=("no", "yes")),
    }
)
JOBS = [["clerk", "indoors"], ["farmer", "outdoors"], ["miner", "outdoors"], ["nurse", "indoors"]]
GROUPED = Policy.from_dict(
    {
        "columns": {
            "who": {"role": "unit"},
            "age": {"bounds": [0, 64], "missing": "first"},
            "job": {"categories": ["clerk", "farmer", "miner", "nurse"], "tree": JOBS},
            "ill": {"role": "target", "categories": ["no", "yes"]},
        }
    }
)
"""The same columns, the jobs in groups, and no missing age."""
OF_NUMBERS = Policy(
    columns={
        **POLICY.columns,
        "age": Column(name="age", role=Role.TARGET, bounds=(0.0, 64.0)),
        "ill": Column(name="ill", categories=("no", "yes")),
    }
)
"""The same columns with a number to predict."""
OF_MISSING = Policy(
    columns={
        **OF_NUMBERS.columns,
        "age": Column(name="age", role=Role.TARGET, bounds=(0.0, 64.0), missing=Missing.CATEGORY),
    }
)
"""The number may be missing."""
UNTARGETED = Policy(
    columns={**POLICY.columns, "ill": Column(name="ill", categories=("no", "yes"))}, without_target=True
)
"""The same columns with nothing to predict."""
KINDS: dict[str, dict[str, Any]] = {
    "dp-nb": {},
    "dp-forest": {"depth": 3},
    "dp-forest weights": {"depth": 3, "n_rows": 1_000, "epsilon": 8.0},
    "dp-forest cells": {"depth": 3, "as_": "cells"},
    "dp-marginals": {"epsilon": 40.0},
    "dp-marginals alike": {"epsilon": 40.0, "policy": UNTARGETED, "bins": 4, "n_rows": 3_000},
    "dp-marginals numbers": {"epsilon": 40.0, "policy": OF_NUMBERS, "bins": 4},
    "dp-marginals columns": {"epsilon": 0.05},
    "edprf": {"trees": 1, "depth": 3},
    "diffprfs": {"rows": "bootstrap", "trees": 3, "depth": 2, "stop": "depth"},
    "diffprfs published": {"rows": "published-bootstrap", "trees": 2, "depth": 2, "stop": "depth"},
    "diffprfs two": {"rows": "disjoint", "trees": 2, "depth": 2, "stop": "depth", "branches": "two", "vote": "sum"},
    "diffprf": {"rows": "shared", "trees": 4, "depth": 2, "stop": "depth", "score": "gini"},
    "diffp-id3": {"depth": 2, "stop": "noisy"},
    "diffp-c45": {"depth": 2, "stop": "depth"},
    "c45-arithmetic": {"depth": 2},
    "c45-arithmetic published": {"depth": 2, "tables": "published", "choice": "exponential", "min_rows": 2},
    "diffgen cells": {"steps": 2, "as_": "cells"},
    "diffgen grouped cells": {"steps": 3, "as_": "cells", "policy": GROUPED},
    "diffgen grouped": {"steps": 3, "policy": GROUPED},
    "edprf ungrouped": {"trees": 1, "depth": 2, "policy": GROUPED},
    "edprf label": {"trees": 2, "depth": 2, "leaf": "label", "rate": "published"},
    "edprf label cells": {"trees": 2, "depth": 2, "leaf": "label", "as_": "cells", "allocation": "uniform"},
    "dp-forest numbers": {"depth": 3, "policy": OF_NUMBERS},
    "dp-forest numbers cells": {"depth": 2, "as_": "cells", "policy": OF_MISSING},
    "dp-nb numbers": {"policy": OF_NUMBERS},
    "edprf label numbers cells": {"trees": 2, "depth": 2, "leaf": "label", "as_": "cells", "policy": OF_NUMBERS},
}


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Files]:
    """One true release of each kind, of 3,000 rows of 1,500 people, in memory."""
    rng = np.random.default_rng(3)
    n = 3_000
    job = rng.choice(["clerk", "farmer", "miner", "nurse"], n, p=[0.5, 0.3, 0.15, 0.05])
    age = rng.integers(0, 64, n)
    ill = np.where(rng.random(n) < 0.1 + 0.7 * ((job == "miner") | (age > 50)), "yes", "no")
    table = pa.table({"who": [f"p{at // 2}" for at in range(n)], "age": age.astype(float), "job": job, "ill": ill})
    found = {}
    for kind, parameters in KINDS.items():
        output = tmp_path_factory.mktemp("true") / "out.parquet"
        anonkit.release(
            table, method=kind.partition(" ")[0], rows_per_unit=2, output=output, ledger=None,
            **{"epsilon": 2.0, "policy": POLICY, **parameters},
        )  # fmt: skip
        found[kind] = Files.read(output)
    return found


# --- what a forger does ------------------------------------------------------------------------------------------


def target(files: Files) -> dict[str, Any]:
    """The target, as params describe it."""
    return files.params["target"]


def column_of(files: Files, name: str) -> dict[str, Any]:
    """A released column, as params describe it."""
    return next(one for one in files.params["columns"] if one["name"] == name)


def move_bin(files: Files, cells: int) -> None:
    """Move the end of the first bin."""
    target(files)["domain"]["ends"][0] += cells


def set_target(files: Files, change: Callable[[Any], Any]) -> None:
    """Change the numbers of the target in the released rows."""
    at = files.table.schema.get_field_index("age")
    changed = pa.array(change(files.table.column("age").to_numpy()), pa.float64())
    files.table = files.table.set_column(at, "age", changed)


def first_cells_of_bins(files: Files) -> None:
    """Put every number into the first cell of its bin."""
    domain = target(files)["domain"]
    starts, width = np.array([0, *domain["ends"][:-1]]), 64.0 / domain["cells"]
    set_target(
        files,
        lambda ages: (starts[np.searchsorted(starts, np.floor(ages / width), side="right") - 1] + 0.5) * width,
    )


def first_places_of_cells(files: Files) -> None:
    """Show every age at the first of the 16 places in its cell, as a count of ages that are hidden in places would."""
    width = 64.0 / column_of(files, "age")["domain"]["cells"]
    set_target(files, lambda ages: np.floor(ages / (16 * width)) * 16 * width + width / 2)


def in_line(files: Files) -> None:
    """Bring lines, epsilon, sentences and budget in line with the account as it is now."""
    for line in files.params["accounting"]:
        line["epsilon"] = float(Fraction(line["rate"] * line["sensitivity"] * line["times"], 1 << 52))
    found, told = published_account(files.params), files.report["guarantee"]
    promise = CentralDP(
        epsilon=found.epsilon,
        adjacency=found.adjacency,
        unit=told["parameters"]["unit_column"],
        rows_per_unit=found.rows_per_unit,
        assumptions=tuple(told["assumptions"]),
    )
    files.report["guarantee"] = promise.to_dict()
    budget = files.report["budget"]
    budget["epsilon"] = found.epsilon
    levels: dict[tuple[int | None, str], float] = {}
    for line in files.params["accounting"]:
        key = (line["level"], "leaf" if line["ends_path"] else "split")
        levels[key] = levels.get(key, 0.0) + line["epsilon"]
    if "trees" in files.params:
        budget["per_level"] = [{"level": at, "part": part, "epsilon": e} for (at, part), e in levels.items()]
    elif "mixtures" in files.params:
        budget["per_attribute"] = [
            {"name": line["purpose"], "epsilon": line["epsilon"]} for line in files.params["accounting"]
        ]
    else:
        names = [files.params["target"]["name"], *(one["name"] for one in files.params["attributes"])]
        budget["per_attribute"] = [
            {"name": name, "epsilon": line["epsilon"]}
            for name, line in zip(names, files.params["accounting"], strict=False)
        ]


def lines(files: Files, word: str) -> list[dict[str, Any]]:
    """The lines of the account whose purpose has a word."""
    return [line for line in files.params["accounting"] if word in line["purpose"]]


def without_line(word: str) -> Edit:
    """Take lines away, and bring all else in line."""

    def edit(files: Files) -> None:
        assert lines(files, word)
        files.params["accounting"] = [line for line in files.params["accounting"] if word not in line["purpose"]]
        in_line(files)

    return edit


def with_line(word: str, key: str, value: Any) -> Edit:
    """Restate some lines, and bring all else in line."""

    def edit(files: Files) -> None:
        assert lines(files, word)
        for line in lines(files, word):
            assert line[key] != value
            line[key] = value
        in_line(files)

    return edit


def halved_rates(files: Files) -> None:
    """Claim twice the noise everywhere, with the parameters as they were."""
    for line in files.params["accounting"]:
        line["rate"] //= 2
    in_line(files)


def a_tenth_of_epsilon(files: Files) -> None:
    """Claim ten times the noise everywhere, in the parameters too: what every line says is consistent."""
    for place in (files.params, files.report["method"]):
        place["parameters"]["epsilon"] /= 10
    for line in files.params["accounting"]:
        line["rate"] //= 10
    in_line(files)


def divided(files: Files, name: str, how: str) -> None:
    """State that an attribute is divided in another way, at every node too."""
    for attribute in files.params["attributes"]:
        if attribute["name"] == name:
            attribute["split"] = how
    for node in (node for tree in files.params["trees"] for node in tree):
        if node.get("attribute") == name:
            node["split"] = how


def parameter(name: str, value: Any) -> Edit:
    """State another parameter in params and report alike."""

    def edit(files: Files) -> None:
        files.params["parameters"][name] = value
        files.report["method"]["parameters"][name] = value

    return edit


def in_params(*path: str | int, to: Any) -> Edit:
    """Change one value of the params."""

    def edit(files: Files) -> None:
        place = files.params
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = to(place[path[-1]]) if callable(to) else to

    return edit


def one_value(files: Files) -> None:
    """Give every column of the mixture its first value alone."""
    ends = [0]
    for one in files.params["tables"]:
        ends.append(ends[-1] + len(one["groups"]))
    for own in files.params["mixtures"]:
        own["shares"] = [[1 << 16 if at in ends else 0 for at in range(ends[-1])] for _ in own["weights"]]


def renamed(name: str) -> Edit:
    """Name another method in params, report and manifest alike."""

    def edit(files: Files) -> None:
        files.params["method"] = files.report["method"]["name"] = files.manifest["method"] = name

    return edit


def composed(**changes: Any) -> Edit:
    """Compose otherwise, and bring all else in line."""

    def edit(files: Files) -> None:
        files.params["composition"].update(changes)
        in_line(files)

    return edit


def domain(name: str, change: Callable[[dict[str, Any]], None]) -> Edit:
    """Change a domain both where it was counted and where it is released."""

    def edit(files: Files) -> None:
        places = [files.params["target"], *files.params["attributes"], *files.params["columns"]]
        for one in (one for one in places if one["name"] == name):
            change(one["domain"])

    return edit


def one_more(own: dict[str, Any]) -> None:
    """A category more."""
    own["categories"].append("pilot")


def reordered(own: dict[str, Any]) -> None:
    """Categories the other way round."""
    own["categories"].reverse()


def widened(own: dict[str, Any]) -> None:
    """Bounds twice as wide."""
    own["bounds"] = [0.0, 128.0]


def split_of(files: Files) -> dict[str, Any]:
    """The root of the first tree."""
    root: dict[str, Any] = files.params["trees"][0][0]
    assert "children" in root
    return root


def leaf_of(files: Files) -> dict[str, Any]:
    """The last leaf of the first tree."""
    return next(node for node in reversed(files.params["trees"][0]) if "counts" in node)


def moved_rows(files: Files) -> None:
    """Rows of another table under the same params: every farmer is a nurse."""
    jobs = files.table.column("job").cast(pa.string())
    changed = pc.if_else(pc.equal(jobs, "farmer"), "nurse", jobs)
    files.table = files.table.set_column(files.table.schema.get_field_index("job"), "job", changed)


def swapped_labels(files: Files) -> None:
    """Every ill person is well, and the other way round."""
    labels = files.table.column("ill").cast(pa.string())
    changed = pc.if_else(pc.equal(labels, "yes"), "no", "yes")
    files.table = files.table.set_column(files.table.schema.get_field_index("ill"), "ill", changed)


def set_in(path: str, value: Any) -> Edit:
    """Change one value of the report."""

    def edit(files: Files) -> None:
        *above, last = path.split(".")
        place: Any = files.report
        for step in above:
            place = place[int(step)] if isinstance(place, list) else place[step]
        place[int(last) if isinstance(place, list) else last] = value

    return edit


FORGERIES: dict[str, tuple[str, Edit, str]] = {
    # --- the account
    "the histograms were free": ("dp-forest", without_line("histograms by class"), "account_lines"),
    "the number of rows was free": ("dp-forest", without_line("number of rows"), "account_lines"),
    "the weights were free": ("dp-forest weights", without_line("of the weights"), "account_lines"),
    "a level of splits was free": ("dp-forest", without_line("split at level 1"), "account_lines"),
    "leaves were free": ("edprf", without_line("class counts of a leaf at level 1"), "account_lines"),
    "counts of rows were free": ("diffp-id3", without_line("rows of a"), "account_lines"),
    "one table was free": ("dp-nb", without_line("class x job"), "account_lines"),
    "cuts were free": ("diffgen cells", without_line("cuts and specializations"), "account_lines"),
    "all attributes paid once": ("dp-forest", with_line("histograms", "times", 1), "account_lines"),
    "all attributes of a level paid once": (
        "c45-arithmetic", with_line("by attribute value at level 0", "times", 1), "account_lines"),
    "all attributes of a level paid once, as published": (
        "c45-arithmetic published", with_line("by attribute value at level 0", "times", 1), "account_lines"),
    "tables that shared their level": ("c45-arithmetic published", parameter("tables", "share"), "account_lines"),
    "tables that did not share their level": ("c45-arithmetic", parameter("tables", "published"), "account_lines"),
    "the claim of the paper as the promise": (
        "c45-arithmetic published", set_in("guarantee.parameters.epsilon", 2.0), "epsilon"),
    "no word of what the paper claims": (
        "c45-arithmetic published", set_in("guarantee.parameters.published_claim", None), "published_claim"),
    "trees on the same rows paid once": ("diffprf", with_line("at level", "times", 1), "account_lines"),
    "cuts paid once": ("diffp-c45", with_line("cuts and attribute", "times", 1), "account_lines"),
    "a score moves by 1": ("dp-forest", with_line("split at", "sensitivity", 1), "account_lines"),
    "a choice moves by 1": ("diffprf", with_line("split at", "sensitivity", 1), "account_lines"),
    "a gradient moves by 1": ("dp-forest weights", with_line("gradient", "sensitivity", 1), "account_spends_epsilon"),
    "a cheaper mechanism": ("edprf", with_line("split at", "mechanism", "exponential"), "account_lines"),
    "the rule read fewer rows": ("dp-forest", lambda files: files.params["rule"].update(rows=40), "account_lines"),
    "the rule read more rows": ("dp-forest", lambda files: files.params["rule"].update(rows=10**7), ""),
    "another branch of the rule": (
        "dp-forest weights", lambda files: files.params["rule"].update(weights=False), "rule"),
    "a rule of other regions": ("dp-forest", lambda files: files.params["rule"].update(
        regions=1 - min(files.params["rule"]["regions"], 1)), "rule"),
    "a rule of more bins": ("dp-forest", lambda files: files.params["rule"].update(bins=64), "rule"),
    "a number of rows that is none": ("dp-forest", lambda files: files.params["rule"].update(rows=2.5), ""),
    "bins that were not asked for": ("dp-forest", lambda files: (
        parameter("bins", 7)(files), files.params["rule"].update(bins=7)), "rule_is_followed"),
    "splits end their paths": ("dp-forest", with_line("split at", "ends_path", True), "account_lines"),
    "leaves at no level": ("edprf", with_line("split at", "level", None), "account_lines"),
    "twice the noise": ("dp-forest", halved_rates, "account_spends_epsilon"),
    "twice the noise in tables": ("dp-nb", halved_rates, "tables"),
    "twice the noise in trees": ("diffprfs", halved_rates, "account_lines"),
    "ten times the noise, and so in every parameter": ("diffprf", a_tenth_of_epsilon, "noise_is_stated"),
    "totals that do not agree": (
        "dp-nb",
        lambda files: files.params.update(class_counts=[one + 400 for one in files.params["class_counts"]]),
        "counts_agree"),
    "an epsilon in the report alone": ("dp-nb", set_in("guarantee.parameters.epsilon", 0.5), "epsilon"),
    "an epsilon asked for in the report alone": ("dp-nb", set_in("method.parameters.epsilon", 0.5), "parameters"),
    # --- the composition
    "no bootstrap": ("diffprfs", composed(bootstrap=None), "composition"),
    "one tree in the bootstrap": (
        "diffprfs",
        lambda files: composed(bootstrap={**files.params["composition"]["bootstrap"], "trees": 1})(files),
        "composition"),
    "a bootstrap of few copies": (
        "diffprfs",
        lambda files: composed(
            bootstrap={"trees": 3, "weights": [(1 << 32) - 1, 1], "word_bits": 32}
        )(files),
        "composition"),
    "one row a person": ("dp-nb", composed(rows_per_unit=1), "composition"),
    "replaced rows": ("dp-nb", composed(adjacency=REPLACE), "composition"),
    "another adjacency in the promise": ("dp-nb", set_in("guarantee.adjacency", REPLACE), "adjacency"),
    "another number of rows a person in the promise": (
        "dp-nb", set_in("guarantee.parameters.rows_per_unit", 1), "rows_per_unit"),
    "another unit": ("dp-nb", set_in("guarantee.parameters.unit_column", None), "unit"),
    "one row a person as parameter": ("dp-nb", parameter("rows_per_unit", 1), "account_lines"),
    "other neighbours as parameter": ("dp-nb", parameter("adjacency", "replace"), "account_lines"),
    # --- the method and its parameters
    "a method renamed everywhere": ("edprf", renamed("diffprf"), ""),
    "a tree for another": ("c45-arithmetic", renamed("pinq-id3"), "account_lines"),
    "a method renamed in the report": ("dp-nb", set_in("method.name", "dp-forest"), "method"),
    "a score of less sensitivity": ("diffprf", parameter("score", "max-class"), "account_lines"),
    "rows seen by one tree each": ("diffprf", parameter("rows", "disjoint"), "account_lines"),
    "more levels": ("c45-arithmetic", parameter("depth", 3), "account_lines"),
    "the number of rows was public": ("dp-forest", parameter("n_rows", 3000), "account_lines"),
    "other bins": ("edprf", parameter("bins", 5), "counted_domains"),
    "a parameter as text": ("edprf", parameter("epsilon", "2.0"), ""),
    "another allocation": ("edprf", parameter("allocation", "uniform"), "account_lines"),
    "the published allocation": ("edprf label cells", parameter("allocation", "harmonic"), "account_lines"),
    "a rate twice as sharp": ("edprf label", parameter("rate", "full"), "account_lines"),
    "a rate half as sharp": ("edprf label cells", parameter("rate", "published"), "account_lines"),
    "a stop rule without noise": ("edprf", parameter("stop", "pure"), ""),
    # --- budget and figures
    "a line of the budget": ("dp-forest", set_in("budget.per_level.0.epsilon", 1e-6), "budget_lines"),
    "the budget without lines": ("edprf", set_in("budget.per_level", []), "budget_lines"),
    "a budget of another column": ("dp-nb", set_in("budget.per_attribute.1.name", "ill"), "budget_lines"),
    "a claim of a paper": (
        "edprf", set_in("guarantee.parameters.published_claim", "The paper claims less."), "published_claim"),
    "an assumption more": ("dp-nb", set_in("guarantee.assumptions", ["Rows are public."]), "published_claim"),
    "a delta": ("dp-nb", set_in("budget.delta", 1e-5), "delta"),
    "other figures of the forest": ("edprf", set_in("forest.trees", 2), "forest"),
    "other leaves in the report": ("edprf", set_in("forest.leaves", 2), "forest"),
    "other rows of trees in the report": ("diffprf", set_in("forest.rows_per_tree", "disjoint"), "forest"),
    "another depth in the report": ("dp-forest", set_in("forest.depth", 7), "forest"),
    "other regions in the report": ("dp-forest", set_in("forest.regions", 64), "forest"),
    "other bins in the report": ("dp-forest", set_in("forest.bins", 3), "forest"),
    "learned weights in the report": (
        "dp-forest", lambda files: set_in("forest.weights_learned", "weights" not in files.params)(files), "forest"),
    "a figure of the forest less": ("dp-forest", lambda files: files.report["forest"].pop("bins"), "forest"),
    "groups that nobody declared": ("edprf", lambda files: divided(files, "job", "taxonomy"), "trees"),
    "groups of numbers": ("edprf", lambda files: divided(files, "age", "taxonomy"), "trees"),
    "cuts where there are none": ("c45-arithmetic", lambda files: divided(files, "age", "cut"), ""),
    "no groups where they are declared": (
        "diffgen grouped", lambda files: next(one for one in files.params["attributes"] if "tree" in one).pop("tree"),
        "trees"),
    "groups of other categories": (
        "diffgen grouped",
        lambda files: next(one for one in files.params["attributes"] if "tree" in one)["tree"].reverse(), "trees"),
    "a category in two groups": (
        "diffgen grouped",
        lambda files: next(one for one in files.params["attributes"] if "tree" in one)["tree"][0].append("outdoors"),
        "trees"),
    "groups that are no words": (
        "diffgen grouped",
        lambda files: next(one for one in files.params["attributes"] if "tree" in one)["tree"][0].__setitem__(1, 7),
        "trees"),
    "a line of the budget more": (
        "dp-marginals",
        lambda files: files.report["budget"]["per_attribute"].append(files.report["budget"]["per_attribute"][-1]),
        "budget_lines"),
    "other sizes of domains": (
        "dp-nb", lambda files: files.columns("job").update(released_values=9), "released_values",
    ),
    # --- domains
    **{
        f"{what} in {kind}": (kind, domain(name, change), check)
        for kind in ("dp-nb", "dp-forest", "edprf", "diffprfs")
        for what, name, change, check in (
            ("a category more", "job", one_more, ""),
            ("a class more", "ill", one_more, ""),
            ("wider bounds", "age", widened, ""),
            ("classes reordered", "ill", reordered, ""),
            ("categories reordered", "job", reordered, ""),
        )
        if (what, kind) != ("categories reordered", "diffprfs")  # whose trees need not use them
    },
    "wider bounds where they are released": (
        "edprf", lambda files: widened(next(one for one in files.params["columns"] if one["name"] == "age")["domain"]),
        "counted_domains"),
    "infinite bounds": ("edprf", domain("age", lambda own: own.update(bounds=[0.0, float("inf")])), ""),
    "a category twice": ("edprf", domain("job", lambda own: own["categories"].append("nurse")), ""),
    "missing as text": ("edprf", domain("job", lambda own: own.update(has_missing="no")), ""),
    "a column less": ("edprf", lambda files: files.params["columns"].pop(0), "counted_domains"),
    # --- trees, tables and scores
    "one value against the rest, and said to be a branch each": ("diffprfs two", parameter("branches", "values"),
        "trees"),
    "a branch each, and said to be one value against the rest": ("diffprfs", parameter("branches", "two"), "trees"),
    "another vote": ("edprf", lambda files: files.params.update(vote="sum"), "trees"),
    "no vote": ("edprf", lambda files: files.params.pop("vote"), "trees"),
    "an unknown vote": ("edprf", lambda files: (files.params.update(vote="loud"), parameter("vote", "loud")(files)),
        "trees"),
    "a leaf of three classes": ("edprf", lambda files: leaf_of(files)["counts"].append(1), "trees"),
    "a leaf with a label": ("edprf", lambda files: (leaf_of(files).pop("counts"), leaf_of(files).update(label="no")),
                            "trees"),
    "a count as text": ("edprf", lambda files: leaf_of(files)["counts"].__setitem__(0, "7"), ""),
    "a count as float": ("edprf", lambda files: leaf_of(files)["counts"].__setitem__(0, 7.0), ""),
    "a cut outside the grid": ("dp-forest", lambda files: split_of(files).update(at=99), "trees"),
    "a cut at another value": ("dp-forest", lambda files: split_of(files).update(value=-1.5), "trees"),
    "a child more": ("edprf", lambda files: split_of(files)["children"].append(1), "trees"),
    "a child of two": (
        "edprf", lambda files: split_of(files)["children"].__setitem__(0, split_of(files)["children"][1]), "trees"),
    "a child that is not there": ("edprf", lambda files: split_of(files)["children"].__setitem__(0, 999), "trees"),
    "a split of another kind": ("dp-forest", lambda files: split_of(files).update(split="multiway"), "trees"),
    "a node with an uncounted number of rows": ("edprf", lambda files: split_of(files).update(rows=7), "trees"),
    "a node without its number of rows": ("diffp-id3", lambda files: leaf_of(files).pop("rows"), "trees"),
    "a node split against its own count": ("diffp-id3", lambda files: split_of(files).update(rows=-5), "trees"),
    "a tree less": ("diffprf", lambda files: files.params["trees"].pop(), "rows_per_tree"),
    "no trees": ("edprf", lambda files: files.params.update(trees=[]), "rows_per_tree"),
    "trees that saw other rows": (
        "diffprf", lambda files: files.params["rows_per_tree"].update(kind="disjoint"), "rows_per_tree"),
    "no histograms": ("dp-forest", lambda files: files.params.pop("histograms"), ""),
    "a histogram of other codes": ("dp-forest", lambda files: files.params["histograms"][0][1].append([0, 0]), "trees"),
    "a score as float": (
        "dp-forest", lambda files: files.params["scores"]["leaves"][0][-1].__setitem__(0, 0.5), ""),
    "a weight as text": (
        "dp-forest weights", lambda files: files.params["weights"]["gradient"].__setitem__(0, "9"), ""),
    "a weight less": ("dp-forest weights", lambda files: files.params["weights"]["curvature"].pop(), "trees"),
    "tables of another rate": ("dp-nb", lambda files: files.params["attributes"][0].update(rate=1), "tables"),
    "a table of other codes": (
        "dp-nb", lambda files: [row.append(0) for row in files.params["attributes"][1]["counts"]], "tables"),
    "words of the bootstrap as floats": (
        "diffprfs",
        lambda files: files.params["composition"]["bootstrap"].update(
            weights=[float(one) for one in files.params["composition"]["bootstrap"]["weights"]]
        ),
        ""),
    "a rate as float": (
        "dp-nb", lambda files: lines(files, "job")[0].update(rate=float(lines(files, "job")[0]["rate"])), ""),
    # --- rows
    **{f"other rows in {kind}": (kind, moved_rows, "rows_from_model:job") for kind in ("dp-nb", "edprf", "diffprfs")},
    **{
        f"first places of cells in {kind}": (kind, first_places_of_cells, "places_in_cells:age")
        for kind in ("dp-nb", "dp-marginals", "dp-forest")
    },
    **{
        f"other classes in {kind}": (kind, swapped_labels, "rows_from_model:")
        for kind in ("dp-nb", "dp-forest", "edprf", "c45-arithmetic")
    },
    "other counts of cells": (
        "diffgen cells", lambda files: leaf_of(files)["counts"].__setitem__(0, 12345), "cells_from_model"),
    "other counts of cells in the table": (
        "dp-forest cells",
        lambda files: setattr(
            files, "table",
            files.table.set_column(
                files.table.schema.get_field_index("count"), "count", pc.add(files.table.column("count"), 1)
            ),
        ),
        "cells_from_model"),
    # --- tables of columns and pairs
    "a pair that was free": ("dp-marginals", without_line("table of a pair"), "account_lines"),
    "half of the noise in tables of pairs": ("dp-marginals", halved_rates, ""),
    "tables that are not split": ("dp-marginals", in_params("anchored", to=False), "anchor"),
    "a table of a column of another rate": ("dp-marginals", in_params("tables", 0, "rate", to=7), "tables"),
    "a table of another column": ("dp-marginals", in_params("tables", 0, "name", to="jobs"), "tables"),
    "a table of fewer values": ("dp-marginals", lambda files: files.params["tables"][1]["counts"][0].pop(), "tables"),
    "a number of rows where it is public": (
        "dp-marginals alike", in_params("rows", to={"count": 3000, "rate": 1}), "tables"),
    "a number of rows of another rate": ("dp-marginals", in_params("rows", "rate", to=5), "tables"),
    "groups by something else": (
        "dp-marginals", in_params("tables", 1, "groups", to=lambda groups: groups[::-1]), "groups"),
    "a pair of the tree that is not": ("dp-marginals", in_params("pairs", 0, "in_tree", to=False), "pairs"),
    "a pair of fewer groups": (
        "dp-marginals", lambda files: files.params["pairs"][0]["counts"][0].pop(), "pairs"),
    "a pair of another rate": ("dp-marginals", in_params("pairs", 0, "rate", to=9), "pairs"),
    "a pair less": ("dp-marginals", lambda files: files.params["pairs"].pop(), "pairs"),
    "a pair of one column": ("dp-marginals", in_params("pairs", 0, "names", to=["job", "job"]), ""),
    "a pair of strangers": ("dp-marginals", in_params("pairs", 0, "names", to=["job", "jobs"]), ""),
    "weights of more than there is": (
        "dp-marginals", lambda files: files.params["mixtures"][0]["weights"].__setitem__(0, 1 << 20), "mixtures"),
    "shares of more than there is": (
        "dp-marginals", lambda files: files.params["mixtures"][0]["shares"][0].__setitem__(0, 1 << 17), "mixtures"),
    "a component of fewer shares": (
        "dp-marginals", lambda files: files.params["mixtures"][0]["shares"][0].pop(), "mixtures"),
    "no component": ("dp-marginals", in_params("mixtures", 0, "weights", to=[]), "mixtures"),
    "more rows than the tables say": (
        "dp-marginals", in_params("mixtures", 0, "rows", to=lambda rows: rows + 9), "rows_of_tables"),
    "a mixture of something else": (
        "dp-marginals",
        lambda files: [own.__setitem__("shares", own["shares"][:1] * len(own["shares"]))
                       for own in files.params["mixtures"]],
        ""),
    "columns of one value in a mixture": ("dp-marginals columns", lambda files: one_value(files), ""),
    "other rows than the mixture": ("dp-marginals", moved_rows, "rows_from_model:job"),
    "other rows without a target": ("dp-marginals alike", moved_rows, "rows_from_model:job"),
    "a reading that nobody asked for": (
        "dp-marginals columns",
        lambda files: files.params["readings"].append({"purpose": "gain of 2 pairs", "rate": 1, "steps": 1}), ""),
    "a reading less": ("dp-marginals", lambda files: files.params["readings"].pop(), ""),
    "a reading of another number of pairs": (
        "dp-marginals alike", in_params("readings", -1, "purpose", to="gain of 9 pairs"), ""),
    "a gain that was read to be none": (
        "dp-marginals alike", in_params("readings", -1, "steps", to=lambda steps: -abs(steps) - (1 << 30)), ""),
    "a reading of another rate": ("dp-marginals", in_params("readings", 0, "rate", to=3), "tables"),
    "tables of another format": ("dp-marginals", in_params("format", to="anonkit-noisy-tables-1"), ""),
    "another size in the report": ("dp-marginals", set_in("marginals.pairs", 99), "marginals"),
    "no target where one is needed": ("dp-nb", in_params("target", to=None), ""),
    "other bins of a number": (
        "dp-marginals numbers", lambda files: target(files)["domain"].update(cells=8), ""),
    # --- a number to predict
    "other means of bins": (
        "dp-forest numbers", lambda files: target(files)["domain"]["means"].__setitem__(0, 9.5), "target_bins"),
    "means of another kind": (
        "dp-forest numbers", lambda files: target(files)["domain"]["means"].__setitem__(0, True), ""),
    "no list of means": (
        "dp-forest numbers", lambda files: target(files)["domain"].update(means="6"), ""),
    "bins moved by a cell": ("dp-forest numbers", lambda files: move_bin(files, 1), "target_bins"),
    "bins that are no runs": (
        "dp-forest numbers", lambda files: target(files)["domain"]["ends"].__setitem__(0, 0), ""),
    "bins that end before their grid": (
        "dp-forest numbers", lambda files: target(files)["domain"]["ends"].__setitem__(-1, 60), ""),
    "no bins at all": ("dp-forest numbers", lambda files: target(files)["domain"].update(ends=[]), ""),
    "bins asked for that nobody asks for": (
        "dp-forest numbers", lambda files: target(files)["histogram"].update(bins=9), "target_bins"),
    "fewer bins asked for": (
        "dp-forest numbers", lambda files: target(files)["histogram"].update(bins=1), "target_bins"),
    "more bins asked for": (
        "dp-forest numbers", lambda files: target(files)["histogram"].update(bins=8), "target_bins"),
    "another rate of the histogram of the target": (
        "dp-forest numbers", lambda files: target(files)["histogram"].update(rate=1 << 50), "target_bins"),
    "a histogram of fewer cells": (
        "dp-forest numbers", lambda files: target(files)["histogram"]["counts"].pop(), "target_bins"),
    "no histogram of the target": (
        "dp-forest numbers", lambda files: target(files).pop("histogram"), "target_bins"),
    "a histogram of other rows": (
        "dp-forest numbers cells",
        lambda files: target(files)["histogram"]["counts"].__setitem__(-1, 10**6), "counts_agree"),
    "a target of other cells than its rows": (
        "dp-forest numbers", lambda files: column_of(files, "age")["domain"].update(cells=32), "counted_domains"),
    "a target of classes in cells": (
        "dp-forest numbers cells",
        lambda files: column_of(files, "age")["domain"]["categories"].__setitem__(0, "[0, 1)"), "counted_domains"),
    "numbers of a target elsewhere in their bins": (
        "dp-forest numbers", lambda files: first_cells_of_bins(files), "rows_from_model:age"),
    "numbers of a target outside its grid": (
        "dp-nb numbers", lambda files: set_target(files, lambda ages: ages + 1000.0), "domain:age"),
    "another number of equal bins": (
        "dp-nb numbers", lambda files: target(files)["domain"].update(cells=4), ""),
    "bins where there are equal ones": (
        "dp-nb numbers",
        lambda files: target(files)["domain"].update(ends=list(range(1, 9)), means=[4.0] * 8), "target_bins"),
}  # fmt: skip
"""Forgeries: the release, the edit, and the check that must fail; None where the params become unreadable or different
checks may fail.
"""


@pytest.mark.parametrize("kind", KINDS)
def test_rewriting_alone_is_no_forgery(releases: dict[str, Files], kind: str, tmp_path: Path) -> None:
    """The true release validates, and so does one brought in line with its own account."""
    assert verdict(forged(releases[kind], lambda files: None, tmp_path)) == (0, ())


@pytest.mark.parametrize("kind", ["edprf", "diffprfs", "diffprf"])
def test_releases_of_earlier_versions_validate(releases: dict[str, Files], kind: str, tmp_path: Path) -> None:
    """They say nothing of votes, branches, rates and allocations that could not be chosen then."""

    def earlier(files: Files) -> None:
        files.params.pop("vote")
        younger = ("vote", "branches", *(("rate", "allocation") if kind == "edprf" else ()))
        told = (files.params["parameters"], files.params["method_parameters"], files.report["method"]["parameters"])
        for name, parameters in itertools.product(younger, told):
            parameters.pop(name, None)

    assert verdict(forged(releases[kind], earlier, tmp_path)) == (0, ())


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_release_is_refused(releases: dict[str, Files], forgery: str, tmp_path: Path) -> None:
    """With exit code 1 by the check that is there for it, or with 3 where nothing can be read any more."""
    kind, edit, check = FORGERIES[forgery]
    code, failed = verdict(forged(releases[kind], edit, tmp_path))

    assert code in (1, 3)
    assert check == "" or any(name.startswith(check) for name in failed), failed


def at_node(split: bool, **told: Any) -> Edit:
    """Change the last node of the first tree that is split, or the last leaf."""

    def edit(files: Files) -> None:
        next(one for one in reversed(files.params["trees"][0]) if ("children" in one) == split).update(told)

    return edit


def _split_by_what_is_used(files: Files) -> None:
    nodes = files.params["trees"][0]
    nodes[0] = {**nodes[0], "attribute": "job", "split": "multiway", "children": [1, 2, 3, 4, 5]}
    nodes[1] = nodes[0]


GROUP_OF_ONE = {"attribute": "job", "split": "taxonomy", "children": [1]}
LAST_CUT: dict[str, Any] = {"attribute": "age", "split": "cut", "at": 31, "value": None, "children": [1, 2]}
"""Of the last cell from missing: there is no value to name."""


IMPOSSIBLE: dict[str, tuple[str, Edit, str]] = {
    "a composition of no adjacency": ("dp-nb", in_params("composition", "adjacency", to="twins"), "composition"),
    "a composition of no row": ("dp-nb", in_params("composition", "rows_per_unit", to=0), "composition"),
    "rates in another unit": ("dp-nb", in_params("accounting", 0, "rate_unit", to="2**-51"), "another unit"),
    "an epsilon in quotes": ("dp-nb", in_params("accounting", 0, "epsilon", to=str), "states another epsilon"),
    "a path that ends nowhere": ("edprf", in_params("accounting", -1, "level", to=None), "at no level"),
    "a bootstrap of too many words": (
        "diffprfs", in_params("composition", "bootstrap", "word_bits", to=65), "bootstrap of the params"),
    "a bootstrap without trees": ("diffprfs", in_params("composition", "bootstrap", "trees", to=0), "bootstrap of the"),
    "an epsilon beyond what is taken": ("dp-nb", in_params("parameters", "epsilon", to=41), "epsilon of the params"),
    "an epsilon that is true": ("dp-nb", in_params("parameters", "epsilon", to=True), "is no number"),
    "a number of rows that is none": ("dp-forest", in_params("parameters", "n_rows", to=-1), "not a number that"),
    "a score of another paper": ("diffprf", in_params("parameters", "score", to="chance"), "not a word"),
    "an adjacency of another word": ("dp-nb", in_params("parameters", "adjacency", to="twins"), "not a word"),
    "a domain that may or may not be missing": (
        "dp-nb", in_params("columns", 0, "domain", "has_missing", to="perhaps"), "may be missing"),
    "a domain of the same category twice": (
        "dp-nb", in_params("target", "domain", "categories", to=["no", "no"]), "different categories"),
    "a domain of no category": ("dp-nb", in_params("target", "domain", "categories", to=[]), "different categories"),
    "bounds in the wrong order": ("edprf", in_params("attributes", 0, "domain", "bounds", to=[64, 0]), "bounds that"),
    "a domain of no cells": ("edprf", in_params("attributes", 0, "domain", "cells", to=0), "no cells"),
    "no histograms": ("dp-forest", lambda files: files.params.pop("histograms"), "histograms or scores are missing"),
    "neither histograms nor scores": (
        "dp-forest", lambda files: [files.params.pop(one) for one in ("histograms", "scores")], "are missing"),
    "an empty tree": ("edprf", in_params("trees", 0, to=[]), "no node"),
    "a node nobody points at": ("edprf", in_params("trees", 0, to=lambda tree: [*tree, tree[-1]]), "no parent"),
    "a split at the last level": (
        "edprf", in_params("parameters", "depth", to=1), "a node of the last level is split"),
    "no word of the rule": ("dp-forest", lambda files: files.params.pop("rule"), "lack a key"),
    "a split by an attribute that is used up": ("diffp-id3", _split_by_what_is_used, "used up"),
    "a group of one": ("diffgen grouped", in_params("trees", 0, 0, to=GROUP_OF_ONE), "another number of groups"),
    "a last cut with a value": (
        "dp-forest", in_params("trees", 0, 0, to={**LAST_CUT, "value": 64.0}), "another value than"),
    "a leaf of too many classes": ("edprf", at_node(False, counts=[1, 2, 3]), "another number of classes"),
    "a leaf that is no class": ("edprf label", at_node(False, label="maybe"), "is no class"),
    "a leaf that tells its label and its counts": ("edprf", at_node(False, label="yes"), "another thing"),
    "scores in another unit": ("dp-forest", in_params("scores", "unit", to=1.0), "not those of the trees"),
    "a table of scores too few": ("dp-forest", in_params("scores", "attributes", to=lambda one: one[1:]), "have not a"),
    "a region that is no node": ("dp-forest", in_params("scores", "regions", 0, to=10**6), "no node of the first"),
    "leaves in no region": (
        "dp-forest", in_params("scores", "regions", to=lambda one: [1] * len(one)), "in no region"),
}  # fmt: skip
"""Documents that no release can have: the release, the edit, and the message; no row is read for it."""


@pytest.mark.parametrize("damage", IMPOSSIBLE)
def test_params_that_cannot_be_are_refused(releases: dict[str, Files], damage: str) -> None:
    """The account, the parameters, the domains and the trees are refused by name, as an error or a failed check."""
    kind, edit, words = IMPOSSIBLE[damage]
    files = releases[kind].copy()
    edit(files)
    said = []
    try:
        facts = facts_of(files.params)
        for one in files.params["columns"]:
            domain_of(one["domain"], one["type"])  # of rows: cells have a column of counts, which has none
        published_account(files.params)
        expected = expected_account(facts, files.params)
        said += [str(one.observed) for one in forest_checks(files.params, facts, expected) if not one.passed]
    except ReleaseFormatError as error:
        said.append(str(error))
    except KeyError as error:
        said.append(f"lack a key: {error}")
    assert re.search(words, " ".join(said)), said


def test_rows_in_no_place_of_the_domain_are_damage(releases: dict[str, Files], tmp_path: Path) -> None:
    """A data file that is no table, and params that describe no column, are errors of the file and of the params."""
    data = forged(releases["dp-nb"], lambda files: None, tmp_path)
    described = {"age": {"name": "age", "type": "number", "domain": {"has_missing": True}}}
    with pytest.raises(ReleaseFormatError, match="describe a column"):
        list(domain_checks(data, described))
    data.write_bytes(b"not a table")
    with pytest.raises(ReleaseFormatError, match="not a readable Parquet file"):
        list(domain_checks(data, described))


def test_the_cut_before_missing_has_no_value(releases: dict[str, Files]) -> None:
    """A tree may separate missing from every number: that cut is at no number, and the tree passes."""
    files = releases["dp-forest"].copy()
    age = next(one for one in files.params["attributes"] if one["name"] == "age")
    files.params["trees"][0][0] = {**LAST_CUT, "at": age["domain"]["cells"] - 1}
    facts = facts_of(files.params)
    found = {one.name: one for one in forest_checks(files.params, facts, expected_account(facts, files.params))}
    assert found["trees"].passed, found["trees"].observed


@pytest.mark.parametrize(
    ("split", "categories", "splits"),
    [("multiway", 1, 0), ("multiway", 5, 1), ("one-vs-rest", 2, 1), ("one-vs-rest", 5, 5), ("taxonomy", 5, 1)],
)
def test_a_column_has_so_many_splits(split: str, categories: int, splits: int) -> None:
    """Nothing divides one value; two are distinguished in one way."""
    domain = domain_of({"categories": [f"c{at}" for at in range(categories)], "has_missing": False}, "category")
    assert PublicColumn(name="x", domain=domain, split=split).n_splits == splits
