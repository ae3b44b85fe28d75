# SPDX-License-Identifier: Apache-2.0
"""Validation from the files alone: whether a release is what its report describes and keeps its promise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from anonkit.bundle.data_files import count_rows, read_schema
from anonkit.bundle.stored_release import DATA, Place, Release, load
from anonkit.checks.agreement import agreement_checks, row_checks, verification_checks
from anonkit.checks.anonymity import figure_checks, model_checks, recounted, role_checks
from anonkit.checks.central import central_checks
from anonkit.checks.described import description_checks, unreadable
from anonkit.checks.disclosure import Disclosure, columns_of, measure
from anonkit.checks.local_table import local_checks
from anonkit.checks.recoded_labels import label_checks
from anonkit.checks.row_numbers import row_number_check
from anonkit.checks.signature import read_public_key, signature_checks
from anonkit.checks.written_files import (
    hash_checks,
    manifest_checks,
    manifest_of,
    read_descriptor,
    refuse_other_formats,
)
from anonkit.errors import AnonkitError, EngineError, ParameterError, ReleaseFormatError, did_you_mean
from anonkit.promises.anonymous_classes import Diversity, KAnonymity
from anonkit.promises.guarantee import Check

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """What the caller asks, on top of what a release promises."""

    quasi_identifiers: Sequence[str] | None
    sensitive: Sequence[str]
    k: int | None
    l: float | None  # noqa: E741 - the field's own letter
    t: float | None
    alpha: float | None
    beta: float | None

    @property
    def about_sensitive(self) -> bool:
        """Tell whether something is asked that is about sensitive attributes."""
        return not (self.l is self.t is self.alpha is self.beta is None)

    @property
    def anything(self) -> bool:
        """Tell whether some k, l, t, alpha or beta is asked."""
        return self.k is not None or self.about_sensitive

    def checks(self, disclosure: Disclosure, sensitive: Sequence[str], unit: str | None = None) -> Iterator[Check]:
        """Compare with a recount; an empty table keeps no promise. With a `unit` the k asked is of people."""
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
                found = disclosure.sensitive[name]["beta"]
                passed = disclosure.rows > 0 and found <= self.beta + 1e-9
                yield Check(name=f"basic_beta_likeness:{name}", passed=passed, observed=found, required=self.beta)


@dataclass(frozen=True, kw_only=True)
class Validation:
    """What was looked at, and what was found."""

    checks: tuple[Check, ...]
    disclosure: Disclosure | None
    """The recount, where there was something to count."""

    @property
    def passed(self) -> bool:
        """True when something was checked and all of it holds."""
        return bool(self.checks) and all(check.passed for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """Return the validation for `--json`."""
        return {
            "passed": self.passed,
            "checks": [check.to_dict() for check in self.checks],
            "disclosure_risk": None if self.disclosure is None else self.disclosure.to_dict(0.2),
        }


def validate(
    table: str | Path | Release | Any,
    *,
    quasi_identifiers: Sequence[str] | None = None,
    sensitive: Sequence[str] = (),
    k: int | None = None,
    l: float | None = None,  # noqa: E741 - the field's own letter
    t: float | None = None,
    alpha: float | None = None,
    beta: float | None = None,
    signed_by: str | Path | None = None,
) -> Validation:
    """Validate a release against its own report, or any table against what is asked.

    Parameters
    ----------
    table : path, Release or table
        A release (its data file, a sidecar, its folder), or any table file, or an Arrow-capable table.
    quasi_identifiers : sequence of str, optional
        Columns an attacker may know; those of the report for a release.
    sensitive : sequence of str
        Columns whose diversity is measured, beside those of the report.
    k, l, t, alpha, beta : optional
        Asked of the table, on top of what the report promises: k-anonymity, distinct l-diversity, t-closeness, the
        largest share of one sensitive value in a class, and basic beta-likeness (the most by which a value is
        likelier in a class than in the table, as a share; Cao and Karras 2012).
    signed_by : path, optional
        Public key (Ed25519, PEM) that must have signed the release.

    Raises
    ------
    ReleaseFormatError, EngineError
        It could not be checked: a file is missing or cannot be read, the key among them.
    ParameterError
        Nothing to check was named, or a column is not there.
    """
    key = None if signed_by is None else read_public_key(signed_by)
    asked = _Asked(quasi_identifiers=quasi_identifiers, sensitive=sensitive, k=k, l=l, t=t, alpha=alpha, beta=beta)
    place = _place_of(table)
    if place is not None:
        return _validate_release(place, asked, key)
    if key is not None:
        raise ParameterError("signed_by is about releases, and this is a plain table", "name the file of a release")
    return _validate_table(_as_table(table), asked)


def _place_of(table: object) -> Place | None:
    """Return where a release stands, or None for a plain table."""
    if isinstance(table, Release):
        if table.place is None:
            raise ParameterError("a release in memory cannot be validated", "save it first")
        return table.place
    if not isinstance(table, str | Path):
        return None
    try:
        place = Place.of(table)
    except ParameterError:
        return None
    return place if any(path.suffix != DATA for path in place.existing()) else None


def _as_table(table: Any) -> Any:
    if isinstance(table, str | Path | pa.Table):
        return table
    if hasattr(table, "__arrow_c_stream__"):
        return pa.table(pa.RecordBatchReader.from_stream(table))
    raise ParameterError(f"a {type(table).__name__} is not a table")


def _validate_table(table: Any, asked: _Asked) -> Validation:
    if asked.quasi_identifiers is None:
        raise ParameterError("no quasi-identifiers are named", "--qi age,zip,sex: a plain table does not say them")
    if not asked.anything:
        raise ParameterError("nothing is asked of the table", "--k 10, --l 2 or --t 0.2")
    if asked.about_sensitive and not asked.sensitive:
        raise ParameterError("l, t, alpha and beta are about sensitive attributes", "--sensitive NAME")
    _refuse_unknown([*asked.quasi_identifiers, *asked.sensitive], columns_of(table))
    disclosure = measure(table, asked.quasi_identifiers, sensitive=asked.sensitive)
    checks = [*asked.checks(disclosure, asked.sensitive), row_number_check(table, asked.quasi_identifiers)]
    return Validation(checks=tuple(checks), disclosure=disclosure)


def _refuse_unknown(names: Sequence[str], columns: Sequence[str]) -> None:
    for name in names:
        if name not in columns:
            raise ParameterError(f"column {name!r} is not in the table", did_you_mean(name, columns))


def _validate_release(place: Place, asked: _Asked, key: Ed25519PublicKey | None) -> Validation:
    release, descriptor = load(place.file(DATA)), read_descriptor(place)
    hashes = [*hash_checks(place, descriptor), *signature_checks(place, key)]
    try:
        found = _validate_contents(place, release, descriptor, asked)
    except (EngineError, ReleaseFormatError):
        if all(check.passed for check in hashes):
            raise
        return Validation(checks=tuple(hashes), disclosure=None)  # a changed file need not be readable any more
    return Validation(checks=(*hashes, *found.checks), disclosure=found.disclosure)


def _validate_contents(place: Place, release: Release, descriptor: Mapping[str, Any], asked: _Asked) -> Validation:
    try:
        schema, n_rows = read_schema(place.file(DATA)), count_rows(place.file(DATA))
    except (pa.ArrowException, OSError):
        raise ReleaseFormatError(f"{str(place.file(DATA))!r} is not a readable Parquet file") from None
    refuse_other_formats(release.params, release.report, schema)
    try:
        return _validate_documents(place, release, descriptor, schema, n_rows, asked)
    except AnonkitError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise unreadable(error) from error


def _validate_documents(
    place: Place, release: Release, descriptor: Mapping[str, Any], schema: pa.Schema, n_rows: int, asked: _Asked
) -> Validation:
    params, report, manifest = release.params, release.report, manifest_of(schema)
    checks = [*manifest_checks(place, schema), *_column_checks(schema, report)]
    if len(set(schema.names)) < len(schema.names):
        return Validation(checks=tuple(checks), disclosure=None)  # readers do not agree on which column is meant
    if manifest is not None:
        checks += agreement_checks(params, report, manifest)
        checks += description_checks(place, schema, descriptor, report, manifest)
    checks += row_checks(report, n_rows)
    if report["guarantee"]["kind"] != KAnonymity.kind:
        if asked.anything:
            raise ParameterError(
                "k, l and t can be asked of k-anonymous releases only", "this one promises something else"
            )
        found = _answer_checks(place, release)
        made = [*found, *(check for check in checks if check.name == "identifiers_absent")]
        checks += [*found, *verification_checks(report, made, _UNCOUNTABLE)]
        return Validation(checks=tuple(checks), disclosure=None)
    return _validate_anonymity(place, release, asked, schema, checks)


def _validate_anonymity(
    place: Place, release: Release, asked: _Asked, schema: pa.Schema, checks: Sequence[Check]
) -> Validation:
    """Recount the classes, and compare them with the promise, the report and what is asked."""
    params, report, data = release.params, release.report, place.file(DATA)
    promise, given = KAnonymity.from_dict(report["guarantee"]), asked.quasi_identifiers
    watched = tuple(dict.fromkeys((*promise.sensitive, *asked.sensitive)))
    _refuse_unknown([*(given or ()), *asked.sensitive], schema.names)
    counted = [*role_checks(params, report, schema), *model_checks(params, report)]
    counted += label_checks(data, schema.names, params, report)
    disclosure = recounted(data, schema, promise, given, watched, params)
    promised = [*disclosure.checks, *promise.verify(disclosure)]
    if given is None:
        counted += figure_checks(report, disclosure, promise)
        made = [*promised, *(check for check in checks if check.name == "identifiers_absent")]
        counted += verification_checks(report, made, _UNCOUNTABLE)
    more = [check for check in asked.checks(disclosure, watched, promise.unit) if check not in promised]
    return Validation(checks=(*checks, *promised, *counted, *more), disclosure=disclosure)


_UNCOUNTABLE = ("joint_k",)
"""Checks of a release that nobody can repeat from its files."""


def _column_checks(schema: pa.Schema, report: Mapping[str, Any]) -> Iterator[Check]:
    released = sorted(column["name"] for column in report["columns"] if column["action"] != "dropped")
    yield Check(
        name="columns", passed=released == sorted(schema.names), observed=len(schema.names), required=len(released)
    )
    hidden = {c["name"] for c in report["columns"] if c["role"] in ("identifier", "unit")} & set(schema.names)
    yield Check(name="identifiers_absent", passed=not hidden, observed=len(hidden), required=0)


def _answer_checks(place: Place, release: Release) -> list[Check]:
    """Read the parameters of a table with noise anew: its loss, its domains, its answers."""
    if "accounting" in release.params:
        return list(central_checks(place.file(DATA), release.params, release.report["guarantee"], release.report))
    return list(local_checks(place.file(DATA), release.params, release.report))
