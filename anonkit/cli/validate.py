# SPDX-License-Identifier: Apache-2.0
"""`anonkit validate`: check that a release, or any table, keeps its promise and meets the given requirements."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from anonkit.cli.boundary import one_line, progress_line
from anonkit.cli.commands import JunitCommand
from anonkit.cli.files import write_text
from anonkit.cli.options import engine_of_checks_options, json_option, k_map_options, quiet_option, reading_options
from anonkit.cli.outcome import Outcome, WrongUsage
from anonkit.errors import (
    AnonkitError,
    GuaranteeError,
    MissingDependencyError,
    ParameterError,
    ReleaseFormatError,
    SourceError,
    UncheckedError,
)
from anonkit.redaction import redacted

if TYPE_CHECKING:
    from anonkit.bundle.release_place import Place
    from anonkit.checks.population_risk import AgainstPopulation
    from anonkit.checks.requirements import Validation
    from anonkit.engines.engine_choice import Local, Spark
    from anonkit.promises.guarantee import Check

_FIGURES = (
    "k_anonymity",
    "l_diversity",
    "entropy_l_diversity",
    "recursive_c_l_diversity",
    "t_closeness",
    "alpha_k_anonymity",
    "confidence_cap",
    "basic_beta_likeness",
    "epsilon",
    "delta",
    "shuffle_epsilon",
    "k_map",
    "signature",
)
"""Checks that are shown though they passed: their figures are what a release promises."""
_FILE_CHECKS = ("hash:", "manifest", "signed_files")
_MEANINGS = {
    "copy": "a copy of its data in another form does not hold what the data hold",
    "exported_file": "it cannot be read in its form",
    "exported_columns": "it has other columns than the release, or in another order",
    "exported_types": "its columns are of other types than the release was exported with",
    "exported_rows": "it has more or fewer rows than the release",
    "exported_cells": "it has other rows than the release",
    "signature": "it is not signed by that key",
    "signed_files": "its files are not those that were signed",
    "identifiers_absent": "an identifier is among its columns",
    "identifiers_in_clear": "the cells of a column that is shown as it is look like identifiers, or number the rows",
    "columns": "it has other columns than its report says",
    "rows": "it has more or fewer rows than its report says",
    "k_anonymity": "classes are smaller than promised or required",
    "k_anonymity_key": "combinations of the columns of a key are rarer than promised",
    "k_anonymity_people": "classes have fewer people than promised or required",
    "whole_sets_counted_by_owner": "its report does not say that the owner counted whole sets of rows",
    "k_anonymity_whole_sets": "fewer people than promised have one whole set of rows",
    "surrogates": "its files contradict each other about the column that shows which rows belong together",
    "people_of_surrogates": "its classes have other numbers of surrogates than of people",
    "whose_rows": "its files contradict each other about what may be the person",
    "people": "its classes cannot have the numbers of people stated for them",
    "people_of_parts": "the parts of its classes cannot have the numbers of people stated for them",
    "people_of_values": "its values cannot belong to the numbers of people stated for them",
    "l_diversity": "classes are less diverse than promised or required",
    "entropy_l_diversity": "classes are less diverse than promised",
    "recursive_c_l_diversity": "classes are less diverse than promised",
    "t_closeness": "classes are further from the whole table than promised or required",
    "alpha_k_anonymity": "a value is commoner in a class than promised or required",
    "confidence_cap": "a value is commoner in a class than its cap",
    "sensitive_columns": "it says other things of its sensitive columns than its promise",
    "sensitive_values": "its widths or caps cannot follow from its table",
    "basic_beta_likeness": "a value gains more likelihood in a class than required",
    "epsilon": "its parameters have another privacy loss than its report says",
    "account_lines": "its account leaves out draws that must have been made, or states them as they cannot be",
    "account_spends_epsilon": "its privacy budget does not add up to the requested privacy loss",
    "composition": "its account is composed otherwise than its parameters say",
    "adjacency": "its account is about other neighbouring tables than its promise",
    "rows_per_unit": "its account is about another number of rows of a unit than its promise",
    "noise_is_stated": "it shows less noise than its account states",
    "trees": "its trees are not such as its parameters can have grown",
    "rule": "it says other things of the public rule than its parameters and its number of rows lead to",
    "rule_is_followed": "its model is another one than the public rule requires",
    "rows_per_tree": "its trees are not those that its parameters plan",
    "tables": "its noisy tables do not fit its domains and its account",
    "counted_domains": "its columns have other domains than they were counted in",
    "counts_agree": "its counts of the same rows differ by more than their noise",
    "rows_from_model": "its rows cannot come from its model",
    "places_in_cells": "it shows numbers in their cells otherwise than evenly",
    "cells_from_model": "its cells are not those of its model",
    "released_values": "its report says other things of a column than its parameters",
    "columns_of_params": "its report names other columns than its parameters",
    "unit": "its report names another unit than its promise",
    "parameters": "its report names another method or other parameters than its params",
    "published_claim": "its report says of the paper's claim, or of public facts, what its parameters do not",
    "forest": "its report has other figures of the trees than its parameters",
    "epsilon_per_attribute": "its parameters have another privacy loss than its report says",
    "budget": "its budget is not the privacy loss it promises",
    "domain": "it holds values that its parameters do not allow",
    "stated_losses": "its parameters state another privacy loss than their weights have",
    "answers_as_promised": "its promise is not the one its parameters make",
    "method_parameters": "its columns were not treated as the method it names treats them",
    "figures": "its report says other things of a column than its parameters",
    "budget_lines": "its budget is divided otherwise than its parameters say",
    "published_measures": "its measures are not those of its parameters",
    "one_answer_per_row": "rows show more than the one answer they may show",
    "category_order": "its data file has the categories in another order than its parameters",
    "noise_spread": "its numbers are spread otherwise than the noise that its parameters state",
    "shuffle_claim": "what it says of its shuffled file does not follow from its parameters",
    "shuffle_epsilon": "its shuffled file has another privacy loss than its report says",
    "response_rates": "its answers cannot come from the mechanism that its parameters state",
    "class_sizes": "its classes are not those its report counts",
    "randomness": "it was made with a known seed and is not for release",
    "hash:params": "params.json was changed after the release",
    "hash:report": "report.json was changed after the release",
    "hash:page": "the report page was changed after the release",
    "hash:data": "the data file was changed after the release",
    "page": "its page does not show its report",
    "manifest": "the data file and its sidecars do not belong together",
    "promise": "its promise is not the one its parameters make",
    "conditions": "its files say otherwise whose domains were read from the table",
    "assumptions": "its files state other assumptions",
    "model": "its files ask otherwise of the classes",
    "roles": "its files give a column different roles",
    "treatment": "its files treat a column differently",
    "actions": "its files treat a column differently",
    "types": "its columns are of other types than it says",
    "labels": "it has labels that its recoding cannot make",
    "centroids": "rows show combinations that are none of its centroids, or not all of them",
    "boxes": "rows show combinations that its recoding cannot make",
    "told": "its report says other labels than its recoding has",
    "disclosure_risk": "its report states other risks than a recount finds",
    "population": "its report says of the risk in a population what its classes contradict",
    "population_file": "its report states other figures of the population than this file has",
    "k_map": "groups have fewer people in the population file than required",
    "utility": "its report states other measures than a recount finds",
    "prediction_of_target": "its report states figures of prediction that its rows do not have",
    "suppression": "its counts of rows contradict each other",
    "rows_accounted": "its counts of rows contradict each other",
    "method": "its files name different methods or parameters",
    "verification": "its report says that something else was verified",
    "documents": "its documents hold keys or values that are not theirs",
    "descriptor": "its descriptor says otherwise than its report",
    "metadata": "its metadata hold what anonkit does not write",
    "croissant": "its Croissant file says otherwise than its other files",
    "registry": "its registry entry says otherwise than its report",
}
"""Meaning of a failed check, the gravest first."""


@click.command(cls=JunitCommand, name="validate")
@click.argument("table", metavar="OUT")
@click.option("--qi", metavar="A,B", multiple=True, help="Quasi-identifiers of a plain table; default: the report's.")
@click.option("--sensitive", metavar="COLUMN", multiple=True, help="Measure this column's diversity too; repeatable.")
@click.option("--k", type=click.IntRange(min=1), metavar="INTEGER", help="Smallest group required (k).")
@click.option("--l", "l_", type=click.FloatRange(min=1), metavar="NUMBER", help="Distinct l-diversity required.")
@click.option("--t", type=click.FloatRange(0, 1), metavar="NUMBER", help="t-closeness required.")
@click.option("--alpha", type=click.FloatRange(0, 1), metavar="NUMBER", help="Largest share of a value in a class.")
@click.option("--beta", type=click.FloatRange(min=0), metavar="NUMBER", help="Basic beta-likeness required.")
@click.option(
    "--release-as-is",
    metavar="COLUMN",
    multiple=True,
    help="Of a plain table: this column may be handed out whatever its cells look like; repeatable.",
)
@k_map_options
@click.option("--signed-by", metavar="PUBLIC_KEY", help="Public key (Ed25519, PEM) that must have signed the release.")
@click.option("--against", metavar="OUT", help="Compare TARGET, which was exported, with its release OUT.")
@engine_of_checks_options
@reading_options
@click.option("--junit", metavar="FILE", help="Write the checks as JUnit test results too; rewritten whatever happens.")
@click.option("-v", "--verbose", is_flag=True, help="List every check of a release, and not only what failed.")
@quiet_option
@json_option
def command(
    table: str,
    *,
    qi: tuple[str, ...],
    sensitive: tuple[str, ...],
    k: int | None,
    l_: float | None,
    t: float | None,
    alpha: float | None,
    beta: float | None,
    release_as_is: tuple[str, ...],
    known: AgainstPopulation,
    signed_by: str | None,
    against: str | None,
    engine: Local | Spark,
    how: Mapping[str, Any],
    junit: str | None,
    verbose: bool,
    quiet: bool,
) -> Outcome:
    """Recount a release and compare it with its promise.

    \b
    anonkit validate out.parquet
    anonkit validate out.parquet --k 10 --l 2 --sensitive illness
    anonkit validate out.parquet --signed-by owner.pub
    anonkit validate table.csv --qi age,zip,sex --k 5
    anonkit validate table.csv --qi age,zip --sensitive illness --l 2 --alpha 0.5 --junit results.xml
    anonkit validate out.csv --against out.parquet
    anonkit validate out.parquet --engine spark --spark-master spark://host:7077

    Exits with 1 when a check fails and with 3 when something promised could not be checked. Of a release it shows the
    promised figures and what failed; --verbose lists every check, --json and --junit have all. It checks the hashes of
    the files, the columns, k, l and t, and the figures of the report. The source table is not needed. With
    --engine spark executors read the files of a release that is a folder, or fetch them from an object store.
    """
    from anonkit.bundle.private_files import sweep
    from anonkit.checks.requirements import cannot_be_repeated, junit_xml
    from anonkit.checks.validation import VALIDATION_STEPS, validate
    from anonkit.cli.summary import check_line
    from anonkit.engines.snapshots.whole_tables import whole_table
    from anonkit.pipeline.exporting import validate_export
    from anonkit.pipeline.population_measures import PopulationFile
    from anonkit.pipeline.validating import without_pandas
    from anonkit.report.block_words import population_sentences
    from anonkit.report.wording import gathered

    without_pandas()
    sweep()
    names = [name for column in qi for name in _names(column)]
    if against is not None:
        if (
            names
            or sensitive
            or release_as_is
            or any(value is not None for value in (k, l_, t, alpha, beta, signed_by, *how.values()))
            or known.is_given
        ):
            raise WrongUsage(
                "--against compares with the release alone", "anonkit validate OUT takes the other options"
            )
        stored, validation = None, validate_export(table, against)
    else:
        stored = _release_at(table, is_table=bool(names))
        read = whole_table(table, **how) if stored is None else stored
        if isinstance(read, str):
            _refuse_absent(table)
        with engine.workers() as workers, progress_line(quiet, steps=VALIDATION_STEPS) as progress:
            validation = validate(
                read,
                quasi_identifiers=names or None,
                sensitive=sensitive,
                k=k,
                l=l_,
                t=t,
                alpha=alpha,
                beta=beta,
                release_as_is=release_as_is,
                against=known,
                population=None if known.file is None else PopulationFile(file=known.file),
                signed_by=signed_by,
                workers=workers,
                progress=progress,
            )
    if junit is not None:
        write_text(Path(junit), junit_xml(redacted(table), validation.checks, validation.unchecked), force=True)
    is_release = stored is not None or any(check.name.startswith(_FILE_CHECKS) for check in validation.checks)
    shown = [check for check in validation.checks if verbose or not is_release or _is_of_interest(check)]
    lines = [check_line(column) for column in gathered(check.to_dict() for check in sorted(shown, key=_rank))]
    if len(shown) < len(validation.checks):
        lines.append(f"        {len(validation.checks) - len(shown)} more passed; --verbose lists them.")
    lines += [f"        {sentence}" for sentence in population_sentences(validation.population, by_owner=False)]
    passed = sum(check.passed for check in validation.checks)
    head = click.style(f"{one_line(redacted(table))}: {passed} of {len(validation.checks)} checks passed", bold=True)
    return Outcome(
        text="\n".join([head, *lines]),
        document=validation.to_dict(),
        notes=[
            *validation.notes,
            *dict.fromkeys(str(cannot_be_repeated(name)) for name in validation.uncountable),
            *_notes_on_strays(stored),
        ],
        quiet=quiet,
        failure=_failure(table, validation),
    )


def _rank(check: Check) -> tuple[bool, bool]:
    """Order checks for reading: what failed first, the hashes of files last."""
    return check.passed, check.name.startswith(_FILE_CHECKS)


def _is_of_interest(check: Check) -> bool:
    """Return True if a check failed, or its figure is one of the promise."""
    return not check.passed or check.name.startswith(_FIGURES)


def _names(listed: str) -> Sequence[str]:
    """Return the names of a list with commas; a name that holds one is in quotes, as in CSV."""
    return next(csv.reader([listed], skipinitialspace=True), [])


def _release_at(table: str, *, is_table: bool) -> Place | None:
    """Return the place of a release in an object store, or of one that is named by a copy such as `out.xlsx`.

    None for everything else, a table in a store among it. Of a copy nothing is read: its release is looked at first.

    Parameters
    ----------
    is_table : bool
        True where the requirements are those of a table: a store's table is read without the library of releases.

    Raises
    ------
    ReleaseFormatError
        An interrupted run left files there, and no release.
    """
    from anonkit.bundle.release_place import DESCRIPTOR, Place, copy_of

    try:
        place = Place.of(table)
        if place.store is None:
            return None if copy_of(table) is None else place
        if place.existing():
            return place
        strays = place.stray_objects
    except ParameterError:
        return None
    except MissingDependencyError:
        if is_table:
            return None
        raise
    if strays:
        raise ReleaseFormatError(
            f"{place.shown(DESCRIPTOR)!r} does not exist, and {strays} objects are there that no descriptor lists",
            "an interrupted run left them: what no descriptor lists is no release",
        )
    return None


def _notes_on_strays(place: Place | None) -> list[str]:
    strays = 0 if place is None else place.stray_objects
    return (
        []
        if not strays
        else [f"{strays} objects beside the release are of none: a run was interrupted, or is at work now."]
    )


def _refuse_absent(table: str) -> None:
    """Refuse a name under which there is neither a table nor a release.

    Raises
    ------
    SourceError
        There is none.
    """
    from anonkit.bundle.release_place import Place

    try:
        place = Place.of(table)
    except ParameterError:
        place = None
    if not Path(table).exists() and not (place and place.existing()):
        raise SourceError(f"{table!r} does not exist")


def _failure(table: str, validation: Validation) -> AnonkitError | None:
    """Return the reason why the release must not be trusted; a check that was not made is never a pass."""
    failed = [check.name for check in validation.checks if not check.passed]
    if failed:
        count = f"failed {len(failed)} of {len(validation.checks)} checks: {', '.join(failed)}"
        return GuaranteeError(f"{table}: {_diagnosis(failed)}; {count}", "do not hand it out")
    if validation.unchecked or not validation.checks:
        what = ", ".join(validation.unchecked) or "anything"
        hint = "l, t, alpha and beta are about columns: --sensitive NAME"
        return UncheckedError(f"{table}: could not check {what}", hint)
    return None


def _diagnosis(failed: Sequence[str]) -> str:
    """Return the meaning of the gravest of the failed checks."""
    for prefix, meaning in _MEANINGS.items():
        if any(name == prefix or name.startswith(f"{prefix}:") for name in failed):
            return meaning
    return "it is not what it was released as"
