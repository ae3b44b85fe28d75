"""Requests: keywords, options of the command line and recipes make the same value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import anonkit
from anonkit.cli import anonkit as program
from anonkit.cli.boundary import run
from anonkit.engines import Local, Spark
from anonkit.ledger.account import Account
from anonkit.methods import make_method
from anonkit.pipeline import python_calls, release_path
from anonkit.pipeline.recipe import Recipe
from anonkit.pipeline.release_space import Output
from anonkit.pipeline.request_form import ReleaseRequest
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy


def _asked(monkeypatch: pytest.MonkeyPatch) -> list[ReleaseRequest]:
    """Return the list in which the requests of releases are caught; none is made."""
    caught: list[ReleaseRequest] = []

    def catch(source: object, request: ReleaseRequest) -> Any:
        caught.append(request)
        raise anonkit.AnonkitError("caught")

    for module in (release_path, python_calls, anonkit.pipeline.recipe):
        monkeypatch.setattr(module, "release_table", catch)
    return caught


def test_keywords_options_and_recipes_make_the_same_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every way to state it states engine, output, account, domains, method and policy alike."""
    monkeypatch.chdir(tmp_path)
    Path("recipe.toml").write_text(
        'method = "mondrian"\npreset = "paper"\ninput = "in.csv"\noutput = "out.parquet"\nengine = "spark"\n'
        'spark = { master = "yarn", conf = { a = "b" } }\nsearch_rows = 7\npart_rows = 8\naccept_joint_k = 3\n'
        'sign = "key.pem"\ndomains_from_data = true\ndomains_min_people = 4\n[parameters]\nk = 5\n'
        '[policy.columns.job]\nrole = "target"\n',
        encoding="utf-8",
    )
    caught = _asked(monkeypatch)
    monkeypatch.setitem(anonkit.methods.__dict__, "presets_of", lambda method: {"paper": {}})

    with pytest.raises(anonkit.AnonkitError, match="caught"):
        anonkit.release(
            "in.csv", method="mondrian", preset="paper", k=5, output="out.parquet", target="job", engine="spark",
            spark_master="yarn", spark_conf={"a": "b"}, search_rows=7, part_rows=8, sign="key.pem", dry_run=True,
            domains_from_data=True, domains_min_people=4, ledger="ledger", dataset="d", budget=2.0, budget_delta=1e-6,
            accept_joint_k=3,
        )  # fmt: skip
    words = (
        "in.csv out.parquet --method mondrian --preset paper --k 5 --target job --engine spark --spark-master yarn "
        "--spark-conf a=b --search-rows 7 --part-rows 8 --sign key.pem --dry-run --domains-from-data "
        "--domains-min-people 4 --ledger ledger --dataset d --budget 2 --budget-delta 1e-6 --accept-joint-k 3 --quiet"
    )
    run(program, ["release", *words.split()], "anonkit")  # not the command alone: click keeps the help option it makes
    charged = Account(ledger="ledger", dataset="d", budget=2.0, budget_delta=1e-6)
    with pytest.raises(anonkit.AnonkitError, match="caught"):
        Recipe.load("recipe.toml").run(dry_run=True, account=charged)

    by_keyword, by_option, by_recipe = (_comparable(request, tmp_path) for request in caught)
    assert by_keyword == by_option == by_recipe
    assert by_keyword["engine"] == Spark(master="yarn", conf={"a": "b"}, search_rows=7)
    assert by_keyword["account"] == charged.over(Account(accept_joint_k=3))


def _comparable(request: ReleaseRequest, folder: Path) -> dict[str, Any]:
    """Return the fields of a request, paths from the root, without what is shown while it runs."""
    fields = {name: getattr(request, name) for name in request.__dataclass_fields__ if name != "progress"}
    place, sign = request.output.place, request.output.sign
    assert place is not None
    assert sign is not None
    whole = {"place": (folder / place.folder, place.stem), "sign": folder / sign}
    others = {name: getattr(request.output, name) for name in ("part_rows", "force", "dry_run", "owner_report")}
    return {**fields, "output": {**whole, **others}}


@pytest.mark.slow
def test_an_engine_may_be_a_value(small_customers: pa.Table) -> None:
    """Its settings are its own: others beside it are refused."""
    release = anonkit.release(small_customers, method="mondrian", k=5, engine=Local(search_rows=100), seed=1)
    assert release.report["search"]["sample"]["rows"] == 100
    with pytest.raises(anonkit.AnonkitError, match="has its settings"):
        anonkit.release(small_customers, method="mondrian", k=5, engine=Local(), search_rows=100)


def test_the_promise_says_how_cells_are_read() -> None:
    """Cell by cell where it counts each cell as it is, and its domains are declared."""
    policy = Policy(
        columns={
            "a": Column(name="a", categories=("x", "y")),
            "y": Column(name="y", role=Role.TARGET, categories=("0", "1")),
        }
    )
    local, anonymous = make_method("rr", {"epsilon": 1.0}), make_method("mondrian", {"k": 2})
    assert ReleaseRequest(method=local, policy=policy).declared().cell_by_cell
    assert not ReleaseRequest(method=anonymous, policy=policy).declared().cell_by_cell
    assert not ReleaseRequest(method=local, policy=policy, domains_min_people=10).declared().cell_by_cell


def test_a_promise_that_no_table_can_have_is_refused_before_one_is_opened() -> None:
    """The policy declares no domain of the target."""
    with pytest.raises(anonkit.AnonkitError):
        ReleaseRequest(
            method=make_method("rr", {"epsilon": 1.0}),
            policy=Policy(columns={"y": Column(name="y", role=Role.TARGET)}),
            output=Output(),
        ).declared()


def test_a_seed_gives_the_same_words_and_none_gives_new_ones() -> None:
    """A seeded request can be made again; one without is secure."""
    method = make_method("mondrian", {"k": 2})
    seeded, secure = ReleaseRequest(method=method, seed=3), ReleaseRequest(method=method)
    assert seeded.randomness().key("a") == seeded.randomness().key("a")
    assert secure.randomness().key("a") != secure.randomness().key("a")
