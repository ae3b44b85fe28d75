"""The first question can be answered again: undo leads back to it, past the steps that follow from an answer alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from desk.visitor import Visitor

from anonkit.desk.background_jobs import Job, JobState
from anonkit.desk.release_desk import Desk
from anonkit.policy.declaration import Policy

DRAFT = '[columns]\nage = { role = "quasi_identifier" }\n'


@pytest.fixture
def at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Visitor]:
    """A desk whose names are read and whose policy is drafted at once; its other jobs never end."""
    (tmp_path / "people.csv").write_text("age\n41\n", encoding="utf-8")
    desk = Desk(str(tmp_path / "people.csv"), tmp_path / "out")
    results: dict[str, Any] = {"names": ["age"], "draft": DRAFT}

    def start(kind: str, key: str, order: object) -> Job:
        job = Job(kind=kind, key=key, state=JobState.DONE if kind in results else JobState.AT_WORK)
        job.result = results.get(kind)
        desk.jobs._of_kind[kind] = job
        return job

    monkeypatch.setattr(desk.jobs, "start", start)
    start("names", "", {})
    yield Visitor(desk)
    desk.close()


@pytest.mark.parametrize("answer", ["classes", "noise"])
def test_undo_leads_back_to_the_question(at: Visitor, answer: str) -> None:
    """One press, although the draft that follows from an answer is a step of its own; redo holds both again."""
    at.post("/begin", approach=answer)
    at.desk.settle()
    assert at.desk.session.step.did.startswith("policy drafted from")
    at.post("/undo")
    assert "Noise or classes?" in at.text
    at.desk.settle()
    assert at.desk.decisions.approach == ""
    at.desk.redo()
    assert at.desk.session.step.did.startswith("policy drafted from")
    assert len(at.desk.session.steps) == 3


def test_noise_after_classes_names_the_look(at: Visitor) -> None:
    """The table was shown under classes, so that the choices under noise may follow from it."""
    at.post("/begin", approach="classes")
    at.desk.settle()
    at.post("/undo")
    at.post("/begin", approach="noise")
    at.desk.settle()
    assert Policy.load(at.desk.folder / "policy.toml").looked_at_table
    assert "The private table was looked at" in at.get("/table")
