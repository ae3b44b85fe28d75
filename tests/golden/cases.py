"""Every golden release: a name, and how it is made from public names of anonkit alone."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from golden import tables

import anonkit

Make = Callable[[Path], Any]
"""Makes one thing in an empty folder: a release in memory, the path of one on disk, or any JSON value."""


@dataclass(frozen=True)
class Case:
    """One golden release."""

    name: str
    method: str
    make: Make


def _release(
    folder: Path,
    *,
    table: pa.Table,
    method: str,
    policy: str | None = None,
    kind: str = "arrow",
    output: str | None = None,
    **options: Any,
) -> Any:
    given: dict[str, Any] = {"seed": 5, "ledger": None, **options}
    if policy is not None:
        given["policy"] = tables.write_policy(folder, policy)
    source: Any = table
    if kind == "csv":
        source = tables.write_csv(folder, table)
    elif kind == "parquet":
        source = tables.write_parquet(folder, table)
    elif kind == "pandas":
        source = table.to_pandas()
    place = None if output is None else f"{folder}/{output}"
    release = anonkit.release(source, method=method, output=place, **given)
    return release if place is None else Path(place)


def _apply(folder: Path, *, method: str, policy: str = tables.AWKWARD_POLICY, **options: Any) -> Path:
    """Release the awkward table, then recode the next batch in the same way."""
    _release(
        folder,
        table=tables.AWKWARD,
        method=method,
        policy=policy,
        output="first.parquet",
        **options,
    )
    anonkit.apply(
        folder / "first.params.json",
        tables.NEXT_AWKWARD,
        output=folder / "next.parquet",
        seed=6,
        ledger=None,
        max_suppression=1.0,
    )
    return folder / "next.parquet"


def _booked(folder: Path, *, table: pa.Table, policy: str, releases: Sequence[tuple[str, dict[str, Any]]]) -> Path:
    """Release a table several times with one ledger; the last release, and the owner's reports of all."""
    declared = tables.write_policy(folder, policy)
    for number, (method, options) in enumerate(releases):
        anonkit.release(
            table,
            method=method,
            policy=declared,
            seed=number,
            ledger=folder / "ledger",
            output=folder / f"out{number}.parquet",
            owner_report=folder / f"owner{number}",
            **options,
        )
    return folder / f"out{len(releases) - 1}.parquet"


def _reconstruct(folder: Path, **release: Any) -> Any:
    """Learn a model from a release; its parameters and its scores."""
    place = _release(folder, output="out.parquet", **release)
    found = anonkit.reconstruct(place, test=tables.datasets.bank_customers(200, seed=9), model=folder / "model.json")
    return {"found": found.to_dict(), "model": json.loads((folder / "model.json").read_bytes())}


def _command(folder: Path, *arguments: str, policy: str, table: pa.Table) -> Path:
    """Release a CSV file from the command line."""
    source, place = tables.write_csv(folder, table), folder / "out.parquet"
    options = ["--policy", str(tables.write_policy(folder, policy)), "--no-ledger", "--seed", "5", "--not-for-release"]
    subprocess.run(
        [sys.executable, "-m", "anonkit", "release", *arguments, *options, str(source), str(place)],
        check=True,
        capture_output=True,
    )
    return place


_ONLY_TARGET = """
[columns]
customer_value = { role = "target" }
income = { role = "sensitive" }
swipe_amount = { role = "insensitive" }
deposit = { role = "insensitive" }
loan = { role = "insensitive" }
"""
_RESPONSES = tables.CUSTOMERS_POLICY.replace(
    '"married", "divorced", "widowed"]', '"married", "divorced", "widowed"], answer_weights = [4, 3, 2, 1, 1]'
)


