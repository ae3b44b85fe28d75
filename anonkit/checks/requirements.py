# SPDX-License-Identifier: Apache-2.0
"""Requirements that a caller of `validate` adds to the promise, and the validation result.

Cells of a table that somebody has suppressed with `*`: how many, and k with and without the rows that have them.

A validation result as a JUnit file, which build servers show as test results.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import pyarrow as pa

from anonkit.checks.disclosure import Disclosure
from anonkit.checks.population_counts import CHECK as K_MAP
from anonkit.checks.population_counts import ReadsPopulation
from anonkit.checks.population_risk import AgainstPopulation
from anonkit.checks.table_scans import opened
from anonkit.documents import ReportPart
from anonkit.errors import ParameterError, did_you_mean
from anonkit.promises.anonymous_classes import CANDIDATE, Diversity, KAnonymity
from anonkit.promises.guarantee import Check

SUPPRESSED = "*"
"""Sign of other programs for a suppressed cell, or for all quasi-identifiers of a suppressed row."""


@dataclass(frozen=True, kw_only=True)
class SuppressedCells(ReportPart):
    """Quasi-identifiers that are suppressed. Where k is counted with them, `*` is a value like any other."""

    rows: int
    """Rows of which all quasi-identifiers are suppressed."""
    cells: int
    """Suppressed cells in other rows."""
    rows_with_cells: int
    """Rows that have these."""
    k: int
    """Rows in the smallest class of the table."""
    k_without_rows: int
    """The same without the suppressed rows; 0 where no row is left."""
    k_without_cells: int
    """The same without any row that has a suppressed cell; 0 where no row is left."""

    def note(self) -> str:
        """Describe how many there are, and k with and without them."""
        return (
            f"Suppressed with *: all quasi-identifiers of {self.rows:,} rows, and {self.cells:,} cells in "
            f"{self.rows_with_cells:,} more. k is {self.k:,} with them, where * is a value like any other; "
            f"{self.k_without_rows:,} without the suppressed rows; {self.k_without_cells:,} without the others too."
        )


def suppressed_cells(table: str | Path | pa.Table, names: Sequence[str]) -> SuppressedCells | None:
    """Count suppressed quasi-identifiers; None where there is none.

    Parameters
    ----------
    names : sequence of str
        The quasi-identifiers; none of them holds a suppressed cell where there is none.

    Raises
    ------
    EngineError
        The table cannot be read, or lacks a column.
    """
    if not names:
        return None
    with opened(table, names) as lines:
        keys = ", ".join(f"{lines.column(name)} AS q{at}" for at, name in enumerate(names))
        hidden = " + ".join(
            f"(CAST({lines.column(name)} AS VARCHAR) IS NOT DISTINCT FROM '{SUPPRESSED}')::BIGINT" for name in names
        )
        ((rows, cells, with_cells, smallest, without_rows, without_cells),) = lines.connection.execute(
            "SELECT coalesce(sum(n) FILTER (hidden = $1), 0)::BIGINT, "
            "coalesce(sum(n * hidden) FILTER (hidden < $1), 0)::BIGINT, "
            "coalesce(sum(n) FILTER (hidden > 0 AND hidden < $1), 0)::BIGINT, "
            "coalesce(min(n), 0)::BIGINT, coalesce(min(n) FILTER (hidden < $1), 0)::BIGINT, "
            "coalesce(min(n) FILTER (hidden = 0), 0)::BIGINT FROM "
            f"(SELECT {keys}, {hidden} AS hidden, {lines.rows()} AS n FROM {lines.source} GROUP BY ALL)",
            [len(names)],
        ).fetchall()
    if not rows and not with_cells:
        return None
    return SuppressedCells(
        rows=rows,
        cells=cells,
        rows_with_cells=with_cells,
        k=smallest,
        k_without_rows=without_rows,
        k_without_cells=without_cells,
    )


_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def junit_xml(name: str, checks: Sequence[Check], unchecked: Sequence[str] = ()) -> str:
    """Return the checks as one test suite.

    Parameters
    ----------
    name : str
        What was validated.
    checks : sequence of Check
    unchecked : sequence of str
        A promise or requirement that could not be checked: an error each, never a success. A suite without any check
        is an error too.
    """
    missing = list(unchecked) or ([] if checks else ["anything"])
    errors = [(absent, "could not be checked", "unchecked") for absent in missing]
    return _document(name, checks, errors)


def junit_error(name: str, code: str, message: str) -> str:
    """Return a validation that came to no result as one error, so that nobody takes an older file for its result.

    Parameters
    ----------
    name : str
        What was to be validated.
    code : str
        Word of the error, such as "SOURCE".
    message : str
        One line, without a cell.
    """
    return _document(name, (), [("validation", message, code)])


def _document(name: str, checks: Sequence[Check], errors: Sequence[tuple[str, str, str]]) -> str:
    """Return one test suite; errors are a name, a message and a type each."""
    suite = Element(
        "testsuite",
        name="anonkit validate",
        tests=str(len(checks) + len(errors)),
        failures=str(sum(not check.passed for check in checks)),
        errors=str(len(errors)),
    )
    classname = _printable(name)
    for check in checks:
        case = SubElement(suite, "testcase", classname=classname, name=_printable(check.name))
        if not check.passed:
            message = _printable(f"observed {check.observed}, required {check.required}")
            SubElement(case, "failure", message=message, type="promise")
    for what, message, kind in errors:
        case = SubElement(suite, "testcase", classname=classname, name=_printable(what))
        SubElement(case, "error", message=_printable(message), type=kind)
    root = Element("testsuites")
    root.append(suite)
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _printable(text: str) -> str:
    """Replace characters that no XML file may hold."""
    return _UNFIT.sub("\ufffd", text)


@dataclass(frozen=True, kw_only=True)
class Requirements:
    """The requirements of the caller, on top of a release's promise."""

    quasi_identifiers: Sequence[str] | None
    """Columns an attacker may know; None: those of the report."""
    sensitive: Sequence[str]
    k: int | None
    l: float | None  # noqa: E741 - the field's own letter
    t: float | None
    alpha: float | None
    beta: float | None
    against: AgainstPopulation = field(default_factory=AgainstPopulation)
    """Knowledge of the population."""
    population: ReadsPopulation | None = None
    """Reads its file, where there is one."""

    @property
    def about_sensitive(self) -> bool:
        """Return True if a requirement is about sensitive attributes."""
        return not (self.l is self.t is self.alpha is self.beta is None)

    @property
    def anything(self) -> bool:
        """Return True if some k, l, t, alpha or beta is required, or the risk in a population."""
        return self.k is not None or self.about_sensitive or self.against.is_given

    @property
    def names(self) -> tuple[str, ...]:
        """The required checks, by name."""
        given = {
            "k_anonymity": self.k,
            "l_diversity": self.l,
            "t_closeness": self.t,
            "alpha_k_anonymity": self.alpha,
            "basic_beta_likeness": self.beta,
            K_MAP: self.against.k_map,
        }
        return tuple(name for name, value in given.items() if value is not None)

    def checks(self, disclosure: Disclosure, sensitive: Sequence[str], unit: str | None = None) -> Iterator[Check]:
        """Compare with a recount; an empty table keeps no promise. With a `unit` the required k is of people."""
        promise = KAnonymity(
            k=1 if self.k is None else self.k,
            quasi_identifiers=(),
            sensitive=tuple(sensitive),
            diversity=Diversity(l=self.l, t=self.t, alpha=self.alpha),
            unit=unit,
        )
        unasked = ("k_anonymity", "k_anonymity_people") if self.k is None else ()
        yield from (check for check in promise.verify(disclosure) if check.name not in unasked)
        if self.beta is not None:
            for name in sensitive:
                beta = disclosure.sensitive[name]["beta"]
                passed = disclosure.rows > 0 and beta <= self.beta + 1e-9
                yield Check(name=f"basic_beta_likeness:{name}", passed=passed, observed=beta, required=self.beta)


