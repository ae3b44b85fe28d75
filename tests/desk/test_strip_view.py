"""Figures of a large table are on the page as they come: its classes long before the sets of columns."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from desk.visitor import Visitor

from anonkit.desk.background_jobs import Job, JobState
from anonkit.desk.decided_release import Decisions
from anonkit.desk.release_desk import Desk
from anonkit.desk.strip_view import strip_view

POLICY = '[columns]\nage = { role = "quasi_identifier" }\n'
COUNTS = {"rows": 300, "counted": "rows", "people": 300, "classes": 290, "k": 1, "uniques": 281}


def test_classes_are_shown_before_the_search_has_ended(table: Path, tmp_path: Path) -> None:
    """On the page and in the strip; the search is still at work there."""
    desk = Desk(str(table), tmp_path / "out")
    desk.session.record("answers", policy=POLICY, decisions=Decisions(approach="classes"))
    desk.jobs._of_kind["risk"] = Job(kind="risk", key=desk._key_of("risk"), parts=[COUNTS])
    at = Visitor(desk)
    at.get("/table")
    assert "1 smallest group" in at.words
    assert "281 (93.7%) rows alone in their group" in at.words
    assert "1 → –" in at.words
    assert "Finding what makes people unique : at work" in at.words
    desk.close()


def test_usefulness_is_what_was_computed_last(table: Path, tmp_path: Path) -> None:
    """The dry run of what is decided, then its point of the comparison, then the dry run of what was decided before."""
    desk = Desk(str(table), tmp_path / "out")
    decided = Decisions(approach="classes", method="rfka", parameters={"k": 10})
    desk.session.record("answers", policy=POLICY, decisions=decided)
    usefulness = lambda: dict(line[:2] for line in strip_view(desk))["Usefulness"]  # noqa: E731
    assert usefulness() == "not computed"
    report = {"utility": {"prediction_of_target": {"auc": 0.9}}, "rows": {"out": 3}}
    job = Job(kind="rehearse", key=desk._key_of("rehearse"), state=JobState.DONE, result={"report": report})
    desk.jobs._of_kind["rehearse"] = job
    assert usefulness() == "AUC 0.900"
    desk.session.record("promise", decisions=replace(decided, parameters={"k": 20}))
    assert usefulness() == "AUC 0.900, before the last change"
    point = {"method": "rfka", "parameter": "k", "value": 20, "auc": 0.81}
    desk.jobs._of_kind["compare"] = Job(kind="compare", key=desk._key_of("compare"), parts=[point])
    assert usefulness() == "AUC 0.810, on a sample"
    job.state, job.result = JobState.AT_WORK, None
    assert usefulness() == "pending"
    unmeasured = {"utility": {"prediction_of_target": "not measured: no label was held out"}, "rows": {"out": 3}}
    result = {"report": unmeasured}
    desk.jobs._of_kind["rehearse"] = Job(
        kind="rehearse", key=desk._key_of("rehearse"), state=JobState.DONE, result=result
    )
    assert usefulness() == "AUC 0.810, on a sample"
    desk.close()
