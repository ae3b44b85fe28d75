"""A marker planted in every cell is in no message, hint, repr or file, whatever goes wrong."""

from __future__ import annotations

import json
import traceback
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from error_chains import all_that_is_said

import anonkit
from anonkit.checks.requirements import Validation
from anonkit.errors import AnonkitError, GuaranteeError
from anonkit.policy.declaration import Policy

MARK = "Zq7MARKERx9"


def _frame(n: int = 12) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "name": [f"{MARK}-{at}" for at in range(n)],
            "q": [f"{MARK}q{at % 3}" for at in range(n)],
            "n": range(n),
            "y": [f"{MARK}y{at % 2}" for at in range(n)],
        }
    )


def _csv(tmp_path: Path, text: str, encoding: str = "utf-8") -> Path:
    path = tmp_path / "in.csv"
    path.write_bytes(text.encode(encoding))
    return path


def _policy(**columns: Any) -> Policy:
    return Policy.from_dict({"columns": {"y": {"role": "target"}, **columns}})


FAILURES: dict[str, Any] = {
    "k beyond the rows": lambda t: anonkit.release(_frame(), k=50, target="y"),
    "l that cannot be": lambda t: anonkit.release(_frame(), k=3, l=9, target="y", sensitive=["y"], trees=5),
    "t that cannot be in a class": lambda t: anonkit.release(
        _frame(), method="mondrian", k=3, recursive="0.01,2", target="y", sensitive=["y"]
    ),
    "outside categories": lambda t: anonkit.release(_frame(), k=3, policy=_policy(q={"categories": ["a"]})),
    "bounds on texts": lambda t: anonkit.release(
        _frame(), k=3, policy=_policy(q={"bounds": [0, 1], "outside": "refuse"})
    ),
    "ladder on texts": lambda t: anonkit.release(_frame(), k=3, policy=_policy(q={"ladder": [5]})),
    "missing refused": lambda t: anonkit.release(
        _frame().assign(q=[None, *_frame()["q"][1:]]), k=3, policy=_policy(q={"missing": "error"})
    ),
    "unit missing": lambda t: anonkit.release(
        _frame().assign(q=[None, *_frame()["q"][1:]]), k=3, policy=_policy(q={"role": "unit", "missing": "error"})
    ),
    "unknown column": lambda t: anonkit.release(_frame(), k=3, target="nope"),
    "ragged": lambda t: anonkit.release(_csv(t, f"a,b\n{MARK},1\n{MARK}\n{MARK},{MARK},{MARK}\n"), k=2),
    "latin1": lambda t: anonkit.release(_csv(t, f"a,b\n{MARK}é,1\n", "latin-1"), k=2),
    "utf-16": lambda t: anonkit.release(_csv(t, f"a,b\n{MARK},1\n", "utf-16"), k=2),
    "open quote": lambda t: anonkit.release(_csv(t, f'a,b\n"{MARK},1\n{MARK},2\n'), k=2),
    "wrong type": lambda t: anonkit.release(_csv(t, f"a,y\n{MARK},1\n"), k=2, policy=_policy(a={"type": "integer"})),
    "mixed types": lambda t: anonkit.release(pd.DataFrame({"a": [1, MARK], "y": ["u", "v"]}), k=2),
    "nested": lambda t: anonkit.release(pd.DataFrame({"a": [[MARK], [MARK]], "y": ["u", "v"]}), k=2),
    "output exists": lambda t: (
        [anonkit.release(_frame(), k=3, trees=2, target="y", output=t / "o.parquet")] * 2
        and anonkit.release(_frame(), k=3, target="y", output=t / "o.parquet")
    ),
    "apply to a table without its columns": lambda t: anonkit.apply(
        anonkit.release(_frame(), k=3, trees=2, target="y", output=t / "o.parquet").place.file(".params.json"),
        _frame().drop(columns="q"),
    ),
    "validate a damaged file": lambda t: _refused(anonkit.validate(_damaged(t))),
    "validate an unknown column": lambda t: anonkit.validate(
        _csv(t, f"a,b\n{MARK},1\n"), quasi_identifiers=["nope"], k=2
    ),
}


def _refused(validation: Validation) -> None:
    """Raise the error of a damaged release, as the command does."""
    if not validation.passed:
        raise GuaranteeError(json.dumps(validation.to_dict()))


def _damaged(folder: Path) -> Path:
    output = folder / "o.parquet"
    anonkit.release(_frame(), k=3, trees=2, target="y", output=output)
    content = output.read_bytes()
    output.write_bytes(content[: len(content) // 2])
    return output


@pytest.mark.parametrize("failure", FAILURES)
def test_no_failure_shows_a_cell(failure: str, tmp_path: Path) -> None:
    """Each failure is an error of anonkit with a line and maybe a hint; the marker is nowhere in it."""
    with pytest.raises(AnonkitError) as caught:
        FAILURES[failure](tmp_path)

    error = caught.value
    shown = "".join(traceback.format_exception(error, chain=True)).replace(__file__, "")
    spoken = [str(error), repr(error), repr(error.args), repr(vars(error)), shown.split("anonkit.errors.")[-1]]
    assert error.message.count("\n") == 0
    assert not any(MARK in text for text in spoken)
    assert not any(MARK in text for text in all_that_is_said(error))


def test_objects_do_not_show_cells() -> None:
    """The repr of a release names the method and counts."""
    release = anonkit.release(_frame(), k=3, trees=2, target="y")
    assert MARK not in repr(release)
