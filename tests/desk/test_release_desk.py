"""A release is written once for every form, and two tabs that send at once do not undo each other."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from desk.visitor import Visitor, files_below, wait_for

import anonkit
from anonkit.desk.background_jobs import Job, JobState
from anonkit.desk.decided_release import DecidedRelease, Decisions
from anonkit.desk.release_desk import Desk
from anonkit.desk.strip_view import spending
from anonkit.errors import AnonkitError
from anonkit.pipeline.recipe import Recipe
from anonkit.policy.declaration import Policy

OWN = ("private/release.dossier.html</a>", "policy.toml</a>", "recipe.toml</a>")
"""Files that no receiver may have, as the page links them."""


class NoProcesses:
    """Jobs that are noted and never done."""

    def __init__(self) -> None:
        self.started: list[Job] = []

    def of_kind(self, kind: str) -> Job | None:
        return next((job for job in reversed(self.started) if job.kind == kind), None)

    def found(self, kind: str, key: str) -> Job | None:
        job = self.of_kind(kind)
        return job if job is not None and job.key == key else None

    def start(self, kind: str, key: str, order: Any) -> Job:
        self.started.append(Job(kind=kind, key=key))
        return self.started[-1]

    def close(self) -> None:
        """End nothing."""

    are_at_work = False

    @property
    def writes(self) -> list[Job]:
        return [job for job in self.started if job.kind == "write"]


@pytest.fixture
def desk(table: Path, declared: Path, tmp_path: Path) -> Any:
    """A desk at which noise is decided, without processes."""
    opened = Desk(str(table), tmp_path / "out", policy=declared)
    opened.jobs = NoProcesses()  # type: ignore[assignment]
    opened.begin("noise")
    opened.decide("promise", Decisions(approach="noise", method="dp-nb", parameters={"epsilon": 1}))
    yield opened
    opened.close()


def test_a_button_that_is_pressed_twice_writes_once(desk: Any) -> None:
    """Both forms are of one page; eight at a time too."""
    turn = desk.turn
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: desk.write(turn, replace=True), range(8)))
    assert len(desk.jobs.writes) == 1


def test_a_form_that_is_sent_again_after_the_release_writes_nothing(desk: Any) -> None:
    """Under noise a second draw would be charged; a page that was loaded since may request one."""
    turn = desk.turn
    desk.write(turn, replace=False)
    desk.jobs.writes[0].state = JobState.DONE
    with pytest.raises(AnonkitError, match="older than the last release"):
        desk.write(turn, replace=True)
    assert len(desk.jobs.writes) == 1
    desk.write(desk.turn, replace=True)
    assert len(desk.jobs.writes) == 2


def test_a_writer_that_was_cancelled_says_whether_the_release_is_there(desk: Any) -> None:
    """By the descriptor, which is put in place last: it is as it was, or another one."""
    descriptor = desk.folder / "release.datapackage.json"
    for before, after, left in (
        (None, None, "nothing was written"),
        (None, "{}", "the release had been written, and counts as made: Write release shows its files"),
        ("{}", "{}", "nothing was written"),
        ("{}", "{ }", "the release had been written, and counts as made: Write release shows its files"),
    ):
        descriptor.unlink(missing_ok=True)
        if before is not None:
            descriptor.write_text(before, encoding="utf-8")
        desk.start("write", force=True)
        if after is not None:
            descriptor.write_text(after, encoding="utf-8")
        assert desk._left(desk.jobs.writes[-1]) == left, (before, after)
    assert desk._left(Job(kind="rehearse", key="")) == "nothing was written"


def test_changes_of_many_tabs_at_once_are_all_steps(desk: Any) -> None:
    """Each has a number and a file of its own."""
    before = len(desk.session.steps)
    names = ["age", "occupation", "education", "marital_status"]
    with ThreadPoolExecutor(6) as threads:
        list(threads.map(lambda name: desk.set_roles({name: "sensitive"}, one_row=True), names))
    steps = desk.session.steps[before:]
    assert [step.number for step in desk.session.steps] == list(range(1, len(desk.session.steps) + 1))
    assert {name for name in names if desk.policy.column(name).role == "sensitive"} == set(names)
    assert len(steps) == len(files_below(desk.folder / "history")) - before - 2  # beside `current` and the lock


def test_a_tab_changes_what_was_changed_in_it_alone(desk: Any) -> None:
    """The other roles of its form may be older than those that hold."""
    tab = Visitor(desk)
    number = desk.names.index("age")
    desk.set_roles({"age": "insensitive"}, one_row=True)
    tab.post("/roles", at="roles", one_row="yes", **{
        f"role_{number}": "quasi_identifier", f"was_{number}": "quasi_identifier",
        f"role_{number + 1}": "sensitive", f"was_{number + 1}": "quasi_identifier",
    })  # fmt: skip
    assert desk.policy.column("age").role == "insensitive"
    assert desk.policy.column(desk.names[number + 1]).role == "sensitive"


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"delimiter": ";", "decimal": ","}, ["--delimiter ';'", "--decimal ,"]),
        ({"sheet": 'Übersicht "1"', "header_row": 3}, ["--sheet", "--header-row 3"]),
        ({"header": False, "names": "a,b", "skip_rows": 0}, ["--no-header", "--names a,b", "--skip-rows 0"]),
    ],
)
def test_how_a_table_is_read_is_in_the_recipe_and_in_every_command(
    tmp_path: Path, how: dict[str, Any], words: list[str]
) -> None:
    """They have the reading that the desk was given."""
    (tmp_path / "policy.toml").write_text("", encoding="utf-8")
    decided = Decisions(approach="classes", method="mondrian")
    release = DecidedRelease(source="in.csv", folder=tmp_path, decisions=decided, how=how)
    (tmp_path / "recipe.toml").write_text(release.recipe(), encoding="utf-8")
    assert Recipe.load(tmp_path / "recipe.toml").how == how
    for station in ("table", "roles", "compare"):
        assert all(word in release.command(station) for word in words), station
    assert all(f"{name}={value!r}" in release.python("decide") for name, value in how.items())


def test_no_command_under_noise_reads_a_cell_before_the_release(tmp_path: Path) -> None:
    """A comparison is made of the simulated rows, and roles are edited: a draft would follow from the cells."""
    decided = Decisions(approach="noise", method="dp-forest", parameters={"epsilon": 1})
    release = DecidedRelease(source="in.csv", folder=tmp_path, decisions=decided, shown_folder="out")
    assert "--public out/simulated.parquet --policy out/policy.toml" in release.command("compare")
    assert release.command("roles") == "${EDITOR:-vi} out/policy.toml"
    assert "public='out/simulated.parquet'" in release.python("compare")
    assert "in.csv" not in release.python("roles")


@pytest.mark.parametrize(
    ("more", "sample", "line", "word"),
    [
        (
            {"population": "data/all.csv"},
            0.1,
            'population = "../data/all.csv"',
            "--population data/all.csv",
        ),
        ({}, 0.1, "sampling_fraction = 0.1", "--sampling-fraction 0.1"),
        ({"counts_people": False}, 0.1, "none", "--sampling-fraction 0.1"),
    ],
)
def test_what_is_known_of_the_population_is_in_recipe_command_and_call(
    more: dict[str, Any], sample: float, line: str, word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen from each: the file in place of a share; neither where households are counted, nor under noise."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "policy.toml").write_text("", encoding="utf-8")
    for method, parameters, is_given_to in (("mondrian", {"k": 5}, True), ("rr", {"epsilon": 1}, False)):
        decided = Decisions(approach="undecided", method=method, parameters=parameters, sample=sample)
        release = DecidedRelease(source="in.csv", folder=Path("out"), decisions=decided, **more)
        (tmp_path / "out" / "recipe.toml").write_text(release.recipe(), encoding="utf-8")
        loaded = Recipe.load(tmp_path / "out" / "recipe.toml")
        assert (line in release.recipe().splitlines()) is (is_given_to and line != "none")
        assert loaded.population.is_given is (is_given_to and line != "none")
        assert ("population=" in release.python("decide")) is (is_given_to and "population" in more)
        assert word in release.command("table")


def test_the_strip_adds_up_what_a_dataset_has_spent(table: Path, declared: Path, tmp_path: Path) -> None:
    """Earlier releases and this one, of the budget that the ledger holds."""
    policy = Policy.load(declared)
    policy = replace(policy, dataset="customers", bookkeeping=replace(policy.bookkeeping, budget=4.0))
    for _ in range(2):
        release = anonkit.release(str(table), method="dp-nb", epsilon=1.5, policy=policy, ledger=tmp_path / "ledger")
    told = spending(release.report, 1.5, None)
    assert told is not None
    assert (told.together, told.budget, told.words) == (3.0, 4.0, "1.5 + 1.5 of 4")
    nothing = spending({}, 1, None)
    assert nothing is not None
    assert nothing.words == "1"
    assert spending({}, None, 4) is None


# --- real releases ---------------------------------------------------------------------------------------------------


def _decided(sits_at: Callable[..., Visitor], table: Path, declared: Path, folder: Path, **more: Any) -> Visitor:
    """Return a visitor at Decide, where noise is decided and rehearsed."""
    at = sits_at(table, folder, policy=declared, approach="noise", **more)
    at.post("/promise", at="promise", receiver="anyone", method="rr", epsilon="8", by="hand")
    at.post("/promise", at="promise", receiver="anyone", method="rr", epsilon="8", by="hand")
    assert at.desk.decisions.method == "rr", at.words[:400]
    return at


@pytest.mark.slow
def test_a_release_is_signed_through_the_page(
    sits_at: Callable[..., Visitor], table: Path, declared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the key of the command: `validate` finds the signature, and a page that is sent again charges nothing."""
    ledger = tmp_path / "ledger"
    monkeypatch.setenv("ANONKIT_LEDGER", str(ledger))
    key = Ed25519PrivateKey.generate()
    (tmp_path / "owner.pem").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public = tmp_path / "owner.pub"
    public.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    (tmp_path / "owner.pem").chmod(0o600)
    at = _decided(sits_at, table, declared, tmp_path / "out", sign=tmp_path / "owner.pem")
    at.post("/start/rehearse", at="decide")
    at.wait("rehearse")
    assert "Write release, signed" in at.get("/decide")
    turn = at.desk.turn
    at.post("/decide/write", at="decide", turn=turn)
    at.post("/decide/write", at="decide", turn=turn)
    job = at.wait("write")
    assert job.state is JobState.DONE, job
    at.post("/decide/write", at="decide", turn=turn, replace="yes")
    assert at.status == 422
    made = tmp_path / "out" / "release.parquet"
    released, kept = at.get("/decide").partition("Keep: for you alone")[::2]
    assert "signature over all files" in released
    assert "Hand out" in released
    assert [name in released for name in OWN] == [False] * len(OWN)
    assert [name in kept for name in OWN] == [True] * len(OWN)
    assert anonkit.validate(made, signed_by=public).passed
    report = json.loads(made.with_name("release.report.json").read_text(encoding="utf-8"))
    assert report["ledger"]["release_of_dataset"] == 1
    assert "owner.pem" in at.desk.release().command("decide")


