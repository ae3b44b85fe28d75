"""The target as a search is guided by it: few classes, or one number a row, whatever the table holds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.domains.coded_columns import UNLABELLED, CodedColumn
from anonkit.errors import PolicyError
from anonkit.k_anonymity.preparing import CLASSES_APART, guiding_target
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.target_task import Task

TARGET = Column(name="y", role=Role.TARGET)


def coded(cells: list[object], *, ordered: bool) -> CodedColumn:
    """Code cells as an engine does: ascending, missing last."""
    values: list[object] = sorted({cell for cell in cells if cell is not None})  # type: ignore[type-var]
    values += [None] if None in cells else []
    code_of = {value: code for code, value in enumerate(values)}
    codes = np.array([code_of[cell] for cell in cells], dtype=np.int32)
    return CodedColumn(name="y", codes=codes, values=values, ordered=ordered)


def test_one_word_among_numbers_makes_no_class_of_every_number() -> None:
    """The word guides nothing, is counted for the owner alone, and the numbers guide as numbers."""
    cells: list[object] = [*(str(at) for at in range(1, 100)), "N", "N"]

    guide = guiding_target(coded(cells, ordered=False), TARGET, None)

    assert guide.task is Task.REGRESSION
    assert guide.numbers is not None
    assert guide.numbers[:99].tolist() == list(range(1, 100))
    assert np.isnan(guide.numbers[99:]).all()
    assert guide.labels[99:].tolist() == [UNLABELLED] * 2
    assert np.bincount(guide.labels[:99]).tolist() == [24, 25, 25, 25]
    assert guide.owner is not None
    assert guide.owner["cells_that_are_no_numbers"] == 2
    assert not any(character.isdigit() for note in guide.notes for character in note.replace("20", ""))


@settings(max_examples=20)
@given(st.integers(2, 60), st.randoms())
def test_many_classes_guide_as_few(n_classes: int, random: object) -> None:
    """At most 32 are distinguished: the commonest by themselves, the others as one, and who has none stays so."""
    counts = [1 + at for at in range(n_classes)]
    cells: list[object] = [f"c{at:03d}" for at, count in enumerate(counts) for _ in range(count)]
    random.shuffle(cells)  # type: ignore[attr-defined]

    guide = guiding_target(coded([*cells, None], ordered=False), TARGET, Task.CLASSIFICATION)

    sizes = np.bincount(guide.labels[:-1])
    assert guide.labels[-1] == UNLABELLED
    assert sizes.size == min(n_classes, CLASSES_APART)
    apart = counts if n_classes <= CLASSES_APART else [sum(counts[: 1 - CLASSES_APART]), *counts[1 - CLASSES_APART :]]
    assert sorted(sizes.tolist()) == sorted(apart)
    assert bool(guide.notes) is (n_classes > CLASSES_APART)


def test_thousands_of_classes_are_refused_with_the_remedy() -> None:
    """A search that the target guides refuses it; one that does not read it accepts it."""
    target = coded([f"word {at:05d}" for at in range(1001)], ordered=False)

    with pytest.raises(PolicyError, match="'y' has more than 1,000 classes") as refused:
        guiding_target(target, TARGET, None)
    assert 'task="regression"' in str(refused.value.hint)
    assert "no_target=True" in str(refused.value.hint)
    assert guiding_target(target, TARGET, None, guides=False).task is Task.CLASSIFICATION


def test_a_number_to_predict_needs_numbers() -> None:
    """Words alone are refused where regression is declared."""
    with pytest.raises(PolicyError, match="no cell of the target 'y' is a number"):
        guiding_target(coded(["a", "b"], ordered=False), TARGET, Task.REGRESSION)
