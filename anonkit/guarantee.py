# SPDX-License-Identifier: Apache-2.0
"""Promises as values: what a method claims before it has seen any data, and how the claim is checked.

A promise is computed from a method's parameters and the policy alone. It can say itself in plain words and
formally, say what it does not protect, and compare itself with what was measured on the output.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

CHECKED = "checked on output"
BY_CONSTRUCTION = "by construction"


@dataclass(frozen=True, kw_only=True)
class Check:
    """One thing that was looked at: what was found against what was asked."""

    name: str
    passed: bool
    observed: float | int | str | None
    required: float | int | str | None

    def to_dict(self) -> dict[str, Any]:
        """Return the check as it stands in the report."""
        return {"name": self.name, "passed": self.passed, "observed": self.observed, "required": self.required}


@dataclass(frozen=True, kw_only=True)
class Diversity:
    """What is asked of the sensitive values in every equivalence class; None asks nothing."""

    l: float | None = None  # noqa: E741 - the field's own letter
    """Distinct l-diversity."""
    entropy_l: float | None = None
    """Entropy l-diversity: exp(entropy) at least this."""
    recursive: tuple[float, int] | None = None
    """Recursive (c, l)-diversity."""
    t: float | None = None
    """t-closeness: earth mover's distance at most this."""
    alpha: float | None = None
    """(alpha, k)-anonymity: no value above this share."""

    def asked(self) -> dict[str, Any]:
        """Return what is asked, by the field's names, without what is not asked."""
        raw = {
            "l_diversity": self.l,
            "entropy_l_diversity": self.entropy_l,
            "recursive_c_l_diversity": self.recursive,
            "t_closeness": self.t,
            "alpha_k_anonymity": self.alpha,
        }
        return {name: value for name, value in raw.items() if value is not None}


class Measured(Protocol):
    """What an independent recount found on the released table."""

    @property
    def k(self) -> int:
        """Rows in the smallest equivalence class; 0 for an empty table."""
        ...

    @property
    def people(self) -> int | None:
        """Distinct units in the smallest class, when they could still be counted."""
        ...

    @property
    def sensitive(self) -> Mapping[str, Mapping[str, float]]:
        """Per sensitive attribute: l, entropy_l, t, alpha, and recursive_c_<l> for each l asked."""
        ...


class MeasuredLoss(Protocol):
    """What the published parameters of a randomized table say when they are read anew."""

    @property
    def epsilon(self) -> float:
        """Privacy loss of a whole row, recomputed from the published integers."""
        ...

    @property
    def attributes(self) -> Mapping[str, float]:
        """Privacy loss of each answer, recomputed."""
        ...


class Guarantee(Protocol):
    """What every promise can do."""

    kind: ClassVar[str]

    def statement(self) -> str: ...

    def formal(self) -> str: ...

    def not_protected(self) -> tuple[str, ...]: ...

    def verify(self, measured: Any) -> list[Check]: ...

    def to_dict(self) -> dict[str, Any]: ...


