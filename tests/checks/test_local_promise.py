"""A check refuses a changed randomized release whose files and hashes are all rewritten."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from checks.forgeries import Edit, Files, Tree, forged, verdict

import anonkit
from anonkit.checks.local_params import read_answers
from anonkit.checks.local_promise import promise_checks
from anonkit.datasets import bank_customers, bank_customers_policy, bank_customers_policy_toml
from anonkit.errors import ReleaseFormatError
from anonkit.methods import make_method
from anonkit.policy.declaration import Policy

ROWS = 3000
UNEVEN, OWN = "marital_status", "education"


def designed_policy() -> Policy:
    """The customers' policy with uneven answers for one column and an own response matrix for another."""
    plain = {one.name: one for one in make_method("errph", {"p_keep": 0.3, "bins": 8}).published(  # type: ignore[attr-defined]
        bank_customers_policy()).attributes}  # fmt: skip
    raw = tomllib.loads(bank_customers_policy_toml())
    for name in raw["columns"].keys() - {"age", "occupation", UNEVEN, OWN, "customer_value"}:
        raw["columns"][name]["role"] = "insensitive"
    raw["columns"][UNEVEN]["answer_weights"] = list(range(plain[UNEVEN].domain.size, 0, -1))
    size = plain[OWN].domain.size
    raw["columns"][OWN]["response_matrix"] = [
        [0.5 if at == to else 0.5 / (size - 1) for to in range(size)] for at in range(size)
    ]
    return Policy.from_dict(raw)


MADE: dict[str, tuple[str, dict[str, Any]]] = {
    "errph": ("errph", {"p_keep": 0.3, "bins": 8}),
    "sample": ("rr", {"epsilon": 1.0}),
    "split": ("rr", {"epsilon": 4.0, "allocation": "split"}),
    "ppnb": ("ppnb", {"p_keep": 0.35}),
    "trr": ("trr", {}),
    "uncentred": ("trr", {"center": False}),
}
"""The releases that are forged, and how they were made."""


@pytest.fixture(scope="session")
def releases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Files]:
    """One true release of each kind, in memory."""
    found, table = {}, bank_customers(ROWS, seed=1)
    for kind, (method, parameters) in MADE.items():
        output = tmp_path_factory.mktemp("true") / "out.parquet"
        policy = designed_policy() if kind == "errph" else bank_customers_policy()
        if method == "trr":
            raw = tomllib.loads(bank_customers_policy_toml())
            for one in raw["columns"].values():
                if "bounds" not in one and one["role"] != "target":
                    one["role"] = "insensitive"
            policy = Policy.from_dict(raw)
        anonkit.release(table, method=method, policy=policy, output=output, ledger=None, **parameters)
        found[kind] = Files.read(output)
    return found


@pytest.mark.slow_cases("errph")
@pytest.mark.parametrize("kind", MADE)
def test_rewriting_alone_is_no_forgery(releases: dict[str, Files], kind: str, tmp_path: Path) -> None:
    """Rewritten unchanged, every kind of randomized release validates."""
    assert verdict(forged(releases[kind], lambda files: None, tmp_path)) == (0, ())


def attribute(files: Files, where: str | Callable[[Tree], bool]) -> Tree:
    """The params of an attribute, by name or by what holds for it."""
    return next(
        one for one in files.params["attributes"] if (one["name"] == where if isinstance(where, str) else where(one))
    )


def grid(files: Files) -> Tree:
    """The first attribute on a grid."""
    return attribute(files, lambda one: one["domain"] is not None and "bounds" in one["domain"])


def transformed(files: Files) -> Tree:
    """The first attribute that was multiplied and shifted."""
    return attribute(files, lambda one: bool(one["mechanism"] == "trr"))


def copy_domain(files: Files, name: str) -> None:
    """Copy the domain of a column from the params into the report, as a careful forger does."""
    files.columns(name)["domain"] = attribute(files, name)["domain"]


# --- what one edit changes in one place --------------------------------------------------------------------------


@dataclass(frozen=True)
class Forgery:
    """An edit of one kind of release, and who refuses it: a failed check, or exit code 3 where it is None."""

    kind: str
    edit: Edit
    check: str | None


def _scale_bounds(files: Files) -> None:
    bounds = grid(files)["domain"]["bounds"]
    grid(files)["domain"]["bounds"] = [bounds[0], bounds[1] + (bounds[1] - bounds[0])]