UNCOUNTABLE = {
    "joint_k": "The joint view with earlier releases was counted on the source; the files do not allow that.",
    "k_anonymity_whole_sets": "Whole sets of rows were counted by the owner: the files do not tell whose a row is.",
    CANDIDATE: "Values of what may be the person were counted by the owner: the files do not tell whose a row is.",
}
"""Checks of a release that nobody can repeat from its files, and why; of a column, `name:column`, by their names."""


def cannot_be_repeated(name: str) -> str | None:
    """Return the reason why nobody can repeat a check from the files of a release; None where everybody can."""
    return UNCOUNTABLE.get(name.partition(":")[0])


@dataclass(frozen=True, kw_only=True)
class Validation(ReportPart, keys=("passed", "checks", "unchecked", "notes", "disclosure_risk")):
    """The checks that were made, and their findings."""

    checks: tuple[Check, ...]
    disclosure: Disclosure | None
    """The recount, where there was something to count."""
    unchecked: tuple[str, ...] = ()
    """Declarations and requirements that were not checked: never a pass."""
    uncountable: tuple[str, ...] = ()
    """Declarations that nobody can repeat from the files (`UNCOUNTABLE`)."""
    population: Mapping[str, Any] | None = None
    """The risk in a population, where it was requested."""
    suppressed: SuppressedCells | None = None
    """Cells of a plain table that somebody has suppressed; None where there is none."""
    notes: tuple[str, ...] = ()
    """Findings in columns that are shown unchanged, and their names; no value."""

    @property
    def passed(self) -> bool:
        """True when something was checked, all of it holds, and no declaration or requirement was left out."""
        return bool(self.checks) and not self.unchecked and all(check.passed for check in self.checks)

    def with_declared(self, declared: Iterable[str], asked: Requirements) -> Validation:
        """Return the validation with the declared and required checks that it left out.

        A check of a value or a column, `name:column`, answers for its name.
        """
        made = {check.name for check in self.checks}
        kinds = {name.split(":")[0] for name in made}
        left_out = [name for name in declared if name not in made]
        return replace(
            self,
            unchecked=(
                *(name for name in left_out if cannot_be_repeated(name) is None),
                *(name for name in asked.names if name not in kinds),
            ),
            uncountable=tuple(name for name in left_out if cannot_be_repeated(name) is not None),
        )

    @property
    def disclosure_risk(self) -> dict[str, Any] | None:
        """Risks of the table as in a report, with those that a report has not; None where there are no classes."""
        if self.disclosure is None:
            return None
        more = {"population": self.population, "suppressed": self.suppressed}
        return self.disclosure.to_dict(0.2) | {name: found for name, found in more.items() if found is not None}


def refuse_unknown(names: Sequence[str], columns: Sequence[str]) -> None:
    """Refuse columns that are named and are not in the table.

    Raises
    ------
    ParameterError
        There is one.
    """
    for name in names:
        if name not in columns:
            raise ParameterError(f"column {name!r} is not in the table", did_you_mean(name, columns))
