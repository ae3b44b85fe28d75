# SPDX-License-Identifier: Apache-2.0
"""k-anonymity as a promise: the size and the diversity of every equivalence class of the released table.

It is the one promise that a released table shows by itself: whoever groups the rows by their quasi-identifiers can
count whether it holds. That is why it carries `verify`, and why `counted_classes` returns it: the pipeline counts the
classes of the draft, and `anonkit validate` counts those of the file, each with code that no method shares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Protocol, Self

from anonkit.documents import ReportPart, as_part, left_out
from anonkit.promises.guarantee import CHECKED, Check, GuaranteeBlock, PrivacyLoss
from anonkit.promises.no_values import FOLDING
from anonkit.promises.noise_promises import exact_percent, exact_words

ONE_ROW, ALL_ROWS = "one", "all"
"""Knowledge of an attacker of a person who has several rows: one of them, or all."""
WHOLE_SETS = "k_anonymity_whole_sets"
"""The check that k people have every whole set of rows: only the owner can make it, before the unit column goes."""

CAP = "confidence_cap"
"""The check of caps on confidence by value, and what a report states of them."""
EXEMPT_ABOVE = 0.8
"""A value that a larger share of the table has is not capped."""


CANDIDATE = "k_anonymity_candidate"
"""Prefix of checks that count the values of a candidate for the person: only the owner can make them."""
KEY = "k_anonymity_key"
"""Prefix of checks that count the rows of a combination with a k of its own."""
INDEPENDENT = "No person has several rows, as the owner declares."


@dataclass(frozen=True, kw_only=True)
class CountedCandidate(ReportPart):
    """A column set that may identify people where no unit is declared: every class has k distinct values."""

    columns: tuple[str, ...]
    """One column, or several that name a person together; none is released."""
    values: int | None = None
    """Fewest different values in a class, as the owner counted them; None before they are counted."""

    @property
    def name(self) -> str:
        """Name in sentences and checks."""
        return ", ".join(self.columns)

    @property
    def check(self) -> str:
        """Name of the check that counts it."""
        return f"{CANDIDATE}:{self.name}"


@dataclass(frozen=True, kw_only=True)
class CountedKey(ReportPart):
    """A combination of quasi-identifiers that so many rows share, whatever is shown of it."""

    columns: tuple[str, ...]
    k: int

    @property
    def name(self) -> str:
        """Name in sentences."""
        return ", ".join(self.columns)

    @property
    def check(self) -> str:
        """Name of the check that counts it."""
        return f"{KEY}:{self.name}"


@dataclass(frozen=True, kw_only=True)
class Diversity(ReportPart):
    """The diversity required of the sensitive values in every equivalence class; None requires nothing."""

    l: float | None = field(default=None, metadata=left_out("l_diversity"))  # noqa: E741 - the field's own letter
    """Distinct l-diversity."""
    entropy_l: float | None = field(default=None, metadata=left_out("entropy_l_diversity"))
    """Entropy l-diversity: exp(entropy) at least this."""
    recursive: tuple[float, int] | None = field(default=None, metadata=left_out("recursive_c_l_diversity"))
    """Recursive (c, l)-diversity."""
    t: float | None = field(default=None, metadata=left_out("t_closeness"))
    """t-closeness: earth mover's distance at most this."""
    alpha: float | None = field(default=None, metadata=left_out("alpha_k_anonymity"))
    """(alpha, k)-anonymity: no value above this share; 1 bounds nothing, and switches the cap on confidence off."""

    def with_own(self, own: Diversity) -> Diversity:
        """Return the diversity of a column with requirements of its own."""
        return replace(self, **{name: value for name, value in vars(own).items() if value is not None})

    @property
    def bounds_something(self) -> bool:
        """Return True if a class could break it."""
        return bool(self.required()) and self.required() != {"alpha_k_anonymity": 1.0}

    def required(self) -> dict[str, Any]:
        """Return the requirements by the field's names, without those that are None."""
        own = ((str(one.metadata["key"]), getattr(self, one.name)) for one in fields(self))
        return {name: value for name, value in own if value is not None}


