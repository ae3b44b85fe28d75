"""The line of five stations: what each shows, what it changes, and what it does not show under noise."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from desk.conftest import MARKER
from desk.visitor import Visitor, files_below
from pyarrow import parquet

from anonkit.cli import anonkit
from anonkit.cli.boundary import run
from anonkit.desk.release_desk import Desk
from anonkit.errors import AnonkitError
from anonkit.policy.declaration import Policy
from anonkit.promises.guarantee import LOOKED_AT

STATIONS = ("/table", "/roles", "/promise", "/compare", "/decide")


@pytest.mark.slow
def test_from_a_table_to_the_release_that_the_command_makes(
    sits_at: Callable[..., Visitor], table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Classes: question, roles, promise, dry run, release; `anonkit run` makes the same rows and params."""
    monkeypatch.setenv("ANONKIT_LEDGER", str(tmp_path / "ledger"))
    at = sits_at(table, tmp_path / "out", seed=7)
    assert "Noise or classes?" in at.get("/table")
    assert "customer_id" not in at.text
    at.post("/begin", approach="classes")
    at.wait("draft")
    at.wait("columns")
    at.wait("risk")
    assert "customer_id" in at.get("/table")
    assert "300" in at.words
    assert "1 → –" in at.words
    assert "quasi_identifier" in at.get("/roles")
    at.post("/roles", at="roles", role_9="sensitive", one_row="yes")
    assert Policy.load(tmp_path / "out" / "policy.toml").sensitive == ("swipe_amount",) or at.status == 200
    at.post("/promise", at="promise", receiver="secure", sample="10", method="datafly", by="hand")
    at.post("/promise", at="promise", receiver="secure", sample="10", method="datafly", k="3", by="hand")
    assert at.desk.decisions.parameters == {"k": 3}
    at.wait("risk")
    at.post("/start/rehearse", at="decide")
    assert at.wait("rehearse").state == "done", at.desk.jobs.of_kind("rehearse")
    assert "What is not promised" in at.get("/decide")
    at.post("/decide/write", at="decide", turn=at.desk.turn)
    assert at.wait("write").state == "done", at.desk.jobs.of_kind("write")
    page = at.get("/decide")
    assert "release.report.html" in page
    assert "None of it is for others" in page
    assert "anonkit run" in page
    made, again = tmp_path / "out" / "release.parquet", tmp_path / "again.parquet"
    recipe = tmp_path / "out" / "recipe.toml"
    code = run(
        anonkit,
        ["run", str(recipe), "--output", str(again), "--seed", "7", "--not-for-release", "--no-ledger", "--quiet"],
        "anonkit",
    )

    assert code == 0
    assert parquet.read_table(made).equals(parquet.read_table(again))
    assert params(made) == params(again)
    private = [path.stat().st_mode & 0o077 for path in files_below(tmp_path / "out" / "private")]
    assert private == [0, 0]
    for path in files_below(tmp_path / "out" / "history"):
        assert path.stat().st_mode & 0o077 == 0


def params(data: Path) -> Any:
    """Return what receivers read beside a table."""
    return json.loads(data.with_name(f"{data.stem}.params.json").read_text(encoding="utf-8"))


