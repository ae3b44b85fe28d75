"""Several searches for a recoding where groups are large."""

from __future__ import annotations

import numpy as np
import pytest

from anonkit.domains.coded_columns import CodedColumn
from anonkit.k_anonymity.search.equivalence import AtLeastK
from anonkit.k_anonymity.search.top_down_specialization import FROM_K, STARTS, best_specialization, specialize


def _table(seed: int) -> tuple[list[CodedColumn], np.ndarray, dict[str, float]]:
    generator = np.random.default_rng(seed)
    codes = generator.integers(0, 6, size=(4, 600)).astype(np.int32)
    columns = [
        CodedColumn(name=name, codes=own, values=list(range(6)), ordered=at < 2)
        for at, (name, own) in enumerate(zip("abcd", codes, strict=True))
    ]
    share = (codes[0] > 2) * 0.4 + (codes[2] == codes[3]) * 0.3 + 0.1 * generator.random(600)
    importance = dict(zip("abcd", generator.random(4).tolist(), strict=True))
    return columns, np.column_stack([1 - share, share]), importance


@pytest.mark.quick_cases("0")
@pytest.mark.parametrize("seed", range(4))
def test_the_best_of_the_starts_is_taken_where_groups_are_large(seed: int) -> None:
    """No start explains more than what is taken, and every class of it has k rows."""
    columns, probabilities, importance = _table(seed)
    for k in (5, FROM_K):
        given = (columns, probabilities, importance, [AtLeastK(k)], 6)
        best = best_specialization(*given)
        each = [specialize(*given, exponent=exponent, charge=charge).explained for exponent, charge in STARTS]
        assert best.explained == (max(each) if k >= FROM_K else each[0])
        assert best.suppressed.sum() <= 6
