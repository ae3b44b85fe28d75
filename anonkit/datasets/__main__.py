# SPDX-License-Identifier: Apache-2.0
"""`python -m anonkit.datasets TABLE OUT.csv`: a simulated table as a file, to try things on."""

from __future__ import annotations

from pathlib import Path

import click
import pyarrow.csv

from anonkit.datasets.simulated_tables import SIMULATIONS

_NAMES = "\n".join(f"  {name:<12} {each.summary}" for name, each in SIMULATIONS.items())


@click.command(
    name="python -m anonkit.datasets",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help=(
        "Write a simulated table as CSV. The same people and seed give the same rows; nobody in them is real.\n\n"
        f"\b\npython -m anonkit.datasets customers customers.csv\n\n\b\n{_NAMES}"
    ),
)
@click.argument("table", type=click.Choice(list(SIMULATIONS)))
@click.argument("out", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--people", type=click.IntRange(min=0), default=10_000, show_default=True, help="How many people.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Which population.")
@click.option(
    "--policy",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the policy that declares the table there, too.",
)
@click.option("--force", is_flag=True, help="Replace files that are there.")
def main(*, table: str, out: Path, people: int, seed: int, policy: Path | None, force: bool) -> None:
    """Draw the table, and write it with its policy."""
    chosen = SIMULATIONS[table]
    for path in (out, policy):
        if path is not None and path.exists() and not force:
            raise click.UsageError(f"{str(path)!r} exists. Hint: --force replaces it")
    if policy is not None and chosen.policy is None:
        raise click.UsageError(f"the policy of {table!r} is in the recipes that join it with another table")
    rows = chosen.draw(people, seed)
    try:
        pyarrow.csv.write_csv(rows, out)
        if policy is not None and chosen.policy is not None:
            policy.write_text(chosen.policy(), encoding="utf-8")
    except OSError as error:
        raise click.FileError(str(error.filename or out), error.strerror) from None
    click.echo(f"{out}: {rows.num_rows:,} rows, {rows.num_columns} columns")


if __name__ == "__main__":
    main()
