# SPDX-License-Identifier: Apache-2.0
"""The desk itself: one table, one session of decisions about it, and the jobs that show what they would do.

Pages ask it and change it; it knows nothing of requests.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from anonkit.bundle.atomic import finish
from anonkit.bundle.release_place import DESCRIPTOR, Place
from anonkit.desk.background_jobs import NOTHING, READS_CELLS, Job, Jobs, JobState
from anonkit.desk.decided_release import (
    CLASSES,
    NOISE,
    PRIVATE,
    RELEASE,
    UNDECIDED,
    DecidedRelease,
    Decisions,
    compared_settings,
    refuse_another_approach,
    refuse_handed_out,
)
from anonkit.desk.session_files import EditedPolicy, Session, check_policy, taken_over
from anonkit.errors import AnonkitError, ParameterError, PolicyError
from anonkit.methods import make_method
from anonkit.policy.declaration import Policy, TargetUse

NEVER_SHOWN = ("identifier", "unit", "household")
"""Roles of columns whose cells no release shows."""
_P = ParamSpec("_P")
_R = TypeVar("_R")
_DID_BEGIN = {
    CLASSES: "first question: classes of k",
    NOISE: "first question: noise",
    UNDECIDED: "first question: left open",
}


def _one_at_a_time(change: Callable[_P, _R]) -> Callable[_P, _R]:
    """Let a change of a desk wait for the one before: two tabs send theirs at once, each in a thread of its own."""

    @wraps(change)
    def alone(*given: _P.args, **named: _P.kwargs) -> _R:
        desk = given[0]
        assert isinstance(desk, Desk)  # noqa: S101 - it wraps methods of it
        with desk._changing:
            return change(*given, **named)

    return alone


class Desk:
    """A table, the session about it, and its jobs.

    Parameters
    ----------
    source : str
        Path or address of the table.
    folder : Path
        Of the session and of the release.
    policy : Path, optional
        A policy to begin with; it is read and stays as it is.
    approach : str
        Answer to the first question; empty: the desk puts it.
    sign : Path, optional
        Private key that signs the release.
    seed : int, optional
        Known randomness, for a rehearsal.
    population : str, optional
        Path or address of a file of the population, in which people of the table are looked for.
    how : mapping, optional
        How the table is read, as for `release`: `query`, `sheet`, `format`, `header_row`, `header`, `names`,
        `decimal`, `delimiter`, `skip_rows`.
    changed : callable
        Called, from any thread, when something that pages show has changed.
    shown_folder : str
        The folder as it was given.

    Raises
    ------
    AnonkitError
        The policy cannot be read, or the folder not be used: it cannot be written to, or is handed out.
    """

    def __init__(
        self,
        source: str,
        folder: Path,
        *,
        policy: Path | None = None,
        approach: str = "",
        sign: Path | None = None,
        seed: int | None = None,
        population: str | None = None,
        how: Mapping[str, Any] | None = None,
        changed: Callable[[], None] = lambda: None,
        shown_folder: str = "",
    ) -> None:
        refuse_handed_out(folder)
        self.source, self.folder = source, folder
        self._sign, self._seed, self.population = sign, seed, population
        self._how = {name: value for name, value in (how or {}).items() if value is not None}
        self.shown_folder = shown_folder or str(folder)
        self._is_given = policy is not None
        self.session = Session(folder, lambda decisions: self.release(decisions).recipe())
        self.jobs = Jobs(changed, self._left)
        self._before_writing = b""
        self.files: dict[str, Path] = {}
        self._handles: dict[Path, str] = {}
        try:
            if self.session.has_begun:
                self.session.take_edited()
            elif policy is not None:
                self.session.record("began with a policy", policy=taken_over(policy, folder))
            else:
                self.session.record("began")
        except BaseException:
            self.session.close()
            raise
        self._approach = approach
        self._changing = threading.RLock()

    def open(self) -> None:
        """Start what the first page needs."""
        self.jobs.warm_up()
        self.jobs.start("names", "", {"source": self.source, "how": self._how})
        if self._approach and not self.decisions.approach:
            self.begin(self._approach)
        else:
            self.refresh()

    def close(self) -> None:
        """End all jobs, and let another desk work in the folder."""
        self.jobs.close()
        self.session.close()

    # --- what holds --------------------------------------------------------------------------------------------------

    @property
    def decisions(self) -> Decisions:
        """Decisions beside the policy."""
        return self.session.step.decisions

    @property
    def policy_text(self) -> str:
        """The policy that holds."""
        return self.session.step.policy

    @property
    def policy(self) -> Policy:
        """The same, as a value."""
        return check_policy(self.policy_text, self.folder)

    @property
    def may_look(self) -> bool:
        """True where cells of the private table may be shown: under classes, or after a look that is noted."""
        return self.decisions.approach == CLASSES or (self.decisions.approach != "" and self.session.looked)

    @property
    def is_simulated(self) -> bool:
        """True where pages show simulated rows instead of those of the table."""
        return not self.may_look

    @property
    def names(self) -> list[str]:
        """Names of the columns; none before they were read."""
        job = self.jobs.of_kind("names")
        if job is not None and job.state is JobState.DONE:
            return list(job.result)
        return list(EditedPolicy.read(self.policy_text).columns())

    @property
    def key(self) -> str:
        """Key of every figure's input: policy and decisions."""
        text = json.dumps([self.policy_text, self.decisions.to_dict()], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def release(self, decisions: Decisions | None = None) -> DecidedRelease:
        """Return the release as it is decided now."""
        return DecidedRelease(
            source=self.source,
            folder=self.folder,
            decisions=decisions or self.decisions,
            sign=None if self._sign is None else str(self._sign),
            seed=self._seed,
            shown_folder=self.shown_folder,
            how=self._how,
            population=self.population,
            counts_people=not any(spec.get("role") == "household" for spec in self._declared.values()),
        )

    @property
    def _declared(self) -> Mapping[str, Mapping[str, Any]]:
        """Declarations of the policy on its columns; none before there is a policy."""
        return EditedPolicy.read(self.policy_text).columns() if self.session.has_begun else {}

    @property
    def is_rehearsal(self) -> bool:
        """True under a seed: what is written is no release."""
        return self._seed is not None

    def result(self, kind: str) -> Any:
        """Return the result of a job, if it was made from what holds now; None else."""
        job = self.jobs.found(kind, self._key_of(kind))
        return job.result if job is not None and job.state is JobState.DONE else None

    def latest(self, kind: str) -> Job | None:
        """Return the newest job of a kind if it was made from what holds now."""
        return self.jobs.found(kind, self._key_of(kind))

    @property
    def class_counts(self) -> Mapping[str, Any] | None:
        """The classes of the table, which are counted long before the sets of columns; None: not yet, or not looked."""
        job = self.latest("risk")
        return job.parts[0] if job is not None and job.parts else None

    # --- what changes it ---------------------------------------------------------------------------------------------

    @_one_at_a_time
    def begin(self, approach: str) -> None:
        """Answer the first question; from here on there is a policy.

        Raises
        ------
        PolicyError
            It is no answer.
        """
        if approach not in _DID_BEGIN:
            raise PolicyError("the first question is answered by noise, classes or undecided")
        answered = replace(self.decisions, approach=approach, method="", parameters={})
        self._record(_DID_BEGIN[approach], decisions=answered)

    @_one_at_a_time
    def look(self) -> None:
        """Note that the private table is looked at; what shows it starts after that alone."""
        self._record("looked at the private table", looks=True)

    @_one_at_a_time
    def set_roles(self, roles: Mapping[str, str], *, one_row: bool) -> None:
        """Give columns other roles, and say whether a person has one row at most."""
        policy = EditedPolicy.read(self.policy_text).with_roles(roles).with_one_row_a_person(one_row=one_row)
        did = [f"roles of {len(roles)} columns" if len(roles) > 1 else "role of a column"] if roles else []
        if policy.has_one_row_per_person != EditedPolicy.read(self.policy_text).has_one_row_per_person:
            did.append("no person has several rows" if one_row else "a person may have several rows")
        self.set_policy("; ".join(did) or "roles", policy)

    @_one_at_a_time
    def set_policy(self, did: str, policy: EditedPolicy) -> None:
        """Let another policy hold."""
        if policy.text != self.policy_text:
            self._record(did, policy=policy.text)

    @_one_at_a_time
    def decide(self, did: str, decisions: Decisions, policy: EditedPolicy | None = None) -> None:
        """Let other decisions hold, once the method can be made with its parameters.

        Raises
        ------
        AnonkitError
            The method is none of those of the first answer, or a parameter is out of its range.
        """
        refuse_another_approach(decisions)
        if decisions.method:
            make_method(decisions.method, dict(decisions.parameters), None)
        text = None if policy is None else policy.text
        if decisions != self.decisions or text not in (None, self.policy_text):
            self._record(did, decisions=decisions, policy=text)

    @_one_at_a_time
    def undo(self) -> None:
        """Go to the step before; past an answer from which a draft follows, which would be taken over again."""
        if self.session.undo():
            while self._awaits_draft and self.session.undo():
                pass
            self.refresh()

    @_one_at_a_time
    def redo(self) -> None:
        """Go to the step after, and from an answer to the draft that followed from it."""
        if self.session.redo():
            while self._awaits_draft and self.session.redo():
                pass
            self.refresh()

    @property
    def _awaits_draft(self) -> bool:
        """True where the first question is answered, and no column is declared yet."""
        return bool(self.decisions.approach) and not self._declared

    def _record(self, did: str, **changes: Any) -> None:
        policy, names = changes.get("policy"), self.names
        if policy is not None and names:  # what is wrong for every release is no step
            check_policy(policy, self.folder).resolve(names, target_use=TargetUse.AS_DECLARED)
        self.session.record(did, **changes)
        self.refresh()

    # --- jobs --------------------------------------------------------------------------------------------------------

    @_one_at_a_time
    def refresh(self) -> None:
        """Start what pages show of the policy and the decisions that hold now."""
        if not self.decisions.approach:
            return
        self.settle()
        if not EditedPolicy.read(self.policy_text).columns():
            if self.decisions.approach == CLASSES and not self._is_given:
                self._start("draft", {})
            return
        self._start("columns", {})
        if self.may_look:
            self._start("risk", {"sample": self.decisions.sample})

    @_one_at_a_time
    def settle(self) -> None:
        """Take over the drafted policy, once it is there and none was given."""
        if not self._awaits_draft:
            return
        if self.decisions.approach == CLASSES and not self._is_given:
            text = self.result("draft")
            if text is not None:
                self._record("policy drafted from the table", policy=text)
            return
        job = self.jobs.of_kind("names")
        if job is not None and job.state is JobState.DONE:
            text = EditedPolicy.read(self.policy_text).with_names(job.result).text
            self._record("policy drafted from the names of the columns", policy=text)

    @_one_at_a_time
    def start(self, kind: str, **order: Any) -> None:
        """Start a requested job.

        Raises
        ------
        AnonkitError
            It cannot be started now.
        """
        if kind == "risk":
            order = {"sample": self.decisions.sample}
        if kind == "compare":
            methods, k, epsilon = compared_settings(self.decisions)
            order = {"methods": methods, "k": k, "epsilon": epsilon}
        if kind in ("rehearse", "write"):
            if not self.decisions.method:
                raise ParameterError("the promise is not decided", "go to Promise first")
            order |= {"seed": self._seed, "noise": self.decisions.has_epsilon}
        if kind == "write":
            order |= {"sign": None if self._sign is None else str(self._sign), "private": PRIVATE}
            self._before_writing = self._described()
        self._start(kind, order)

    @property
    def turn(self) -> str:
        """Names the release that a form of this moment would write: another one, once a release has been begun."""
        job = self.jobs.of_kind("write")
        return "first" if job is None else job.handle

    @_one_at_a_time
    def write(self, turn: str, *, replace: bool) -> None:
        """Write the release, once for every form: a button that is pressed twice, or a form that is sent again, is one.

        Under noise each writing is charged, so that it must never happen because a browser has sent a form twice.

        Raises
        ------
        AnonkitError
            The form is older than the last release, or the release cannot be started.
        """
        job = self.jobs.of_kind("write")
        if turn != self.turn:
            if job is not None and job.state is JobState.AT_WORK:
                return
            raise ParameterError(
                "this page is older than the last release: nothing was written",
                "press the button again for another one",
            )
        if job is not None and job.state is JobState.AT_WORK:
            return
        self.start("write", force=replace)

    def _described(self) -> bytes:
        """Return the descriptor of the release that is there; empty without one."""
        place = Place.of(self.folder / RELEASE)
        finish(place.folder, place.stem)  # what a process that has ended was putting in place
        try:
            return place.file(DESCRIPTOR).read_bytes()
        except OSError:
            return b""

    def _left(self, job: Job) -> str:
        """Return the outcome of a job whose process has ended: a release may be complete by then."""
        if job.kind != "write" or self._described() == self._before_writing:
            return NOTHING
        return "the release had been written, and counts as made: Write release shows its files"

    def _start(self, kind: str, order: Mapping[str, Any]) -> None:
        counts_cells = kind in READS_CELLS or (kind == "rehearse" and not self.decisions.has_epsilon)
        if counts_cells and not self.may_look:
            raise PolicyError("the private table was not looked at", "Look at the private table, which is written down")
        key = self._key_of(kind)
        found = self.jobs.found(kind, key)
        if (
            found is not None
            and found.state in (JobState.AT_WORK, JobState.DONE)
            and kind not in ("sides", "write", "rehearse")
        ):
            return
        given = {
            "source": self.source,
            "how": self._how,
            "folder": str(self.folder),
            "policy": self.policy_text,
            "names": self.names,
            "population": self.population,
            "simulated": self.is_simulated if kind == "columns" else self.decisions.is_private,
        }
        self.jobs.start(kind, key, {**given, **order})

    def _key_of(self, kind: str) -> str:
        """Return the digest of a job's inputs, by its kind: distributions know nothing of the promise."""
        match kind:
            case "names" | "draft":
                return ""
            case "columns" if self.may_look:
                hidden = sorted(name for name, role in self._hidden())
                return json.dumps(["table", hidden])
            case "columns":
                return json.dumps(["simulated", self.policy_text])
            case "risk":
                return json.dumps([self.policy_text, self.decisions.sample])
            case "compare" | "sides":
                return json.dumps([self.policy_text, self.decisions.approach])
        return self.key

    def _hidden(self) -> list[tuple[str, str]]:
        return [
            (name, spec.get("role", "")) for name, spec in self._declared.items() if spec.get("role") in NEVER_SHOWN
        ]

    # --- files -------------------------------------------------------------------------------------------------------

    def handle(self, path: Path) -> str:
        """Return the name by which pages ask for a file; a page never names a path."""
        if path not in self._handles:
            self._handles[path] = secrets.token_urlsafe(16)
            self.files[self._handles[path]] = path
        return self._handles[path]

    def file(self, handle: str) -> Path:
        """Return the file of a handle.

        Raises
        ------
        AnonkitError
            There is none.
        """
        path = self.files.get(handle)
        if path is None or not path.is_file():
            raise AnonkitError("this file is not there", "make the release again")
        return path
