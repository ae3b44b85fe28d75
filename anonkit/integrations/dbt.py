# SPDX-License-Identifier: Apache-2.0
"""dbt: a release and its validation as Python models of dbt-duckdb; tests of k, l and t in SQL as a package of dbt.

The package is the folder `dbt_project`, whose path `python -m anonkit.integrations.dbt` prints. How to use both:
docs/how-to/dbt.md. Nothing here imports dbt.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonkit.errors import ParameterError
from anonkit.integrations.pipeline_step import make_release, refuse_failed, validate_release

if TYPE_CHECKING:
    import pyarrow as pa

PACKAGE = Path(__file__).with_name("dbt_project")
"""The package of dbt with the tests `k_anonymous`, `l_diverse` and `t_close`."""


def release_model(source: Any, *, output: str | Path, **arguments: Any) -> pa.Table:
    """Release what a model of dbt-duckdb reads, and return the table for the database.

    Parameters
    ----------
    source : relation
        What `dbt.ref` or `dbt.source` returned, or another table that `anonkit.release` takes.
    output : path
        Where data, params and report are kept; relative to the folder of the dbt project. What ends in `/` is a folder.
    **arguments
        Further keywords of `anonkit.release`.

    Returns
    -------
    pyarrow.Table
        The released rows. The same rows requested in the same words again are those in `output`.

    Raises
    ------
    AnonkitError
        Those of `anonkit.release`: dbt then leaves the table of the last run as it is.

    Privacy
    -------
    The database keeps the released rows alone. The relation that is read belongs to the owner, and so does a database
    that has both.
    """
    return make_release(source=_rows(source), output=output, **arguments).to_arrow()


def validate_model(release: str | Path, **requirements: Any) -> pa.Table:
    """Validate a release from its files alone, and return its checks for the database.

    Parameters
    ----------
    release : path
        The output of `release_model`.
    **requirements
        Keywords of `anonkit.validate`: requirements beyond the release's promise, and `signed_by`.

    Returns
    -------
    pyarrow.Table
        One row a check: name (text), passed (truth value).

    Raises
    ------
    GuaranteeError
        The release does not keep its promise.
    AnonkitError
        It could not be checked.

    Privacy
    -------
    It reads what is handed out, and nothing else.
    """
    import pyarrow as pa

    checks = validate_release(release, **requirements)
    refuse_failed(checks, release)
    return pa.table({"name": [str(check["name"]) for check in checks], "passed": [True] * len(checks)})


def _rows(source: Any) -> Any:
    """Return the rows of a relation of DuckDB as an Arrow table, and any other source as it is."""
    if source is None:
        raise ParameterError("a model needs what it releases", 'release_model(dbt.ref("customers"), output="out/")')
    return source.to_arrow_table() if hasattr(source, "to_arrow_table") else source


if __name__ == "__main__":
    sys.stdout.write(f"{PACKAGE}\n")
