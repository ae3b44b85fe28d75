# SPDX-License-Identifier: Apache-2.0
"""From a recoding to the draft of a release: suppression, released rows, params, and the report's column entries.

All k-anonymous releases are drafted here, large tables and small ones, new recodings and those of an earlier release,
so that k is counted in one way: on the recoded table, by the engine that holds its rows.

Weights of a sample in a k-anonymous draft: each row shows the mean weight of its equivalence class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Unpack

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.domains.coded_columns import FloatArray, combine
from anonkit.errors import GuaranteeError, option
from anonkit.k_anonymity.merged_classes import MergedRecoding
from anonkit.k_anonymity.numbers_in_groups import GroupedRecoding
from anonkit.k_anonymity.privacy_model import AnonymityModel
from anonkit.k_anonymity.recoded_rows import RecodeRows, UsableRows, places_among, with_original_cells
from anonkit.k_anonymity.sensitive_rules import SensitiveRule, of_released, sensitive_notes
from anonkit.k_anonymity.violating_classes import violating_classes
from anonkit.policy.column_declarations import Column, Outside, Role
from anonkit.policy.declaration import Policy
from anonkit.policy.places import outlines
from anonkit.policy.survey_weights import DIGITS, weight_params
from anonkit.policy.survey_weights import KEY as WEIGHT
from anonkit.policy.target_task import Task
from anonkit.promises.no_values import FOLDING, NO_VALUES
from anonkit.protocols import COUNT, Draft, Engine, OwnTable, Progress, Source
from anonkit.published.recoding import MASK, GlobalRecoding, Grouping, MeanAxis, Recoding, UnchangedAxis
from anonkit.report.blocks import Action, ColumnFacts, JsonObject, ReportColumn, column_entry


@dataclass(frozen=True, kw_only=True, eq=False)
class ShowMeans:
    """Batch function that shows in place of a row's weight the mean of its class."""

    weight: str
    classes: pa.Table
    """The released quasi-identifiers of every class."""
    means: FloatArray
    """Its mean weight, shape (n_classes,)."""
    schema: pa.Schema

    def __call__(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """Return the rows with the mean weights of their classes."""
        names = self.classes.column_names
        place = places_among({name: batch.column(name) for name in names}, self.classes, batch.num_rows)
        at, arrays = batch.schema.get_field_index(self.weight), [*batch.columns]
        arrays[at] = pa.array(self.means[place])
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def with_mean_weights(data: OwnTable, names: Sequence[str], weight: str, engine: Engine) -> tuple[Source, float]:
    """Return recoded rows that show the mean weight of their class, and the sum of their own weights.

    Parameters
    ----------
    data : Source
        Recoded rows that will be released, each with its own weight.
    names : sequence of str
        Released quasi-identifiers.
    weight : str
        Column of numbers above 0.

    Returns
    -------
    data : Source
        Its weights are numbers of `DIGITS` significant digits, as float64.
    total : float
        Sum of the weights before: for the owner.

    Privacy
    -------
    A function of the class and of nothing else of a row, so that classes stay as large as they are. Whoever knows all
    weights of a class but one can work out the last, within the rounding.
    """
    (counted,) = engine.count_sets(data, [(*names, weight)])
    weights = np.asarray(counted.column(weight).cast(pa.float64(), safe=False).to_numpy(), np.float64)
    rows = np.asarray(counted.column(COUNT).to_numpy(), np.float64)
    number, n_classes = combine([_codes(counted.column(name)) for name in names], counted.num_rows)
    order = np.lexsort((rows, weights, number))  # sums do not depend on the order in which an engine counts
    starts = np.searchsorted(number[order], np.arange(n_classes))
    sums = np.add.reduceat((weights * rows)[order], starts) if n_classes else np.zeros(0)
    means = sums / (np.add.reduceat(rows[order], starts) if n_classes else np.ones(0))
    schema = data.schema
    at = schema.get_field_index(weight)
    show = ShowMeans(
        weight=weight,
        classes=counted.select([*names]).take(order[starts] if n_classes else []),
        means=rounded(means),
        schema=schema.set(at, pa.field(weight, pa.float64())),
    )
    return engine.map_batches(data, show, show.schema, same_rows=True), float(sums.sum())


def rounded(means: FloatArray) -> FloatArray:
    """Return numbers of `DIGITS` significant digits, each the double that is written so."""
    return np.array([float(f"{mean:.{DIGITS}g}") for mean in means.tolist()], np.float64)


def _codes(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Return codes of the cells of a column; missing is a value."""
    plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    encoded = plain.combine_chunks().dictionary_encode(null_encoding="encode")
    return np.asarray(encoded.indices.to_numpy(zero_copy_only=False), np.int64)


_TOO_DETAILED = "every level that tells something of it would have made groups too small"
_AVERAGED = "declared weight: rows of a class show its mean weight"
_MEAN = "each row shows the mean of its group, rounded to a multiple of {:.15g}"
_NO_FACTS: ColumnFacts = {}
_ACTIONS: Mapping[str, Action] = {"full": "kept", "means": "averaged"}
"""Treatment of a quasi-identifier by its detail; every other is generalized."""
_FEWEST_PARTS = 2  # of a column to be kept


def draft_recoded(
    model: AnonymityModel,
    source: Source,
    policy: Policy,
    recoding: Recoding | MergedRecoding | GroupedRecoding,
    *,
    engine: Engine,
    progress: Progress,
    usable: UsableRows,
    column_facts: Mapping[str, ColumnFacts] = MappingProxyType({}),
    notes: Sequence[str] = (),
    first: str | None = None,
    hint: str = f"raise {option('max_suppression')}, or ask for less",
) -> Draft:
    """Recode a table where its rows are, and leave out the rows of classes that break the model.

    Parameters
    ----------
    usable : UsableRows
        The rows of the table that the policy lets through, and the requirements on their sensitive values.
    column_facts : mapping of column name to ColumnFacts
        What the report states of a quasi-identifier beside how it was recoded.
    notes : sequence of str
        What the owner should read.
    first : str, optional
        Column of truth values, carried along, whose rows are written first.
    hint : str
        What to do when too many rows would have to be left out.

    Raises
    ------
    GuaranteeError
        More rows than the model's limit are in classes that break it, or no column could be released.

    Privacy
    -------
    The classes are counted on the recoded table itself, after the search and independently of its codes; the written
    file is counted once more.
    """
    usable.refuse_none()
    progress("counting classes", 0.0)
    violating = violating_classes(model, source, policy, engine, recoding, usable)
    unknown = usable.n_usable - violating.n_recoded
    suppressed = violating.n_rows + unknown
    limit = model.suppression_limit
    if suppressed > limit * usable.n_usable or suppressed >= usable.n_usable:
        raise GuaranteeError(
            f"{suppressed} of {usable.n_usable} rows would have to be left out ({unknown} of them for values the "
            f"recoding does not know), {limit:g} of the rows may be",
            hint,
        )
    published = recoding.published if isinstance(recoding, MergedRecoding | GroupedRecoding) else recoding
    as_read = source.schema
    schema = released_schema(as_read, policy, published)
    if first is not None:
        schema = schema.append(as_read.field(first))
    recode = RecodeRows(
        recoding=recoding,
        schema=schema,
        needed=usable.needed,
        unit=policy.unit,
        suppressed=violating.classes if violating.classes.num_rows else None,
        people=None if violating.people is None else violating.people.keys,
    )
    data = engine.map_batches(source, recode, schema)
    _refuse_unkept(policy.kept, data, engine, hint)
    owner: JsonObject = {}
    weight = policy.weight
    if weight is not None and weight.role is Role.WEIGHT:
        names = [name for name in policy.quasi_identifiers if name in schema.names]
        data, total = with_mean_weights(data, names, weight.name, engine)
        owner = {"weights": {"column": weight.name, "sum_of_released_rows": total}}
    return Draft(
        data=data,
        published=anonymity_params(policy, as_read, model, published, of_released(usable.rules, data, engine)),
        columns=_column_entries(policy, published, column_facts),
        rows={
            "in": usable.n_source,
            "suppressed": suppressed,
            "suppressed_fraction": suppressed / max(usable.n_usable, 1),
            "suppression_limit": limit,
            "dropped_missing": usable.n_missing,
            **({"dropped_without_unit": usable.n_nobody} if usable.n_nobody else {}),
        },
        notes=(
            *notes,
            *sensitive_notes(
                usable.rules, data, [name for name in policy.quasi_identifiers if name in schema.names], engine
            ),
            *_nobody_notes(policy, usable.n_nobody),
            *_weight_notes(policy, schema.names),
        ),
        owner=owner,
        applied=recoding,
        first=first,
        beside=lambda pairs: with_original_cells(source, recode, pairs, engine),
    )


def _refuse_unkept(kept_columns: Sequence[str], data: Source, engine: Engine, hint: str) -> None:
    """Refuse a release that shows fewer than two parts of a column to be kept, counted on the recoded rows.

    Raises
    ------
    GuaranteeError
        It shows none, or one.
    """
    shown = [name for name in kept_columns if name in data.schema.names]
    counts = engine.count_sets(data, [(name,) for name in shown]) if shown else []
    n_parts = {name: table.num_rows for name, table in zip(shown, counts, strict=True)}
    for name in kept_columns:
        if n_parts.get(name, 0) < _FEWEST_PARTS:
            raise unkept(name, hint)


def unkept(name: str, hint: str) -> GuaranteeError:
    """Return the error for a column to be kept of which fewer than two parts would be released."""
    return GuaranteeError(
        f"column {name!r} is to be kept, and no two of its values, ranges or groups can be released", hint
    )


def released_schema(schema: pa.Schema, policy: Policy, recoding: Recoding) -> pa.Schema:
    """Return names and types of what is released, and of the unit column: that is counted, and then goes.

    Raises
    ------
    GuaranteeError
        Nothing would be.
    """
    types = recoding.types(schema)
    if policy.unit is not None:
        types = {**types, policy.unit: pa.string()}
    names = [name for name in policy.columns if name in types or _passes(policy.column(name))]
    if not any(name != policy.unit for name in names):
        raise GuaranteeError(
            "no column can be released: every quasi-identifier would have to be dropped, and there is nothing else",
            "allow more suppression, or ask for a smaller k",
        )
    keys = [candidate.key for candidate in policy.candidates]
    return pa.schema([(name, types.get(name, schema.field(name).type)) for name in (*names, *keys)])


def _passes(column: Column) -> bool:
    """Return True if a column is released, or carried along to be counted, as it is."""
    return column.role in (Role.TARGET, Role.SENSITIVE, Role.INSENSITIVE, Role.UNIT, Role.WEIGHT)


def _nobody_notes(policy: Policy, n_nobody: int) -> tuple[str, ...]:
    """Describe that rows were suppressed because they belong to nobody."""
    if not n_nobody:
        return ()
    return (f"Rows without a value in {policy.unit!r} are left out: they belong to nobody who could be counted.",)


def _weight_notes(policy: Policy, shown: Sequence[str]) -> tuple[str, ...]:
    """Return that no weights are released."""
    weight = policy.weight
    if weight is None or weight.name in shown:
        return ()
    return (
        f"The rounded weights {weight.name!r} are not released: with them groups would have been too small. A larger "
        'step helps, or weights = "mean"; keep = true refuses such a release.',
    )


# --- params.json -----------------------------------------------------------------------------------------------------


def anonymity_params(
    policy: Policy, schema: pa.Schema, model: AnonymityModel, recoding: Recoding, rules: Sequence[SensitiveRule]
) -> dict[str, Any]:
    """Return the part of `params.json` with which `anonkit apply` recodes the next batch in the same way."""
    of_values = {rule.name: rule for rule in rules}
    return {
        "target": policy.target,
        **({"task": str(policy.task)} if policy.task is Task.REGRESSION else {}),
        "unit": policy.unit,
        **({"independent_rows": True} if policy.independent_rows else {}),
        **({"candidates": [list(each.columns) for each in policy.candidates]} if policy.candidates else {}),
        "missing_values": list(policy.missing_values),
        **({"households": True} if policy.households else {}),
        **({"rows_of_people": "limited"} if limits_rows(policy) else {}),
        "model": {
            "k": model.k,
            **{name: getattr(model, name) for name in ("l", "entropy_l", "recursive", "t", "alpha")},
        },
        "max_suppression": model.suppression_limit,
        **({} if policy.weight is None else {WEIGHT: weight_params(policy.weight)}),
        **({"no_values": list(NO_VALUES), "folding": FOLDING} if rules else {}),
        "columns": [
            _column_params(policy, column, schema.field(name).type, of_values.get(name))
            for name, column in policy.columns.items()
        ],
        "recoding": recoding.to_dict(),
        **_outlines(policy, recoding),
    }


def _outlines(policy: Policy, recoding: Recoding) -> dict[str, Any]:
    """Return centre and bounds of every cell that a place may show."""
    named = {column.name for column in policy.columns.values() if column.place is not None}
    axes = recoding.columns if isinstance(recoding, GlobalRecoding) else recoding.axes
    shown: dict[str, set[str | None]] = {}
    for column in axes:
        if column.name not in named or isinstance(column, UnchangedAxis):
            continue
        levels = (column.labels, *(column.coarser or ())) if isinstance(column, Grouping) else ()
        groups = () if isinstance(column, Grouping) else (column.named or ())
        shown[column.name] = {*(label for level in levels for label in level), *(name for name, _ in groups)}
    listed = {name: sorted(label for label in labels if label not in (None, MASK)) for name, labels in shown.items()}
    return {"places": {name: outlines(labels) for name, labels in listed.items()}} if listed else {}


def limits_rows(policy: Policy) -> bool:
    """Return True if rows of a person may be suppressed beyond the recoding: by a secret draw, or with the person."""
    rows = policy.person_rows
    return rows is not None and (rows.whole_set or rows.most is not None)


def _column_params(policy: Policy, column: Column, kind: pa.DataType, rule: SensitiveRule | None) -> dict[str, Any]:
    """Return the meaning of a column's cells, by which those of the next batch are read."""
    params = {
        "name": column.name,
        "role": str(column.role),
        "sensitive": column.is_sensitive,
        "type": str(kind),
        "missing": str(policy.missing_of(column.name)),
        **({} if rule is None else {"missing_is_value": rule.missing_is_value, **rule.stated(column).to_params()}),
        **({"together": list(column.together)} if column.together else {}),
        **({"released_as_is": True} if column.release_as_is and _passes(column) else {}),
        **({"keep": True} if column.keep else {}),
        **({} if column.relative is None else {"relative": True}),
        **({} if column.accept_outside is None else {"accept_outside": column.accept_outside}),
        **({"declared": False} if column.role is Role.TARGET and not column.role_given else {}),
    }
    bounds, values = column.bounds, column.domain_values
    if column.number_form is not None:
        params["written"] = column.number_form.to_params()
    if column.place is not None:
        stated = {} if column.outside is None else {"outside": str(column.outside)}
        params["place"] = {**column.place.stated.to_params(), **stated}
    elif column.named_parts is not None and column.calendar is not None:
        params["calendar"] = {
            **column.calendar.stated.to_params(),
            **({} if column.outside is None else {"outside": str(column.outside)}),
        }
    if bounds is None and values is None:
        return params
    return {
        **params,
        "domain": {
            **({} if bounds is None else {"bounds": list(bounds)}),
            **({} if values is None else {"categories": list(values)}),
            **({"texts_alone": True} if column.compares_texts else {}),
            **({} if column.outside is None else {"outside": str(column.outside)}),
        },
    }


# --- the report's `columns` block ------------------------------------------------------------------------------------


def _column_entries(policy: Policy, recoding: Recoding, column_facts: Mapping[str, ColumnFacts]) -> list[ReportColumn]:
    """Return the treatment of each column, the quasi-identifiers first."""
    recoded = _describe_columns(recoding)
    entries = []
    for name in policy.quasi_identifiers:
        facts_of_column = column_facts.get(name, _NO_FACTS)
        if name in recoded:
            action = _ACTIONS.get(str(recoded[name]["detail"]), "generalized")
            facts: ColumnFacts = {**facts_of_column, **recoded[name]}
            entries.append(_entry(policy, name, action, **facts))
        else:
            dropped: ColumnFacts = {"reason": _TOO_DETAILED, **facts_of_column}
            entries.append(_entry(policy, name, "dropped", **dropped))
    for name, column in policy.columns.items():
        if column.role in (Role.IDENTIFIER, Role.UNIT):
            entries.append(_entry(policy, name, "dropped", reason="identifiers are never released"))
        elif column.role is Role.WEIGHT:
            entries.append(_entry(policy, name, "averaged", reason=_AVERAGED))
        elif column.role is not Role.QUASI_IDENTIFIER:
            of_number = column.role is Role.TARGET and policy.task is Task.REGRESSION
            role = "target, a number to predict" if of_number else column.role
            how = "declared" if column.role_given else "guessed, released unchanged:"
            entries.append(_entry(policy, name, "kept", reason=f"{how} {role}"))
    return entries


def _entry(policy: Policy, name: str, action: Action, **facts: Unpack[ColumnFacts]) -> ReportColumn:
    column = policy.column(name)
    entry: ReportColumn = {**column_entry(name, str(column.role), action, is_sensitive=column.is_sensitive), **facts}
    if column.keep:
        entry["keep"] = True
    if action == "dropped" or column.bounds is None or column.outside not in (None, Outside.CLAMP):
        return entry
    low, high = (f"{bound:.15g}" for bound in column.bounds)
    return {**entry, "coding": f"top and bottom coded: below {low} is {low}, above {high} is {high}"}


def _describe_columns(recoding: Recoding) -> dict[str, ColumnFacts]:
    """Return the facts of each column of a recoding."""
    if isinstance(recoding, GlobalRecoding):
        return {column.name: _describe(column, recoding.merged) for column in recoding.columns}
    labels_of_axis = zip(*recoding.boxes().values(), strict=True)
    return {
        axis.name: {"detail": "boxes", "released_values": len(set(labels))}
        for axis, labels in zip(recoding.axes, labels_of_axis, strict=True)
    }


def _describe(column: UnchangedAxis | Grouping, merged: bool) -> ColumnFacts:
    if isinstance(column, MeanAxis):
        return {"detail": "means", "reason": _MEAN.format(column.unit)}
    if isinstance(column, UnchangedAxis):
        return {"detail": "full"}
    levels = (column.labels, *((column.coarser or ()) if merged else ()))
    values = list(dict.fromkeys(label for labels in levels for label in labels))
    return {"detail": "generalized", "released_values": len(values), "values": values}