class RecountResult(Protocol):
    """The result of an independent recount of the released table."""

    @property
    def k(self) -> int:
        """Rows in the smallest equivalence class; 0 for an empty table."""
        ...

    @property
    def people(self) -> int | None:
        """Distinct units in the smallest class, when they could still be counted."""
        ...

    @property
    def alike(self) -> int | None:
        """Fewest people that have one whole set of released rows, when that could still be counted."""
        ...

    @property
    def candidates(self) -> Mapping[tuple[str, ...], int]:
        """Fewest different values in a class of each candidate for the person that could still be counted."""
        ...

    @property
    def keys(self) -> Mapping[tuple[str, ...], int]:
        """Rows of the rarest combination that is shown of the columns of each key."""
        ...

    @property
    def sensitive(self) -> Mapping[str, Mapping[str, float]]:
        """Per sensitive attribute: l, entropy_l, t, alpha, and recursive_c_<l> for each required l.

        With caps also `confidence` and `confidence_cap`, of the value and class that come nearest to breaking theirs.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class ConfidenceCap(ReportPart):
    """The columns with a cap on confidence by value, and the share above which a value has none."""

    columns: tuple[str, ...]
    exempt_above: float = EXEMPT_ABOVE

    def __post_init__(self) -> None:
        if self.exempt_above != EXEMPT_ABOVE:
            raise ValueError("another share")

    @classmethod
    def of(cls, columns: tuple[str, ...]) -> Self:
        """Return the cap of some columns."""
        return cls(columns=columns)

    @property
    def value(self) -> tuple[str, ...]:
        """The columns."""
        return self.columns


@dataclass(frozen=True, kw_only=True)
class ShownWeight(ReportPart):
    """The column of the weights of a sample, and what is shown of them."""

    column: str
    shows: str

    def __post_init__(self) -> None:
        if self.shows not in _OF_WEIGHTS:
            raise ValueError("a word for what is shown")

    @classmethod
    def of(cls, weight: tuple[str, str]) -> Self:
        """Return the weight by its column and word."""
        return cls(column=weight[0], shows=weight[1])

    @property
    def value(self) -> tuple[str, str]:
        """Column and word."""
        return self.column, self.shows


@dataclass(frozen=True, kw_only=True)
class KAnonymity(
    GuaranteeBlock,
    keys=(
        "k",
        "quasi_identifiers",
        "sensitive",
        "missing_is_value",
        "unit",
        "rows_known",
        "independent_rows",
        "rows_in_runs",
        "keys",
        "households",
        "weight",
        "surrogate",
        "relative",
        "means",
        "averaged",
        "candidates",
        "**diversity",
        "of_columns",
        "confidence_cap=capped",
        "assumptions",
    ),
):
    """Every released combination of quasi-identifiers is shared by at least k rows, or people."""

    kind: ClassVar[str] = "k-anonymity"
    cell_by_cell: ClassVar[bool] = False
    redraw_costs: ClassVar[bool] = False
    shows_rows: ClassVar[bool] = True
    basis: ClassVar[str] = CHECKED

    k: int
    quasi_identifiers: tuple[str, ...]
    sensitive: tuple[str, ...] = ()
    missing_is_value: tuple[str, ...] = ()
    """Sensitive attributes in which a missing cell is a value like any other; in all others it is none."""
    diversity: Diversity = field(default_factory=Diversity)
    """Diversity required of every sensitive attribute."""
    of_columns: Mapping[str, Diversity] = field(default_factory=dict, hash=False, metadata=left_out())
    """Diversity required of single sensitive attributes in addition, or instead."""
    capped: tuple[str, ...] = field(default=(), metadata=as_part(ConfidenceCap, CAP, left_out=True))
    """Sensitive attributes with a cap on confidence by value: those without a declared requirement."""
    unit: str | None = None
    """Name of the column whose distinct values are counted as people."""
    rows_known: str | None = field(default=None, metadata=left_out())
    """`ONE_ROW` or `ALL_ROWS` of a person, where people have several rows since tables were joined; else None."""
    candidates: tuple[CountedCandidate, ...] = field(default=(), metadata=left_out())
    """Column sets that may identify the person of a row, where no unit is declared."""
    independent_rows: bool = field(default=False, metadata=left_out())
    """True when the owner declares that no person has several rows."""
    rows_in_runs: bool = field(default=False, metadata=left_out())
    """True where rows look like runs of one person's, and no candidate is found."""
    keys: tuple[CountedKey, ...] = field(default=(), metadata=left_out())
    """Combinations of quasi-identifiers with a k of their own."""
    households: bool = field(default=False, metadata=left_out())
    """True when the unit is a household, and its rows are its members."""
    weight: tuple[str, str] | None = field(default=None, metadata=as_part(ShownWeight, left_out=True))
    """Column of the weights of a sample, and what is shown of them: "mean" of each class, or "rounded" ones."""
    surrogate: str | None = field(default=None, metadata=left_out())
    """Column of one random number for all rows of a person or household; None where rows do not show whose they are."""
    relative: tuple[str, ...] = field(default=(), metadata=left_out())
    """Columns of dates that are shown as days since their person's first one."""
    means: bool = field(default=False, metadata=left_out())
    """True when rows show the mean of each generalized number in their class."""
    averaged: bool = field(default=False, metadata=left_out())
    """True when numbers are quasi-identifiers by the mean of their group alone."""
    assumptions: tuple[str, ...] = ()
    """Further conditions of the promise, stated by the method."""
    may_be_empty: bool = False
    """True where coins choose the rows: a table without rows is an outcome of theirs, and no class is below k in it."""

    def __post_init__(self) -> None:
        if self.rows_known not in (None, ONE_ROW, ALL_ROWS):
            raise ValueError("a word for the rows that are known")

    def loss(self) -> PrivacyLoss | None:
        """Return None: no epsilon bounds the disclosure by a group of k, so that none is booked."""
        return None

    @property
    def counted_classes(self) -> KAnonymity:
        """The promise itself: its classes are counted on every table that is released under it."""
        return self

    def diversity_of(self, name: str) -> Diversity:
        """Return the diversity required of one sensitive attribute."""
        return self.diversity.with_own(self.of_columns.get(name, Diversity()))

    @property
    def all_required(self) -> set[str]:
        """Return the requirements on any sensitive attribute, by the field's names."""
        every = [self.diversity, *map(self.diversity_of, self.of_columns)]
        return {name for each in every if each.bounds_something for name in each.required()}

    @property
    def _who(self) -> str:
        return "people" if self.unit else "records"

    def statement(self) -> str:
        """Return the promise in plain words."""
        if self.rows_known == ALL_ROWS:
            return self._whole_set_statement()
        known = "the quasi-identifiers of one row of a person" if self.rows_known else "a person's quasi-identifiers"
        text = (
            f"Nobody who knows only {known} can narrow that person down to fewer than {self.k} "
            f"{self._who} in this table: every combination of quasi-identifiers that occurs in it is shared by at "
            f"least {self.k} {self._who}."
        )
        if self.rows_known:
            text += (
                " Who knows several rows of a person may narrow that person down further: only one row of a person is "
                "taken to be known."
            )
        words = (
            *(f"Every combination of {each.name} is shared by at least {each.k} records." for each in self.keys),
            self._candidate_words(),
            _diversity_words(self.diversity, self.unit),
            *self._words_of_columns(),
            self._cap_words(),
        )
        return " ".join((text, *(extra for extra in words if extra)))

    def _candidate_words(self) -> str:
        if not self.candidates:
            return ""
        return (
            f"Nobody declared whose the rows are. So each such group also has at least {self.k} different values of "
            f"{_listed(self.candidates)}; the owner counted them before publication, and they are not released."
        )

    def _whole_set_statement(self) -> str:
        if self.households:
            return (
                "Nobody who knows the quasi-identifiers of all members of a household together can narrow that "
                f"household down to fewer than {self.k} households in this table: whatever combinations of "
                f"quasi-identifiers the members of a household show in it, at least {self.k} households have exactly "
                "these, each equally often, so that as many members are shown of each. "
                f"{self._who_counts_sets('household', 'households')}"
            )
        return (
            f"Nobody who knows the quasi-identifiers of a person, of all rows of that person together, can narrow that "
            f"person down to fewer than {self.k} people in this table: whatever combinations of quasi-identifiers the "
            f"rows of a person show in it, at least {self.k} people have exactly these, each equally often. "
            f"{self._who_counts_sets('person', 'people')}"
        )

    def _who_counts_sets(self, one: str, many: str) -> str:
        if self.surrogate is not None:
            return (
                f"Column {self.surrogate!r} has one random number of this release for all rows of a {one}, so that "
                "anybody can count this again from the files."
            )
        return (
            "The owner counted this before publication. It cannot be counted again from the files, which do not tell "
            f"which rows are one {one}'s; that every single combination is shared by at least {self.k} {many} can be."
        )

    def _words_of_columns(self) -> tuple[str, ...]:
        """Return the requirements on single columns, in words."""
        return tuple(
            _diversity_words(own, self.unit).replace("Each such group has", f"Of {name!r} each such group has", 1)
            for name, own in self.of_columns.items()
        )

    def _cap_words(self) -> str:
        if not self.capped:
            return ""
        names, who = " and of ".join(map(repr, self.capped)), _holders(self.unit)
        return (
            f"Of {names}: a value that a share p of the table's {who} have, p at most {exact_percent(EXEMPT_ABOVE)}, "
            "belongs to at most (1 + p) / 2 of each such group, rounded up to a whole percent. A commoner value is "
            "exempt."
        )

    def formal(self) -> str:
        """Return the promise in the field's terms."""
        unit = f"distinct values of {self.unit!r}" if self.unit else "rows"
        text = (
            "For the released quasi-identifiers Q, every non-empty equivalence class of the table under Q holds at "
            f"least k = {self.k} {unit}"
        )
        if self.rows_known == ALL_ROWS:
            return (
                f"For the released quasi-identifiers Q let S(p) be the multiset of the released rows of p, one of the "
                f"{unit}, under Q. For every p that has a row in the table, S(p') = S(p) holds for at least k = "
                f"{self.k} {unit} p'. So every non-empty equivalence class under Q holds at least k of them."
            )
        if self.candidates:
            text += f", and at least k different values of {_listed(self.candidates)}, which are not released"
        for key in self.keys:
            text += f", and every non-empty class under {{{key.name}}} at least {key.k} rows"
        extra = _formal_words(self.diversity, "each sensitive attribute")
        extra += "".join(_formal_words(own, repr(name)) for name, own in self.of_columns.items())
        for name in self.capped:
            extra += (
                f"; in every class, of every value v of {name!r} that a share p(v) <= {EXEMPT_ABOVE} of the table has, "
                "a share of at most ceil(100 (1 + p(v)) / 2) / 100: (alpha, k)-anonymity with an alpha of each value"
            )
        return f"{text}{extra}. {self._value_words()}" if extra else f"{text}."

    def _value_words(self) -> str:
        """Return the definition of a sensitive value and of its holder, in words."""
        declared = ", ".join(map(repr, self.missing_is_value))
        text = "A missing cell is no sensitive value"
        text += f", except in {declared}, where it is one like any other." if declared else "."
        text += (
            " A text that means a missing value, by the list `no_values` of the params, is a missing cell, "
            "unless it is a declared category; texts are one value where they are alike after "
            f"{FOLDING}. For a measured column, l, alpha and caps take numbers within its `width` of the params for "
            f"one."
        )
        if self.unit is None:
            return text
        return (
            f"{text} Every person counts once in a class, at one of the values found there, in the way that makes the "
            "class least diverse."
        )

    def not_protected(self) -> tuple[str, ...]:
        """Return the disclosures that the promise leaves possible."""
        out = []
        if self.capped:
            out.append(
                "Guesses: up to (1 + p) / 2 of a group may hold one sensitive value, and a value that more than "
                f"{exact_percent(EXEMPT_ABOVE)} of the table have is not capped: a guess of it is often right."
            )
        if not self.all_required:
            another = "a column without a cap" if self.capped else "another column"
            out.append(
                f"Homogeneity: when all members of a group share a value of {another} (the target included), that "
                "value is learned about each of them without telling them apart."
            )
        elif self.all_required == {"l_diversity"}:
            out.append(
                "Skewness: distinct l-diversity counts values, not how often they occur. A value that nearly all "
                "members of a group share can be guessed with little risk of error; t-closeness and entropy "
                "l-diversity limit that."
            )
        out += [
            "Background knowledge: anyone who knows more about a person than the quasi-identifiers declared here can "
            "narrow "
            "the group down further.",
            "The target, sensitive and insensitive columns are released as they are; if an attacker knows one "
            "of them, it should have been a quasi-identifier.",
            "Other releases: two k-anonymous releases of the same people can be combined into groups smaller than k.",
            "Membership: that a person is in the table is not hidden.",
            *([] if self.weight is None else [_OF_WEIGHTS[self.weight[1]]]),
            *([_OF_MEANS] if self.means or self.averaged else []),
            *([_OF_GROUPS] if self.averaged else []),
            *([_of_relative(self.relative)] if self.relative else []),
            *([_of_surrogates(self.households)] if self.surrogate is not None else []),
        ]
        if self.households:
            out += [
                "Members that were left out: anyone who knows more members of a household than are released looks for "
                "a set that is part of them; at least k households have that set.",
                "What is released unchanged beside the quasi-identifiers: anyone who knows it of several members of a "
                "household can look for households of that set whose members show it.",
            ]
        elif self.rows_known == ALL_ROWS:
            out.append(
                "Rows that were left out: anyone who knows more rows of a person than are released looks for a set "
                "that is part of them; at least k people have that set."
            )
            out.append(
                "What is released unchanged beside the quasi-identifiers: anyone who knows it of several rows of a "
                "person can "
                "look for people of that set who show it in each of them."
            )
        elif self.rows_known == ONE_ROW:
            out.append(
                "Several rows of a person: they are protected one by one, not together. Anyone who knows two or more "
                "can look "
                "for the people whose rows are in all of their groups, and find one alone. What is released unchanged "
                "and is the same in all rows of a person shows which rows are one person's."
            )
        elif self.candidates:
            out.append(
                f"Rows are counted, and values of {_listed(self.candidates)}: a person with rows under several of "
                "these values is covered only if a unit column is declared. A person who has many rows in a group is "
                "more often the one of a row drawn from it."
            )
        elif self.unit is None and not self.independent_rows:
            out.append(
                "Rows are counted, not people: a person with several rows is covered only if a unit column is declared."
            )
        elif self.unit is not None:
            out.append(
                "Numbers of rows: the people of a group count alike. A row drawn from a group is more often one of a "
                "person who has many rows in it, and a person whose rows are in several groups can be looked for in "
                "what these groups share."
            )
        return tuple(out)

    def verify(self, measured: RecountResult) -> list[Check]:
        """Compare the promise with an independent recount of the output."""
        is_met = measured.k >= self.k or (self.may_be_empty and measured.k == 0)
        checks = [Check(name="k_anonymity", passed=is_met, observed=measured.k, required=self.k)]
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
        if self.rows_known == ALL_ROWS:
            alike = measured.alike
            passed = alike is not None and alike >= self.k
            checks.append(Check(name=WHOLE_SETS, passed=passed, observed=alike, required=self.k))
        for key in self.keys:
            rows = measured.keys.get(key.columns)
            checks.append(
                Check(name=key.check, passed=rows is not None and rows >= key.k, observed=rows, required=key.k)
            )
        for candidate in self.candidates:
            values = measured.candidates.get(candidate.columns)
            passed = values is not None and values >= self.k
            checks.append(Check(name=candidate.check, passed=passed, observed=values, required=self.k))
        for name in self.sensitive:
            checks += self._diversity_checks(name, measured.sensitive.get(name, {}))
        return checks

    def _diversity_checks(self, name: str, measured: Mapping[str, float]) -> list[Check]:
        d, checks = self.diversity_of(name), []
        if name in self.capped:
            confidence, cap = measured.get("confidence"), measured.get("confidence_cap")
            passed = confidence is not None and cap is not None and confidence <= cap + 1e-9
            checks.append(Check(name=f"{CAP}:{name}", passed=passed, observed=confidence, required=cap))
        for key, required in (("l", d.l), ("entropy_l", d.entropy_l)):
            if required is not None:
                value = measured.get(key)
                label = "l_diversity" if key == "l" else "entropy_l_diversity"
                passed = value is not None and value >= required - 1e-9
                checks.append(Check(name=f"{label}:{name}", passed=passed, observed=value, required=required))
        for key, required in (("t", d.t), ("alpha", d.alpha)):
            if required is not None:
                value = measured.get(key)
                label = "t_closeness" if key == "t" else "alpha_k_anonymity"
                passed = value is not None and value <= required + 1e-9
                checks.append(Check(name=f"{label}:{name}", passed=passed, observed=value, required=required))
        if d.recursive is not None:
            c, l = d.recursive  # noqa: E741
            value = measured.get(f"recursive_c_{l}")
            passed = value is not None and value < c
            checks.append(Check(name=f"recursive_c_l_diversity:{name}", passed=passed, observed=value, required=c))
        return checks

    def counted(self, measured: RecountResult) -> KAnonymity:
        """Return the promise with the fewest different values of each candidate, as they were counted."""
        candidates = (replace(one, values=measured.candidates.get(one.columns)) for one in self.candidates)
        return replace(self, candidates=tuple(candidates))

    @property
    def unit_words(self) -> str:
        """The unit of protection, in words."""
        if self.unit is None:
            return "one row"
        if self.households:
            return f"one household, a value of column {self.unit!r}, with all its members together"
        of_person = {ALL_ROWS: ", with all its rows together", ONE_ROW: ", of whom one row is known"}
        return f"one value of column {self.unit!r}{of_person.get(self.rows_known or '', '')}"


