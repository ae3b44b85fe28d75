# SPDX-License-Identifier: Apache-2.0
"""`anonkit risk`: what makes people of a table unique, in it and in a population, before any release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from anonkit.cli.boundary import one_line, progress_line
from anonkit.cli.commands import ShortHelp
from anonkit.cli.files import refuse_existing, write_text
from anonkit.cli.options import (
    engine_of_checks_options,
    force_option,
    json_option,
    policy_options,
    population_options,
    quiet_option,
    reading_options,
)
from anonkit.cli.outcome import Outcome

if TYPE_CHECKING:
    from anonkit.checks.population_risk import AgainstPopulation
    from anonkit.engines import Local, Spark
    from anonkit.pipeline.risk_before_release import SourceRisk
    from anonkit.policy.declaration import Policy
    from anonkit.report.document import RiskTable

OWNER_LINE = "For you only: counted on the source table, covered by no promise, not to be published."
_SETS_SHOWN = 4  # of each size above one
_COARSENINGS_SHOWN = 5


@click.command(cls=ShortHelp, name="risk")
@click.argument("source", metavar="IN")
@population_options
@click.option("--html", "page", metavar="PAGE", help="Write the figures as a page there; it is for the owner.")
@force_option
@reading_options
@policy_options
@engine_of_checks_options
@quiet_option
@json_option
def command(
    source: str,
    *,
    known: AgainstPopulation,
    how: Mapping[str, Any],
    policy: Policy,
    engine: Local | Spark,
    page: str | None,
    force: bool,
    quiet: bool,
) -> Outcome:
    """Find the columns that make people unique, before any release.

    \b
    anonkit risk in.csv
    anonkit risk in.csv --policy policy.toml --sampling-fraction 0.01
    anonkit risk in.csv --population register.csv --json

    Columns are treated as a release would treat them. Sets of up to three quasi-identifiers are examined. Estimates
    for the population assume a simple random sample and promise nothing. The figures are counted on the table, for its
    owner alone.
    """
    if page is not None:
        refuse_existing(Path(page), force, made_from=source)
    import anonkit
    from anonkit.pipeline.risk_before_release import RISK_STEPS

    with progress_line(quiet, steps=RISK_STEPS) as progress:
        found = anonkit.risk(
            source,
            policy=policy,
            population=known.file,
            population_size=known.size,
            sampling_fraction=known.fraction,
            engine=engine,
            progress=progress,
            **how,
        )
    tables = _tables(found)
    if page is not None:
        from anonkit.redaction import source_names
        from anonkit.report.document import risk_page

        write_text(Path(page), risk_page(source_names(source)[1], tables), force=force, private=True)
    written = [] if page is None else ["", f"Wrote {one_line(page)}"]
    return Outcome(
        text="\n".join([*_lines(source, tables), *written]),
        document={**found.to_dict(), **({} if page is None else {"page": page})},
        notes=found.notes,
        quiet=quiet,
    )


def _tables(found: SourceRisk) -> list[RiskTable]:
    """Return the figures as tables of strings, for the terminal and the page."""
    from anonkit.report.document import RiskTable

    tables = [
        RiskTable(
            heading="The table, and the population", names=("figure", ""), rows=[*_sample(found), *_population(found)]
        ),
        RiskTable(
            heading="What makes people unique",
            names=("columns", f"unique {found.counted}", "distinction", "separation", "share of the scores"),
            rows=list(_sets(found)),
        ),
        RiskTable(
            heading="Coarser columns that would help",
            names=("column", "to", f"unique {found.counted} then", "k then", "bits lost"),
            rows=list(_coarsenings(found)),
        ),
    ]
    return [table for table in tables if table.rows]


def _lines(source: str, tables: Sequence[RiskTable]) -> Iterator[str]:
    yield click.style(OWNER_LINE, fg="yellow")
    yield click.style(f"Risk of {one_line(source)}, before any release", bold=True)
    for table in tables:
        yield ""
        names = [] if not table.names[-1] else [table.names]
        rows = [[*map(one_line, row)] for row in (*names, *table.rows)]
        widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
        for row in rows:
            yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _sample(found: SourceRisk) -> Iterator[tuple[str, str]]:
    uniques, k = found.sample["uniques"], found.sample["k"]
    yield "quasi-identifiers", ", ".join(found.quasi_identifiers)
    yield f"{found.counted} in the table", f"{found.people:,}"
    yield "k", f"{k:,}"
    yield f"unique {found.counted} in the table", f"{uniques:,} ({_percent(uniques / found.people)})"


def _population(found: SourceRisk) -> Iterator[tuple[str, str]]:
    population = found.population
    in_file = population.get("file")
    if in_file is not None:
        yield from _in_file(in_file)
    if population["assumption"] is None:
        if in_file is None:
            yield "unique in the population", "not estimated: --population, --population-size or --sampling-fraction"
        return
    estimates = population["estimates"]
    models = [estimates[name] for name in ("pitman", "zayatz", "snb") if estimates[name] is not None]
    yield "assumption", population["assumption"]
    if models:
        yield (
            "unique in the population",
            f"{_percent(estimates['rule'])} of it (models: {_percent(min(models))} to {_percent(max(models))})",
        )
    yield "people found by an attacker", f"{population['individual']['sum']:,.1f} expected"
    yield "largest risk of a person", f"{population['individual']['max']:.3f}"
    if population["household"] is not None:
        yield "largest risk of a household", f"{population['household']['max']:.3f}"
    fitted = [each for each in estimates["tau"] or () if each["tau1"] is not None]
    if fitted:
        yield "of the unique rows", f"{_range(fitted, 'tau1')} unique in the population too ({_models(fitted)})"
        yield "", f"{_range(fitted, 'tau2')} matched rightly"


def _in_file(figures: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "people in the population file", f"{figures['rows']:,}, {figures['uniques']:,} of them unique"
    if figures["unmatched_classes"]:
        yield "classes that the file lacks", f"{figures['unmatched_classes']:,}: the file is not the whole population"
    if figures["k_map"] is not None:
        yield "fewest people of a class there", f"{figures['k_map']:,}"
        yield "largest share of one in the table", f"{figures['delta_presence']['max']:.3f}"


def _sets(found: SourceRisk) -> Iterator[tuple[str, ...]]:
    shares = {each["column"]: each["share"] for each in found.suda["columns"]}
    by_size: dict[int, list[Mapping[str, Any]]] = {}
    for each in found.sets:
        by_size.setdefault(len(each["columns"]), []).append(each)
    for size, sets in by_size.items():
        shown = sets if size == 1 else [each for each in sets[:_SETS_SHOWN] if each["unique_rows"]]
        for each in shown:
            yield (
                ", ".join(each["columns"]),
                f"{each['unique_rows']:,}",
                f"{each['distinction']:.4f}",
                f"{each['separation']:.4f}",
                _percent(shares[each["columns"][0]]) if size == 1 else "",
            )


def _coarsenings(found: SourceRisk) -> Iterator[tuple[str, ...]]:
    for each in found.coarsenings[:_COARSENINGS_SHOWN]:
        yield each.column, each.to, f"{each.uniques:,}", f"{each.k:,}", f"{each.lost_bits:.2f}"


def _range(fitted: Sequence[Mapping[str, Any]], key: str) -> str:
    values = sorted(each[key] for each in fitted)
    return f"{values[0]:,.1f}" if len(values) == 1 else f"{values[0]:,.1f} to {values[-1]:,.1f}"


def _models(fitted: Sequence[Mapping[str, Any]]) -> str:
    return " and ".join(each["model"] for each in fitted)


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"