def test_under_noise_no_cell_is_shown_before_a_look_that_is_noted(
    sits_at: Callable[..., Visitor], table: Path, declared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A requested job shows none either; after the look the policy, and with it every release, states it."""
    monkeypatch.setenv("ANONKIT_LEDGER", str(tmp_path / "ledger"))
    at = sits_at(table, tmp_path / "out", policy=declared, approach="noise")
    assert at.wait("columns").state == "done"
    orders: list[tuple[str, bool]] = []
    start = at.desk.jobs.start

    def noted(kind: str, key: str, order: Any) -> Any:
        orders.append((kind, at.desk.session.looked))
        return start(kind, key, order)

    monkeypatch.setattr(at.desk.jobs, "start", noted)
    for path in STATIONS:
        assert MARKER not in at.get(path), path
        assert "simulated" in at.get("/table")
    for kind in ("risk", "draft"):
        at.post(f"/start/{kind}")
        assert at.status == 422
    assert orders == []
    assert MARKER not in "".join(path.read_text("utf-8", "replace") for path in files_below(tmp_path / "out"))
    at.post("/look")
    assert [kind for kind, looked in orders if not looked] == []
    assert "looked at the private table" in (tmp_path / "out" / "history" / "0003.toml").read_text(encoding="utf-8")
    assert at.wait("columns").state == "done"
    assert MARKER in str(at.desk.result("columns"))
    assert "simulated from" not in at.get("/table")
    at.post("/undo")
    assert Policy.load(tmp_path / "out" / "policy.toml").looked_at_table
    assert declared.read_text(encoding="utf-8") in (tmp_path / "out" / "policy.toml").read_text(encoding="utf-8")
    at.post("/promise", at="promise", receiver="anyone", method="dp-nb", by="hand")
    at.post("/start/rehearse", at="decide")
    assert at.wait("rehearse").state == "done", at.desk.jobs.of_kind("rehearse")
    assert LOOKED_AT in at.get("/decide").replace("&#39;", "'")


@pytest.mark.slow
def test_an_open_first_question_shows_names_alone(sits_at: Callable[..., Visitor], table: Path, tmp_path: Path) -> None:
    """No method of classes is rehearsed on the private table before somebody may look."""
    at = sits_at(table, tmp_path / "out")
    at.post("/begin", approach="undecided")
    at.wait("columns")
    assert "customer_id" in at.get("/table")
    at.post("/promise", at="promise", receiver="named", by="answers")
    at.post("/promise", at="promise", receiver="named", method="datafly", k="3", by="hand")
    at.post("/start/rehearse", at="decide")
    assert at.status == 422
    assert at.desk.jobs.of_kind("rehearse") is None
    assert at.desk.jobs.of_kind("risk") is None


HOSTILE = (
    '<img src=x onerror="alert(1)">',
    "\u202eright to left",
    "</script><script>alert(2)</script>",
    "a,b\"'&",
    "{{7*7}}",
)


@pytest.mark.slow
def test_hostile_names_and_cells_are_shown_as_they_are(sits_at: Callable[..., Visitor], tmp_path: Path) -> None:
    """HTML, templates and turned directions, in names and cells, on every station and in what is refused."""
    rows = 40
    table = pa.table(
        {name: [HOSTILE[at % len(HOSTILE)] for at in range(rows)] for name in HOSTILE} | {"age": list(range(rows))}
    )
    parquet.write_table(table, tmp_path / "in.parquet")
    at = sits_at(tmp_path / "in.parquet", tmp_path / "out")
    at.post("/begin", approach="classes")
    for kind in ("draft", "columns", "risk"):
        assert at.wait(kind).state == "done", at.desk.jobs.of_kind(kind)
    for path in (*STATIONS, "/roles/0", "/roles/1", "/roles/2"):
        page = at.get(path)
        assert at.status == 200
        assert 'onerror="' not in page
        assert page.count("<script") == 2
        assert "\u202e" not in page
        assert ">49<" not in page
    assert "{{7*7}}" in page or "{{7*7}}" in at.get("/roles")
    at.post("/roles/0", at="roles", tree="<b>x</b>", low="<i>")
    assert at.status == 422
    assert "<b>x" not in at.text
    assert "<i>" not in at.text


@pytest.mark.slow
def test_values_of_a_column_are_edited(sits_at: Callable[..., Visitor], table: Path, tmp_path: Path) -> None:
    """Bounds, bands, categories and a hierarchy, with the rows of each; what is refused stays typed."""
    at = sits_at(table, tmp_path / "out")
    at.post("/begin", approach="classes")
    for kind in ("draft", "columns"):
        at.wait(kind)
    at.post("/roles/1", at="roles", low="18", high="90", ladder="10, 20", keep="yes")
    age = Policy.load(tmp_path / "out" / "policy.toml").column("age")
    assert (age.bounds, age.ladder, age.keep) == ((18, 90), (10, 20), True)
    assert "Width 10:" in at.words
    tree = "single,alone,any\nmarried,together,any\ndivorced,alone,any\nwidowed,alone,any\n"
    at.post("/roles/4", at="roles", tree=tree)
    assert "Level 1: 2 groups" in at.words
    assert at.get("/roles/4/tree.csv") == tree
    assert at.headers["content-disposition"] == 'attachment; filename="tree.csv"'
    at.post("/roles/4", at="roles", tree="single,alone\nmarried")
    assert at.status == 422
    assert "single,alone\nmarried" in at.text
    assert Policy.load(tmp_path / "out" / "policy.toml").column("marital_status").tree is not None
    at.post("/undo", at="roles")
    assert Policy.load(tmp_path / "out" / "policy.toml").column("marital_status").tree is None
    at.post("/redo", at="roles")
    assert at.get("/roles/4/tree.csv") == tree
    for path in ("/roles/400", "/roles/400/tree.csv", "/roles/0/tree.csv"):
        at.get(path)
        assert at.status == 422


def test_what_is_refused_is_said_and_changes_nothing(
    sits_at: Callable[..., Visitor], table: Path, declared: Path, tmp_path: Path
) -> None:
    """On the page that the form was on."""
    at = sits_at(table, tmp_path / "out", policy=declared, approach="classes")
    at.wait("columns")
    before = (len(at.desk.session.steps), at.desk.policy_text)
    for path, fields in (
        ("/begin", {"approach": "maybe"}),
        ("/roles", {"role_1": "king"}),
        ("/roles", {"role_1": "target"}),
        ("/promise", {"receiver": "nobody", "by": "answers"}),
        ("/promise", {"receiver": "named", "sample": "200", "by": "answers"}),
        ("/promise", {"receiver": "named", "method": "dp-nb", "by": "hand"}),
        ("/compare/take", {"point": "7"}),
        ("/compare/sides", {"a": "0", "b": "x"}),
        ("/start/rehearse", {}),
        ("/start/write", {}),
        ("/decide/write", {}),
    ):
        at.post(path, **fields)
        assert at.status == 422, path
        assert 'role="alert"' in at.text
    assert (len(at.desk.session.steps), at.desk.policy_text) == before


def test_a_file_is_named_by_its_handle_alone(sits_at: Callable[..., Visitor], table: Path, tmp_path: Path) -> None:
    """A path is none, and a page of a release runs and loads nothing."""
    at = sits_at(table, tmp_path / "out", approach="classes")
    page = tmp_path / "page.html"
    page.write_text("<style>p{}</style><script>1</script>", encoding="utf-8")
    handle = at.desk.handle(page)
    assert at.get(f"/files/{handle}") == page.read_text(encoding="utf-8")
    assert at.headers["content-security-policy"].startswith("sandbox; default-src 'none'; style-src 'sha256-")
    for name in ("page.html", "out", "policy.toml", handle[:-1]):
        at.get(f"/files/{name}")
        assert at.status == 422
    page.unlink()
    at.get(f"/files/{handle}")
    assert at.status == 422
    for name in ("desk.css", "desk.js", "htmx.min.js", "report.css"):
        assert at.get(f"/assets/{name}")
        assert at.status == 200
    for name in ("layout.html.j2", "request_guard.py", "htmx.LICENSE.txt"):
        at.get(f"/assets/{name}")
        assert at.status == 404


@pytest.mark.slow
def test_two_releases_are_side_by_side(
    sits_at: Callable[..., Visitor], table: Path, declared: Path, tmp_path: Path
) -> None:
    """As soon as each is there; the one that is taken is the one that is decided."""
    at = sits_at(table, tmp_path / "out", policy=declared, approach="classes")
    at.wait("columns")
    at.desk.jobs.start(
        "compare",
        at.desk._key_of("compare"),
        {
            "source": str(table), "how": {}, "folder": str(tmp_path / "out"), "policy": at.desk.policy_text,
            "names": at.desk.names, "simulated": False, "methods": ["datafly"], "k": [2, 4], "epsilon": [],
        },
    )  # fmt: skip
    assert at.wait("compare").state == "done", at.desk.jobs.of_kind("compare")
    assert "datafly, k = 4" in at.get("/compare")
    assert "frontier" in at.text
    at.post("/compare/sides", at="compare", a="0", b="1")
    assert at.wait("sides").state == "done", at.desk.jobs.of_kind("sides")
    assert "datafly, k = 2 beside datafly, k = 4" in at.get("/compare").replace("\n", " ")
    assert "Ten rows" in at.text
    at.post("/compare/take", at="compare", point="1")
    assert dict(at.desk.decisions.parameters) == {"k": 4}
    assert 'method = "datafly"' in (tmp_path / "out" / "recipe.toml").read_text(encoding="utf-8")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_folder_that_cannot_be_written_is_refused(table: Path, tmp_path: Path) -> None:
    """Before anything is served."""
    (tmp_path / "locked").mkdir(mode=0o500)
    with pytest.raises(AnonkitError):
        Desk(str(table), tmp_path / "locked" / "out")