@pytest.mark.slow
def test_a_writer_that_is_killed_loses_and_charges_nothing_twice(
    sits_at: Callable[..., Visitor], table: Path, declared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At ten moments: the job has failed, the folder has a whole release or none, and in the end one is written."""
    monkeypatch.setenv("ANONKIT_LEDGER", str(tmp_path / "ledger"))
    at = _decided(sits_at, table, declared, tmp_path / "out")
    at.wait("columns")
    steps = len(at.desk.session.steps)
    for moment in range(10):
        at.post("/decide/write", at="decide", turn=at.desk.turn)
        job = at.desk.jobs.of_kind("write")
        assert job is not None
        share = moment / 10
        wait_for(lambda job=job, share=share: job.share >= share or job.state is not JobState.AT_WORK)
        process = at.desk.jobs._processes.get(job.handle)
        if process is not None:
            os.kill(process.pid, signal.SIGKILL)
        at.wait("write")
        assert job.state in (JobState.FAILED, JobState.DONE)
        assert (len(at.desk.session.steps), at.get("/decide") != "") == (steps, True)
        made = tmp_path / "out" / "release.parquet"
        if made.exists():
            anonkit.validate(made)
            break
    if not (tmp_path / "out" / "release.parquet").exists():
        at.post("/decide/write", at="decide", turn=at.desk.turn)
        assert at.wait("write").state is JobState.DONE, at.desk.jobs.of_kind("write")
    at.post("/decide/write", at="decide", turn=at.desk.turn, replace="yes")  # a second draw, which no budget allows
    assert "average the noise away" in at.wait("write").message
    anonkit.validate(tmp_path / "out" / "release.parquet")
    left = [path.name for path in files_below(tmp_path / "out") if "tmp" in path.name or path.name.startswith(".")]
    assert left == [".anonkit-ledger.json"]  # says where the ledger is


@pytest.mark.slow
@pytest.mark.parametrize("ends", ["killed", "cancelled"])
def test_a_writer_that_ends_early_leaves_a_whole_release_or_none(
    sits_at: Callable[..., Visitor],
    table: Path,
    declared: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    ends: str,
) -> None:
    """At ten moments of a release of classes, each of which may replace the one before; the message says which."""
    monkeypatch.setenv("ANONKIT_LEDGER", str(tmp_path / "ledger"))
    at = sits_at(table, tmp_path / "out", policy=declared, approach="classes")
    at.post("/promise", at="promise", receiver="secure", by="answers")
    at.wait("risk")
    made, early, begun = tmp_path / "out" / "release.parquet", 0, time.monotonic()
    at.post("/decide/write", at="decide", turn=at.desk.turn, replace="yes")
    assert at.wait("write").state is JobState.DONE, at.desk.jobs.of_kind("write")
    lasts, before = time.monotonic() - begun, at.desk._described()
    for moment in range(10):
        at.post("/decide/write", at="decide", turn=at.desk.turn, replace="yes")
        job = at.desk.jobs.of_kind("write")
        assert job is not None
        time.sleep(lasts * moment / 10)
        process = at.desk.jobs._processes.get(job.handle)
        if ends == "cancelled":
            at.post(f"/cancel/{job.handle}", at="decide")
        elif process is not None:
            os.kill(process.pid, signal.SIGKILL)
        at.wait("write")
        wait_for(lambda job=job: job.handle not in at.desk.jobs._processes)
        assert at.get("/decide")
        after = at.desk._described()
        if job.state is not JobState.DONE:
            early += 1
            assert ("nothing was written" in job.message) is (after == before), job.message
        assert made.exists() is bool(after)
        assert anonkit.validate(made).passed
        before = after
    assert early >= 5
    at.post("/decide/write", at="decide", turn=at.desk.turn, replace="yes")
    assert at.wait("write").state is JobState.DONE, at.desk.jobs.of_kind("write")
    assert anonkit.validate(made).passed
    left = [path.name for path in files_below(tmp_path / "out") if "tmp" in path.name or path.name.startswith(".")]
    assert left == [".anonkit-ledger.json"]


def test_what_is_typed_is_saved_by_whatever_leads_on(
    sits_at: Callable[..., Visitor], table: Path, declared: Path, tmp_path: Path
) -> None:
    """Roles and answers are kept by *Next* as by *Save*; a form leads to a station and to no other address."""
    at = sits_at(table, tmp_path / "out", policy=declared, approach="noise")
    number = at.desk.names.index("age")
    page = at.post("/roles", at="roles", **{f"role_{number}": "insensitive"}, next="promise")
    assert at.desk.policy.column("age").role == "insensitive"
    assert "<h1>Promise</h1>" in page
    page = at.post("/promise", at="promise", receiver="anyone", next="compare")
    assert (at.desk.decisions.receiver, at.desk.decisions.method) == ("anyone", "dp-forest")
    assert "<h1>Compare</h1>" in page
    assert "<h1>Promise</h1>" in at.post("/promise", at="promise", receiver="anyone", next="//evil.example") or (
        "<h1>Table</h1>" in at.text
    )
