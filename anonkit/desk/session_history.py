# SPDX-License-Identifier: Apache-2.0
"""The session of a desk as files: policy.toml, recipe.toml and a numbered history, in the folder of the release.

Every step is a file of the history that stays: what was done, what it was done to, the policy and the decisions then.
`current` names the step that holds. Undo goes to the step before it and redo to the newest after it; nothing is lost by
either. A look at the private table is a step that no undo takes back: a policy says it from then on. Classes show the
table too: whoever chooses noise after them has looked.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from anonkit.bundle.atomic import reason_of
from anonkit.bundle.private_files import write_private
from anonkit.desk.decided_release import CLASSES, NOISE, UNDECIDED, Decisions
from anonkit.desk.edited_policy import EditedPolicy
from anonkit.documents import called
from anonkit.errors import EngineError, PolicyError, ReleaseFormatError, option
from anonkit.policy.declaration import Policy

try:
    import fcntl
except ImportError:  # Windows: two desks at one folder are not told apart
    fcntl = None  # type: ignore[assignment]

HISTORY = "history"
_CURRENT = "current"
_DIGITS = 4


@dataclass(frozen=True, kw_only=True)
class SessionStep:
    """One step of a session."""

    number: int
    """From 1."""
    before: int
    """Number of the step that it was made from; 0: none."""
    did: str
    """Name of the change, in a few words; no cell of the table."""
    at: str
    """When, in UTC."""
    looked: bool
    """True: the private table may be looked at from here on."""
    decisions: Decisions
    policy: str
    """Text of the policy."""


class Session:
    """The steps of a session, and the current one.

    Parameters
    ----------
    folder : Path
        Made when it is not there.
    recipe : callable
        Given the decisions, returns the text of recipe.toml.

    Raises
    ------
    EngineError
        The folder cannot be written to, or another desk is at work in it.
    PolicyError
        Its history cannot be read.

    Privacy
    -------
    A policy that was drafted from the table describes it: every file is its owner's alone.
    """

    def __init__(self, folder: Path, recipe: Callable[[Decisions], str]) -> None:
        self.folder, self._recipe = folder, recipe
        self._history = folder / HISTORY
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._history.mkdir(mode=0o700, exist_ok=True)
            self._lock = _locked(self._history / "lock")
        except OSError as error:
            raise EngineError(f"cannot write to {str(folder)!r}: {reason_of(error)}") from None
        self.steps = self._read()
        self.steps = [self._after_looks(step) for step in self.steps]
        self.current = self._standing()

    def close(self) -> None:
        """Let another desk work in the folder."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    # --- where it stands ---------------------------------------------------------------------------------------------

    @property
    def step(self) -> SessionStep:
        """The step that holds."""
        return self.steps[self.current - 1]

    @property
    def has_begun(self) -> bool:
        """True once there is a step."""
        return bool(self.steps)

    @property
    def looked(self) -> bool:
        """True once the private table was looked at before noise, or while that is open."""
        return self.has_begun and self._counts_as_looked(self.step.decisions)

    def _counts_as_looked(self, decisions: Decisions) -> bool:
        """Return True if some step has shown the table, and these decisions have to say so."""
        if any(step.looked for step in self.steps):
            return True
        has_seen = any(step.decisions.approach == CLASSES for step in self.steps)
        return has_seen and decisions.approach in (NOISE, UNDECIDED)

    def _after_looks(self, step: SessionStep) -> SessionStep:
        if not self._counts_as_looked(step.decisions):
            return step
        return replace(step, policy=EditedPolicy.read(step.policy).after_a_look().text)

    @property
    def undone(self) -> SessionStep | None:
        """The step that undo goes to; None where there is none."""
        return self.steps[self.step.before - 1] if self.has_begun and self.step.before else None

    @property
    def redone(self) -> SessionStep | None:
        """The step that redo goes to: the newest that was made from this one."""
        return next((step for step in reversed(self.steps) if step.before == self.current), None)

    # --- what changes it ---------------------------------------------------------------------------------------------

    def record(
        self, did: str, *, policy: str | None = None, decisions: Decisions | None = None, looks: bool = False
    ) -> SessionStep:
        """Write a step, and let it hold.

        Raises
        ------
        PolicyError
            The policy is none; nothing was written.
        EngineError
            It cannot be written; the step before holds.
        """
        here = self.step if self.has_begun else None
        text = policy if policy is not None else "" if here is None else here.policy
        decided = decisions or (Decisions() if here is None else here.decisions)
        if looks or self._counts_as_looked(decided):
            text = EditedPolicy.read(text).after_a_look().text
        check_policy(text, self.folder)
        step = SessionStep(
            number=len(self.steps) + 1,
            before=self.current,
            did=did,
            at=datetime.now(UTC).isoformat(timespec="seconds"),
            looked=looks,
            decisions=decided,
            policy=text,
        )
        self._write(self._history / f"{step.number:0{_DIGITS}}.toml", _as_toml(step))
        self.steps.append(step)
        self._make_current(step)
        return step

    def undo(self) -> bool:
        """Go to the step before; False where there is none."""
        return self._go(self.undone)

    def redo(self) -> bool:
        """Go to the newest step after; False where there is none."""
        return self._go(self.redone)

    def _go(self, step: SessionStep | None) -> bool:
        if step is not None:
            self._make_current(step)
        return step is not None

    def _make_current(self, step: SessionStep) -> None:
        self.steps[step.number - 1] = step = self._after_looks(step)
        self._write(self._history / _CURRENT, f"{step.number}\n")
        self.current = step.number
        self._write(self.folder / "policy.toml", step.policy)
        self._write(self.folder / "recipe.toml", self._recipe(step.decisions))

    # --- files -------------------------------------------------------------------------------------------------------

    def _write(self, path: Path, text: str) -> None:
        try:
            write_private(path, text, encoding="utf-8")
        except OSError as error:
            raise EngineError(f"cannot write {str(path)!r}: {reason_of(error)}") from None

    def _read(self) -> list[SessionStep]:
        """Read the steps; what was cut off before it was whole is no step."""
        steps: list[SessionStep] = []
        while (path := self._history / f"{len(steps) + 1:0{_DIGITS}}.toml").exists():
            steps.append(_from_toml(path))
        return steps

    def _standing(self) -> int:
        """Return the number of the step that holds; the last one by default."""
        try:
            number = int((self._history / _CURRENT).read_text(encoding="ascii"))
        except (OSError, ValueError):
            number = len(self.steps)
        return number if 0 < number <= len(self.steps) else len(self.steps)

    def take_edited(self) -> None:
        """Let a policy hold that was edited beside the desk, and write again what a crash has kept from being written.

        Raises
        ------
        PolicyError
            What was edited is no policy.
        """
        try:
            edited = (self.folder / "policy.toml").read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            edited = self.step.policy
        earlier = {step.policy for step in self.steps}
        if edited in earlier:
            self._make_current(self.step)
        else:
            self.record("policy.toml was edited beside the desk", policy=edited)


