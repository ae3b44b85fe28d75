# SPDX-License-Identifier: Apache-2.0
"""Columns that `mondrian` would show where another k-anonymous method drops some: a small search, for the owner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from anonkit.errors import GuaranteeError
from anonkit.k_anonymity.grouped_rows import GroupedRecoding
from anonkit.k_anonymity.preparing import prepare
from anonkit.k_anonymity.recoded_rows import count_usable_rows, released_names
from anonkit.k_anonymity.recoding_method import RecodingMethod
from anonkit.k_anonymity.sensitive_rules import settled_rules
from anonkit.policy.declaration import Policy
from anonkit.protocols import Engine, Method, Source, no_progress
from anonkit.randomness import Randomness
from anonkit.report.blocks import JsonObject, ReportColumn

_FEWEST_ROWS, _MOST_ROWS = 500, 20_000
_SHARE = 50
"""One row in so many is searched, within these bounds: that takes at most a tenth of the time of the command."""
_MODEL = ("k", "l", "entropy_l", "recursive", "t", "alpha")


@dataclass(frozen=True, eq=False)
class Previewed:
    """The table that a release is made of."""

    source: Source
    sample_rows: Source | None = None
    """Rows of it that were drawn already: the sample is taken of them, which spares a pass over the source."""


def mondrian_preview(
    table: Previewed,
    policy: Policy,
    engine: Engine,
    method: Method,
    columns: Sequence[ReportColumn],
    randomness: Randomness,
) -> dict[str, JsonObject]:
    """Return the quasi-identifiers that `mondrian` would show at the same k; empty where none is dropped.

    A drawn sample has fewer rows for the same k, so that on the whole table it shows as many columns at least, as a
    rule.

    Parameters
    ----------
    columns : sequence of ReportColumn
        What the method did to every column.

    Privacy
    -------
    Depends on single rows of the source beyond what the release discloses: for the owner alone.
    """
    from anonkit.methods.mondrian import Mondrian

    class InBrief(Mondrian):
        """Mondrian with a guide that takes a tenth of the time, so that more rows can be searched."""

        in_brief = True

    identifying = [column for column in columns if column["role"] == "quasi_identifier"]
    shown = [column["name"] for column in identifying if column["action"] != "dropped"]
    is_other = isinstance(method, RecodingMethod) and not isinstance(method, Mondrian)
    if not is_other or len(shown) == len(identifying) or policy.person_rows is not None:
        return {}
    model: dict[str, Any] = {name: getattr(method, name) for name in _MODEL}
    source, sample_rows = table.source, table.sample_rows
    mondrian, n_rows = InBrief(**model), rows_searched(source.n_rows)
    rng = randomness.child("mondrian preview")
    rows = source if sample_rows is None else sample_rows
    sample = rows if rows.n_rows <= n_rows else engine.keep(engine.sample(rows, n_rows, rng))
    try:
        usable = count_usable_rows(sample, policy, engine)
        if policy.sensitive:
            usable = replace(usable, rules=settled_rules(mondrian, sample, policy, engine, usable.needed))
        prepared = prepare(sample, policy, engine, mondrian, mondrian.preparation, usable.rules)
        found = mondrian.find_recoding(prepared, rng=rng, progress=no_progress).recoding
    except GuaranteeError:  # the sample is too small for the requirements: nothing is known
        return {}
    assert not isinstance(found, GroupedRecoding)  # noqa: S101 - boxes are none
    boxed = released_names(found.to_dict())
    return {
        "mondrian_preview": {
            "rows": sample.n_rows,
            "of": source.n_rows,
            "quasi_identifiers": len(identifying),
            "shown": len(shown),
            "columns": [column["name"] for column in identifying if column["name"] in boxed],
            "more": [
                column["name"] for column in identifying if column["name"] in boxed and column["name"] not in shown
            ],
        }
    }


def rows_searched(n_rows: int) -> int:
    """Return the largest number of rows of a table that is searched."""
    return min(max(n_rows // _SHARE, _FEWEST_ROWS), _MOST_ROWS)
