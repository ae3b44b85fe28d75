"""The report's words on columns of a division into boxes: shares of the cuts, and why a column is dropped."""

from __future__ import annotations

from anonkit.k_anonymity.boxes_shown import box_facts
from anonkit.published.recoding import CategoryAxis, IntervalAxis, LocalRecoding, RecodingSplit

AGE = IntervalAxis(name="age", cuts=(20, 40), has_missing=False)
SEX = CategoryAxis(name="sex", values=("F", "M"), has_other=False, has_missing=False)


def test_shares_are_those_of_the_cuts() -> None:
    """Two cuts of three by the age; a column without one says why it is dropped."""
    nodes = (
        RecodingSplit(axis=0, left=(0,), children=(1, 2)),
        None,
        RecodingSplit(axis=0, left=(1,), children=(3, 4)),
        RecodingSplit(axis=1, left=(0,), children=(5, 6)),
        None,
        None,
        None,
    )
    facts = box_facts(["age", "sex", "city"], LocalRecoding(axes=(AGE, SEX), nodes=nodes))
    assert [facts[name].get("importance") for name in ("age", "sex", "city")] == [2 / 3, 1 / 3, None]
    assert "3 times, 2 of them by this column" in facts["age"]["reason"]
    assert "no division by it was kept" in facts["city"]["reason"]