def _k_anonymous() -> Iterator[tuple[str, str, dict[str, Any]]]:
    few = {"table": tables.CUSTOMERS, "policy": _ONLY_TARGET, "k": 4}
    odd = {"table": tables.AWKWARD, "policy": tables.AWKWARD_POLICY, "k": 3, "max_suppression": 0.3}
    small = {"trees": 12}
    one_hot = {"features": "one-hot", "search": "greedy", "ladder": "none", "bins": 3}
    yield "plain", "rfka", {**few, **small}
    yield "one-hot", "rfka", {**few, **small, **one_hot, "max_suppression": 0.2}
    yield "paper", "rfka", {**few, **small, "preset": "paper", "max_suppression": 0.2}
    yield "bins", "rfka", {**few, **small, "bins": 3, "importance": "rf-gini", "search": "greedy"}
    yield "diverse", "rfka", {**few, **small, "l": 2, "t": 0.6, "importance": "mutual-info", "max_suppression": 0.1}
    yield "entropy-l", "rfka", {**few, **small, "entropy_l": 2.8, "importance": "hamdist", "max_suppression": 0.1}
    yield "alpha", "rfka", {**few, **small, "alpha": 0.8, "recursive": "3,2", "max_suppression": 0.1}
    yield "sampled", "rfka", {**few, **small, "kind": "parquet", "search_rows": 120, "max_suppression": 0.1}
    yield "awkward", "rfka", {**odd, **small}
    yield "awkward-csv", "rfka", {**odd, **small, "kind": "csv", "output": "out.parquet"}
    yield "awkward-pandas", "rfka", {**odd, **small, "kind": "pandas"}
    yield "awkward-declared", "rfka", {**odd, **small, "ladder": "declared", "forest": "full", "kind": "parquet"}
    yield "parts", "rfka", {**few, **small, "kind": "csv", "output": "out.parquet", "part_rows": 100}
    yield "plain", "greedy-hamdist", few
    yield "paper", "greedy-hamdist", {**few, "preset": "paper"}
    yield "awkward", "greedy-hamdist", {**odd, "bins": 3, "kind": "csv"}
    yield "plain", "mondrian", few
    yield "diverse", "mondrian", {**few, "l": 4, "t": 0.35, "kind": "parquet", "output": "folder/"}
    odd = {name: value for name, value in odd.items() if name != "max_suppression"}
    untold = {**odd, "policy": tables.ANY_PURPOSE_POLICY}
    yield "untold", "mondrian", odd
    yield "awkward", "mondrian", untold
    yield "sampled", "mondrian", {**untold, "kind": "csv", "search_rows": 90}
    yield "plain", "datafly", few
    yield "paper", "datafly", {**few, "preset": "paper"}
    yield "awkward", "datafly", {**odd, "max_suppression": 0.3}
    yield "sampled", "datafly", {**odd, "max_suppression": 0.3, "kind": "csv", "search_rows": 120}
    some = {"insensitive": ["height", "since"], "max_suppression": 0.3}
    yield "plain", "incognito", few
    yield "paper", "incognito", {**few, "preset": "paper"}
    yield "diverse", "incognito", {**few, "l": 2, "t": 0.6, "max_suppression": 0.1}
    yield "awkward", "incognito", {**odd, **some, "loss": "discernibility", "kind": "parquet"}
    yield "plain", "mdav", {**few, "kind": "parquet", "policy": _ONLY_TARGET.replace("swipe_amount", "occupation")}
    yield "paper", "mdav", {**few, "preset": "paper", "policy": _ONLY_TARGET.replace("swipe_amount", "occupation")}
    yield "awkward", "mdav", {**odd, "max_suppression": 0.3, "l": 2}


def _randomized() -> Iterator[tuple[str, str, dict[str, Any]]]:
    few = {"table": tables.CUSTOMERS, "policy": tables.CUSTOMERS_POLICY}
    odd = {"table": tables.AWKWARD, "policy": tables.ROWS_POLICY}
    designed = {"table": tables.CUSTOMERS, "policy": _RESPONSES}
    yield "plain", "rr", {**few, "epsilon": 2.0}
    yield "sets", "rr", {**few, "epsilon": 0.5}
    yield "split", "rr", {**few, "epsilon": 8.0, "allocation": "split", "label": "clear", "kind": "csv"}
    yield "awkward", "rr", {**odd, "epsilon": 3.0, "kind": "csv", "output": "out.parquet"}
    yield "plain", "errph", {**few, "p_keep": 0.5, "bins": 8}
    yield "paper", "errph", {**few, "preset": "paper", "bins": 8}
    yield "rrph", "errph", {**few, "preset": "rrph"}
    yield "epsilon", "errph", {**few, "epsilon": 1.5, "bins": 4, "label": "randomize", "kind": "pandas"}
    yield "truth", "errph", {**few, "p_truth": 0.6, "bins": 5, "shuffle_delta": 1e-5}
    yield "answers", "errph", {**designed, "p_keep": 0.4, "bins": 6}
    yield "awkward", "errph", {**odd, "p_keep": 0.5, "bins": 8, "kind": "parquet"}
    yield "plain", "ppnb", {**few, "p_keep": 0.5}
    yield "paper", "ppnb", {**few, "preset": "paper"}
    yield "awkward", "ppnb", {**odd, "epsilon": 2.0, "noise": "N(2,10)", "label": "randomize", "kind": "pandas"}
    yield "plain", "trr", {**few, "insensitive": ["education", "occupation", "marital_status", "income", "cards_held"]}
    yield (
        "paper",
        "trr",
        {**odd, "preset": "paper", "noise": "N(2,10)", "insensitive": ["zip", "job", "member", "illness"]},
    )