@lru_cache(maxsize=8)
def check_policy(text: str, folder: Path) -> Policy:
    """Return the policy that a text is; pages ask for the same one again and again.

    Raises
    ------
    PolicyError
        It is none, or contradicts itself.
    """
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise PolicyError("the policy is not TOML") from None
    return Policy.from_dict(raw, folder=folder)


def _locked(path: Path) -> int | None:
    if fcntl is None:
        return None
    lock = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise EngineError(
            f"another desk is at work in {str(path.parent.parent)!r}",
            f"end it, or name another folder by {option('output')}",
        ) from None
    return lock


def _as_toml(step: SessionStep) -> str:
    import tomlkit

    document: dict[str, Any] = {
        "number": step.number,
        "before": step.before,
        "did": step.did,
        "at": step.at,
        "looked": step.looked,
        "policy": tomlkit.string(step.policy),
        "decisions": step.decisions.to_dict(),
    }
    return str(tomlkit.dumps(document))


def _from_toml(path: Path) -> SessionStep:
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
        decisions = called(Decisions, raw.pop("decisions"), "a decision is not known, or of the wrong kind")
        return SessionStep(**raw, decisions=decisions)
    except (OSError, ValueError, KeyError, TypeError, ReleaseFormatError):
        raise PolicyError(f"{str(path)!r} is no step of a desk", "move the folder away, or name another") from None


def newest_steps(steps: Sequence[SessionStep], most: int = 8) -> list[SessionStep]:
    """Return the newest steps, the newest first."""
    return list(reversed(steps))[:most]
