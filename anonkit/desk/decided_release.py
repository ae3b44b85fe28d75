# SPDX-License-Identifier: Apache-2.0
"""Decisions at the desk beside the policy, and the release that follows: as recipe, command and Python.

Refusals before a desk opens: of a table in no recipe, a key that cannot sign, a folder that is handed out.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from anonkit.bundle.signing import Signer
from anonkit.documents import ReportPart, left_out
from anonkit.engines.snapshots.addresses import source_at
from anonkit.errors import ParameterError, PolicyError, SourceError, option
from anonkit.redaction import argument_forms, is_address

NOISE, CLASSES, UNDECIDED = "noise", "classes", "undecided"
APPROACHES = (NOISE, CLASSES, UNDECIDED)
"""The answers to the first question."""
RECEIVERS = {
    "anyone": "anyone who downloads it",
    "named": "a named institute, or colleagues, under contract",
    "secure": "a secure facility where every output is checked",
}
RELEASE = "release.parquet"
PRIVATE = "private"
"""Folder of the owner's figures, beside the release."""
SIMULATED = "simulated.parquet"
"""Rows that are simulated from the declared domains: what a comparison under noise is made on."""
COMPARED_ROWS = 4_000
"""Rows of a comparison: a sample, so that its first release is there at once."""
ATTACKED = 100
"""People that are attacked in each release of a comparison."""

_K = {"anyone": 20, "named": 10, "secure": 5}
_METHODS_OF_CLASSES = ("mondrian", "rfka", "mdav", "incognito", "datafly")
_METHODS_OF_NOISE = ("dp-forest", "dp-marginals", "dp-nb", "rr")


@dataclass(frozen=True, kw_only=True)
class Decisions(ReportPart):
    """The decisions beside the policy.

    Raises
    ------
    PolicyError
        An answer is none of those there are.
    """

    approach: str = ""
    """One of `APPROACHES`; empty: the first question is open."""
    receiver: str = ""
    """One of `RECEIVERS`; empty: not answered."""
    sample: float | None = field(default=None, metadata=left_out())
    """Share of the population that the table is, in (0, 1); None: all of it, or unknown."""
    method: str = ""
    """Empty: not decided."""
    parameters: Mapping[str, float] = field(default_factory=dict)
    """Of the method: k, l, t, epsilon, delta."""

    def __post_init__(self) -> None:
        if self.approach not in ("", *APPROACHES):
            raise PolicyError("the first question is answered by noise, classes or undecided")
        if self.receiver not in ("", *RECEIVERS):
            raise PolicyError(f"who receives the table is one of {', '.join(RECEIVERS)}")
        if self.sample is not None and not 0 < self.sample < 1:
            raise ParameterError("the share of the population must be above 0 and below 100 %")

    @property
    def is_private(self) -> bool:
        """True where the rows are not looked at before the release: under noise, and while it is open."""
        return self.approach != CLASSES

    @property
    def methods(self) -> tuple[str, ...]:
        """Methods that are offered."""
        if self.approach == NOISE:
            return _METHODS_OF_NOISE
        return _METHODS_OF_CLASSES if self.approach == CLASSES else (*_METHODS_OF_CLASSES, *_METHODS_OF_NOISE)

    @property
    def has_epsilon(self) -> bool:
        """True where the chosen method is one of noise."""
        return self.method in _METHODS_OF_NOISE

    def recommended(self, *, has_target: bool) -> Decisions:
        """Return the same with the method and the parameters that follow from the answers."""
        receiver = self.receiver or "named"
        if self.approach == CLASSES or (self.approach == UNDECIDED and receiver != "anyone"):
            return replace(self, receiver=receiver, method="mondrian", parameters={"k": _K[receiver]})
        method = "dp-forest" if has_target else "dp-marginals"
        return replace(self, receiver=receiver, method=method, parameters={"epsilon": 1})


def recommendation(decisions: Decisions) -> str:
    """Return the reason why the promise follows from the answers, in one sentence."""
    if not decisions.method:
        return ""
    if decisions.has_epsilon:
        return (
            "Anyone who receives the table may know anything about a person: only noise bounds what they learn then. "
            "ε = 1 changes the chance of any outcome by a factor of at most 2.72 for one person."
        )
    k = decisions.parameters.get("k", 2)
    return {
        "anyone": f"Anyone may compare it with other lists: k = {k} keeps groups large. Noise is safer here.",
        "secure": f"Every output of the facility is checked: groups of {k} are enough against recognition by chance.",
    }.get(decisions.receiver, f"Named recipients under contract: groups of {k} hide a person among {k - 1} others.")