_TABLES = (
    "customers = education, income", "income", "age, cards_held weight 0.5", "mean(deposit) by education",
    "sum(deposit)", "mean(loan)", "sum(swipe_amount) by income", "quantile(age, 0.25, 0.5, 0.75) by customer_value",
    "median(loan)",
)  # fmt: skip


def _central() -> Iterator[tuple[str, str, dict[str, Any]]]:
    few = {"table": tables.CUSTOMERS, "policy": tables.CUSTOMERS_POLICY, "epsilon": 1.0}
    people = {"table": tables.NAMED, "policy": tables.NAMED_POLICY, "epsilon": 2.0, "rows_per_unit": 2}
    odd = {"table": tables.AWKWARD, "policy": tables.DOMAINS_POLICY, "epsilon": 2.0}
    short = {"trees": 3, "depth": 2}
    drawn = {"epsilon": 4.0, "delta": 1e-3, "k": 5}
    yield "plain", "safepub", {**few, **drawn}
    yield "people", "safepub", {"table": tables.NAMED, "policy": tables.NAMED_POLICY, **drawn, "kind": "csv"}
    yield "plain", "dp-nb", few
    yield "delta", "dp-nb", {**few, "delta": 1e-5}
    searched = {"target": "customer_value", "domains_from_data": True, "epsilon": 30.0, "delta": 1e-2}
    yield "found", "dp-nb", {"table": tables.CUSTOMERS, **searched}
    yield "found", "dp-forest", {"table": tables.CUSTOMERS, **searched}
    yield "found", "dp-marginals", {"table": tables.CUSTOMERS, **searched}
    yield "people", "dp-nb", {**people, "bins": 4, "kind": "csv"}
    yield "awkward", "dp-nb", {**odd, "adjacency": "replace", "kind": "parquet", "output": "out.parquet"}
    yield "plain", "dp-marginals", {**few, "epsilon": 20.0}
    yield "delta", "dp-marginals", {**few, "epsilon": 16.0, "delta": 1e-2}
    yield "no-target", "dp-marginals", {**odd, "epsilon": 12.0, "policy": tables.UNTARGETED_POLICY, "kind": "parquet"}
    yield "people", "dp-marginals", {**people, "bins": 4, "kind": "csv", "n_rows": 300, "epsilon": 40.0}
    yield "triple", "dp-marginals", {"table": tables.PARITIES, "policy": tables.PARITIES_POLICY, "epsilon": 20.0}
    yield "columns-alone", "dp-marginals", {**odd, "adjacency": "replace", "kind": "pandas"}
    yield "plain", "dp-forest", few
    yield "cells", "dp-forest", {**few, "as_": "cells", "n_rows": 300}
    yield "calibrated", "dp-forest", {**few, "epsilon": 8.0, "n_rows": 300}
    yield "read", "dp-forest", {**few, "epsilon": 16.0, "n_rows": 4_000}
    yield "led", "dp-forest", {"table": tables.INTERACTING, "policy": tables.INTERACTING_POLICY, "epsilon": 4.0}
    yield "people", "dp-forest", {**people, "trees": 2, "depth": 3, "bins": 4, "kind": "csv"}
    yield "awkward", "dp-forest", {**odd, "kind": "pandas"}
    yield "delta", "dp-forest", {**few, "adjacency": "replace", "delta": 1e-2}
    yield "domains", "dp-forest", {"table": tables.CUSTOMERS, "epsilon": 1.0, "domains_from_data": True}
    yield "plain", "dp-tables", few
    yield "people", "dp-tables", {**people, "bins": 4, "points": 16, "kind": "csv", "aggregate": _TABLES}
    ill = ["illness, job", "mean(saved) by job", "quantile(height, 0.1, 0.5) by risk", "sum(age) weight 2"]
    yield "awkward", "dp-tables", {**odd, "kind": "parquet", "output": "out.parquet", "aggregate": ill}
    yield "plain", "dp-tree", few
    yield "cells", "dp-tree", {**odd, "as_": "cells", "kind": "csv"}
    yield "plain", "edprf", {**few, "depth": 2}
    yield "paper", "edprf", {**few, "preset": "paper", "trees": 2, "depth": 3, "bins": 4}
    yield "plain", "diffprfs", {**few, **short}
    yield "paper", "diffprfs", {**few, **short, "preset": "paper"}
    yield "shared", "diffprfs", {**people, **short, "rows": "shared", "score": "gini", "stop": "depth"}
    yield "plain", "diffprf", {**few, **short}
    yield "entropy", "diffprf", {**odd, **short, "rows": "disjoint", "score": "entropy", "max_rows": 500}
    yield "plain", "c45-arithmetic", few
    yield "pruned", "c45-arithmetic", {**odd, "stop": "noisy", "pruning": "pessimistic", "order": "descending"}
    yield "paper", "diffprf", {**odd, **short, "preset": "paper"}
    yield "paper", "c45-arithmetic", {**odd, "preset": "paper"}
    yield "plain", "c45-halving", few
    yield "paper", "c45-halving", {**odd, "preset": "paper"}
    yield "plain", "sulq-id3", few
    yield "paper", "sulq-id3", {**odd, "preset": "paper", "depth": 2, "as_": "cells"}
    yield "plain", "pinq-id3", few
    yield "paper", "pinq-id3", {**odd, "preset": "paper", "as_": "cells"}
    yield "plain", "diffp-id3", few
    yield "paper", "diffp-id3", {**odd, "preset": "paper"}
    yield "plain", "diffp-c45", few
    yield "pruned", "diffp-c45", {**few, "pruning": "pessimistic", "score": "entropy", "epsilon": 8.0}
    yield "paper", "diffp-c45", {**odd, "preset": "paper"}
    yield "plain", "diffgen", {**few, "steps": 3}
    yield "paper", "diffgen", {**few, "preset": "paper", "steps": 2}
    yield "awkward", "diffgen", {**odd, "steps": 4, "score": "information-gain"}
    yield "plain", "dt-diff", {**few, "steps": 3}
    yield "paper", "dt-diff", {**few, "preset": "paper", "steps": 2}
    yield "even", "dt-diff", {**odd, "steps": 4, "weights": "even", "as_": "cells"}


