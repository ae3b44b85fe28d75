"""A step of a pipeline: its request, its result, and the messages of its failures."""

from __future__ import annotations

import ast
import importlib
import json
import pickle
import sys
import traceback
import warnings
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest

import anonkit
from anonkit.errors import (
    AnonkitError,
    BudgetError,
    EngineError,
    GuaranteeError,
    MissingDependencyError,
    ParameterError,
    ReleaseFormatError,
    SourceError,
    UncheckedError,
)
from anonkit.integrations import pipeline_step
from anonkit.integrations.pipeline_step import is_final, make_release, public_facts, refuse_failed, validate_release
from anonkit.ledger.account import Account

RECIPE = """
method = "dp-nb"
input = "table.csv"
output = "out/table.parquet"

[parameters]
epsilon = 1.0

[policy]
dataset = "table"

[policy.columns]
age = { bounds = [18, 90] }
ill = { categories = ["no", "yes"], role = "target" }
"""
SECRET = "cell-4711"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a table and the recipe of its release."""
    table = pa.table({"age": [20, 30, 40, 50] * 15, "ill": ["no", "no", "yes"] * 20})
    pa.csv.write_csv(table, tmp_path / "table.csv")
    (tmp_path / "recipe.toml").write_text(RECIPE, encoding="utf-8")
    return tmp_path


def _fails(error: BaseException) -> Callable[..., Any]:
    def step(*_: object, **__: object) -> Any:
        warnings.warn(f"a library quotes {SECRET}", stacklevel=1)
        raise error

    return step


def test_a_recipe_and_a_policy_are_the_same_step(folder: Path) -> None:
    """Both release, validate, and charge the ledger that is named."""
    made = make_release(folder / "recipe.toml", ledger=folder / "a.sqlite", budget=1.0, dataset=None)
    other = make_release(
        source=folder / "table.csv", output=folder / "b.parquet", method="mondrian", k=5, ledger=folder / "b.sqlite"
    )
    for release in (made, other):
        assert release.place is not None
        assert all(check["passed"] for check in validate_release(release.place.file(".parquet")))
    assert (folder / "a.sqlite").exists()
    assert (folder / "b.sqlite").exists()
    with pytest.raises(BudgetError):
        make_release(folder / "recipe.toml", output=folder / "c.parquet", ledger=folder / "a.sqlite")


def test_a_step_that_is_run_again_spends_nothing(folder: Path) -> None:
    """With the whole budget spent the second run hands back the release of the first, to the byte."""
    ledger = folder / "ledger.sqlite"
    first, second = (make_release(folder / "recipe.toml", ledger=ledger, budget=1.0) for _ in range(2))
    assert (first.reused, second.reused) == (False, True)
    assert public_facts(first) == public_facts(second)
    assert pickle.loads(pickle.dumps(second)).owner == {}
    with pytest.raises(BudgetError):
        make_release(folder / "recipe.toml", output=folder / "elsewhere.parquet", ledger=ledger)


@pytest.mark.parametrize(
    "described", [{}, {"recipe": "r.toml", "source": "t.csv"}, {"source": "t.csv"}, {"source": "t.csv", "k": 5}]
)
def test_a_step_says_what_it_releases_and_where(described: dict[str, Any]) -> None:
    """Neither two descriptions nor none, and never a release that is gone with the process."""
    with pytest.raises(ParameterError):
        make_release(**described)


def test_what_is_handed_on_is_json_and_public(folder: Path) -> None:
    """Plain JSON types, of which every figure is in the report; the owner's measures are not in it."""
    release = make_release(folder / "recipe.toml", ledger=None)
    facts = public_facts(release)
    assert json.loads(json.dumps(facts)) == facts
    assert set(facts["files"]) == {"data", "params", "report", "page", "descriptor"} == set(facts["sha256"])
    assert all(Path(path).exists() for path in facts["files"].values())
    assert {name: facts[name] for name in facts if name not in ("files", "sha256")} == {
        name: value for name, value in anonkit.load(folder / "out/table.parquet").report.items() if name in facts
    }
    told = release.with_owner({"measure": SECRET})
    assert told.owner
    assert SECRET not in json.dumps(public_facts(told))
    assert SECRET.encode() not in pickle.dumps(told)


def test_a_release_that_is_not_there_may_come(folder: Path) -> None:
    """It is no plain table without requirements."""
    with pytest.raises(ReleaseFormatError, match="does not exist") as caught:
        validate_release(folder / "absent.parquet")
    assert not is_final(caught.value)


def test_what_was_not_looked_at_is_no_pass(folder: Path) -> None:
    """l is about columns: a step that requires it without one states it, and does not come out green."""
    output = folder / "classes.parquet"
    make_release(source=folder / "table.csv", output=output, method="mondrian", k=5, ledger=None)
    with pytest.raises(UncheckedError, match="could not check l_diversity"):
        validate_release(output, l=2)


