"""Own blind weights and response matrices of a policy: what is read, what is refused.

Public shares as blind answers: read, refused, and invariant by exact enumeration.
"""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import anonkit
from anonkit.errors import PolicyError
from anonkit.policy.answer_design import AnswerDesign
from anonkit.policy.declaration import Policy

SHARES = {"clerk": 0.5, "farmer": 0.2, "nurse": 0.3}


def declared(given: Any, folder: Path | None = None, **more: Any) -> Any:
    """Return the design of a column of three jobs."""
    column = {"categories": list(SHARES), "reference_shares": given, **more}
    return Policy.from_dict({"columns": {"job": column}}, folder=folder).column("job").answers


@pytest.mark.parametrize(
    "lines",
    [
        "nurse,0.3\nclerk,0.5\nfarmer,0.2\n",
        "job,share\nclerk,0.5\nfarmer,0.2\nnurse,0.3\n",
        "clerk;0.5\nfarmer;0.2\nnurse;0.3\n",
    ],
)
def test_shares_are_those_of_the_categories_in_their_order(lines: str, tmp_path: Path) -> None:
    """A file and a table say the same, in any order of the lines."""
    (tmp_path / "shares.csv").write_text(lines)
    assert declared("shares.csv", tmp_path).weights == declared(SHARES).weights == (0.5, 0.2, 0.3)


def test_missing_has_an_empty_name(tmp_path: Path) -> None:
    """Its share is the last."""
    (tmp_path / "shares.csv").write_text(",0.1\nclerk,0.4\nfarmer,0.2\nnurse,0.3\n")
    assert declared("shares.csv", tmp_path).weights == (0.4, 0.2, 0.3, 0.1)


@pytest.mark.parametrize(
    ("given", "more", "words"),
    [
        ({"clerk": 1, "farmer": 1}, {}, "lacks 1"),
        ({**SHARES, "cook": 1}, {}, "names 1 categories"),
        ({**SHARES, "nurse": 0}, {}, "above 0"),
        ({**SHARES, "nurse": True}, {}, "above 0"),
        ({**SHARES, "nurse": "many"}, {}, "above 0"),
        (3, {}, "a file or a table"),
        ("nowhere.csv", {}, "does not exist"),
        (SHARES, {"categories": None}, "declared categories"),
        (SHARES, {"answer_weights": [1, 1, 1]}, "excludes answer_weights"),
    ],
)
def test_what_are_no_shares_is_refused(given: Any, more: dict[str, Any], words: str) -> None:
    """With the column and the key."""
    column = {"categories": list(SHARES), "reference_shares": given, **more}
    column = {key: value for key, value in column.items() if value is not None}
    with pytest.raises(PolicyError, match="column 'job'") as refused:
        Policy.from_dict({"columns": {"job": column}})
    assert words in refused.value.message


@pytest.mark.parametrize("lines", ["clerk,many\nfarmer,x\n", "clerk,1\nclerk,2\nfarmer,1\n", "clerk,1,2\nfarmer,1,2\n"])
def test_a_file_of_something_else_is_refused(lines: str, tmp_path: Path) -> None:
    """No text of it is shown."""
    (tmp_path / "shares.csv").write_text(lines)
    with pytest.raises(PolicyError, match="reference_shares"):
        declared("shares.csv", tmp_path)


def test_the_published_matrix_is_invariant(tmp_path: Path) -> None:
    """pi P = pi for the matrix of the params, whose loss is the stated one; validated."""
    out = tmp_path / "out.parquet"
    table = pa.table({"job": list(SHARES) * 40, "y": ["a", "b"] * 60})
    columns = {
        "job": {"categories": list(SHARES), "reference_shares": SHARES},
        "y": {"role": "target", "categories": ["a", "b"]},
    }
    release = anonkit.release(
        table,
        method="errph",
        p_keep=0.6,
        policy={"columns": columns, "missing": "first", "unit": "none"},
        output=out,
        ledger=None,
        utility=False,
    )
    (own,) = [each for each in release.params["attributes"] if each["name"] == "job"]
    drawn = own["parameters"]
    words = Fraction(2 ** drawn["word_bits"])
    for share, blind in zip(SHARES.values(), drawn["blind_weights"], strict=True):
        after = Fraction(str(share)) * drawn["truth_weight"] / words + blind / words
        assert abs(after - Fraction(str(share))) <= Fraction(1, 10**8)
    rarest = min(drawn["blind_weights"])
    assert own["epsilon"] == pytest.approx(math.log((drawn["truth_weight"] + rarest) / rarest))
    assert anonkit.validate(out).passed


def _policy(**column: Any) -> dict[str, Any]:
    return {"columns": {"c": {"categories": ["u", "v"], **column}}}


@pytest.mark.parametrize(
    ("name", "content"), [("m.csv", "0.8,0.2\n0.3,0.7\n"), ("m.toml", "matrix = [[0.8, 0.2], [0.3, 0.7]]")]
)
def test_a_matrix_is_read_from_a_file_beside_the_policy(tmp_path: Path, name: str, content: str) -> None:
    """CSV and TOML say the same as rows in the policy itself."""
    (tmp_path / name).write_text(content)
    (tmp_path / "policy.toml").write_text(f'[columns]\nc = {{ categories = ["u", "v"], response_matrix = "{name}" }}\n')
    told = Policy.load(tmp_path / "policy.toml").column("c").answers
    here = Policy.from_dict(_policy(response_matrix=[[0.8, 0.2], [0.3, 0.7]])).column("c").answers
    assert told == here == AnswerDesign(where="column 'c'", matrix=((0.8, 0.2), (0.3, 0.7)))


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ({"answer_weights": []}, "finite numbers, none below 0"),
        ({"answer_weights": [1, -1]}, "finite numbers, none below 0"),
        ({"answer_weights": [0, 0]}, "an entry above 0"),
        ({"answer_weights": "1"}, "a list of numbers"),
        ({"answer_weights": [1, True]}, "a list of numbers"),
        ({"response_matrix": [[1.0, 0.0]]}, "must be square"),
        ({"response_matrix": [[0.5, 0.4], [0.5, 0.5]]}, "row 1 of response_matrix adds up to 0.9"),
        ({"response_matrix": [[1.5, -0.5], [0.5, 0.5]]}, "finite numbers, none below 0"),
        ({"response_matrix": 3}, "a file or a list of rows"),
        ({"response_matrix": "nowhere.csv"}, "does not exist"),
        ({"response_matrix": [[1, 0], [0, 1]], "answer_weights": [1, 1]}, "exclude each other"),
    ],
)
def test_what_makes_no_distribution_is_refused(column: dict[str, Any], said: str) -> None:
    """The message names the column and the rule."""
    with pytest.raises(PolicyError, match="column 'c'") as caught:
        Policy.from_dict(_policy(**column))
    assert said in caught.value.message


def test_a_file_that_is_no_matrix_is_refused(tmp_path: Path) -> None:
    """Texts in it are not shown."""
    (tmp_path / "m.csv").write_text("SECRET,1\n0,1\n")
    with pytest.raises(PolicyError, match="not a matrix of numbers") as caught:
        Policy.from_dict(_policy(response_matrix="m.csv"), folder=tmp_path)
    assert "SECRET" not in str(caught.value)


def test_a_design_has_one_entry_a_value_missing_included() -> None:
    """Two weights do not fit two categories that may also be missing."""
    design = AnswerDesign(where="column 'c'", weights=(1, 2))
    design.check_size(2, False)
    with pytest.raises(PolicyError, match="answer_weights is for 2 values, its domain has 3, missing last"):
        design.check_size(3, True)
