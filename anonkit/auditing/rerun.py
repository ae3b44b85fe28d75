# SPDX-License-Identifier: Apache-2.0
"""Lower bound on the epsilon of a differentially private release, at its delta, by repeated runs on small tables.

The recipe is that of the release: method and parameters from its report, domains from its params. Each run gets a
table of a few unusual records of the source, every one of them put in or left out by a coin, and a fresh draw of the
noise; an attacker who knows the records and reads what would be published guesses the coins. What is audited is the
mechanism with the parameters of the release, not the one draw that was handed out, and on a small table: parts that
only a large table switches on are not reached.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.auditing.attacks.success_rates import REFUTED_ALPHA, Guesser, LossBound, epsilon_of_guesses
from anonkit.domains.cell_values import codes_of_cells
from anonkit.domains.coded_columns import FloatArray
from anonkit.domains.number_bins import Categories, DeclaredTarget, Grid
from anonkit.engines import open_engine
from anonkit.methods import make_method
from anonkit.policy.column_declarations import Column, Missing, Role
from anonkit.policy.declaration import Policy
from anonkit.promises.guarantee import REPLACE
from anonkit.protocols import Draft, Engine, Method
from anonkit.published.count_evidence import places_of, region_of_nodes
from anonkit.published.noisy_tables import OneWayTable, PairTable
from anonkit.published.product_mixtures import FORMATS as MARGINALS
from anonkit.published.statements.noise_statement import FORMAT as STATEMENT
from anonkit.published.statements.noise_statement import CellRows, Count, ReleasedStatement, Sum
from anonkit.published.tree_model import FORMATS as FORESTS
from anonkit.published.tree_model import PublishedForest
from anonkit.randomness import Randomness

RECORDS = 32
"""Records a run decides about; more of them disturb one another. A convention."""
SECONDS = 15.0
"""Processor time that may be spent, when the number of runs is not given: a convention."""
_FEWEST, _MOST = 60, 3000
"""Runs, whatever time they take: conventions."""
_PILOT = 0.4
"""Share of the runs that chooses what is compared; the rest bounds it. A convention."""
_LOOKED_AT = 5000
"""Rows of the table that are looked at: a bound on time."""
_PARTS = 16
"""Parts of a number's range, each of which counts as one value in released rows: a convention."""

IntArray = NDArray[np.integer[Any]]


def rerun(
    report: Mapping[str, Any], params: Mapping[str, Any], original: pa.Table, *, runs: int | None = None, seed: int = 0
) -> LossBound:
    """Run the method of a release again and bound its epsilon from below.

    Parameters
    ----------
    report, params : mapping
        Of the release.
    original : Table
        The source it was made from.
    runs : int, optional
        How often the method is run, in [20, inf); by default as often as some seconds allow.
    seed : int
        Which records are drawn, which coins, and which noise; nothing of it is released.

    Raises
    ------
    ParameterError, PolicyError
        The method is not known, or cannot be run with what the files state.
    """
    scene = _Scene.of(report, params, original, seed)
    with closing(open_engine("local")) as engine:
        first = [scene.run(engine, number) for number in range(4)]  # the very first compiles and imports
        begun = time.process_time()
        first += [scene.run(engine, number) for number in range(4, 8)]
        seconds = max((time.process_time() - begun) / 4, 1e-4)
        n_runs = int(np.clip(SECONDS / seconds, _FEWEST, _MOST)) if runs is None else max(runs, 20)
        results = first[:n_runs] + [scene.run(engine, number) for number in range(len(first), n_runs)]
    features, effects = np.stack([result.features for result, _ in results]), results[0][0].effects
    return _bound(features, np.stack([coins for _, coins in results]), effects, scene)