@dataclass(frozen=True, kw_only=True)
class KAnonymity:
    """Every released combination of quasi-identifiers is shared by at least k rows, or people."""

    kind: ClassVar[str] = "k-anonymity"

    k: int
    quasi_identifiers: tuple[str, ...]
    sensitive: tuple[str, ...] = ()
    diversity: Diversity = field(default_factory=Diversity)
    unit: str | None = None
    """Name of the column whose distinct values are counted as people."""
    assumptions: tuple[str, ...] = ()
    """What has to be true besides, as said by the method."""

    @property
    def _who(self) -> str:
        return "people" if self.unit else "records"

    def statement(self) -> str:
        """Say the promise in plain words."""
        text = (
            f"Nobody who knows only a person's quasi-identifiers can narrow that person down to fewer than {self.k} "
            f"{self._who} in this table: every combination of quasi-identifiers that occurs in it is shared by at "
            f"least {self.k} {self._who}."
        )
        extra = self._diversity_words()
        return f"{text} {extra}" if extra else text

    def _diversity_words(self) -> str:
        d, parts = self.diversity, []
        if d.l is not None:
            parts.append(f"at least {d.l:g} different sensitive values")
        if d.entropy_l is not None:
            parts.append(f"sensitive values spread at least as evenly as {d.entropy_l:g} equally likely ones")
        if d.recursive is not None:
            parts.append(
                f"no sensitive value that outweighs the rest (recursive ({d.recursive[0]:g}, {d.recursive[1]}))"
            )
        if d.t is not None:
            parts.append(f"sensitive values distributed within a distance of {d.t:g} of the whole table's")
        if d.alpha is not None:
            parts.append(f"no sensitive value held by more than {d.alpha:.0%} of its rows")
        return f"Each such group has {'; and '.join(parts)}." if parts else ""

    def formal(self) -> str:
        """Say the promise as the field does."""
        unit = f"distinct values of {self.unit!r}" if self.unit else "rows"
        text = (
            "For the released quasi-identifiers Q, every non-empty equivalence class of the table under Q holds at "
            f"least k = {self.k} {unit}"
        )
        extra = ", ".join(f"{name} = {value}" for name, value in self.diversity.asked().items())
        return f"{text}; in every class and for each sensitive attribute: {extra}." if extra else f"{text}."

    def not_protected(self) -> tuple[str, ...]:
        """Say what an attacker may still learn."""
        out = []
        if not self.diversity.asked():
            out.append(
                "Homogeneity: when all members of a group share a value of another column (the target included), that "
                "value is learned about each of them without telling them apart."
            )
        out += [
            "Background knowledge: who knows more about a person than the quasi-identifiers declared here can narrow "
            "the group down further.",
            "Columns declared insensitive, sensitive or target are released as they are; if an attacker knows one "
            "of them, it should have been a quasi-identifier.",
            "Other releases: two k-anonymous releases of the same people can be combined into groups smaller than k.",
            "Membership: that a person is in the table is not hidden.",
        ]
        if self.unit is None:
            out.append(
                "Rows are counted, not people: a person with several rows is covered only if a unit column is declared."
            )
        return tuple(out)

    def verify(self, measured: Measured) -> list[Check]:
        """Compare the promise with an independent recount of the output."""
        checks = [Check(name="k_anonymity", passed=measured.k >= self.k, observed=measured.k, required=self.k)]
        if self.unit is not None:
            people = measured.people
            checks.append(
                Check(
                    name="k_anonymity_people",
                    passed=people is not None and people >= self.k,
                    observed=people,
                    required=self.k,
                )
            )
        for name in self.sensitive:
            found = measured.sensitive.get(name, {})
            checks += self._diversity_checks(name, found)
        return checks

    def _diversity_checks(self, name: str, found: Mapping[str, float]) -> list[Check]:
        d, checks = self.diversity, []
        for key, asked in (("l", d.l), ("entropy_l", d.entropy_l)):
            if asked is not None:
                value = found.get(key)
                label = "l_diversity" if key == "l" else "entropy_l_diversity"
                passed = value is not None and value >= asked - 1e-9
                checks.append(Check(name=f"{label}:{name}", passed=passed, observed=value, required=asked))
        for key, asked in (("t", d.t), ("alpha", d.alpha)):
            if asked is not None:
                value = found.get(key)
                label = "t_closeness" if key == "t" else "alpha_k_anonymity"
                passed = value is not None and value <= asked + 1e-9
                checks.append(Check(name=f"{label}:{name}", passed=passed, observed=value, required=asked))
        if d.recursive is not None:
            c, l = d.recursive  # noqa: E741
            value = found.get(f"recursive_c_{l}")
            passed = value is not None and value < c
            checks.append(Check(name=f"recursive_c_l_diversity:{name}", passed=passed, observed=value, required=c))
        return checks

    def to_dict(self) -> dict[str, Any]:
        """Return the guarantee block of the report."""
        return guarantee_block(
            self,
            parameters={
                "k": self.k,
                "quasi_identifiers": list(self.quasi_identifiers),
                "sensitive": list(self.sensitive),
                "unit": self.unit,
                **_jsonable(self.diversity.asked()),
            },
            unit=f"one value of column {self.unit!r}" if self.unit else "one row",
            adjacency=None,
            assumptions=self.assumptions,
            basis=CHECKED,
        )

    @classmethod
    def from_dict(cls, block: Mapping[str, Any]) -> KAnonymity:
        """Read the promise back from the guarantee block of a report."""
        asked = block["parameters"]
        recursive = asked.get("recursive_c_l_diversity")
        return cls(
            k=int(asked["k"]),
            quasi_identifiers=tuple(asked["quasi_identifiers"]),
            sensitive=tuple(asked["sensitive"]),
            unit=asked["unit"],
            diversity=Diversity(
                l=asked.get("l_diversity"),
                entropy_l=asked.get("entropy_l_diversity"),
                recursive=None if recursive is None else (float(recursive[0]), int(recursive[1])),
                t=asked.get("t_closeness"),
                alpha=asked.get("alpha_k_anonymity"),
            ),
            assumptions=tuple(block["assumptions"]),
        )