def is_decided(point: Mapping[str, Any], decisions: Decisions) -> bool:
    """Return True if a release of a comparison has the method and the parameters that are decided."""
    parameters = {point["parameter"]: point["value"]} if point["parameter"] else {}
    return bool(point["method"] == decisions.method and parameters == dict(decisions.parameters))


def refuse_another_approach(decisions: Decisions) -> None:
    """Refuse a method that is none of those of the first answer.

    Raises
    ------
    PolicyError
    """
    if decisions.method and decisions.method not in decisions.methods:
        raise PolicyError(
            f"{decisions.method} is no method of the first answer", f"one of {', '.join(decisions.methods)}"
        )


# --- the release that follows ----------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class DecidedRelease:
    """The release as it is decided now: a recipe, and the same as a command and as Python."""

    source: str
    """As it was given to the command: a path or an address without secrets."""
    folder: Path
    """Of the session."""
    decisions: Decisions
    sign: str | None = None
    """Private key that signs."""
    seed: int | None = None
    """Known randomness: a rehearsal, never a release."""
    shown_folder: str = ""
    """The folder as it was given to the command."""
    how: Mapping[str, Any] = field(default_factory=dict)
    """Options of reading the table, as for `release`."""
    population: str | None = None
    """File of the population, as it was given to the command."""
    counts_people: bool = True
    """False where households are counted: no population is stated then."""

    @property
    def _of_population(self) -> dict[str, str | float]:
        """Knowledge of the population, for a release whose classes are looked for in it."""
        if self.decisions.has_epsilon or not self.counts_people:
            return {}
        if self.population is not None:
            return {"population": self.population}
        return {} if self.decisions.sample is None else {"sampling_fraction": self.decisions.sample}

    def recipe(self) -> str:
        """Return the text of recipe.toml; paths are relative to its folder."""
        lines = ["# Written by anonkit desk; `anonkit run` makes the release that was decided."]
        lines += [f"method = {toml_text(self.decisions.method or 'mondrian')}"]
        lines += [f"input = {toml_text(self._seen_from_folder(self.source))}", f"output = {toml_text(RELEASE)}"]
        lines += ['policy = "policy.toml"', *(f"{name} = {_toml(value)}" for name, value in self.how.items())]
        for name, value in self._of_population.items():
            lines.append(f"{name} = {toml_text(self._seen_from_folder(value)) if isinstance(value, str) else value}")
        lines += ["", "[parameters]"]
        lines += [f"{name} = {value}" for name, value in self.decisions.parameters.items()]
        return "\n".join(lines) + "\n"

    def _seen_from_folder(self, place: str) -> str:
        if "://" in place:
            return place
        return os.path.relpath(os.path.abspath(place), os.path.abspath(self.folder))

    def command(self, station: str) -> str:
        """Return the command that shows the same as a station."""
        policy, how = self._in_folder("policy.toml"), _read_words(self.how)
        match station:
            case "table":
                known = self._known
                more = [] if known is None else [f"--{known[0].replace('_', '-')}", str(known[1])]
                return _typed("risk", self.source, *how, "--policy", policy, *more)
            case "roles" if self.decisions.is_private:  # a draft would be made from the cells
                return f"${{EDITOR:-vi}} {shlex.quote(policy)}"
            case "roles":
                return _typed("init", self.source, *how, "--output", policy)
            case "promise":
                return _typed("run", self._in_folder("recipe.toml"), "--dry-run")
            case "compare":
                read = ["--public", self._in_folder(SIMULATED)] if self.decisions.is_private else how
                return _typed("compare", self.source, *read, "--policy", policy, *self._compared())
        signed = [] if self.sign is None else ["--sign", self.sign]
        seeded = [] if self.seed is None else ["--seed", str(self.seed), "--not-for-release"]
        return _typed("run", self._in_folder("recipe.toml"), *signed, *seeded)

    @property
    def _known(self) -> tuple[str, str | float] | None:
        """Knowledge of the population, for the risk of the table itself: its name in a call, and the value."""
        if self.population is not None:
            return "population", self.population
        return None if self.decisions.sample is None else ("sampling_fraction", self.decisions.sample)

    def _compared(self) -> list[str]:
        methods, k, epsilon = compared_settings(self.decisions)
        words = ["--methods", ",".join(methods)]
        words += ["--k", ",".join(map(str, k))] if k else []
        words += ["--epsilon", ",".join(map(str, epsilon))] if epsilon else []
        return [*words, "--rows", str(COMPARED_ROWS), "--attacks", str(ATTACKED)]

    def python(self, station: str) -> str:
        """Return the same in Python."""
        policy, source = self._in_folder("policy.toml"), repr(self.source)
        how = "".join(f", {name}={value!r}" for name, value in self.how.items())
        match station:
            case "table":
                more = "" if self._known is None else ", {}={!r}".format(*self._known)
                return f"anonkit.risk({source}, policy={policy!r}{more}{how})"
            case "roles" if self.decisions.is_private:
                return f"print(Path({policy!r}).read_text())"
            case "roles":
                return f"Path({policy!r}).write_text(anonkit.draft_policy({source}{how}))"
            case "compare":
                methods, k, epsilon = compared_settings(self.decisions)
                more = (f", k={list(k)}" if k else "") + (f", epsilon={list(epsilon)}" if epsilon else "")
                more += f", rows={COMPARED_ROWS}, attacks={ATTACKED}"
                read = f", public={self._in_folder(SIMULATED)!r}" if self.decisions.is_private else how
                return f"anonkit.compare({source}, policy={policy!r}, methods={list(methods)}{more}{read})"
        given = "".join(f", {name}={value}" for name, value in self.decisions.parameters.items())
        given += "".join(f", {name}={value!r}" for name, value in self._of_population.items())
        ends = ", dry_run=True" if station == "promise" else ""
        if station == "decide":
            ends = ("" if self.sign is None else f", sign={self.sign!r}") + (
                "" if self.seed is None else f", seed={self.seed}"
            )
        output = self._in_folder(RELEASE)
        method = self.decisions.method or "mondrian"
        return f"anonkit.release({source}, method={method!r}{given}, policy={policy!r}, output={output!r}{how}{ends})"

    def _in_folder(self, name: str) -> str:
        return os.path.join(self.shown_folder or str(self.folder), name)


