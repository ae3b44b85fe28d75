# SPDX-License-Identifier: Apache-2.0
"""Validation from the files alone: whether a release is what its report describes and keeps its promise.

Comparison of a release's copies in other forms, such as a CSV file, with its data, cell by cell.

Consistency of a release's entries for catalogues and registries with its other files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from anonkit import __version__
from anonkit.bundle.atomic import finish
from anonkit.bundle.data_files import PartWorkers, count_rows, digests_of, parts_of, read_by, read_schema, sha256
from anonkit.bundle.exports.opened_targets import ReleasedTable, copy_at
from anonkit.bundle.header_lines import arrow_table
from anonkit.bundle.json_documents import read_capped, read_json
from anonkit.bundle.release_place import (
    COPIES,
    DATA,
    EMITTED,
    PAGE,
    PARAMS,
    REPORT,
    Place,
    package_name,
    refuse_unfit_files,
)
from anonkit.bundle.store_workers import fetched_by
from anonkit.bundle.stored_release import Release, load_place, refuse_incomplete
from anonkit.checks.class_promise import PromiseEvidence
from anonkit.checks.disclosure import measure
from anonkit.checks.document_agreement import agreement_checks, description_checks, row_checks, unreadable
from anonkit.checks.exported_rows import export_checks
from anonkit.checks.file_integrity import (
    hash_checks,
    key_checks,
    manifest_checks,
    manifest_of,
    read_descriptor,
    read_public_key,
    refuse_other_formats,
    signature_checks,
)
from anonkit.checks.population_counts import ReadsPopulation
from anonkit.checks.population_risk import AgainstPopulation
from anonkit.checks.population_validation import population_of_table
from anonkit.checks.promise_checkers import checker_of
from anonkit.checks.requirements import Requirements, Validation, refuse_unknown, suppressed_cells
from anonkit.checks.sameness import none_of
from anonkit.checks.shown_columns import allowed_in_clear, columns_in_clear, look_at_unchanged, opening_of
from anonkit.checks.shown_numbers import read_as_labels
from anonkit.checks.table_scans import columns_of, copied_once, read_once, refuse_first_record
from anonkit.errors import (
    AnonkitError,
    EngineError,
    MissingDependencyError,
    ParameterError,
    ReleaseFormatError,
    option,
    refusing_damage,
    spoken,
)
from anonkit.promises.guarantee import Check
from anonkit.report.descriptors import PublicFiles

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


_VERSION = re.compile(r"[0-9]{1,4}(\.[0-9]{1,4}){1,3}")
_SAME = "the same"
_UNREADABLE = "unreadable"
_DIFFERENCES = {
    "exported_file": _UNREADABLE,
    "exported_columns": "other columns",
    "exported_types": "other types",
    "exported_rows": "another number of rows",
    "exported_cells": "other cells",
}
"""Meaning of the first comparison that fails; see `anonkit.checks.exported_rows`."""


def copy_checks(place: Place, descriptor: Mapping[str, Any]) -> Iterator[Check]:
    """Compare every copy that the descriptor names with the data: columns, types, and the rows in any order.

    Parameters
    ----------
    place : Place
    descriptor : mapping
        Of the release. A file that it does not name is none of the release, whatever its name.

    Yields
    ------
    Check
        `copy:csv` and so on: the copy holds what the data hold. What is observed is "the same", "absent", or the first
        difference in words.
    """
    named = {resource["name"] for resource in descriptor["resources"]}
    for form, suffix in COPIES.items():
        if form in named:
            path = place.folder / place.name(suffix)  # a store has no copies
            found = _difference(place, suffix) if path.is_file() else "absent"
            yield Check(name=f"copy:{form}", passed=found == _SAME, observed=found, required=_SAME)


def _difference(place: Place, suffix: str) -> str:
    """Return the first comparison that fails."""
    try:
        with closing(copy_at(place.file(suffix))) as form:
            checks = export_checks(form, ReleasedTable(data=place.file(DATA)))
            return next((_DIFFERENCES[check.name] for check in checks if not check.passed), _SAME)
    except MissingDependencyError:
        raise  # a copy that cannot be read here is not judged
    except AnonkitError:  # no file of its form, or data of which there can be no copy
        return _UNREADABLE


_DESCRIBED = {"params": PARAMS, "report": REPORT, "page": PAGE}


def catalogue_checks(
    place: Place, schema: pa.Schema, report: Mapping[str, Any], license_name: str | None
) -> Iterator[Check]:
    """Check the entries beside a release; a release may have none.

    The version that wrote an entry makes the same entry again, byte for byte. Of that of another version only the
    sentence of the promise is looked at. Its hash is looked at like those of all files.

    Parameters
    ----------
    schema : pyarrow.Schema
        That of the data file.
    license_name : str, optional
        Licence of the release, as its other files state it.
    """
    for word, suffix in EMITTED.items():
        if place.file(suffix).exists():
            content = read_capped(place.file(suffix))
            yield none_of(word, not _is_page_unchanged(word, content, place, schema, report, license_name))


def _is_page_unchanged(
    word: str, content: bytes, place: Place, schema: pa.Schema, report: Mapping[str, Any], license_name: str | None
) -> bool:
    if report["anonkit_version"] != __version__:
        return json.dumps(report["guarantee"]["statement"], ensure_ascii=False).encode() in content
    return content == public_files(place, schema, report, license_name).entry(word)


def public_files(place: Place, schema: pa.Schema, report: Mapping[str, Any], license_name: str | None) -> PublicFiles:
    """Return the files of a release on disk as an entry describes them; parameters as those of `catalogue_checks`."""
    data = place.file(DATA)
    return PublicFiles(
        name=package_name(place.stem),
        schema=schema,
        data=digests_of({part.relative_to(place.folder).as_posix(): part for part in parts_of(data)}),
        folder=data.name if data.is_dir() else None,
        sidecars={role: (place.name(suffix), sha256(place.file(suffix))) for role, suffix in _DESCRIBED.items()},
        report=report,
        license_name=license_name,
    )


VALIDATION_STEPS = ("comparing files with their hashes", "recounting the release")
"""Names of the steps of a validation of a release, in order, as progress shows them."""
_NAMED_ONCE = ("quasi_identifiers", "sensitive")
"""Lists of columns in the parameters of a promise."""
_NAMED = spoken(python='quasi_identifiers=["age", "zip", "sex"]', typed="--qi age,zip,sex")


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
    release_as_is: Sequence[str] = (),
    against: AgainstPopulation | None = None,
    population: ReadsPopulation | None = None,
    signed_by: str | Path | None = None,
    workers: PartWorkers | None = None,
    progress: Callable[[str, float], None] = lambda _step, _share: None,
) -> Validation:
    """Validate a release against its own report, or any table against requirements.

    Parameters
    ----------
    table : path, Release or table
        A release (its data file, a sidecar, its folder), or any table file, or an Arrow-capable table.
    quasi_identifiers : sequence of str, optional
        Columns an attacker may know; those of the report for a release.
    sensitive : sequence of str
        Columns whose diversity is measured, beside those of the report.
    k, l, t, alpha, beta : optional
        Required of the table, on top of the report's promise: k-anonymity, distinct l-diversity, t-closeness, the
        largest share of one sensitive value in a class, and basic beta-likeness (the most by which a value is
        likelier in a class than in the table, as a share; Cao and Karras 2012).
    release_as_is : sequence of str
        Columns of a plain table that may be handed out although their cells look like identifiers or number the rows;
        the report of a release states which.
    against : AgainstPopulation, optional
        What is known of the population that the table was drawn from.
    population : ReadsPopulation, optional
        Reads its file, where there is one.
    signed_by : path, optional
        Public key (Ed25519, PEM) that must have signed the release.
    workers : PartWorkers, optional
        Who reads the files of a release in a folder, such as `open_engine("spark").workers`: hashes, classes and cells
        are then counted where they run, and this machine adds up. They must see the folder under the same name, or
        fetch its files from an object store, where they are compared with the descriptor each time.
    progress : callable
        Called with each of `VALIDATION_STEPS` as it begins.

    Raises
    ------
    ReleaseFormatError, EngineError
        It could not be checked: a file is missing or cannot be read, the key among them.
    ParameterError
        Nothing to check was named, or a column is not there.
    ChoiceError
        A column is not there, and the first line of the file looks like a record.
    """
    key = None if signed_by is None else read_public_key(signed_by)
    requested = Requirements(
        quasi_identifiers=quasi_identifiers,
        sensitive=sensitive,
        k=k,
        l=l,
        t=t,
        alpha=alpha,
        beta=beta,
        against=against or AgainstPopulation(),
        population=population,
    )
    place = _place_of(table)
    if place is not None:
        if release_as_is:
            raise ParameterError(
                "release_as_is is about plain tables, and the report of a release says it",
                f"release anew, {option('release_as_is', list(release_as_is))}",
            )
        with fetched_by(workers, place) as there, copied_once():
            found = _validate_release(there, requested, key, progress)
            return found.with_declared(_declared(there), requested) if found.passed else found
    if key is not None:
        raise ParameterError("signed_by is about releases, and this is a plain table", "name the file of a release")
    with read_by(workers):
        return _validate_table(_as_table(table), requested, release_as_is).with_declared((), requested)


def _declared(place: Place) -> list[str]:
    """Return the checks that the report of a release declares.

    Raises
    ------
    ReleaseFormatError
        It does not say them.
    """
    with refusing_damage(f"{str(place.file(REPORT))!r} is damaged"):
        return [str(check["name"]) for check in read_json(place.file(REPORT))["verification"]["checks"]]


def _place_of(table: object) -> Place | None:
    """Return the place of a release, or None for a plain table."""
    if isinstance(table, Release):
        if table.place is None:
            raise ParameterError("a release in memory cannot be validated", "save it first")
        return table.place
    if isinstance(table, Place):
        return table
    if not isinstance(table, str | Path):
        return None
    try:
        place = Place.of(table)
    except ParameterError:
        return None
    return place if any(path.suffix != DATA for path in place.existing()) else None


def _as_table(table: object) -> str | Path | pa.Table:
    return table if isinstance(table, str | Path) else arrow_table(table)


def _validate_table(table: Any, requested: Requirements, allowed: Sequence[str]) -> Validation:
    if requested.quasi_identifiers is None:
        raise ParameterError("no quasi-identifiers are named", f"{_NAMED}: a plain table does not say them")
    if not requested.anything:
        raise ParameterError(
            "no requirement on the table is given", f"{option('k', 10)}, {option('l', 2)} or {option('t', 0.2)}"
        )
    if requested.about_sensitive and not requested.sensitive:
        raise ParameterError("l, t, alpha and beta are about sensitive attributes", option("sensitive", ["NAME"]))
    names = columns_of(table)
    named = [*requested.quasi_identifiers, *requested.sensitive, *allowed]
    if not {*named} <= {*names}:
        refuse_first_record(table)
    refuse_unknown(named, names)
    clear = [name for name in names if name not in requested.quasi_identifiers]
    with read_once(table) as rows:
        disclosure = measure(rows, requested.quasi_identifiers, sensitive=requested.sensitive)
        found = look_at_unchanged(rows, clear, allowed=allowed, known=requested.quasi_identifiers)
        there = population_of_table(rows, disclosure, requested)
        suppressed = suppressed_cells(rows, requested.quasi_identifiers)
    checks = [*requested.checks(disclosure, requested.sensitive), *there.checks, *found.checks]
    notes = (*found.notes, *([] if suppressed is None else [suppressed.note()]))
    return Validation(
        checks=tuple(checks), disclosure=disclosure, population=there.block, suppressed=suppressed, notes=notes
    )


def _validate_release(
    place: Place, requested: Requirements, key: Ed25519PublicKey | None, progress: Callable[[str, float], None]
) -> Validation:
    """Look at a release in an order in which nothing is believed that nobody vouches for.

    Kinds and sizes of the files, the signature over their bytes, the descriptor, the hashes that it states, and only
    then their content. What the required key did not sign is not parsed. Files that were changed after the release
    are, since their content shows what was changed; whatever comes of it, the hashes have decided.
    """
    progress(VALIDATION_STEPS[0], 0.0)
    if place.store is not None:
        place.store.require()
        place.files()  # every file that the descriptor lists is fetched, and compared with it, before it is looked at
    elif key is None:
        finish(place.folder, place.stem)
    refuse_unfit_files(place)
    signed = tuple(signature_checks(place, key))
    if key is not None and not all(check.passed for check in signed):
        return Validation(checks=signed, disclosure=None)
    refuse_incomplete(place)
    descriptor = read_descriptor(place)
    known = (*hash_checks(place, descriptor), *signed)
    progress(VALIDATION_STEPS[1], 0.0)
    noted: tuple[str, ...] = ()
    try:
        release = load_place(place, untouched=True)
        noted = tuple(_other_version(release.report))
        contents = _validate_contents(place, release, descriptor, requested)
    except (EngineError, ReleaseFormatError, MemoryError) as error:
        if not all(check.passed for check in known):  # a changed file need not be readable any more
            return Validation(checks=known, disclosure=None, notes=noted)
        if noted and isinstance(error, ReleaseFormatError) and error.hint is None:
            raise ReleaseFormatError(error.told[0], noted[0]) from error
        raise
    checks = (*known, *contents.checks)
    notes = contents.notes if all(check.passed for check in checks) else (*contents.notes, *noted)
    return replace(contents, checks=checks, notes=notes)


def _other_version(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield a note that names the version of the report, if it is another: a refusal need not mean a forgery."""
    version = report.get("anonkit_version")
    if isinstance(version, str) and _VERSION.fullmatch(version) and version != __version__:
        yield f"it says that anonkit {version} made it, and this is {__version__}: that version checks it"