def _bound(features: FloatArray, coins: NDArray[np.bool_], effects: FloatArray, scene: _Scene) -> LossBound:
    """Learn from the pilot runs, guess in the others; features have shape (runs, records, features)."""
    runs, records, width = features.shape
    pilot = int(runs * _PILOT)
    centred = features - features[:pilot].mean(axis=0)  # by record: what the others and the noise add on average
    rest = (runs - pilot) * records
    guesser = Guesser.trained(centred[:pilot].reshape(-1, width), coins[:pilot].ravel(), rest, effects)
    right, guesses = guesser.judge(centred[pilot:].reshape(-1, width), coins[pilot:].ravel())
    adjacency, at_delta = scene.adjacency, {"delta": scene.delta, "coins": rest}
    return LossBound(
        claimed=scene.claimed,
        lower_bound=epsilon_of_guesses(right, guesses, **at_delta),
        surest=epsilon_of_guesses(right, guesses, REFUTED_ALPHA, **at_delta),
        most_measurable=epsilon_of_guesses(guesses, guesses, **at_delta),
        delta=scene.delta,
        neighbours=f"small tables of records of the source, with and without each ({adjacency})",
        how="the method was run again with the parameters of the release, on small tables of unusual records of the "
        "source; an attacker who reads all that would be published guessed which records were in",
        counts={"runs": runs, "records": records, "guesses": guesses, "right": right},
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Scene:
    """A method, its public domains, and the records whose presence is guessed."""

    method: Method
    policy: Policy
    records: pa.Table
    partners: pa.Table | None
    """With adjacency replace: the substitutes of records that are left out."""
    rows_per_unit: int
    claimed: float
    delta: float
    adjacency: str
    seed: int

    @classmethod
    def of(cls, report: Mapping[str, Any], params: Mapping[str, Any], original: pa.Table, seed: int) -> _Scene:
        promise, method = report["guarantee"], report["method"]
        names = [str(stated["name"]) for stated, _ in _stated(params)]
        replaced = promise["adjacency"] == REPLACE
        unusual = _unusual(original.select(names), RECORDS * (1 + replaced), seed)
        half = unusual.num_rows // (1 + replaced)
        return cls(
            method=make_method(method["name"], method["parameters"]),
            policy=_policy(params, promise["parameters"].get("unit_column")),
            records=unusual.slice(0, half),
            partners=unusual.slice(half, half) if replaced else None,
            rows_per_unit=int(promise["parameters"].get("rows_per_unit", 1)),
            claimed=float(promise["parameters"]["epsilon"]),
            delta=float(promise["parameters"].get("delta", 0.0)),
            adjacency=str(promise["adjacency"]),
            seed=seed,
        )

    def run(self, engine: Engine, number: int) -> tuple[Seen, NDArray[np.bool_]]:
        """Toss the coins, run the method, and return what is seen of every record, and the coins."""
        coins = np.random.default_rng([self.seed, number]).random(self.records.num_rows) < 0.5
        table = self.records.filter(pa.array(coins))
        if self.partners is not None:
            table = pa.concat_tables([table, self.partners.filter(pa.array(~coins))])
        source = engine.scan(self._with_units(table), self.policy)
        randomness = Randomness.seeded(self.seed).child(f"audit {number}")
        draft = self.method.release(source, self.policy, engine=engine, rng=randomness)
        return seen_of(self.records, draft), coins

    def _with_units(self, table: pa.Table) -> pa.Table:
        unit = self.policy.unit
        if unit is None:
            return table
        people = np.repeat(np.arange(table.num_rows), self.rows_per_unit)
        return table.take(pa.array(people)).append_column(
            unit, pa.array([f"unit {person}" for person in people.tolist()])
        )


def _stated(params: Mapping[str, Any]) -> list[tuple[Mapping[str, Any], Role]]:
    """Return the statement of the params on each column, and its role; a release for any purpose may have no target."""
    if params.get("format") == STATEMENT:
        treated = params["treatment"]
        return [
            (column, Role.TARGET if treated[column["name"]]["role"] == Role.TARGET else Role.QUASI_IDENTIFIER)
            for column in params["statement"]["columns"]
        ]
    target = params["target"]
    return [
        *((attribute, Role.QUASI_IDENTIFIER) for attribute in params["attributes"]),
        *(() if target is None else ((target, Role.TARGET),)),
    ]


def _policy(params: Mapping[str, Any], unit: str | None) -> Policy:
    """Return the public domains under which the release was made."""
    columns, found = {}, {str(one["name"]) for one in params.get("spikes", ())}  # searched for again, not declared
    for attribute, role in _stated(params):
        domain, name = attribute["domain"], str(attribute["name"])
        missing = Missing.CATEGORY if domain.get("has_missing") else None
        if "bounds" in domain:
            low, high = (float(bound) for bound in domain["bounds"])
            step = domain.get("step")
            spikes = tuple(float(spike) for spike in domain.get("spikes", ()) if name not in found)
            columns[name] = Column(name=name, role=role, bounds=(low, high), step=step, spikes=spikes, missing=missing)
        else:
            values = Categories.from_params(domain).values
            columns[name] = Column(name=name, role=role, categories=values, missing=missing)
    if unit is not None:
        columns[unit] = Column(name=unit, role=Role.UNIT)
    return Policy(columns=columns)


def _unusual(table: pa.Table, n: int, seed: int) -> pa.Table:
    """Return distinct records whose values are rare, of some thousands drawn at random."""
    order = np.random.default_rng(seed).permutation(table.num_rows)[:_LOOKED_AT]
    looked = table.take(pa.array(order)).combine_chunks()
    rarity = np.zeros(looked.num_rows)
    for column in looked.columns:
        codes = pc.dictionary_encode(column.combine_chunks(), null_encoding="encode").indices.to_numpy()
        rarity += np.log(np.bincount(codes)[codes])
    chosen = looked.take(pa.array(np.argsort(rarity, kind="stable")[: 4 * n]))
    _, first = np.unique([repr(row) for row in chosen.to_pylist()], return_index=True)
    return chosen.take(pa.array(np.sort(first)[:n]))


# --- what is seen of a record ------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class Seen:
    """Published figures that a record would have moved."""

    features: FloatArray
    """Shape (n_records, n_features)."""
    effects: FloatArray
    """By how much the record moves each of them, shape (n_features,); 0 where that is not known."""


def seen_of(records: pa.Table, draft: Draft) -> Seen:
    """Return the published values of each record.

    Noisy counts of the cells, leaves and histograms it would be counted in where the params have them; and the released
    rows with its class and its value, column by column, whatever the method.
    """
    params: Mapping[str, Any] = draft.params
    if params.get("format") == STATEMENT:
        return _of_statement(records, draft)
    domains = {str(attribute["name"]): _domain(attribute) for attribute in params["attributes"]}
    stated = params["target"]
    target = None if stated is None else str(stated["name"])
    if target is not None:
        domains[target] = DeclaredTarget.from_params(stated).domain
    batch = records.combine_chunks().to_batches()[0]
    codes = {name: codes_of_cells(batch, name, domain) for name, domain in domains.items()}
    parts = [(0, attribute) for attribute in _released(records, draft, domains, target)]
    if params.get("format") in MARGINALS:
        parts += _in_marginals(params, codes, target)
    label = codes.pop(target) if target is not None else np.zeros(records.num_rows, dtype=np.int64)
    if params.get("format") in FORESTS:
        parts += _in_forest(params, np.stack(list(codes.values())), label)
    elif "class_counts" in params:
        parts.append((1, np.array(params["class_counts"])[label]))
        tables = [np.array(attribute["counts"]) for attribute in params["attributes"]]
        parts += [(1, table[label, own]) for table, own in zip(tables, codes.values(), strict=True)]
    if stated is not None and "histogram" in stated:
        cells = codes_of_cells(batch, str(stated["name"]), Grid.from_params(stated["domain"]))
        parts.append((1, np.array(stated["histogram"]["counts"])[cells]))
    effects = np.array([effect for effect, _ in parts], dtype=np.float64)
    return Seen(features=np.column_stack([attribute for _, attribute in parts]).astype(np.float64), effects=effects)


def _domain(stated: Mapping[str, Any]) -> Categories | Grid:
    domain = stated["domain"]
    return Grid.from_params(domain) if "bounds" in domain else Categories.from_params(domain)


def _of_statement(records: pa.Table, draft: Draft) -> Seen:
    """Return the noisy number of the cell of each record in every table, every choice, and the released rows alike."""
    released = ReleasedStatement.from_params(draft.params)
    statement, values = released.statement, released.values
    batch = records.combine_chunks().to_batches()[0]
    codes = {name: codes_of_cells(batch, name, domain) for name, domain in statement.domains.items()}
    parts: list[tuple[int, IntArray]] = []
    for draw, value in zip(statement.draws, values, strict=True):
        numbers, query = np.array(value.numbers, dtype=np.int64), draw.query
        cells = np.zeros(records.num_rows, dtype=np.int64)
        for name in query.by if isinstance(query, Count | Sum) else ():
            cells = cells * statement.domains[name].size + codes[name]
        reads = np.all([codes[each.column] == each.code for each in draw.where], axis=0)
        parts.append((int(isinstance(query, Count)), np.where(reads, numbers[cells], 0)))
    if isinstance(statement.shows, CellRows):
        parts += [(0, released) for released in _released(records, draft, statement.domains, None)]
    effects = np.array([effect for effect, _ in parts], dtype=np.float64)
    return Seen(features=np.column_stack([part for _, part in parts]).astype(np.float64), effects=effects)


def _in_forest(params: Mapping[str, Any], codes: IntArray, label: IntArray) -> list[tuple[int, IntArray]]:
    forest = PublishedForest.from_params(params)
    places, rows = places_of(forest, codes), np.arange(label.size)
    counts = np.zeros((3, label.size), dtype=np.int64)
    for tree, leaves in zip(forest.trees, places, strict=True):
        for row, leaf in enumerate(leaves.tolist()):
            content = tree[leaf].leaf
            assert content is not None  # noqa: S101 - places are leaves
            own = int(label[row])
            counts[0, row] += content.counts[own] if content.counts is not None else 0
            counts[1, row] += (tree[leaf].rows or 0) + (tree[0].rows or 0)
            counts[2, row] += content.label == own
            for at, table in enumerate(content.histograms or ()):
                counts[0, row] += table[codes[at, row]][own]
    parts: list[tuple[int, IntArray]] = list(zip((1, 2, 0), counts, strict=True))
    if "histograms" in params:
        regions = region_of_nodes([node.children for node in forest.trees[0]], params["scores"]["regions"])[places[0]]
        for at, own in enumerate(codes):
            tables = np.array([region[at] for region in params["histograms"]])
            # the answered attributes differ between runs: a figure is there in each, 0 of one that was not
            parts.append((1, tables[regions[rows], own, label] if tables.size else np.zeros_like(label)))
    return parts


def _in_marginals(
    params: Mapping[str, Any], codes: Mapping[str, IntArray], target: str | None
) -> list[tuple[int, IntArray]]:
    """Return the noisy counts of the cells of each record: of every column, and of all pairs together.

    Which pairs are counted, and whether the target splits the tables, follows from noise and differs between runs: a
    figure is there in each of them, 0 where a run has no such table.
    """
    size = next(iter(codes.values())).size
    label = codes[target] if params["anchored"] and target is not None else np.zeros(size, dtype=np.int64)
    tables = {table.name: table for table in map(OneWayTable.from_params, params["tables"])}
    nothing = np.zeros(size, dtype=np.int64)
    ones = {name: tables[name].counts[label, own] if name in tables else nothing for name, own in codes.items()}
    pairs = nothing.copy()
    for pair in map(PairTable.from_params, params["pairs"]):
        first, second = (tables[name].groups[codes[name]] for name in pair.names)
        pairs += pair.counts[label, first, second]
    return [*((int(name != target), counts) for name, counts in ones.items()), (0, pairs)]


def _released(
    records: pa.Table, draft: Draft, domains: Mapping[str, Categories | Grid], target: str | None
) -> Sequence[IntArray]:
    """Count the released rows that have the class of each record and its value, column by column."""
    data = draft.data
    table = pa.Table.from_batches(data.batches(), schema=data.schema)
    if "count" in table.column_names or (target is not None and target not in table.column_names):
        return ()  # generalized cells with their counts: the params say more
    coarse = {name: _coarse(domain) for name, domain in domains.items()}
    released, own = (_codes(each_table, coarse) for each_table in (table, records))
    same_class = np.ones((records.num_rows, table.num_rows), dtype=bool)
    if target is not None:
        same_class = released[target][np.newaxis] == own[target][:, np.newaxis]
    names = [name for name in domains if name != target]
    return [
        same_class.sum(axis=1),
        *(((released[name][np.newaxis] == own[name][:, np.newaxis]) & same_class).sum(axis=1) for name in names),
    ]


def _codes(table: pa.Table, domains: Mapping[str, Categories | Grid]) -> dict[str, IntArray]:
    batch = pa.RecordBatch.from_arrays([column.combine_chunks() for column in table.columns], names=table.column_names)
    return {name: codes_of_cells(batch, name, domain) for name, domain in domains.items()}


def _coarse(domain: Categories | Grid) -> Categories | Grid:
    if isinstance(domain, Categories):
        return domain
    return Grid(lower=domain.lower, upper=domain.upper, cells=_PARTS, has_missing=domain.has_missing)
