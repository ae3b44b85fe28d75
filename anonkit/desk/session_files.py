# SPDX-License-Identifier: Apache-2.0
"""The session of a desk as files: an edited policy.toml, recipe.toml and a numbered history.

The policy is edited in the page. Everything that nobody touched stays as it was: comments, order and keys that the desk
knows nothing of, since the file is the owner's.

Every step is a file of the history that stays: what was done, what it was done to, the policy and the decisions then.
`current` names the step that holds. Undo goes to the step before it and redo to the newest after it; nothing is lost by
either. A look at the private table is a step that no undo takes back: a policy says it from then on. Classes show the
table too: whoever chooses noise after them has looked.
"""

from __future__ import annotations

import csv
import io
import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from anonkit.bundle.atomic import reason_of
from anonkit.bundle.private_files import write_private
from anonkit.desk.decided_release import CLASSES, NOISE, UNDECIDED, Decisions
from anonkit.documents import called
from anonkit.drafting.identifying.street_addresses import HeaderKind, header_kind
from anonkit.errors import EngineError, PolicyError, ReleaseFormatError, option
from anonkit.policy.column_declarations import Role
from anonkit.policy.declaration import Policy

LOOKED = "looked_at_table"
"""Key of a policy whose choices follow from a look at the private table."""
TREES = "trees"
"""Folder of the hierarchies that are made in the page."""

_BY_NAMES = (
    "# Drafted from the names of the columns alone; no cell was read. Declare every domain (bounds, categories)\n"
    "# from public knowledge: a code book, a law, common sense.\n\n"
)
_ROLES = {str(role): role for role in Role}


@dataclass(frozen=True, kw_only=True)
class EditedPolicy:
    """The text of a policy; every change returns another one."""

    text: str

    @classmethod
    def read(cls, text: str) -> EditedPolicy:
        """Take a text that is TOML.

        Raises
        ------
        PolicyError
            It is not.
        """
        _plain(text)
        return cls(text=text)

    def _document(self) -> Any:
        import tomlkit
        from tomlkit.exceptions import TOMLKitError

        try:
            return tomlkit.parse(self.text)
        except (TOMLKitError, ValueError):
            raise PolicyError("the policy is not TOML") from None

    @staticmethod
    def _of(document: Any) -> EditedPolicy:
        import tomlkit

        return EditedPolicy(text=tomlkit.dumps(document))

    def columns(self) -> dict[str, dict[str, Any]]:
        """Return the declaration of every column, as plain values."""
        columns = _plain(self.text).get("columns", {})
        return {name: dict(spec) for name, spec in columns.items() if isinstance(spec, dict)}

    def with_roles(self, roles: Mapping[str, str]) -> EditedPolicy:
        """Return the policy in which columns have other roles; `target, sensitive` is a target that is a secret too.

        Raises
        ------
        PolicyError
            A role is none.
        """
        document = self._document()
        declared = self.columns()
        for name, role in roles.items():
            plain, _, also = role.partition(", ")
            if plain not in _ROLES or also not in ("", "sensitive"):
                raise PolicyError(f"column {name!r} has a role that is none", f"one of {', '.join(_ROLES)}")
            before = declared.get(name, {})
            if before.get("role") == plain and bool(before.get("sensitive")) == bool(also):
                continue
            spec = _column(document, name)
            spec["role"] = plain
            if also:
                spec["sensitive"] = True
            elif "sensitive" in spec:
                del spec["sensitive"]
        return self._of(document)

    def with_domain(self, name: str, keys: Mapping[str, Any]) -> EditedPolicy:
        """Return the policy in which a column has other keys; None takes a key away."""
        document = self._document()
        spec = _column(document, name)
        for key, value in keys.items():
            if value is None:
                if key in spec:
                    del spec[key]
            else:
                spec[key] = value
        return self._of(document)

    def with_one_row_a_person(self, *, one_row: bool) -> EditedPolicy:
        """Return the policy that says, or does not say, that no person has several rows."""
        document = self._document()
        if one_row == (document.get("unit") == "none"):
            return self
        if one_row:
            return EditedPolicy(text=f'unit = "none"\n{self.text}')
        del document["unit"]
        return self._of(document)

    @property
    def has_one_row_per_person(self) -> bool:
        """True where the policy says that no person has several rows."""
        return bool(_plain(self.text).get("unit") == "none")

    def with_names(self, names: Sequence[str]) -> EditedPolicy:
        """Return the policy with a role for every column that has none, by its name alone: no cell is read for it."""
        document = self._document()
        declared = self.columns()
        fresh = not self.text.strip()
        for name in names:
            if "role" in declared.get(name, {}):
                continue
            named = header_kind(name) is not HeaderKind.OTHER
            _column(document, name)["role"] = str(Role.IDENTIFIER if named else Role.QUASI_IDENTIFIER)
        drafted = self._of(document).text
        return EditedPolicy(text=(_BY_NAMES + drafted) if fresh else drafted)

    def with_recipients(self, recipients: Sequence[str]) -> EditedPolicy:
        """Return the policy in which others receive the table; none takes the list away."""
        import tomlkit

        document = self._document()
        table = document.get("publication")
        if recipients:
            if table is None:
                table = document["publication"] = tomlkit.table()
            table["recipients"] = list(recipients)
        elif table is not None and "recipients" in table:
            del table["recipients"]
        return self._of(document)

    def after_a_look(self) -> EditedPolicy:
        """Return the policy that says that the private table was looked at before its choices were made."""
        document = self._document()
        if document.get(LOOKED) is True:
            return self
        import tomlkit

        head = tomlkit.document()
        head.add(tomlkit.comment("the private table was looked at before these choices: the release says so"))
        head.add(LOOKED, True)
        if LOOKED in document:
            del document[LOOKED]
        return EditedPolicy(text=tomlkit.dumps(head) + tomlkit.dumps(document))


