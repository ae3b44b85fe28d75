"""Boxes of `rfka` where k is large: they are shown where they keep more of the target, and only there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import anonkit
from anonkit.errors import GuaranteeError
from anonkit.methods import rfka
from anonkit.methods.rfka import RFKA
from anonkit.policy.declaration import Policy

QUICK: dict[str, Any] = {"method": "rfka", "trees": 30, "ledger": None, "utility": False, "unit": "none"}


def corners(n_rows: int = 1200) -> pd.DataFrame:
    """Return a target of one column where another is low, and of a third where it is high: no recoding follows it."""
    generator = np.random.default_rng(3)
    frame = pd.DataFrame(generator.integers(0, 100, size=(n_rows, 3)), columns=["a", "b", "c"])
    sure = np.where(frame["a"] < 50, frame["b"] % 50 < 25, frame["c"] % 50 < 25)
    return frame.assign(y=np.where(sure ^ (generator.random(n_rows) < 0.05), "yes", "no"))


def _columns(n_rows: int = 1200) -> pd.DataFrame:
    """Return a target of one column with few values: every cut of a box is a cut of the column."""
    generator = np.random.default_rng(4)
    frame = pd.DataFrame({"a": generator.integers(0, 2, n_rows), "b": generator.integers(0, 2, n_rows)})
    return frame.assign(y=np.where((frame["a"] == 1) ^ (generator.random(n_rows) < 0.05), "yes", "no"))


def _recoding(frame: pd.DataFrame, **more: Any) -> str:
    release = anonkit.release(frame, target="y", **{"k": 40, **QUICK, **more})
    out = release.to_pandas()
    shown = [name for name in out if name != "y"]
    assert not shown or out.groupby(shown, dropna=False).size().min() >= release.report["guarantee"]["parameters"]["k"]
    return str(release.params["recoding"]["kind"])


@pytest.mark.slow
def test_boxes_are_shown_where_they_keep_more_of_the_target() -> None:
    """One recoding a column must cut b and c wherever a is low; boxes follow the target."""
    frame = corners()
    release = anonkit.release(frame, target="y", k=40, **QUICK)

    assert release.params["recoding"]["kind"] == "local"
    assert release.report["search"]["name"] == "boxes"
    assert release.report["search"]["boxes"] == len(release.to_pandas().drop(columns="y").drop_duplicates())
    assert release.report["rows"]["suppressed"] == 0
    plain = anonkit.release(frame, target="y", k=40, boxes=False, **QUICK)
    assert plain.params["recoding"]["kind"] == "global"
    assert release.report["search"]["explained"] > plain.report["search"]["explained"]


@pytest.mark.slow
def test_columns_are_recoded_one_by_one_where_boxes_explain_no_more() -> None:
    """A tie is decided for one recoding a column, which is easier to read."""
    assert _recoding(_columns()) == "global"


@pytest.mark.quick_cases("more0", "more2", "more3")
@pytest.mark.parametrize(
    "more", [{"k": 39}, {"boxes": False}, {"search": "greedy"}, {"ladder": "declared"}, {"drop_freely": False}]
)
def test_boxes_are_not_tried_otherwise(more: dict[str, Any]) -> None:
    """They are for large k and for the free search alone."""
    assert _recoding(corners(), **more) == "global"


def test_nothing_is_in_boxes_without_a_target() -> None:
    """Boxes are compared by the target that they keep, and there is none."""
    frame = corners().drop(columns="y")
    release = anonkit.release(frame, no_target=True, k=40, **QUICK)

    assert release.params["recoding"]["kind"] == "global"


def test_rounded_weights_are_shown_cell_by_cell() -> None:
    """Nobody can weigh with a range of weights."""
    frame = corners().assign(w=np.random.default_rng(5).choice([50, 100], 1200))
    columns = {"y": {"role": "target"}, "w": {"role": "weight", "weights": "rounded", "step": 50}}
    release = anonkit.release(frame, policy=Policy.from_dict({"columns": columns}), k=40, **QUICK)

    assert release.params["recoding"]["kind"] == "global"


@pytest.mark.slow
def test_a_column_to_be_kept_is_shown() -> None:
    """Of boxes or columns, what shows the column is taken."""
    frame = corners().assign(kept=np.random.default_rng(6).choice(list("pq"), 1200))
    release = anonkit.release(frame, target="y", keep=["kept"], k=40, **QUICK)

    assert release.to_pandas()["kept"].isin(["p", "q"]).any()


def test_columns_are_recoded_one_by_one_where_no_box_meets_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows may be left out where every column has one recoding; boxes leave none out, and may be impossible then."""

    def refuse(*given: Any, **more: Any) -> None:
        raise GuaranteeError("the table as one class does not meet k", "ask for less")

    monkeypatch.setattr(rfka, "guided_boxes", refuse)
    assert _recoding(corners()) == "global"


@pytest.mark.slow
@pytest.mark.parametrize("target", ["classes", "number"])
def test_the_next_batch_is_recoded_by_the_boxes(target: str, tmp_path: Any) -> None:
    """Rows of the release, recoded again, are those that the release shows; a number guides as classes do."""
    frame = corners()
    if target == "number":
        frame = frame.assign(y=np.where(frame["y"] == "yes", 5.0, 1.0) + np.random.default_rng(7).random(1200))
    release = anonkit.release(frame, target="y", k=40, **QUICK)
    release.save(tmp_path / "out.parquet")
    again = anonkit.apply(tmp_path / "out.params.json", frame, ledger=None)

    assert release.params["recoding"]["kind"] == "local"
    shown = ["a", "b", "c"]
    first, second = (one.to_pandas()[shown].value_counts().sort_index() for one in (release, again))
    assert first.equals(second)


def test_the_paper_never_shows_boxes() -> None:
    """Its search keeps or drops single values."""
    assert not RFKA(k=50, **RFKA.presets["paper"]).tries_boxes
    assert RFKA(k=50).tries_boxes
