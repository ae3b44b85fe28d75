"""Two axes, and a recoding of both to three boxes, which tests of recodings share."""

from __future__ import annotations

from anonkit.published.recoding import CategoryAxis, IntervalAxis, LocalRecoding, RecodingSplit

AGE = IntervalAxis(name="age", cuts=(20, 40), has_missing=True)
SEX = CategoryAxis(name="sex", values=("F", "M"), has_other=True, has_missing=True)


def boxes_of(axes: tuple[IntervalAxis, CategoryAxis] = (AGE, SEX)) -> LocalRecoding:
    """Return a recoding that cuts the first axis, and one part of it by the second."""
    return LocalRecoding(
        axes=axes,
        nodes=(
            RecodingSplit(axis=0, left=(0, 3), children=(1, 2)),
            None,
            RecodingSplit(axis=1, left=(0,), children=(3, 4)),
            None,
            None,
        ),
    )