def _more_cells(files: Files) -> None:
    """Twice the bounds and twice the cells of the same width, weights brought in line: the cells still fit."""
    one = grid(files)
    (low, high), cells = one["domain"]["bounds"], one["domain"]["cells"]
    missing = one["domain"]["has_missing"]
    one["domain"].update(bounds=[low, low + 2 * (high - low)], cells=2 * cells)
    words = one["parameters"]
    size = 2 * cells + missing
    blind = (2**32 - words["truth_weight"]) // size
    words.update(categories=size, blind_weight=blind, truth_weight=2**32 - size * blind)


def _one_more(files: Files, name: str) -> None:
    """A category that was never answered, weights brought in line, in params and report alike."""
    one = attribute(files, name)
    one["domain"]["categories"] = [*one["domain"]["categories"], "a category more"]
    words = one["parameters"]
    size = words["categories"] + 1
    blind = (2**32 - words["truth_weight"]) // size
    words.update(categories=size, blind_weight=blind, truth_weight=2**32 - size * blind)
    copy_domain(files, name)


def _swap(values: list[Any]) -> list[Any]:
    return [values[1], values[0], *values[2:]]


def _reorder(files: Files, name: str, *, also_report: bool) -> None:
    one = attribute(files, name)
    one["domain"] = {**one["domain"], "categories": _swap(one["domain"]["categories"])}
    if also_report:
        copy_domain(files, name)


def _claim(files: Files, share: float) -> None:
    """Claim a share of the loss in every place of every file; the weights stay."""

    def less(loss: Any) -> Any:
        return loss if isinstance(loss, str) or loss is None else loss * share

    asked = files.report["guarantee"]["parameters"]
    asked.update(epsilon=less(asked["epsilon"]), losses=[less(one) for one in asked["losses"]])
    files.report["budget"]["epsilon"] = less(files.report["budget"]["epsilon"])
    for one in (*files.report["budget"]["per_attribute"], *files.report["columns"], *files.params["attributes"]):
        if "epsilon" in one:
            one["epsilon"] = less(one["epsilon"])
    if files.params["target"] is not None:
        files.params["target"]["epsilon"] = less(files.params["target"]["epsilon"])


def _weights(files: Files, value: Callable[[int], Any]) -> None:
    words = attribute(files, "occupation")["parameters"]
    words["truth_weight"] = value(words["truth_weight"])


def _no_blind_answers(files: Files) -> None:
    """Replace the answers of a column by one value, which no truth could give."""
    at = files.table.column_names.index("occupation")
    values = attribute(files, "occupation")["domain"]["categories"]
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(ROWS, dtype=np.int32)), pa.array(values))
    files.table = files.table.set_column(at, "occupation", column)


def _answer_more(files: Files) -> None:
    """Show a second answer in a row of one answer."""
    asked = files.table.column(files.params["asked_column"]).to_pylist()
    name = next(one["name"] for one in files.params["attributes"] if one["type"] == "category")
    column = files.table.column(name).combine_chunks()
    values = attribute(files, name)["domain"]["categories"]
    indices = np.asarray(column.indices.fill_null(0))
    shown = [bool(one) for one in column.is_valid().to_pylist()]
    shown[next(at for at, one in enumerate(asked) if one != name)] = True
    filled = pa.DictionaryArray.from_arrays(pa.array(indices.astype(np.int32), mask=~np.array(shown)), pa.array(values))
    files.table = files.table.set_column(files.table.column_names.index(name), name, filled)


def _answer_one_attribute(files: Files) -> None:
    """State that a row answers one attribute, so that the largest loss counts and not the sum."""
    files.params["asked_column"] = "asked_attribute"
    most = max(one["epsilon"] for one in files.params["attributes"])
    files.report["guarantee"]["parameters"].update(
        one_answer_per_row=True, epsilon=most + files.params["target"]["epsilon"]
    )


def _widen_transformed(files: Files, factor: float, *, also_report: bool) -> None:
    """Widen the bounds of a transformed number, everything that follows from them brought in line."""
    one = transformed(files)
    low, high = one["parameters"]["bounds"]
    middle, half = (low + high) / 2, (high - low) / 2 * factor
    one["parameters"].update(
        bounds=[middle - half, middle + half], scale=half, step=2.0 ** (math.floor(math.log2(half)) - 10)
    )
    if also_report:
        files.columns(one["name"])["domain"] = {"bounds": [middle - half, middle + half]}


def _fact(name: str, **told: Any) -> Edit:
    return lambda files: files.columns(name).update(told)


def _promised(**told: Any) -> Edit:
    return lambda files: files.report["guarantee"]["parameters"].update(told)


def _method(**told: Any) -> Edit:
    return lambda files: files.report["method"]["parameters"].update(told)


