"""The statements of a draft are true of its table, and no placeholder is valid when it is uncommented."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from anonkit.drafting.policy_draft import draft_policy
from anonkit.errors import PolicyError
from anonkit.policy.declaration import Policy

BORN = pa.table({"born": [f"{13 + at % 16:02}.{1 + at % 12:02}.1980" for at in range(300)], "y": ["a", "b"] * 150})


def test_a_placeholder_does_not_parse(tmp_path: Path) -> None:
    """Uncommented as it is it is refused: bounds of an example had turned every date into one."""
    draft = draft_policy(BORN)
    assert '# bounds = ["FIRST DAY", "LAST DAY"]' in draft
    path = tmp_path / "policy.toml"
    path.write_text(draft.replace('# type = "date"', 'type = "date"').replace("# bounds", "bounds"), encoding="utf-8")
    with pytest.raises(PolicyError, match="born"):
        Policy.load(path)


def test_a_draft_names_options_as_people_type_them(tmp_path: Path) -> None:
    """A line above the header that was passed over is said in words, without marks of two wordings."""
    path = tmp_path / "in.csv"
    path.write_text("# exported\nage,y\n" + "30,a\n40,b\n" * 20, encoding="utf-8")
    draft = draft_policy(path)
    assert "--skip-rows 1" in draft
    assert not {"\ufdd0", "\ufdd1", "\ufdd2"} & set(draft)


def test_no_draft_denies_what_the_cells_show() -> None:
    """Days from 13 on show which number is the day: the draft has a question, and claims nothing."""
    assert "no cell tells" not in draft_policy(BORN)


@pytest.mark.parametrize(("different", "words"), [(794, "with many different"), (20, "but with repeated")])
def test_many_values_are_not_called_few(different: int, words: str) -> None:
    """794 of 800 are many, 20 are not."""
    numbers = [at % different + 0.5 for at in range(800)]
    draft = draft_policy(pa.table({"phone": numbers, "y": ["a", "b"] * 400}))
    assert f"Named like an identifier, {words} values" in draft.replace("\n# ", " ")
