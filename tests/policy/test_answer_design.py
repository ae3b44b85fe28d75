"""Own blind weights and response matrices of a policy: what is read, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from anonkit.errors import PolicyError
from anonkit.policy.answer_design import AnswerDesign
from anonkit.policy.declaration import Policy


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