def _validate_contents(
    place: Place, release: Release, descriptor: Mapping[str, Any], requested: Requirements
) -> Validation:
    try:
        schema, n_rows = read_schema(place.file(DATA)), count_rows(place.file(DATA))
    except (pa.ArrowException, OSError):
        raise ReleaseFormatError(f"{str(place.file(DATA))!r} is not a readable Parquet file") from None
    refuse_other_formats(release.params, release.report, schema)
    try:
        return _validate_documents(place, release, descriptor, schema, n_rows, requested)
    except AnonkitError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise unreadable(error) from error


def _validate_documents(
    place: Place,
    release: Release,
    descriptor: Mapping[str, Any],
    schema: pa.Schema,
    n_rows: int,
    requested: Requirements,
) -> Validation:
    params, report, manifest = release.params, release.report, manifest_of(schema)
    checks = [*manifest_checks(place, schema)]
    if len(set(schema.names)) < len(schema.names) or _has_twice(report):
        # readers do not agree on which column is meant
        return Validation(checks=(*checks, *_column_checks(schema, report)), disclosure=None)
    with read_as_labels(place.file(DATA), schema, params) as labels:
        checks += [*labels.checks, *(_column_checks(labels.schema, report) if labels.readable else ())]
        if manifest is not None:
            checks += agreement_checks(params, report, manifest)
            checks += description_checks(place, schema, descriptor, params, report, manifest)
            checks += catalogue_checks(place, schema, report, manifest.get("license"))
        checks += copy_checks(place, descriptor)
        checks += [*key_checks(params, report), *row_checks(report, n_rows)]
        if not labels.readable:
            return Validation(checks=tuple(checks), disclosure=None)
        clear = [name for name in columns_in_clear(report) if name in schema.names]
        found = look_at_unchanged(place.file(DATA), clear, allowed=allowed_in_clear(report))
        checks += found.checks
        evidence = PromiseEvidence(
            place=place, release=release, schema=labels.schema, labels=labels, requirements=requested, checks=checks
        )
        validation = checker_of(report["guarantee"]).validate(evidence)
        stated = (note for note in report["notes"] if note.startswith(tuple(map(opening_of, clear))))
        return replace(validation, notes=tuple(dict.fromkeys((*found.notes, *validation.notes, *stated))))


def _has_twice(report: Mapping[str, Any]) -> bool:
    """Return True if a report or its promise lists a column twice: a forger could cause endless work."""
    promise = report["guarantee"]["parameters"]
    lists = [[column["name"] for column in report["columns"]], *(promise.get(each, []) for each in _NAMED_ONCE)]
    lists += [[frozenset(key["columns"]) for key in promise.get("keys", [])]]
    lists += [[tuple(candidate["columns"]) for candidate in promise.get("candidates", [])]]
    return any(len(set(names)) < len(names) for names in lists)


def _column_checks(schema: pa.Schema, report: Mapping[str, Any]) -> Iterator[Check]:
    released = sorted(column["name"] for column in report["columns"] if column["action"] != "dropped")
    yield Check(
        name="columns",
        passed=released == sorted(schema.names) and not _has_twice(report),
        observed=len(schema.names),
        required=len(released),
    )
    hidden = {c["name"] for c in report["columns"] if c["role"] in ("identifier", "unit")} & set(schema.names)
    yield Check(name="identifiers_absent", passed=not hidden, observed=len(hidden), required=0)