def _params(change: Callable[[Tree], object]) -> Edit:
    return lambda files: change(files.params)


def _raw(suffix: str, text: str) -> Edit:
    return lambda files: files.raw.update({suffix: text})


FORGERIES: dict[str, Forgery] = {
    # claims
    "a tenth of epsilon claimed everywhere": Forgery("sample", lambda f: _claim(f, 0.1), "epsilon"),
    "a tenth of epsilon, split": Forgery("split", lambda f: _claim(f, 0.1), "epsilon"),
    "a tenth of the losses of ppnb": Forgery("ppnb", lambda f: _claim(f, 0.1), "epsilon_per_attribute"),
    "epsilon just below": Forgery("errph", lambda f: _claim(f, 1 - 1e-9), "epsilon"),
    "epsilon raised": Forgery("sample", _promised(epsilon=2.0), "answers_as_promised"),
    "infinite as a large number": Forgery("ppnb", _promised(epsilon=1e9), "epsilon"),
    "epsilon below 0": Forgery("sample", _promised(epsilon=-1.0), None),
    "epsilon true": Forgery("sample", _promised(epsilon=True), None),
    "epsilon no number": Forgery("sample", _promised(epsilon=math.nan), None),
    "one answer per row said of all": Forgery("errph", _promised(one_answer_per_row=True), "answers_as_promised"),
    "all answers said of one": Forgery("sample", _promised(one_answer_per_row=False), "answers_as_promised"),
    "one answer per row, the sum forgotten": Forgery("split", _answer_one_attribute, "domain:asked_attribute"),
    "a clear label hidden": Forgery("ppnb", _promised(clear=[]), "answers_as_promised"),
    "transformed numbers hidden": Forgery("ppnb", _promised(transformed=[]), "answers_as_promised"),
    "a hidden label said to be clear": Forgery(
        "sample", _promised(hidden_with_each_answer=None), "answers_as_promised"
    ),
    "the clear label of trr": Forgery("trr", _promised(clear=[]), "answers_as_promised"),
    "a promise where none holds": Forgery("trr", lambda f: f.report["guarantee"].update(kind="local-dp"), None),
    "no promise where one holds": Forgery(
        "sample", lambda f: f.report["guarantee"].update(kind="none"), "answers_as_promised"
    ),
    "a loss of the params lowered": Forgery(
        "errph", lambda f: attribute(f, "occupation").update(epsilon=0.1), "stated_losses"
    ),
    "a loss of the promise lowered": Forgery(
        "errph", lambda f: f.report["guarantee"]["parameters"]["losses"].__setitem__(0, 0.1), "epsilon_per_attribute"
    ),
    # figures of the report
    "the epsilon of a column": Forgery("errph", _fact("occupation", epsilon=0.1), "figures:occupation"),
    "p_keep of a column": Forgery("errph", _fact("occupation", p_keep=0.1), "figures:occupation"),
    "breach of a column": Forgery("errph", _fact("occupation", breach=0.01), "figures:occupation"),
    "breach of an own matrix": Forgery("errph", _fact(OWN, breach=0.01), f"figures:{OWN}"),
    "the mechanism of a column": Forgery("errph", _fact("occupation", mechanism="laplace"), "figures:occupation"),
    "another number of values": Forgery("errph", _fact("occupation", released_values=3), "figures:occupation"),
    "no domain in the report": Forgery("errph", lambda f: f.columns("occupation").pop("domain"), "figures:occupation"),
    "randomized said to be kept": Forgery("errph", _fact("occupation", action="kept"), "figures:occupation"),
    "kept said to be randomized": Forgery(
        "ppnb", _fact("customer_value", action="randomized"), "figures:customer_value"
    ),
    "the budget": Forgery("errph", lambda f: f.report["budget"].update(epsilon=1.0), "budget_lines"),
    "a line of the budget": Forgery(
        "errph", lambda f: f.report["budget"]["per_attribute"][0].update(epsilon=0.1), "budget_lines"
    ),
    "a line of the budget deleted": Forgery(
        "errph", lambda f: f.report["budget"]["per_attribute"].pop(), "budget_lines"
    ),
    "delta": Forgery("errph", lambda f: f.report["budget"].update(delta=0.5), "budget_lines"),
    "breach in the measures": Forgery(
        "errph", lambda f: f.report["published_measures"]["breach"].update(occupation=0.01), "published_measures"
    ),
    "the measures deleted": Forgery("errph", lambda f: f.report.pop("published_measures"), "published_measures"),
    "breach widths": Forgery(
        "ppnb", lambda f: f.report["published_measures"]["breach_width"].update({"95%": 9.9}), "published_measures"
    ),
    # the method
    "the method renamed in the report": Forgery("ppnb", lambda f: f.report["method"].update(name="rr"), None),
    "errph said to be trr": Forgery("errph", lambda f: f.report["method"].update(name="trr"), "method_parameters"),
    "the method renamed in the params": Forgery("errph", lambda f: f.params.update(method="dp-forest"), "method"),
    "the method renamed in the manifest": Forgery("errph", lambda f: f.manifest.update(method="rr"), "method"),
    "p_keep of the method": Forgery("errph", _method(p_keep=0.1), "method_parameters"),
    "epsilon of the method": Forgery("sample", _method(epsilon=0.5), "method_parameters"),
    "the label of the method": Forgery("errph", _method(label="clear"), "method_parameters"),
    "a clear label said to be randomized": Forgery("ppnb", _method(label="randomize"), "method_parameters"),
    "the allocation": Forgery("sample", _method(allocation="split"), "method_parameters"),
    "the bins": Forgery("errph", _method(bins=4), "method_parameters"),
    "the noise": Forgery("ppnb", _method(noise="N(2,10)"), "method_parameters"),
    "center": Forgery("trr", _method(center=False), "method_parameters"),
    "no center": Forgery("uncentred", _method(center=True), "method_parameters"),
    # domains
    "bounds widened": Forgery("errph", _scale_bounds, "domain:"),
    "bounds widened with as many cells more": Forgery("errph", _more_cells, "response_rates:"),
    "bounds of a band": Forgery("split", _scale_bounds, "figures:"),
    "bounds swapped": Forgery("errph", lambda f: grid(f)["domain"]["bounds"].reverse(), None),
    "bounds of a joint answer": Forgery("sample", _scale_bounds, "figures:"),
    "cells as a float": Forgery("errph", lambda f: grid(f)["domain"].update(cells=8.0), None),
    "a category more, told nowhere else": Forgery(
        "errph", lambda f: attribute(f, "occupation")["domain"]["categories"].append("x"), None
    ),
    "a category more, told everywhere": Forgery(
        "errph", lambda f: _one_more(f, "occupation"), "response_rates:occupation"
    ),
    "a category less": Forgery("errph", lambda f: attribute(f, "occupation")["domain"]["categories"].pop(), None),
    "a category renamed": Forgery(
        "errph",
        lambda f: attribute(f, "occupation")["domain"]["categories"].__setitem__(0, "renamed"),
        "domain:occupation",
    ),
    "a category twice": Forgery(
        "errph", lambda f: attribute(f, "occupation")["domain"]["categories"].__setitem__(0, "services"), None
    ),
    "categories reordered": Forgery(
        "errph", lambda f: _reorder(f, "occupation", also_report=False), "figures:occupation"
    ),
    "categories reordered in the report too": Forgery(
        "errph", lambda f: _reorder(f, UNEVEN, also_report=True), f"category_order:{UNEVEN}"
    ),
    "classes reordered": Forgery(
        "sample",
        _params(lambda p: p["target"]["domain"].update(categories=_swap(p["target"]["domain"]["categories"]))),
        "figures:customer_value",
    ),
    "missing flipped": Forgery(
        "errph",
        lambda f: attribute(f, "occupation")["domain"].update(
            has_missing=not attribute(f, "occupation")["domain"]["has_missing"]
        ),
        None,
    ),
    # weights
    "a weight as a float": Forgery("errph", lambda f: _weights(f, float), None),
    "a weight as a text": Forgery("errph", lambda f: _weights(f, str), None),
    "a weight as a truth value": Forgery("errph", lambda f: _weights(f, bool), None),
    "a weight of 0": Forgery("errph", lambda f: _weights(f, lambda _: 0), None),
    "a weight less": Forgery("errph", lambda f: _weights(f, lambda weight: weight - 1), None),
    "an own matrix as floats": Forgery(
        "errph",
        lambda f: attribute(f, OWN)["parameters"].update(
            rows=[[float(one) for one in row] for row in attribute(f, OWN)["parameters"]["rows"]]
        ),
        None,
    ),
    "a row of an own matrix swapped": Forgery(
        "errph",
        lambda f: attribute(f, OWN)["parameters"]["rows"].__setitem__(
            0, _swap(attribute(f, OWN)["parameters"]["rows"][0])
        ),
        "figures:",
    ),
    "the mechanism renamed": Forgery(
        "errph", lambda f: attribute(f, "occupation").update(mechanism="band-response"), None
    ),
    "answers said to be joint": Forgery(
        "errph", lambda f: attribute(f, "occupation").update(joint_with_target=True), None
    ),
    "answers said not to be joint": Forgery(
        "sample", lambda f: f.params["attributes"][0].update(joint_with_target=False), None
    ),
    "a target without a domain": Forgery(
        "ppnb",
        lambda f: f.params["target"].update(
            {key: transformed(f)[key] for key in ("type", "domain", "mechanism", "parameters", "epsilon")}
        ),
        None,
    ),
    # transformed numbers
    "an infinite centre": Forgery("ppnb", lambda f: transformed(f)["parameters"].update(centre=math.inf), None),
    "a centre beyond all floats": Forgery(
        "ppnb",
        lambda f: f.raw.update({"params.json": json.dumps(f.params).replace('"centre": ', '"centre": 1e999')}),
        None,
    ),
    "a centre moved": Forgery(
        "ppnb",
        lambda f: transformed(f)["parameters"].update(centre=transformed(f)["parameters"]["centre"] + 1),
        "method_parameters",
    ),
    "another scale": Forgery(
        "ppnb",
        lambda f: transformed(f)["parameters"].update(scale=transformed(f)["parameters"]["scale"] / 2),
        "method_parameters",
    ),
    "another step": Forgery("trr", lambda f: transformed(f)["parameters"].update(step=0.3), "domain:"),
    "less noise than there is": Forgery(
        "ppnb", lambda f: transformed(f)["parameters"]["multiplier"].update(variance=0.1), "method_parameters"
    ),
    "wider bounds of a transformed number": Forgery(
        "ppnb", lambda f: _widen_transformed(f, 1.5, also_report=False), "figures:"
    ),
    "much wider ones, told everywhere": Forgery(
        "ppnb", lambda f: _widen_transformed(f, 8.0, also_report=True), "noise_spread:"
    ),
    "much narrower ones, told everywhere": Forgery(
        "trr", lambda f: _widen_transformed(f, 0.25, also_report=True), "noise_spread:"
    ),
    # cells
    "a column without blind answers": Forgery("errph", _no_blind_answers, "response_rates:occupation"),
    "a second answer in a row": Forgery("sample", _answer_more, "one_answer_per_row"),
    "no asked column": Forgery("sample", lambda f: f.params.update(asked_column=None), None),
    "another asked column": Forgery("sample", lambda f: f.params.update(asked_column="age"), None),
    # files
    "params nested 100,000 deep": Forgery("errph", _raw("params.json", '{"format":' + "[" * 100_000), None),
    "params nested, closed": Forgery(
        "errph", _raw("params.json", '{"x": ' + "[" * 100_000 + "]" * 100_000 + "}"), None
    ),
    "a report nested 100,000 deep": Forgery("errph", _raw("report.json", '{"format":' * 100_000), None),
    "a number of 5,000 digits": Forgery("errph", _raw("params.json", '{"format": ' + "9" * 5000 + "}"), None),
    "a key that stands twice": Forgery(
        "errph", _raw("report.json", '{"format": "anonkit-report/2", "format": "anonkit-report/2"}'), None
    ),
    "a format of someone else's": Forgery("errph", lambda f: f.params.update(format="anonkit-randomized-7"), None),
    "no attributes": Forgery("errph", lambda f: f.params.update(attributes={}), None),
    "an attribute deleted": Forgery("errph", lambda f: f.params["attributes"].pop(0), "answers_as_promised"),
    "no columns in the report": Forgery("errph", lambda f: f.report.update(columns=[]), "figures:"),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_randomized_release_is_refused(releases: dict[str, Files], forgery: str, tmp_path: Path) -> None:
    """The check that is there for it fails with exit code 1; what contradicts itself cannot be checked: 3."""
    made = FORGERIES[forgery]
    code, failed = verdict(forged(releases[made.kind], made.edit, tmp_path))

    assert code == (3 if made.check is None else 1), failed
    assert "internal error" not in failed[0]
    if made.check is not None:
        assert any(one.startswith(made.check) for one in failed), failed


def test_a_method_of_someone_else_is_judged_by_its_parameters_alone(releases: dict[str, Files]) -> None:
    """Checks do not know what a stranger's parameters make of the columns; the promise is computed all the same."""
    files = releases["sample"].copy()
    files.report["method"]["name"] = "mine"
    found = {check.name for check in promise_checks(read_answers(files.params), files.report, is_promised=True)}
    assert "method_parameters" not in found
    assert "answers_as_promised" in found
    del files.report["method"]
    with pytest.raises(ReleaseFormatError, match="lacks a figure"):
        list(promise_checks(read_answers(files.params), files.report, is_promised=True))