def _listed(candidates: Sequence[CountedCandidate]) -> str:
    """Return the names of candidates as words."""
    names = [repr(candidate.name) for candidate in candidates]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and of {names[-1]}"


_OF_WEIGHTS = {
    "mean": (
        "Weights: rows of a group show its mean weight. Anyone who knows the weights of all members but one can work "
        "out the last, within the rounding; and a mean weight may tell which stratum of the sample a group is from."
    ),
    "rounded": (
        "Weights: a rounded weight is counted as a quasi-identifier; it may tell which stratum of the sample a row is "
        "from."
    ),
}


_OF_MEANS = (
    "Means: rows of a group show the mean of its numbers. Anyone who knows the numbers of all members but one can work "
    "out the last, within the rounding; so can anyone who has another release with means, of a group without that one: "
    "a table of other people that holds a few of this one among them is not recognized before it is released."
)
_OF_GROUPS = (
    "Narrow groups: a group lies where its rows are close, so its mean may be near the number of each of them, and a "
    "group at the edge of the table shows how far its numbers reach. k rows share what is shown, however near it is."
)


def _of_relative(names: Sequence[str]) -> str:
    return (
        f"Days since the first row, in {', '.join(map(repr, names))}: anyone who knows one date of a person, and which "
        "row it is of, knows the others as exactly as they are shown. Gaps are rarely alike: of 3,000 people with "
        "three visits on random days of a year, 93 to 95 % have gaps that nobody else has. So they are "
        "quasi-identifiers, recoded and counted."
    )


