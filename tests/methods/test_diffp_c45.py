"""`diffp-c45`: every draw on a path gets the same."""

from __future__ import annotations

import pytest

import anonkit
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.mechanisms.accounting import draw_units
from anonkit.methods.diffp_c45 import DiffPC45

POLICY = bank_customers_policy()


def test_every_draw_gets_the_same() -> None:
    """Epsilon / ((2 + c) depth + 2) with c numbers, as in the paper; a leaf further up gets all of its level."""
    plan = DiffPC45(epsilon=1.0, depth=2).plan(POLICY)
    numbers = sum(attribute.is_cut for attribute in plan.schema.attributes)
    each = 1 / ((2 + numbers) * 2 + 2)
    for draw in plan.accounting.draws:
        if draw.ends_path and draw.level != 2:
            continue
        assert draw_units(draw) / draw.times / 2**52 == pytest.approx(each, rel=1e-6)
    assert plan.accounting.epsilon == pytest.approx(1.0)


def test_cuts_may_come_again_and_the_release_validates(tmp_path) -> None:  # type: ignore[no-untyped-def]
    """Numbers are cut where the data says, within the public grid."""
    release = anonkit.release(
        bank_customers(3_000, seed=1), method="diffp-c45", epsilon=20.0, policy=POLICY, stop="depth",
        output=tmp_path / "o.parquet",
    )  # fmt: skip
    assert anonkit.validate(release).passed
    assert any(node.get("split") == "cut" for node in release.params["trees"][0])


def test_the_published_rate_is_told() -> None:
    """As diffp-id3."""
    assert "half of their shares" in DiffPC45(epsilon=1.0, rate="published").guarantee(POLICY).statement()