def test_a_release_that_fails_a_check_is_refused(folder: Path) -> None:
    """The checks are named, a few of them; so is a validation that checked nothing."""
    make_release(folder / "recipe.toml", ledger=None)
    output = folder / "out" / "table.parquet"
    assert refuse_failed(validate_release(output), output) is None
    (folder / "out" / "table.report.html").write_text("edited", encoding="utf-8")
    with pytest.raises(GuaranteeError, match="hash:"):
        refuse_failed(validate_release(output), output)
    with pytest.raises(GuaranteeError, match="nothing was checked"):
        refuse_failed([], output)
    many = [{"name": f"check{number}", "passed": False} for number in range(9)]
    with pytest.raises(GuaranteeError, match="check4 and 4 more"):
        refuse_failed(many, output)


@pytest.mark.parametrize("step", ["release", "validate"])
@pytest.mark.parametrize("error", [ValueError(SECRET), KeyError(SECRET), OSError(SECRET), EngineError("no disk")])
def test_nothing_of_a_failure_quotes_a_cell(
    folder: Path, monkeypatch: pytest.MonkeyPatch, step: str, error: Exception
) -> None:
    """A library's message, its warnings and the frames it came through stay out of what a platform would store."""
    monkeypatch.setattr(pipeline_step.anonkit, step, _fails(error), raising=False)
    monkeypatch.setattr(pipeline_step.anonkit, "load", lambda path: path, raising=False)
    calls = {
        "release": partial(make_release, source=folder / "table.csv", output=folder / "o.parquet"),
        "validate": partial(validate_release, folder / "o.parquet"),
    }
    with pytest.raises(AnonkitError) as caught:
        calls[step]()
    told = "".join(traceback.format_exception(caught.value))
    assert SECRET not in told
    assert "_fails" not in told
    assert caught.value.__cause__ is None
    assert type(error).__name__ in told or error is caught.value
    assert is_final(caught.value) is isinstance(error, ValueError | KeyError)


def test_only_a_failure_of_the_surroundings_is_worth_another_attempt() -> None:
    """A refusal is final; a lost file is not; what anonkit does not know may pass."""
    assert is_final(GuaranteeError("k"))
    assert is_final(BudgetError("spent"))
    assert not is_final(SourceError("gone"))
    assert not is_final(OSError("full"))
    assert {error for error in AnonkitError.__subclasses__() if not error.may_be_retried} >= {GuaranteeError}


@pytest.mark.parametrize("tool", ["airflow", "dagster", "prefect"])
def test_an_absent_tool_is_one_line_that_names_its_extra(tool: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a traceback of imports."""
    monkeypatch.setitem(sys.modules, tool, None)
    monkeypatch.delitem(sys.modules, f"anonkit.integrations.{tool}", raising=False)
    with pytest.raises(MissingDependencyError, match=rf"anonkit\[{tool}\]"):
        importlib.import_module(f"anonkit.integrations.{tool}")


@pytest.mark.parametrize("keyword", [{"keep": ["age"]}, {"k": 7}, {"owner": True}, {"adopt": True}])
def test_what_a_recipe_says_is_not_said_beside_it(folder: Path, keyword: dict[str, Any]) -> None:
    """One line that names the keyword; it had been an internal error."""
    with pytest.raises(ParameterError, match=f"{next(iter(keyword))} is given beside a recipe"):
        make_release(folder / "recipe.toml", **keyword)


def test_a_step_goes_on_in_a_new_ledger(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a container's home has died: the keyword reaches the release, by a recipe and by a source."""
    make_release(folder / "recipe.toml", output=folder / "a.parquet", ledger=folder / "gone.sqlite")
    for name in ("gone.sqlite", "gone.sqlite.key"):
        (folder / name).unlink()
    for at, described in enumerate(
        ({"recipe": folder / "recipe.toml"}, {"source": folder / "table.csv", "method": "mondrian", "k": 5})
    ):
        monkeypatch.setenv("ANONKIT_LEDGER", str(folder / f"new {at}.sqlite"))
        asked: dict[str, Any] = {**described, "output": folder / f"{at}.parquet"}
        with pytest.raises(ParameterError, match="are in the ledger"):
            make_release(**asked)
        assert make_release(**asked, new_ledger=True).report["ledger"]["new_ledger"] is True


def test_every_keyword_of_an_account_reaches_a_step() -> None:
    """Beside recipes, and as fields of the Airflow operator, but for those that need a person, or one release alone."""
    set_inside = {"was_handed_out", "disjoint_from", "applied", "displaced", "declared", "is_simulated"}
    of_account = {field.name for field in fields(Account)} - set_inside
    assert of_account <= set(pipeline_step._BESIDE_RECIPES)
    source = Path(pipeline_step.__file__).with_name("airflow.py").read_text(encoding="utf-8")
    operator = next(
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ClassDef) and node.name == "ReleaseOperator"
    )
    begin = next(node for node in operator.body if isinstance(node, ast.FunctionDef) and node.name == "__init__")
    assert of_account - {"only_new", "released_before"} <= {argument.arg for argument in begin.args.kwonlyargs}
