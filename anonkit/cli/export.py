# SPDX-License-Identifier: Apache-2.0
"""`anonkit export`: a verified release in another form, or in a database."""

from __future__ import annotations

import click

from anonkit.cli.boundary import one_line, progress_line
from anonkit.cli.options import force_option, json_option, quiet_option
from anonkit.cli.outcome import Outcome

_REMAINS = (
    "the file of the database holds other tables, so that it was not written anew: DuckDB may keep cells of the table "
    "that was replaced in it. Copy the database into a new file (COPY FROM DATABASE) before you hand it out."
)


@click.command(name="export")
@click.argument("release", metavar="OUT")
@click.argument("target", metavar="TARGET")
@force_option
@quiet_option
@json_option
def command(release: str, target: str, *, force: bool, quiet: bool) -> Outcome:
    """Write a verified release in another form, or into a database.

    \b
    anonkit export out.parquet out.csv
    anonkit export out.parquet out.xlsx
    anonkit export out.parquet out.sav
    anonkit export out.parquet out.sqlite
    anonkit export out.parquet "duckdb:///open.duckdb?table=people"
    anonkit export out.parquet "postgresql://owner@host/db?table=released"

    TARGET is a CSV, TSV, Excel (.xlsx), SPSS (.sav), Stata (.dta) or Arrow (.arrow, .feather) file, or a table of
    SQLite, DuckDB or PostgreSQL. The release is validated first, and what was written is read back and compared
    before it is put in place. Params, report and descriptor are written beside a file, or in a table TABLE_anonkit. The
    Parquet file stays the release: `anonkit validate TARGET --against OUT` tells whether the two still agree.
    """
    from anonkit.pipeline.exporting import EXPORT_STEPS, export

    with progress_line(quiet, steps=EXPORT_STEPS) as progress:
        made = export(release, target, force=force, progress=progress)
    text = f"Wrote {made.rows:,} rows and {made.columns} columns to {one_line(made.target)}\nSidecars   {made.sidecars}"
    if made.cut:
        names = one_line(", ".join(map(repr, made.cut)))
        text += f"\nCut        times of {names} to microseconds: {one_line(made.release)} has them whole"
    notes = [_REMAINS] if made.remains else []
    return Outcome(text=text, document=made.to_dict(), notes=notes, quiet=quiet)
