"""The table `[publication]`: read as it is written, unknown keys and wrong kinds refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from anonkit.errors import PolicyError
from anonkit.policy.declaration import Policy
from anonkit.policy.publication import Publication


def test_everything_declared_is_read(tmp_path: Path) -> None:
    """Recipients one or several, texts as they are, the day as TOML has it."""
    (tmp_path / "policy.toml").write_text(
        '[publication]\nrecipients = ["A", "B"]\npurpose = "teaching"\nlegal_basis = "consent"\n'
        'contact = "office"\nretain_until = 2031-12-31\n',
        encoding="utf-8",
    )

    assert Policy.load(tmp_path / "policy.toml").publication == Publication(
        recipients=("A", "B"), purpose="teaching", legal_basis="consent", contact="office", retain_until="2031-12-31"
    )


def test_nothing_declared_is_nothing_said() -> None:
    """Every entry is empty, and a single recipient is a list of one."""
    assert Policy.from_dict({}).publication.to_dict() == {
        "recipients": [], "purpose": None, "legal_basis": None, "contact": None, "retain_until": None,
    }  # fmt: skip
    assert Publication.from_dict({"recipients": "A"}).recipients == ("A",)
    assert Publication.from_dict({"retain_until": "2031-12-31"}).retain_until == "2031-12-31"


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ({"purposes": "x"}, "unknown key 'purposes'"),
        ({"recipients": [1]}, "recipients must be a list"),
        ({"recipients": ["A", " "]}, "recipients has an empty text"),
        ({"purpose": 3}, "purpose must be a text"),
        ({"retain_until": "some day"}, "retain_until must be a day"),
        ({"retain_until": 2031}, "retain_until must be a day"),
        ([], "publication must be a table"),
    ],
)
def test_what_is_wrong_is_named(raw: Any, said: str) -> None:
    """One line that names the key; an unknown one with the closest."""
    with pytest.raises(PolicyError, match=said):
        Policy.from_dict({"publication": raw})
