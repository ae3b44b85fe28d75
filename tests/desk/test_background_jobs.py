"""Jobs of the desk: each ends, whatever happens to its process."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from desk.visitor import wait_for

from anonkit.desk.background_jobs import Job, Jobs, JobState
from anonkit.desk.decided_release import DecidedRelease, Decisions
from anonkit.errors import AnonkitError


@pytest.fixture
def jobs() -> Iterator[Jobs]:
    """Jobs of nobody."""
    jobs = Jobs(lambda: None)
    yield jobs
    jobs.close()


@pytest.fixture
def table(tmp_path: Path) -> str:
    """A table of two columns."""
    path = tmp_path / "in.csv"
    path.write_text("name,age\nAda,36\nBob,41\n", encoding="utf-8")
    return str(path)


@pytest.fixture
def lasting(tmp_path: Path) -> dict[str, Any]:
    """An order whose draft takes a second or more: its job is at work while the test goes on."""
    path = tmp_path / "long.csv"
    path.write_text("a,b,c,d,e,f\n" + "1,x,3,y,5,z\n" * 300_000, encoding="utf-8")
    return {"source": str(path), "how": {}}


def ended(job: Job) -> Job:
    """Wait for the end of a job."""
    return wait_for(lambda: job if job.state is not JobState.AT_WORK else None)  # type: ignore[no-any-return]


def test_a_job_is_done_or_says_why_not(jobs: Jobs, table: str, capfd: pytest.CaptureFixture[str]) -> None:
    """A refusal is said in its words; of a defect the place alone, and nothing on the terminal."""
    done = ended(jobs.start("names", "one", {"source": table, "how": {}}))
    assert (done.state, done.result) == (JobState.DONE, ["name", "age"])
    assert jobs.found("names", "one") is done
    assert jobs.found("names", "two") is None
    refused = ended(jobs.start("names", "two", {"source": f"{table}.no", "how": {}}))
    assert refused.state is JobState.FAILED
    assert "in.csv.no" in refused.message
    broken = ended(jobs.start("columns", "", {"source": table, "how": {}, "policy": 3, "folder": "Ada"}))
    assert broken.state is JobState.FAILED
    assert broken.message.startswith("internal error in anonkit.desk")
    assert "Ada" not in broken.message
    assert capfd.readouterr() == ("", "")
    assert not jobs.are_at_work


@pytest.mark.quick_cases("SIGKILL")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM], ids=lambda number: number.name)
def test_a_killed_worker_has_failed(jobs: Jobs, table: str, lasting: dict[str, Any], number: signal.Signals) -> None:
    """At whatever moment; the next one begins anew."""
    job = jobs.start("draft", "", lasting)
    pid = jobs._processes[job.handle].pid
    os.kill(pid, number)

    assert ended(job).state is JobState.FAILED
    assert "its process has ended" in job.message
    assert wait_for(lambda: job.handle not in jobs._processes)
    assert ended(jobs.start("draft", "", {"source": table, "how": {}})).state is JobState.DONE


def test_a_job_is_cancelled_and_a_newer_one_takes_its_place(jobs: Jobs, table: str, lasting: dict[str, Any]) -> None:
    """By its handle alone; the same one is not started twice."""
    first = jobs.start("draft", "a", lasting)
    assert jobs.start("draft", "a", lasting) is first
    jobs.cancel("no such handle")
    assert first.state is JobState.AT_WORK
    second = jobs.start("draft", "b", lasting)
    assert first.state is JobState.CANCELLED
    jobs.cancel(second.handle)
    assert second.state is JobState.CANCELLED
    assert ended(jobs.start("draft", "c", {"source": table, "how": {}})).state is JobState.DONE
    assert second.state is JobState.CANCELLED


def test_a_cancelled_job_says_what_is_left_of_it(lasting: dict[str, Any]) -> None:
    """As the desk finds it once the process has ended; of one that had not begun nothing is left."""
    jobs = Jobs(lambda: None, left=lambda job: f"what is left of {job.kind}")
    job = jobs.start("draft", "", lasting)
    jobs.cancel(job.handle)
    assert wait_for(lambda: job.message == "cancelled; what is left of draft", 60)
    jobs._is_ready.clear()
    waiting = jobs.start("draft", "later", lasting)
    jobs.cancel(waiting.handle)
    jobs._is_ready.set()
    assert (waiting.state, waiting.message) == (JobState.CANCELLED, "cancelled; nothing was written")
    jobs.close()


def test_a_job_has_failed_once_it_is_known_what_is_left_of_it(jobs: Jobs, lasting: dict[str, Any]) -> None:
    """Files that were being put in place are settled first: a failed job and its files are seen together."""
    seen: list[JobState] = []

    def left(job: Job) -> str:
        seen.append(job.state)
        return "its files are there"

    jobs._left = left
    job = jobs.start("draft", "", lasting)
    os.kill(jobs._processes[job.handle].pid, signal.SIGKILL)
    assert ended(job).message == "its process has ended by SIGKILL; its files are there"
    assert (job.state, seen) == (JobState.FAILED, [JobState.AT_WORK])


@pytest.mark.slow
def test_a_worker_has_the_environment_of_its_desk(jobs: Jobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger is the one that is named when a job begins; not when the process began from which workers begin."""
    table = tmp_path / "in.csv"
    table.write_text("name,age\n" + "Ada,36\nBob,41\n" * 10, encoding="utf-8")
    ended(jobs.start("names", "", {"source": str(table), "how": {}}))
    monkeypatch.setenv("ANONKIT_LEDGER", str(tmp_path / "ledger"))
    folder = tmp_path / "out"
    folder.mkdir()
    policy = 'unit = "none"\n[columns.name]\nrole = "identifier"\n'
    (folder / "policy.toml").write_text(policy, encoding="utf-8")
    decided = Decisions(approach="classes", method="mondrian", parameters={"k": 2})
    recipe = DecidedRelease(source=str(table), folder=folder, decisions=decided).recipe()
    (folder / "recipe.toml").write_text(recipe, encoding="utf-8")
    order = {"folder": str(folder), "private": "private", "sign": None, "force": False, "seed": None}
    job = ended(jobs.start("write", "", order))
    assert job.state is JobState.DONE, job
    assert (tmp_path / "ledger").exists()