@dataclass(frozen=True, kw_only=True)
class LocalDP:
    """Every row was randomized by itself: what is shown is nearly as likely under any other true row."""

    kind: ClassVar[str] = "local-dp"

    epsilon: float
    """Privacy loss of a whole row, realised, in [0, inf]."""
    attributes: Mapping[str, float]
    """Privacy loss of each answer, the target's too when it is randomized alone, realised."""
    one_answer: bool = False
    """True when a row answers one attribute only: the loss of a row is then the largest, else the sum."""
    clear: tuple[str, ...] = ()
    """Columns published unchanged."""
    transformed: tuple[str, ...] = ()
    """Numbers published by a transformation for which no bound holds."""
    hidden_with: str | None = None
    """The target, when every answer hides it together with the attribute."""
    assumptions: tuple[str, ...] = ()

    @property
    def _bounded(self) -> dict[str, float]:
        return {name: loss for name, loss in self.attributes.items() if not math.isinf(loss)}

    def statement(self) -> str:
        """Say the promise in plain words."""
        if not math.isinf(self.epsilon):
            factor = math.exp(self.epsilon)
            times = f"{math.ceil(factor * 100) / 100:,.2f}" if factor < 1e6 else f"{factor:.1e}"
            which = "one attribute of it" if self.one_answer else "every attribute of it"
            return (
                f"Each row was randomized by itself, {which} answered at random: whatever a released row shows, it is at "
                f"most {times} times as likely under one true row as under any other. This holds against anybody, "
                "whatever else is known."
            )
        if not self._bounded:
            return "No bound holds for any released column: see what is not protected."
        worst = math.ceil(max(self._bounded.values()) * 1e5) / 1e5
        return (
            "A whole row is not protected by any bound. Taken alone, each of the columns "
            f"{', '.join(self._bounded)} was randomized: what it shows is at most e to the {worst:g} times as likely "
            f"under one true value as under any other. {self._unprotected_words()}"
        )

    def _unprotected_words(self) -> str:
        parts = []
        if self.clear:
            parts.append(f"Published unchanged: {', '.join(self.clear)}.")
        if self.transformed:
            parts.append(f"Multiplied and shifted at random, for which no bound holds: {', '.join(self.transformed)}.")
        return " ".join(parts)

    def formal(self) -> str:
        """Say the promise as the field does."""
        rule = "the largest" if self.one_answer else "the sum"
        loss = "inf" if math.isinf(self.epsilon) else f"{self.epsilon:.12g}"
        joint = f" Each answer is drawn for attribute and {self.hidden_with!r} together." if self.hidden_with else ""
        return (
            f"The randomizer M of one row is epsilon-locally differentially private with epsilon = {loss}: for all rows "
            "x, x' of the declared domains and all outputs y, Pr[M(x) = y] <= exp(epsilon) Pr[M(x') = y]. It is "
            f"{rule} of the losses of its answers.{joint}"
        )

    def not_protected(self) -> tuple[str, ...]:
        """Say what an attacker may still learn."""
        out = []
        if self.clear:
            out.append(f"{', '.join(self.clear)}: published as they are, in the rows they belong to.")
        if self.transformed:
            out.append(
                f"{', '.join(self.transformed)}: no formal bound; zeros, signs and outliers can be learned from what "
                "is shown."
            )
        if self.epsilon > 5:
            out.append("A large privacy loss: several columns of one row together can point to its true values.")
        return (
            *out,
            "Patterns of the population: what the table teaches about everybody is also learned about each person.",
            "Rows are protected, not people: who has several rows loses the stated privacy once a row.",
            "Repetition: every further release of the same rows with fresh noise adds its own loss.",
            "The number of rows is published.",
        )

    def verify(self, measured: MeasuredLoss) -> list[Check]:
        """Compare the promise with the loss that the published parameters have."""
        same = measured.attributes == dict(self.attributes)
        return [
            Check(
                name="epsilon",
                passed=measured.epsilon <= self.epsilon,
                observed=loss_json(measured.epsilon),
                required=loss_json(self.epsilon),
            ),
            Check(name="epsilon_per_attribute", passed=same, observed=len(measured.attributes), required=len(self.attributes)),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the guarantee block of the report."""
        return guarantee_block(
            self,
            parameters={
                "epsilon": loss_json(self.epsilon),
                "delta": 0,
                "one_answer_per_row": self.one_answer,
                "randomized": list(self._bounded),
                "clear": list(self.clear),
                "transformed": list(self.transformed),
                "hidden_with_each_answer": self.hidden_with,
                "losses": [loss_json(loss) for loss in self.attributes.values()],
                "answers": list(self.attributes),
            },
            unit="one row",
            adjacency="replace one record",
            assumptions=self.assumptions,
            basis=BY_CONSTRUCTION,
        )

    @classmethod
    def from_dict(cls, block: Mapping[str, Any]) -> LocalDP:
        """Read the promise back from the guarantee block of a report."""
        told = block["parameters"]
        return cls(
            epsilon=float(told["epsilon"]),
            attributes=dict(zip(told["answers"], (float(loss) for loss in told["losses"]), strict=True)),
            one_answer=bool(told["one_answer_per_row"]),
            clear=tuple(told["clear"]),
            transformed=tuple(told["transformed"]),
            hidden_with=told["hidden_with_each_answer"],
            assumptions=tuple(block["assumptions"]),
        )


def loss_json(epsilon: float) -> float | str:
    """Return a privacy loss for JSON, which has no infinity."""
    return "inf" if math.isinf(epsilon) else epsilon


def guarantee_block(
    promise: Guarantee,
    *,
    parameters: Mapping[str, Any],
    unit: str | None,
    adjacency: str | None,
    assumptions: Sequence[str],
    basis: str,
) -> dict[str, Any]:
    """Return the `guarantee` block of a report, the same keys for every kind of promise."""
    return {
        "kind": promise.kind,
        "statement": promise.statement(),
        "formal": promise.formal(),
        "parameters": dict(parameters),
        "unit": unit,
        "adjacency": adjacency,
        "assumptions": list(assumptions),
        "basis": basis,
        "not_protected": list(promise.not_protected()),
    }


def _jsonable(asked: Mapping[str, Any]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in asked.items()}


@dataclass(frozen=True, kw_only=True)
class NoGuarantee:
    """No formal protection: the release says so, and why."""

    kind: ClassVar[str] = "none"

    reason: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()

    def statement(self) -> str:
        """Say that nothing is promised."""
        return f"This release carries no formal privacy guarantee. {self.reason}"

    def formal(self) -> str:
        """Say that nothing is promised."""
        return "No formal guarantee."

    def not_protected(self) -> tuple[str, ...]:
        """Say what an attacker may learn: anything."""
        return ("Everything: treat the release like the source table.",)

    def verify(self, measured: object) -> list[Check]:
        """Nothing is promised, so nothing is checked."""
        return []

    def to_dict(self) -> dict[str, Any]:
        """Return the guarantee block of the report."""
        return guarantee_block(
            self,
            parameters=self.parameters,
            unit=None,
            adjacency=None,
            assumptions=self.assumptions,
            basis=BY_CONSTRUCTION,
        )
