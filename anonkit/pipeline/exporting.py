# SPDX-License-Identifier: Apache-2.0
"""A verified release in another form: validated, written, read back, compared, and only then put in place."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from anonkit.bundle.data_files import sha256
from anonkit.bundle.exports.export_files import DESCRIPTOR as DESCRIPTOR_NAME
from anonkit.bundle.exports.export_files import SIDECAR_TABLE, Target
from anonkit.bundle.exports.opened_targets import ReleasedTable, form_of
from anonkit.bundle.json_documents import read_capped
from anonkit.bundle.release_place import (
    DATA,
    DESCRIPTOR,
    PARAMS,
    REPORT,
    Place,
    copy_of,
    listed_copies,
    refuse_unfit_files,
)
from anonkit.checks.exported_rows import export_checks
from anonkit.checks.requirements import Validation
from anonkit.checks.validation import validate
from anonkit.documents import ReportPart
from anonkit.errors import AnonkitError, EngineError, GuaranteeError, ParameterError, option
from anonkit.protocols import Progress, no_progress

EXPORT_STEPS = ("validating", "writing", "comparing")
"""Names of the steps of an export, in order, as progress shows them."""


@dataclass(frozen=True, kw_only=True)
class Export(ReportPart):
    """A release that was exported."""

    release: str
    target: str
    """Without secrets."""
    form: str
    rows: int
    columns: int
    sidecars: str
    """Place of params, report and descriptor: files beside the target, or the table beside it."""
    cut: tuple[str, ...] = ()
    """Columns whose times lost their nanoseconds, which only the Parquet file holds."""
    remains: bool = False
    """True: the database may keep cells of the table that was replaced, in its file, until it writes over them."""


def export(release: str | Path, target: str | Path, *, force: bool = False, progress: Progress = no_progress) -> Export:
    """Write a verified release in another form: a CSV, Excel, SPSS, Stata or Arrow file, or a table of a database.

    Parameters
    ----------
    release : path
        Any file of the release, or its folder.
    target : path or address
        `NAME.csv`, `.tsv`, `.xlsx`, `.sav` (SPSS), `.dta` (Stata), `.arrow` (`.feather`), `.sqlite`, `.duckdb`, or
        `sqlite:///FILE?table=NAME`, `duckdb:///FILE?table=NAME`, `postgresql://USER@HOST/DATABASE?table=NAME`; the
        table is called `released` when it is not named.
    force : bool
        Replace a file, or a table and that of its sidecars, that is there.
    progress : callable
        Called with the step and the share done.

    Raises
    ------
    GuaranteeError
        The release does not validate, or what was written is not what it holds; nothing was put in place.
    ParameterError
        The target is there already or is none, or cannot hold the release.
    EngineError
        It cannot be written; nothing was put in place.
    MissingDependencyError
        The part that writes this form is not installed.

    Privacy
    -------
    The release as it was published, and nothing else, leaves. No secret of an address is shown anywhere.
    """
    to, place = Target.of(target), _place_of(release)
    _refuse_listed(to)
    with closing(form_of(to)) as form:
        if form.exists() and not force:
            raise ParameterError(f"{to.named!r} exists", f"{option('force', True)} replaces it")
        progress("validating", 0.0)
        before = sha256(place.file(DATA)) if place.file(DATA).exists() else None
        _refuse_unverified(place)
        rows = ReleasedTable(data=place.file(DATA))
        n_rows, n_columns, cut = rows.n_rows, len(rows.schema), rows.cut_columns
        progress("writing", 0.0)
        form.write(rows, _sidecars(place))
        progress("comparing", 0.0)
        broken = [check.name for check in export_checks(form, rows) if not check.passed]
        if broken or sha256(place.file(DATA)) != before:
            what = broken[0] if broken else "the release was changed meanwhile"
            raise GuaranteeError(f"{to.named!r} would not hold the release: {what}", "nothing was put in place")
        form.commit()
    beside = f"{to.named}.*.json" if to.is_file else f"{to.table}{SIDECAR_TABLE}"
    shown = place.shown(DATA)
    return Export(
        release=shown,
        target=to.named,
        form=to.form,
        rows=n_rows,
        columns=n_columns,
        sidecars=beside,
        cut=cut,
        remains=form.remains,
    )


def validate_export(target: str | Path, release: str | Path) -> Validation:
    """Compare an exported table with a release, which is validated itself.

    Parameters
    ----------
    target : path or address
        As for `export`.
    release : path
        Any file of the release it was exported from.

    Raises
    ------
    EngineError, ReleaseFormatError
        It could not be compared: the target is not there, a server is not to be reached.
    """
    to, place = Target.of(target), _place_of(release)
    found = validate(place)
    with closing(form_of(to)) as form:
        if not form.exists():
            raise EngineError(f"{to.named!r} does not exist")
        checks = tuple(export_checks(form, ReleasedTable(data=place.file(DATA))))
    return Validation(
        checks=(*checks, *found.checks),
        disclosure=found.disclosure,
        unchecked=found.unchecked,
        uncountable=found.uncountable,
    )


def _place_of(release: str | Path) -> Place:
    place = Place.of(release)
    refuse_unfit_files(place)
    if not place.has(DATA):
        raise ParameterError(f"{place.shown(DATA)!r} does not exist")
    return place


def _refuse_listed(target: Target) -> None:
    """Refuse to write over a copy that a release lists with its hash: it would validate no more."""
    stem, form = (None if target.path is None else copy_of(target.path.name)) or ("", "")
    if target.path is not None and stem and form in listed_copies(target.path.parent, stem):
        raise ParameterError(f"{target.named!r} is a file of the release beside it", "choose another name")


def _refuse_unverified(place: Place) -> None:
    """Refuse a table that is no release, and a release that does not keep its promise or cannot be checked."""
    shown = place.shown(DATA)
    if any(not place.file(suffix).exists() for suffix in (PARAMS, REPORT, DESCRIPTOR)):
        raise GuaranteeError(
            f"{shown!r} is no whole release: nothing vouches for its rows", "anonkit release makes one"
        )
    try:
        found = validate(place)
    except AnonkitError as error:
        raise GuaranteeError(f"{shown!r} cannot be validated: {error.message}", "nothing was written") from None
    broken = [check.name for check in found.checks if not check.passed]
    if broken or not found.passed:
        what = broken[0] if broken else f"{', '.join(found.unchecked)} could not be checked"
        raise GuaranteeError(f"{shown!r} does not validate: {what}", "anonkit validate tells more; nothing was written")


def _sidecars(place: Place) -> Mapping[str, bytes]:
    """Return params, report and descriptor of a release, by the names that their copies get."""
    names = {"params.json": PARAMS, "report.json": REPORT, DESCRIPTOR_NAME: DESCRIPTOR}
    return {name: read_capped(place.file(suffix)) for name, suffix in names.items()}