def _of_surrogates(households: bool) -> str:
    one, many, several = (
        ("household", "households", "members of it") if households else ("person", "people", "its rows")
    )
    return (
        f"Linked rows: everybody sees which rows are one {one}'s. Anyone who knows more than the quasi-identifiers of "
        f"{several}, such as what is released unchanged, compares it with all rows of each of the k {many} at once."
    )


def _holders(unit: str | None) -> str:
    return "people" if unit else "rows"


def _diversity_words(d: Diversity, unit: str | None) -> str:
    """Return the diversity required of a class in plain words; an empty string where none is required."""
    parts = []
    if d.l is not None:
        parts.append(f"at least {exact_words(d.l)} different sensitive values")
    if d.entropy_l is not None:
        parts.append(f"sensitive values spread at least as evenly as {exact_words(d.entropy_l)} equally likely ones")
    if d.recursive is not None:
        parts.append(
            f"no sensitive value that outweighs the rest (recursive ({exact_words(d.recursive[0])}, {d.recursive[1]}))"
        )
    if d.t is not None:
        parts.append(f"sensitive values distributed within a distance of {exact_words(d.t)} of the whole table's")
    if d.alpha is not None and d.alpha < 1:
        parts.append(f"no sensitive value in more than {exact_percent(d.alpha)} of its {_holders(unit)}")
    return f"Each such group has {'; and '.join(parts)}." if parts else ""


def _formal_words(d: Diversity, attributes: str) -> str:
    extra = ", ".join(f"{name} = {value}" for name, value in d.required().items() if d.bounds_something)
    return f"; in every class and for {attributes}: {extra}" if extra else ""