def test_a_start_that_is_refused_changes_nothing(
    jobs: Jobs, table: str, lasting: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The running job goes on, and the result belongs to it."""
    first = jobs.start("draft", "a", lasting)

    class Refused:
        def __init__(self, **_: Any) -> None:
            pass

        def start(self) -> None:
            raise OSError(11, "no more processes")

    monkeypatch.setattr(type(jobs._context), "Process", Refused)
    with pytest.raises(AnonkitError, match="no process"):
        jobs.start("draft", "b", {"source": table, "how": {}})
    assert jobs.of_kind("draft") is first
    assert first.state is JobState.AT_WORK


def test_results_that_cannot_be_read_are_a_failure(jobs: Jobs, monkeypatch: pytest.MonkeyPatch, table: str) -> None:
    """A job is not at work for ever because of what its worker sent."""

    def broken(self: Jobs, job: Job, said: Any) -> None:
        raise ValueError("Ada")

    monkeypatch.setattr(Jobs, "_note", broken)
    job = ended(jobs.start("names", "", {"source": table, "how": {}}))
    assert job.state is JobState.FAILED
    assert "ValueError" in job.message
    assert "Ada" not in job.message


def test_changes_are_reported() -> None:
    """From another thread, when a job begins and when it ends."""
    told: list[str] = []
    jobs = Jobs(lambda: told.append(threading.current_thread().name))
    job = ended(jobs.start("names", "", {"source": "no.csv", "how": {}}))
    wait_for(lambda: len(told) >= 2)
    assert job.state is JobState.FAILED
    assert told.count("MainThread") == 1
    jobs.close()


def test_jobs_wait_for_the_first_process_and_nobody_else_does(
    jobs: Jobs, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While workers get ready, which takes seconds, pages ask for jobs, and one is cancelled that has not begun."""
    is_ready = threading.Event()
    real = Jobs._start_ready

    def slowly(self: Jobs) -> None:
        is_ready.wait()
        real(self)

    monkeypatch.setattr(Jobs, "_start_ready", slowly)
    jobs.warm_up()
    first = jobs.start("names", "one", {"source": table, "how": {}})
    assert (first.state, jobs.of_kind("names")) == (JobState.AT_WORK, first)
    jobs.cancel(first.handle)
    assert (first.state, first.message) == (JobState.CANCELLED, "cancelled; nothing was written")
    second = jobs.start("names", "two", {"source": table, "how": {}})
    assert second.state is JobState.AT_WORK
    is_ready.set()
    assert ended(second).result == ["name", "age"]
    assert first.state is JobState.CANCELLED