@lru_cache(maxsize=8)
def _plain(text: str) -> dict[str, Any]:
    """Return the content of a policy, which nobody changes: every page needs it several times.

    Raises
    ------
    PolicyError
        The text is not TOML.
    """
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        raise PolicyError("the policy is not TOML") from None


def _column(document: Any, name: str) -> Any:
    """Return the table of a column, made when there is none."""
    import tomlkit

    columns = document.get("columns")
    if columns is None:
        document["columns"] = tomlkit.table(is_super_table=True)
        columns = document["columns"]
    if name not in columns:
        columns[name] = tomlkit.table()
    return columns[name]


def taken_over(path: Path, folder: Path) -> str:
    """Return the text of a policy file, whose own files are found from another folder too; the file stays as it is.

    Hierarchies are copied to the folder, since they are the owner's: a ledger stays where it is.

    Raises
    ------
    PolicyError
        The file, or one that it names, cannot be read.
    """
    try:
        policy = EditedPolicy.read(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        raise PolicyError(f"policy file {str(path)!r} cannot be read", "anonkit init TABLE drafts one") from None
    for at, (name, spec) in enumerate(policy.columns().items()):
        if isinstance(spec.get("tree"), str):
            try:
                text = (path.parent / spec["tree"]).read_bytes().decode("latin-1")
            except OSError:
                raise PolicyError(f"column {name!r}: its tree file cannot be read", "give its path") from None
            policy = policy.with_domain(name, {"tree": write_tree(folder, at, text, encoding="latin-1")})
    document = policy._document()
    ledger = document.get("ledger")
    if isinstance(ledger, str) and "://" not in ledger:
        document["ledger"] = os.path.relpath((path.parent / ledger).absolute(), folder.absolute())
        return EditedPolicy._of(document).text
    return policy.text


def write_tree(folder: Path, number: int, text: str, encoding: str = "utf-8") -> str:
    """Write a hierarchy for its owner alone, and return its name seen from the folder; names of columns are no paths.

    `latin-1` writes the bytes of a file as they were.
    """
    version = 1
    while (folder / TREES / f"column-{number}-{version}.csv").exists():  # an undone step still names the one before
        version += 1
    name = f"{TREES}/column-{number}-{version}.csv"
    write_private(folder / name, text, encoding=encoding)
    return name


def read_tree(text: str) -> list[list[str]]:
    """Return the paths of a hierarchy that is given as CSV: a value, then its groups, the coarsest last.

    Raises
    ------
    PolicyError
        It has no rows, or rows of different lengths.
    """
    try:
        rows = [row for row in csv.reader(io.StringIO(text), strict=True) if row]
    except csv.Error:
        raise PolicyError("the hierarchy is not CSV") from None
    if not rows or len({len(row) for row in rows}) > 1 or len(rows[0]) < 2:
        raise PolicyError(
            "a hierarchy has a line a value: the value and its groups, as many in every line", "flu,respiratory,any"
        )
    return rows


def tree_text(rows: Sequence[Sequence[str]]) -> str:
    """Return a hierarchy as CSV."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


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
