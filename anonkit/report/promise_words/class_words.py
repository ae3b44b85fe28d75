# SPDX-License-Identifier: Apache-2.0
"""Page wording for k-anonymity: class sizes, inference of sensitive values, and the people covered.

Page wording for a release without a promise: its absence, in place of every promise.

The interface of a promise's wording, and the phrases that several promises share.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from anonkit.errors import spoken
from anonkit.report.wording import number, one_in, people_alike, percent

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Phrase:
    """A piece of a sentence. The template escapes it: the words never write markup, since names come from the table."""

    text: str
    is_name: bool = False
    """True for the name of a column, which is set apart from the direction of the text around it."""
    is_bad: bool = False
    """True for what the reader must not overlook."""


@dataclass(frozen=True, kw_only=True)
class PromiseVerdict:
    """The verdict on the promise in one line: the stressed part, and the rest of the line."""

    stressed: str
    rest: str
    is_good: bool


class PromiseWords(Protocol):
    """The words of one kind of promise."""

    kind: ClassVar[str]
    needs_public_domains: ClassVar[bool]
    """True when the promise holds only while the domains in use are public knowledge, so that somebody vouches."""

    def headline(self, promise: Json) -> Phrase:
        """Name the promise; bad when it protects no row as a whole."""
        ...

    def figures(self, report: Json) -> list[tuple[str, str]]:
        """Return the few figures beside the claim: (figure, what it is)."""
        ...

    def verdict(self, promise: Json, n_checks: int) -> PromiseVerdict:
        """Return the reason why the promise holds, when no check failed."""
        ...

    def whose(self, promise: Json) -> Iterator[list[Phrase]]:
        """Yield the protected unit, a sentence each: what a row is, and which tables are compared."""
        ...

    def questions(self, report: Json) -> Iterator[list[Phrase]]:
        """Yield the questions that no program can answer and the reviewer has to."""
        ...

    def uncounted_risk(self, promise: Json) -> str:
        """Return the bound on re-identification where class sizes mean nothing."""
        ...

    def unchecked(self, promise: Json, names: set[str]) -> list[str]:
        """Return the names of the checks that the promise needs and that are not among those made."""
        ...


def plain(text: str) -> list[Phrase]:
    """Return a sentence without names."""
    return [Phrase(text)]


def named(columns: Sequence[str], *, is_bad: bool = False) -> Iterator[Phrase]:
    """Yield the names of columns with commas between them."""
    for at, name in enumerate(columns):
        if at:
            yield Phrase(", ", is_bad=is_bad)
        yield Phrase(str(name), is_name=True, is_bad=is_bad)


def listed_with_and(columns: Sequence[str], *, is_bad: bool = False) -> Iterator[Phrase]:
    """Yield the names of columns with commas between them, and `and` before the last."""
    yield from named(columns[:-1], is_bad=is_bad)
    if columns[1:]:
        yield Phrase(" and ", is_bad=is_bad)
    yield from named(columns[-1:], is_bad=is_bad)


def capital(text: str) -> str:
    """Return a text with a capital first letter."""
    return text[:1].upper() + text[1:]


def passed_words(n_checks: int, what: str) -> str:
    """Return the number of checks that passed, and their subject; an empty string when there were none."""
    return f" {n_checks} of {n_checks} checks of {what} passed." if n_checks else ""


class NoPromiseWords:
    """Words for a release without a promise."""

    kind: ClassVar[str] = "none"
    needs_public_domains: ClassVar[bool] = False

    def headline(self, promise: Json) -> Phrase:
        """Return that there is no promise."""
        return Phrase("No formal guarantee", is_bad=True)

    def figures(self, report: Json) -> list[tuple[str, str]]:
        """Return no figure: any figure there would look like a bound."""
        return []

    def verdict(self, promise: Json, n_checks: int) -> PromiseVerdict:
        """Return that nothing is claimed."""
        rest = passed_words(n_checks, "the table's form")
        return PromiseVerdict(stressed="Nothing is claimed.", rest=rest, is_good=False)

    def whose(self, promise: Json) -> Iterator[list[Phrase]]:
        """Yield that nobody is protected."""
        yield plain("Nobody is protected: nothing is claimed.")

    def questions(self, report: Json) -> Iterator[list[Phrase]]:
        """Yield the question who may see such data."""
        yield plain("The recipients may see data without a formal guarantee, and are bound by other means.")

    def uncounted_risk(self, promise: Json) -> str:
        """Return that the risk may be as large as it can be."""
        return "nothing is promised about re-identification. Treat the risk as that of the source table."

    def unchecked(self, promise: Json, names: set[str]) -> list[str]:
        """Return nothing: there is nothing to check."""
        return []


_MODELS = ("l_diversity", "entropy_l_diversity", "recursive_c_l_diversity", "t_closeness", "alpha_k_anonymity")
_FEW = 2
"""Columns that are named beside a figure."""


class ClassWords:
    """Words for k-anonymity and the diversity of sensitive values."""

    kind: ClassVar[str] = "k-anonymity"
    needs_public_domains: ClassVar[bool] = False

    def headline(self, promise: Json) -> Phrase:
        """Name the promise."""
        return Phrase("k-anonymity")

    def figures(self, report: Json) -> list[tuple[str, str]]:
        """Return the requirements, and the findings of the recount."""
        parameters, risk = report["guarantee"]["parameters"], report["disclosure_risk"]
        out = [(f"k = {number(parameters['k'])}", "requested")]
        out += [(f"l = {number(parameters['l_diversity'])}", "requested")] if "l_diversity" in parameters else []
        out += [(f"t = {number(parameters['t_closeness'])}", "requested")] if "t_closeness" in parameters else []
        if risk:
            people = risk["k_anonymity"]["people"]
            who = "households" if parameters.get("households") else "people"
            out += [(number(people), f"{who} in the smallest class found")] if people is not None else []
            out.append((number(risk["k_anonymity"]["k"]), "rows in the smallest class found"))
            by = " by one row" if parameters.get("rows_known") else ""
            out.append((one_in(risk["prosecutor"]["max"]), f"highest risk of re-identification{by}"))
            for candidate in parameters.get("candidates", ()):
                name = ", ".join(candidate["columns"])
                out.append((number(candidate["values"]), f"different values of {name} in the group with the fewest"))
            for key in parameters.get("keys", ()):
                out.append((f"k = {number(key['k'])}", f"for {', '.join(key['columns'])} alone"))
            clear = risk.get("with_clear_columns")
            if clear is not None and clear["columns"]:
                also = ", ".join(clear["columns"]) if len(clear["columns"]) <= _FEW else "what is released unchanged"
                are = "are" if 1 < len(clear["columns"]) <= _FEW else "is"
                out.append((percent(clear["share_alone"]), f"alone if {also} {are} known too"))
            if alike := people_alike(report):
                whole = "by all members of a household" if parameters.get("households") else "by all rows of a person"
                out.append((one_in(1 / alike), f"highest risk {whole}"))
        return [*out, (number(report["rows"].get("out")), "rows released")]

    def verdict(self, promise: Json, n_checks: int) -> PromiseVerdict:
        """Return that classes were counted on the released table."""
        rest = f" by an independent recount: {n_checks} of {n_checks} checks passed."
        return PromiseVerdict(stressed="✓ Checked on the released table", rest=rest, is_good=True)

    def whose(self, promise: Json) -> Iterator[list[Phrase]]:
        """Yield the persons hidden among others, and the candidates for the person where no unit is declared."""
        parameters = promise["parameters"]
        if parameters.get("households"):
            yield [Phrase("Households are counted: each is "), Phrase(str(promise["unit"])), Phrase(".")]
            return
        if parameters.get("unit"):
            yield [Phrase("People are counted: each is "), Phrase(str(promise["unit"])), Phrase(".")]
            return
        if parameters.get("independent_rows"):
            yield plain("Rows are independent, as the owner declares: no person has several.")
            return
        candidates = parameters.get("candidates", ())
        if parameters.get("rows_in_runs"):
            yield plain("Rows seem to come in runs of one person: which column says whose they are?")
            named_so = spoken(python='In the policy NAME = { role = "unit" }', typed="--unit NAME")
            none = spoken(python='unit = "none"', typed="--unit none")
            yield plain(f"{named_so} counts people; {none} says that rows are independent.")
            return
        if not candidates:
            yield plain("Each row counts as one person: nobody declared whose the rows are.")
            return
        for candidate in candidates:
            values = f"Every group has at least {number(candidate['values'])} different values of "
            yield [Phrase(values), *named(candidate["columns"]), Phrase(".")]
        yield plain(f"k = {number(parameters['k'])} counts rows and these values. Is each of these a person?")
        names = candidates[0]["columns"]
        declared = ", ".join(f'{name} = {{ role = "unit" }}' for name in names)
        so = spoken(python=f"In the policy {declared} says so", typed=f"--unit {','.join(names)} says so")
        none = spoken(python='unit = "none"', typed="--unit none")
        yield plain(f"{so}; {none} says that rows are independent.")

    def questions(self, report: Json) -> Iterator[list[Phrase]]:
        """Yield the questions on the knowledge of outsiders, homogeneity and other releases."""
        clear = [
            column["name"]
            for column in report["columns"]
            if column["action"] == "kept" and column["role"] != "quasi_identifier"
        ]
        first = [Phrase("Every column that outsiders may know is a quasi-identifier")]
        if clear:
            first += [Phrase("; they do not know what is released unchanged: "), *named(clear)]
        yield [*first, Phrase(".")]
        yield plain("What a class tells about its members (homogeneity) is acceptable.")
        known = report["guarantee"]["parameters"].get("rows_known")
        if known == "one":
            yield plain("Outsiders know one row of a person at most: several rows are not protected together.")
        elif known == "all" and report["guarantee"]["parameters"].get("surrogate"):
            yield plain("It may be seen which rows are one person's or household's.")
        elif known == "all":
            yield plain("Whole sets of rows were counted by the owner, whose word it is: no file can show it.")
        candidates = report["guarantee"]["parameters"].get("candidates", ())
        if candidates:
            names = [", ".join(candidate["columns"]) for candidate in candidates]
            yield [Phrase("No person has rows under several values of "), *named(names), Phrase(".")]
        yield plain("No other release about the same people can be combined with this one.")

    def uncounted_risk(self, promise: Json) -> str:
        """Return that a report of a k-anonymous release should have counted its classes."""
        return "this report does not say how large the classes are. Treat the risk as that of the source table."

    def unchecked(self, promise: Json, names: set[str]) -> list[str]:
        """Return those of k and the required diversities that no check looked at."""
        parameters = promise["parameters"]
        needed = ["k_anonymity", *(["k_anonymity_people"] if parameters.get("unit") else [])]
        needed += [f"k_anonymity_key:{', '.join(key['columns'])}" for key in parameters.get("keys", ())]
        candidates = parameters.get("candidates", ())
        needed += [f"k_anonymity_candidate:{', '.join(candidate['columns'])}" for candidate in candidates]
        needed += ["k_anonymity_whole_sets"] if parameters.get("rows_known") == "all" else []
        needed += [
            f"{model}:{name}" for model in _MODELS if model in parameters for name in parameters.get("sensitive", ())
        ]
        needed += [f"{model}:{name}" for name, models in parameters.get("of_columns", {}).items() for model in models]
        needed += [f"confidence_cap:{name}" for name in parameters.get("confidence_cap", {}).get("columns", ())]
        return [name for name in needed if name not in names]
