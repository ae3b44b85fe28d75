# SPDX-License-Identifier: Apache-2.0
"""Published aggregates as data frames, one a table: its groups, and each statistic with its interval."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonkit.bundle.data_files import read_rows
from anonkit.bundle.release_hashes import refuse_changed
from anonkit.bundle.release_names import DATA
from anonkit.bundle.release_place import Place
from anonkit.consumers.release_files import read_params
from anonkit.errors import ParameterError
from anonkit.published.aggregates import FORMAT, Aggregates, AggregateTable, Statistic

if TYPE_CHECKING:
    import pandas as pd


def aggregate_tables(release: str | Path) -> dict[str, pd.DataFrame]:
    """Return the tables of a release by dp-tables, by name.

    Parameters
    ----------
    release : path
        The Parquet file of the release; its `params.json` is beside it.

    Returns
    -------
    dict of str to DataFrame
        A column for each column by which the table is divided (all groups of the public domains, in their order), and
        of each statistic three: `count`, `count_low`, `count_high`, or `0.5`, `0.5_low`, `0.5_high` of a quantile.
        A table of counts has integers.

    Raises
    ------
    ParameterError
        The release holds no aggregates.
    GuaranteeError
        A file is not the one whose hash is in the descriptor of the release.
    ReleaseFormatError
        A file is missing or damaged.

    Privacy
    -------
    Post-processing of what was published: no privacy loss.
    """
    place, params = Place.of(release), read_params(release)
    refuse_changed(place, DATA)
    if params.get("format") != FORMAT:
        raise ParameterError(
            f"{str(place.file(DATA))!r} holds no aggregates", "they are what method dp-tables publishes"
        )
    aggregates = Aggregates.from_params(params)
    lines = read_rows(place.file(DATA)).to_pandas()
    return {table.name: _frame(lines[lines["table"] == table.name], table) for table in aggregates.tables}


def _frame(lines: pd.DataFrame, table: AggregateTable) -> pd.DataFrame:
    """Return the lines of a table with a column for each statistic and each end of its interval."""
    import pandas as pd

    kind = "int64" if table.statistic is Statistic.COUNT else "float64"
    columns: dict[str, Any] = {}
    for statistic in lines["statistic"].drop_duplicates():
        own = lines[lines["statistic"] == statistic]  # the groups in the order of the table, as of every statistic
        name = str(statistic).removeprefix("quantile ")
        columns |= {group: own[group].astype(str).to_numpy() for group in table.by}
        columns |= {
            f"{name}{end}": own[of].to_numpy().astype(kind)
            for of, end in (("value", ""), ("low", "_low"), ("high", "_high"))
        }
    return pd.DataFrame(columns)
