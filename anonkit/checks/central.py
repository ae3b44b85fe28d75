# SPDX-License-Identifier: Apache-2.0
"""Validation of central-DP releases: draws rebuilt, epsilon added up, trees and rows checked against the params.

Nothing here is shared with the methods that wrote the release: what they must have drawn is rebuilt from public facts,
compared with the published account and added up (`central_account`), and the published trees, tables and rows must be
such as these draws leave (`central_model`, `central_rows`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anonkit.bundle.data_files import each_part, iter_batches, parts_of, read_schema
from anonkit.checks.account_lines import model_lines, spike_checks
from anonkit.checks.central_account import account_checks, claim_checks, expected_account
from anonkit.checks.central_aggregates import aggregate_checks, aggregated_facts
from anonkit.checks.central_model import forest_checks, marginal_checks
from anonkit.checks.central_noise import noise_checks
from anonkit.checks.central_params import (
    Family,
    PublicColumn,
    PublicFacts,
    are_of_type,
    domain_of,
    facts_of,
    family_of,
    integers,
    is_boolean,
    is_of_format,
)
from anonkit.checks.central_report import report_checks
from anonkit.checks.central_rows import row_checks
from anonkit.checks.central_rule import rebuilt_rule, rule_checks, target_checks
from anonkit.checks.number_cells import EqualCells, fewest, is_as_written, multiples_of
from anonkit.checks.row_rules import row_rule_checks, rules_of
from anonkit.errors import ReleaseFormatError, refusing_damage
from anonkit.promises.guarantee import Check

_BATCH_ROWS = 1 << 16
_ROUNDINGS = 4
"""Roundings, each half a distance of doubles, that the middle of a cell and its place may have together, at most."""
_DAMAGED = "the params or the report lack a key or have one of the wrong kind"


def central_checks(
    data: Path,
    params: Mapping[str, Any],
    guarantee: Mapping[str, Any],
    *,
    is_promised: bool,
) -> Iterator[Check]:
    """Check a release of a central mechanism, but for its report: account against promise, its model, its cells.

    Parameters
    ----------
    data : path
        The Parquet file.
    params : mapping
        What `params.json` holds.
    guarantee : mapping
        The `guarantee` block of the report.
    is_promised : bool
        False where nothing is promised, because the published method looks at exact counts: such a release must state
        on no draw that it was accounted for.

    Raises
    ------
    ReleaseFormatError
        The params or the report are damaged.
    """
    with refusing_damage(_DAMAGED):
        yield from _all_checks(data, params, guarantee, is_promised)


def central_report_checks(
    params: Mapping[str, Any], report: Mapping[str, Any], *, is_promised: bool
) -> Iterator[Check]:
    """Compare the report of a release of a central mechanism with its params.

    Parameters and errors are those of `central_checks`, with the whole report.
    """
    with refusing_damage(_DAMAGED):
        of_figures = is_promised and family_of(params)[0] is Family.AGGREGATES
        facts = aggregated_facts(params) if of_figures else facts_of(params)
        yield from report_checks(params, report, facts, is_promised=is_promised)


def _all_checks(
    data: Path, params: Mapping[str, Any], guarantee: Mapping[str, Any], is_promised: bool
) -> Iterator[Check]:
    if is_promised and family_of(params)[0] is Family.AGGREGATES:
        yield from aggregate_checks(data, params, guarantee)
        return
    facts = facts_of(params)
    domains = {str(column["name"]): column for column in params["columns"]}
    sound = True
    claims = _promise_checks(params, guarantee, facts) if is_promised else _no_account(params)
    found = (
        *claims,
        *target_checks(params, facts),
        *_column_checks(params, facts),
        *row_rule_checks(data, params, facts),
    )
    for check in found:
        sound = sound and check.passed
        yield check
    for check in domain_checks(data, domains):
        sound = sound and check.passed
        yield check
    if sound and is_promised:  # else the model is not what the rows can be compared with
        yield from noise_checks(params, facts)
        yield from row_checks(data, params, facts)


def _promise_checks(params: Mapping[str, Any], guarantee: Mapping[str, Any], facts: PublicFacts) -> Iterator[Check]:
    """Compare the promise with the account, and the account with the draws that must have been made."""
    yield from claim_checks(params, guarantee, facts)
    expected = expected_account(facts, params)
    yield from account_checks(params, facts, expected)
    if "spikes" in params or facts.parameters.get("spikes") == "private":
        yield from spike_checks(params, facts)
    if facts.family.has_trees:
        yield from forest_checks(params, facts, expected)
        if facts.family.is_stacked:
            yield from rule_checks(params, facts, rebuilt_rule(facts, params))
    elif facts.family is Family.MARGINALS:
        yield from marginal_checks(params, facts)
    else:
        yield _table_check(params, facts)


def _no_account(params: Mapping[str, Any]) -> Iterator[Check]:
    """Check that a release without a promise accounts for no draw."""
    lines = params["accounting"]
    yield Check(name="account_lines", passed=lines == [], observed=len(lines), required=0)


def _table_check(params: Mapping[str, Any], facts: PublicFacts) -> Check:
    """Check that the noisy tables fit their domains, and that their noise is that of the account."""
    rates = [line["rate"] for line in model_lines(params)]
    stated = [params["class_rate"], *(attribute["rate"] for attribute in params["attributes"])]
    wrong = (
        int(rates != stated)
        + int(not is_of_format(params, facts.family, gaussian=facts.is_gaussian(params)))
        + int(len(integers(params["class_counts"])) != facts.n_classes)
    )
    for column, attribute in zip(facts.attributes, params["attributes"], strict=True):
        sizes = [len(integers(row)) for row in attribute["counts"]]
        wrong += int(sizes != [column.domain.size] * facts.n_classes)
    return Check(name="tables", passed=wrong == 0, observed=wrong, required=0)


def _column_checks(params: Mapping[str, Any], facts: PublicFacts) -> Iterator[Check]:
    """Compare the domains of the released columns with those in which their rows were counted."""
    counted = {attribute.name: attribute for attribute in facts.columns}
    listed = {str(attribute["name"]): attribute for attribute in params["columns"]}
    in_cells = facts.parameters.get("as_") == "cells"
    names = set(counted) | ({"count"} if in_cells else set()) | set(rules_of(params).determined)
    wrong = len(names ^ set(listed)) + len(params["columns"]) - len(listed) + len(facts.columns) - len(counted)
    wrong += sum(
        not _same_domain(listed[name], column, facts, generalized=in_cells and column is not facts.target)
        for name, column in counted.items()
        if name in listed
    )
    yield Check(name="counted_domains", passed=wrong == 0, observed=wrong, required=0)


def _same_domain(listed: Mapping[str, Any], column: PublicColumn, facts: PublicFacts, *, generalized: bool) -> bool:
    """Return True if a released column has the domain it was counted in, or labels of its cells."""
    domain = domain_of(listed["domain"], listed["type"])
    own = column.domain
    if own.fine:  # a target in bins: by name in cells, else at the cells of its grid
        in_cells = facts.parameters.get("as_") == "cells"
        grid, counted_in = (domain.bounds, domain.multiples, domain.cells), (own.bounds, own.multiples, own.fine)
        released = (domain.labels(), None, None, len(own.ends)) if in_cells else (None, *grid)
        counted = (own.labels(), None, None, len(own.ends)) if in_cells else (None, *counted_in)
        known = (domain.categories is None) != in_cells
        return known and released == counted and domain.has_missing == own.has_missing
    if generalized:
        return domain.categories is not None
    steps = facts.family.places if own.bounds is not None else 1
    bins = facts.parameters.get("bins", 0)
    right = own.bounds is None or not bins or fewest(bins, own.multiples) == own.cells
    same = (domain.categories, domain.truth_values, domain.bounds, domain.multiples, domain.has_missing) == (
        own.categories,
        own.truth_values,
        own.bounds,
        own.multiples,
        own.has_missing,
    )
    if own.bounds is None:
        return right and same and domain.cells == own.cells
    divided = own.grid.divided(steps)
    return right and same and (domain.cells, domain.bins) == (divided.cells, divided.bins)


def domain_checks(data: Path, domains: Mapping[str, Mapping[str, Any]]) -> Iterator[Check]:
    """Check that every cell is of the published domain of its column.

    Parameters
    ----------
    data : path
    domains : mapping
        Of the name of a column to its entry in the params.
    """
    for name, count in _strangers(data, domains).items():
        yield Check(name=f"domain:{name}", passed=count == 0, observed=count, required=0)


def _strangers(data: Path, domains: Mapping[str, Mapping[str, Any]]) -> dict[str, int | None]:
    """Count the cells of each column that are outside its published domain; None for a column that is not there."""
    try:
        present = read_schema(data).names
        there = {name: domain for name, domain in domains.items() if name in present}
        found = each_part(partial(_strangers_of_part, domains=there), parts_of(data))
    except (pa.ArrowException, OSError):
        raise _unreadable(data) from None
    return {name: sum(counts[name] for counts in found) if name in there else None for name in domains}


def _strangers_of_part(part: Path, domains: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
    """Count the cells of each column of one file that are outside its published domain."""
    counts = dict.fromkeys(domains, 0)
    try:
        for batch in iter_batches(part, list(domains), batch_rows=_BATCH_ROWS):
            for name, domain in domains.items():
                counts[name] += _outside(batch.column(name), domain)
    except (pa.ArrowException, OSError):
        raise _unreadable(part) from None
    except (KeyError, TypeError, ValueError):
        raise ReleaseFormatError("the params describe a column as anonkit does not") from None
    return counts


def _unreadable(data: Path) -> ReleaseFormatError:
    return ReleaseFormatError(f"{str(data)!r} is not a readable Parquet file")


def _outside(cells: pa.Array, described: Mapping[str, Any]) -> int:
    domain = described["domain"]
    values = cells.dictionary_decode() if isinstance(cells, pa.DictionaryArray) else cells
    absent = np.asarray(values.is_null().to_numpy(zero_copy_only=False), dtype=bool)
    if described["type"] == "category":
        known = _is_one_of(values, domain["categories"])
        known &= are_of_type(values, truth_values=is_boolean(domain))
    elif described["type"] == "count":
        numbers = _numbers(values)
        known = numbers == np.round(numbers)  # noisy counts may be negative
    elif "step" in domain:
        low, high = (float(bound) for bound in domain["bounds"])
        multiples = multiples_of(domain, (low, high))
        bins = int(domain.get("bins", 0))
        grid = EqualCells(low=low, high=high, cells=int(domain["cells"]), multiples=multiples, bins=bins)
        known = grid.codes_of_shown(_numbers(values)) >= 0
        known &= is_as_written(values.type, multiples)
    else:
        numbers, (low, high) = _numbers(values), domain["bounds"]
        with np.errstate(all="ignore"):  # bounds of a forger may be any: what is infinite is not in the domain
            places = (np.where(absent, low, numbers) - low) / (high - low) * domain["cells"] - 0.5
            # a middle is rounded to the doubles near the bounds, which may be far from 0 for their distance
            rounded = 1e-6 + _ROUNDINGS * np.spacing(max(abs(low), abs(high))) / (high - low) * domain["cells"]
            # all the same, it distinguishes cells
            known = (np.abs(places - np.round(places)) < min(rounded, 0.25)) & (places > -0.5)
            known &= places < domain["cells"] - 0.5
    return int(np.where(absent, not domain["has_missing"], ~known).sum())


def _is_one_of(values: pa.Array, categories: Iterable[str]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    known = pc.is_in(values.cast(pa.string()), value_set=pa.array(list(categories), pa.string()))
    return np.asarray(known.to_numpy(zero_copy_only=False), dtype=bool)


def _numbers(values: pa.Array) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.asarray(pc.fill_null(values.cast(pa.float64()), np.nan).to_numpy(zero_copy_only=False))
