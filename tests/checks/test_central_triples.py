"""Releases of dp-marginals that chose three columns with the target, or none: rebuilt, and forged ones refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from checks.forgeries import Edit, Files, forged, verdict

import anonkit
from anonkit.consumers import MarginalModel, MixtureClassifier
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy

ROWS = 12_000
KINDS: dict[str, dict[str, Any]] = {
    "split": {"sizes": 2},
    "not split": {"sizes": 24, "columns": 20, "classes": 6, "rows": 2 * ROWS, "epsilon": 0.25},
    "gaussian": {"sizes": 2, "columns": 40, "delta": 1e-3, "epsilon": 2.0},
    "replaced": {"sizes": 2, "adjacency": "replace", "epsilon": 2.0},
    "none": {"sizes": 2, "coin": True},
}


def release_of(
    sizes: int, *, columns: int = 6, classes: int = 2, rows: int = ROWS, coin: bool = False, **options: Any
) -> Any:
    """A target whose halves are the parity of three columns' upper halves, or a coin."""
    draw = np.random.default_rng(5)
    names, codes = [f"c{at}" for at in range(columns)], draw.integers(0, sizes, (columns, rows))
    label = draw.integers(0, 2, rows) if coin else (codes[1:4] >= sizes / 2).sum(axis=0) % 2
    label = label * (classes // 2) + draw.integers(0, classes // 2, rows)
    named = {name: pa.array(column.astype(str)) for name, column in zip(names, codes, strict=True)}
    policy = Policy(
        columns={
            **{name: Column(name=name, categories=tuple(map(str, range(sizes)))) for name in names},
            "label": Column(name="label", role=Role.TARGET, categories=tuple(map(str, range(classes)))),
        }
    )
    return anonkit.release(
        pa.table({**named, "label": pa.array(label.astype(str))}),
        method="dp-marginals", policy=policy, n_rows=rows, seed=1, ledger=None, **{"epsilon": 1.0, **options},
    )  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Files]:
    """One true release of each kind that is needed."""
    found = {}
    for kind in ("split", "none"):
        output = tmp_path_factory.mktemp("true") / "out.parquet"
        release_of(**KINDS[kind]).save(output)
        found[kind] = Files.read(output)
    return found


@pytest.mark.quick_cases("none", "not split")
@pytest.mark.parametrize("kind", KINDS)
def test_a_triple_is_rebuilt_and_models_predict_by_it(kind: str, tmp_path: Path) -> None:
    """It is in params, report and account, and a receiver's model predicts by it; without one a note says so."""
    release = release_of(**KINDS[kind])
    output = tmp_path / "true" / "out.parquet"
    release.save(output)
    assert verdict(forged(Files.read(output), lambda one: None, tmp_path)) == (1, ("randomness",))
    chosen = [] if kind == "none" else ["c1", "c2", "c3"]
    assert release.params["anchored"] is (kind != "not split")
    assert (release.params["format"] == "anonkit-marginals-2") is (kind == "gaussian")
    assert release.params["triple"]["names"] == chosen
    assert release.report["marginals"].get("triple", []) == chosen
    assert MarginalModel.from_release(output).triple == tuple(chosen)
    assert any("explain nothing of the target 'label'" in note for note in release.report["notes"]) is (kind == "none")
    rows = release.to_pandas()
    own = MixtureClassifier.from_release(output, target="label").predict(rows.drop(columns="label"))
    odd = (rows[["c1", "c2", "c3"]].astype(int) >= KINDS[kind]["sizes"] / 2).sum(axis=1) % 2
    right = (own.astype(int) // (KINDS[kind].get("classes", 2) // 2) == odd).mean()
    assert right > 0.97 if chosen else 0.4 < right < 0.6


def triple(**keys: Any) -> Edit:
    """Change what the params say of the choice."""
    return lambda files: files.params["triple"].update(keys)


def table(**keys: Any) -> Edit:
    """Change the table of the triple."""
    return lambda files: files.params["triple"]["table"].update(keys)


def without_line(purpose: str) -> Edit:
    """Leave a line out of the account."""

    def edit(files: Files) -> None:
        lines = files.params["accounting"]
        files.params["accounting"] = [line for line in lines if line["purpose"] != purpose]

    return edit


def measured_without_choice(files: Files) -> None:
    """A table of a triple that nobody chose."""
    files.params["triple"]["names"] = []
    files.report["marginals"].pop("triple")


def never_chosen(files: Files) -> None:
    """All of the choice is gone, its cost and the reading too."""
    for purpose in ("relation of the target to pairs", "triple with the target", "table of the triple"):
        without_line(purpose)(files)
    files.params["readings"].pop()
    files.params.pop("triple")
    files.report["marginals"].pop("triple")


def another(files: Files) -> None:
    """The mixture of another triple."""
    files.params["triple"]["names"] = files.report["marginals"]["triple"] = ["c0", "c1", "c2"]


FORGERIES: dict[str, Edit] = {
    "no choice": lambda files: files.params.pop("triple"),
    "never chosen": never_chosen,
    "a table without a choice": measured_without_choice,
    "another triple": another,
    "another triple in the report": lambda files: files.report["marginals"].update(triple=["c0", "c1", "c2"]),
    "two columns": triple(names=["c1", "c2"]),
    "columns out of order": triple(names=["c2", "c1", "c3"]),
    "a column twice": triple(names=["c1", "c1", "c3"]),
    "the target": triple(names=["c1", "c2", "label"]),
    "no names": triple(names=None),
    "another purpose": triple(purpose="triple"),
    "half of the rate of the choice": lambda files: triple(rate=files.params["triple"]["rate"] // 2)(files),
    "half of the rate of the table": lambda files: table(rate=files.params["triple"]["table"]["rate"] // 2)(files),
    "the choice is free": without_line("triple with the target"),
    "the table is free": without_line("table of the triple"),
    "the reading is free": without_line("relation of the target to pairs"),
    "a reading of much": lambda files: files.params["readings"][-1].update(steps=ROWS * 256),
    "no reading": lambda files: files.params["readings"].pop(),
    "no table": lambda files: files.params["triple"].pop("table"),
    "counts of one class": lambda files: files.params["triple"]["table"]["counts"].pop(),
    "counts of a cell more": lambda files: files.params["triple"]["table"]["counts"][0].append(0),
    "counts that are none": table(counts=[[0.5] * 8] * 2),
    "other cells": table(groups=[[0, 1, 1], [0, 1, 0], [0, 1, 1]]),
    "other counts": lambda files: files.params["triple"]["table"]["counts"].reverse(),
    "a key more": table(more=1),
    "an earlier version": lambda files: files.params.pop("missing_above"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forged_triples_are_refused(files: dict[str, Files], name: str, tmp_path: Path) -> None:
    """Each by content: the hashes are right."""
    code, failed = verdict(forged(files["split"], FORGERIES[name], tmp_path))
    assert code != 0
    assert set(failed) - {"randomness"}, (code, failed)


def claimed(files: Files) -> None:
    """A triple where none was chosen."""
    files.params["triple"]["names"] = files.report["marginals"]["triple"] = ["c0", "c1", "c2"]


@pytest.mark.parametrize("edit", [claimed, never_chosen])
def test_a_choice_of_none_is_a_choice_too(files: dict[str, Files], edit: Edit, tmp_path: Path) -> None:
    """It was paid for, and what follows from it is what was left."""

    def careful(one: Files) -> None:
        one.report["marginals"].setdefault("triple", [])
        edit(one)

    code, failed = verdict(forged(files["none"], careful, tmp_path))
    assert code != 0
    assert set(failed) - {"randomness"}, (code, failed)