def _cases() -> Iterator[Case]:
    for variants in (_k_anonymous, _randomized, _central):
        for variant, method, options in variants():
            yield Case(f"{method}--{variant}", method, partial(_release, method=method, **options))
    few = {"k": 3, "max_suppression": 0.3, "trees": 12}
    yield Case("apply--rfka", "rfka", partial(_apply, method="rfka", **few))
    untold = partial(_apply, policy=tables.ANY_PURPOSE_POLICY)
    yield Case("apply--mondrian", "mondrian", partial(untold, method="mondrian", k=3))
    customers = {"table": tables.CUSTOMERS, "policy": tables.CUSTOMERS_POLICY}
    yield Case("reconstruct--ppnb", "ppnb", partial(_reconstruct, method="ppnb", p_keep=0.5, **customers))
    yield Case("reconstruct--dp-nb", "dp-nb", partial(_reconstruct, method="dp-nb", epsilon=1.0, **customers))
    yield Case("reconstruct--edprf", "edprf", partial(_reconstruct, method="edprf", epsilon=2.0, depth=2, **customers))
    odd = partial(_booked, table=tables.AWKWARD)
    joint = [("rfka", few), ("mondrian", {"k": 3, "accept_joint_k": 1})]
    yield Case("ledger--joint", "mondrian", partial(odd, policy=tables.AWKWARD_POLICY, releases=joint))
    twice = [("rr", {"epsilon": 2.0, "budget": 10.0}), ("errph", {"epsilon": 0.5, "bins": 4})]
    yield Case("ledger--local", "errph", partial(odd, policy=tables.ROWS_POLICY, releases=twice))
    spent = [("dp-nb", {"epsilon": 1.0}), ("dp-tree", {"epsilon": 0.5, "budget": 2.0})]
    yield Case("ledger--central", "dp-tree", partial(odd, policy=tables.DOMAINS_POLICY, releases=spent))
    arguments = ("--method", "rr", "--epsilon", "2.5", "--allocation", "split")
    command = partial(_command, policy=tables.ROWS_POLICY, table=tables.AWKWARD)
    yield Case("command--rr", "rr", lambda folder: command(folder, *arguments))


CASES = {case.name: case for case in _cases()}
"""All of them by name."""
