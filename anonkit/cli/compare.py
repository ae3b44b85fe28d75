# SPDX-License-Identifier: Apache-2.0
"""`anonkit compare`: methods and parameters side by side, by measured risk and model utility."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, TypeVar

import click

from anonkit.cli.boundary import one_line, progress_line
from anonkit.cli.commands import ShortHelp
from anonkit.cli.files import refuse_existing, write_text
from anonkit.cli.options import (
    budget_delta_option,
    budget_option,
    domains_min_people_option,
    force_option,
    json_option,
    quiet_option,
    reading_options,
    task_option,
)
from anonkit.cli.outcome import Outcome, WrongUsage
from anonkit.errors import on_command_line

if TYPE_CHECKING:
    from anonkit.comparing.comparison import Comparison

_Number = TypeVar("_Number", int, float)
_WIDTH = 100
_RISKS = 4
"""Columns of the table before those of risks."""


@click.command(cls=ShortHelp, name="compare")
@click.argument("source", metavar="IN")
@click.option(
    "--target", metavar="COLUMN", help="Column that models predict, a class or a number; default: the policy's."
)
@task_option
@click.option("--methods", metavar="A,B", required=True, help="Methods to compare: `anonkit methods` lists them.")
@click.option("--k", "k_", metavar="A,B", default="5,10,50", show_default=True, help="Values of k.")
@click.option("--epsilon", metavar="A,B", default="0.5,1,2,4", show_default=True, help="Values of epsilon.")
@reading_options
@click.option("--policy", metavar="FILE", help="What the owner declares (TOML).")
@click.option(
    "--identifier", metavar="COLUMN", multiple=True, help="Column that names a person; never released; repeatable."
)
@click.option("--domains-from-data", is_flag=True, help="Read undeclared domains from the table.")
@domains_min_people_option
@click.option("--public", metavar="TABLE", help="Public or simulated rows to compare on instead.")
@click.option("--charge", metavar="LEDGER", help="Book every epsilon that is compared in this ledger.")
@click.option("--dataset", metavar="NAME", help="Dataset whose budget is spent.")
@budget_option
@budget_delta_option
@click.option("--rows", type=click.IntRange(min=100), default=20_000, show_default=True, help="Rows compared.")
@click.option("--attacks", type=click.IntRange(min=10), default=200, show_default=True, help="People attacked.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the random choice of rows and people.")
@click.option("--output", metavar="PAGE", help="Write the page with the plot there; it is for the owner.")
@force_option
@quiet_option
@json_option
def command(
    source: str,
    *,
    target: str | None,
    task: str | None,
    methods: str,
    k_: str,
    epsilon: str,
    identifier: tuple[str, ...],
    how: Mapping[str, Any],
    output: str | None,
    force: bool,
    quiet: bool,
    **given: Any,
) -> Outcome:
    """Compare methods by risk and by what models keep.

    \b
    anonkit compare in.csv --target income --methods rfka,mondrian --k 5,10,50 --output frontier.html
    anonkit compare in.csv --target income --methods rr --epsilon 1,4 --policy policy.toml --json

    Each method releases half of the rows, in memory. Random forest, boosted trees and logistic regression learn from it
    and are scored on the other half, which is also the control of the attacks. Under noise the model of `anonkit
    reconstruct` is scored too. Choosing epsilon by looking at private data has a price: --charge books it,
    --public avoids it.
    """
    from anonkit.comparing.comparison import compare, comparison_steps, made_apart
    from anonkit.comparing.frontier import frontier_page
    from anonkit.utility.learning_process import done_here, has_process, learned

    if output is not None:
        refuse_existing(Path(output), force, made_from=source)
        _refuse_losing(given["charge"], Path(output))
    names = [name.strip() for name in methods.split(",") if name.strip()]
    ks, epsilons = _numbers("--k", k_, int), _numbers("--epsilon", epsilon, float)
    apart = made_apart(learned, done_here) if has_process() else nullcontext()
    with apart, progress_line(quiet, steps=comparison_steps(names, ks, epsilons)) as progress:
        comparison = compare(
            source,
            target=target,
            task=task,
            methods=names,
            k=ks,
            epsilon=epsilons,
            identifiers=identifier,
            progress=progress,
            **how,
            **given,
        )
    document = comparison.to_dict()
    if output is not None:
        write_text(Path(output), frontier_page(document), force=force, private=True)
    return Outcome(
        text=_text(comparison, output),
        document={**document, "page": output},
        notes=[] if comparison.price is None else [comparison.price],
        quiet=quiet,
    )


def _refuse_losing(ledger: str | None, page: Path) -> None:
    """Refuse to put the page in the place of the ledger that is charged."""
    from anonkit.bundle.signing import refuse_replacing
    from anonkit.ledger.ledger_place import LedgerPlace

    file = None if ledger is None else LedgerPlace.of(ledger).file
    refuse_replacing([page], [] if file is None else [file])


def _numbers(option: str, text: str, kind: type[_Number]) -> list[_Number]:
    try:
        return [kind(number) for number in text.split(",") if number.strip()]
    except ValueError:
        raise WrongUsage(f"{option} ({text}) must be numbers with commas between", f"{option} 2,5,10") from None


def _text(comparison: Comparison, output: str | None) -> str:
    from anonkit.comparing.frontier import most_changed
    from anonkit.comparing.model_scores import MEASURE
    from anonkit.report.document import OWNER_BANNER
    from anonkit.report.wording import percent
    from anonkit.utility.consumer_models import name_of_best

    measure = MEASURE[comparison.task]
    head_of = {"auc": "AUC (95% interval)", "r2": "R² (95% interval), error"}[measure]
    raw = name_of_best(comparison.raw, measure)
    heads = ("release", head_of, "lost", "changed most", "singled", "linked", "inferred", "alone*")
    rows: list[tuple[str, ...]] = [heads]
    rows.append(("your rows", _score(comparison.raw.get(raw or ""), measure), *[""] * 6))
    for point in comparison.points:
        if point.refused is not None:
            rows.append((point.label, "refused", *[""] * 6))
            continue
        risks = [f"{point.attacks[name]['risk']:.3f}" for name in ("singling_out", "linkability", "inference")]
        best = _score(point.scores.get(point.best_model or ""), measure)
        alone = "–" if point.clear is None else percent(point.clear["share_alone"])
        rows.append((point.label, best, str(len(point.lost)), most_changed(point), *risks, alone))
    lines = list(table_within(rows, get_terminal_size((_WIDTH, 0)).columns))
    of_table = f"{comparison.rows:,} rows"
    if comparison.rows < comparison.table_rows:
        of_table = f"{comparison.rows:,} of {comparison.table_rows:,} rows (your whole table will keep more)"
    head = click.style(f"{of_table}, target {comparison.target}", bold=True)
    advised = [
        part
        for block in comparison.advice
        for part in (*textwrap.wrap(one_line(block["sentence"]), _WIDTH, break_on_hyphens=False), "")
    ]
    reasons = [
        f"{point.label}: {one_line(on_command_line(point.refusal))}"
        for point in comparison.points
        if point.refusal is not None
    ]
    lines.append(
        f"{head_of.partition(' ')[0]}: best of three models; guessing has {'0.5' if measure == 'auc' else '0'}."
    )
    lines.append("lost: columns that are not released.")
    attacked = max(
        (point.attacks["linkability"]["n_attacks"] for point in comparison.points if point.attacks), default=0
    )
    if attacked:
        lines.append(
            "singled (out), linked, inferred: share of attacks on a person that succeed beyond chance;\n"
            f"with {attacked:,.0f} people attacked a risk below {3 / attacked:.1g} may show as 0."
        )
    if any(point.clear is not None for point in comparison.points):
        lines.append(
            "* rows that were alone in their group if the target and the columns released unchanged were known too."
        )
    end = [*(["", *reasons] if reasons else []), *([] if output is None else ["", f"Wrote {output}"])]
    return "\n".join([head, click.style(OWNER_BANNER, fg="yellow"), "", *advised, *lines, *end])


def table_within(rows: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    """Yield rows as lines of a table; where it is too wide, the last three columns as a table of their own below."""
    if len(_table_lines(rows)[0]) <= width:
        yield from _table_lines(rows)
        return
    yield from _table_lines([row[:_RISKS] for row in rows])
    yield ""
    yield from _table_lines([(row[0], *row[_RISKS:]) for row in rows if row[_RISKS]])
    yield ""


def _table_lines(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _score(scores: Mapping[str, Any] | None, measure: str) -> str:
    """Return the score of a model; R² with its interval and the mean absolute error."""
    if scores is None:
        return "–"
    ends = scores.get("ci", {}).get(measure)
    error = "" if measure == "auc" else f", {scores['mae']:.4g}"
    digits = 3 if measure == "auc" else 2
    within = "" if ends is None else f" ({ends[0]:.{digits}f}–{ends[1]:.{digits}f})"
    return f"{scores[measure]:.3f}{within}{error}"