def compared_settings(decisions: Decisions) -> tuple[tuple[str, ...], tuple[int, ...], tuple[float, ...]]:
    """Return methods, values of k and values of epsilon of a comparison: at most twelve releases."""
    if decisions.approach == NOISE:
        return ("dp-forest", "dp-marginals"), (), (0.5, 1.0, 2.0, 4.0)
    # the largest k first: its release takes least, and a page waits for the first point
    k = sorted({5, 10, 20, 50, int(decisions.parameters.get("k", 10))}, reverse=True)
    if decisions.approach == CLASSES:
        return ("rfka", "mondrian"), tuple(k), ()  # the quicker one first: a page waits for the first point
    return ("mondrian", "dp-forest"), tuple(k[-4:]), (0.5, 1.0, 2.0, 4.0)


def _read_words(how: Mapping[str, Any]) -> list[str]:
    """Return the reading options of a table as options of a command."""
    words: list[str] = []
    for name, value in how.items():
        option = f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            words.append(option if value else f"--no-{name}")
        else:
            words += [option, ",".join(value) if isinstance(value, tuple | list) else str(value)]
    return words


def _typed(*words: str) -> str:
    safe: Sequence[str] = [f"./{word}" if at == 1 and word.startswith("-") else word for at, word in enumerate(words)]
    return " ".join(["anonkit", *(shlex.quote(word) for word in safe)])


def _toml(value: Any) -> str:
    """Return a TOML value: a string, an integer, a flag, or a list of strings."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(toml_text, value))}]"
    return str(value) if isinstance(value, int) else toml_text(str(value))


def toml_text(value: str) -> str:
    """Return a TOML basic string."""
    import tomlkit

    return str(tomlkit.string(value).as_string())


def check_source(
    source: str, sign: Path | None, how: Mapping[str, Any] | None = None, population: str | None = None
) -> None:
    """Refuse a table that cannot be in a recipe, or is not there, and a key that cannot sign.

    `how` says how the table is read: an option out of its range is refused too. So is a file of the population that is
    not there.

    Raises
    ------
    AnonkitError
    """
    if source == "-":
        raise ParameterError("the desk reads the table more than once", "write it to a file first")
    for place in filter(None, (source, population)):
        if argument_forms(place):
            raise ParameterError(
                "this address holds a secret, and would be in the recipe", "leave it to the environment"
            )
        source_at(place, **((how or {}) if place is source else {}))
        if not is_address(place) and not Path(place).exists() and "*" not in place:
            raise SourceError(f"{place!r} does not exist", "anonkit desk people.csv")
    if sign is not None:
        Signer.load(sign)


def refuse_handed_out(folder: Path) -> None:
    """Refuse a folder that a release has for itself: the session and the owner's figures would be handed out with it.

    Such a folder has the name of its release.

    Raises
    ------
    ParameterError
    """
    name = Path(RELEASE).stem
    if folder.resolve().name == name:
        raise ParameterError(
            f"a folder with the name {name!r} would be handed out with the release, and the session with it",
            f"name another folder by {option('output')}",
        )
