# SPDX-License-Identifier: Apache-2.0
"""Counting queries of the grower: class counts by node and attribute code, in one pass, as sums over batches.

The grower never sees a row. It hands a `Question` to a `Counter`; the counter applies `Question.count`, a pure,
picklable function, to batches of codes on whatever engine holds them, and adds the answers up. Answers are exact counts
of the private table: the grower noises or scores them and must not keep or publish them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.coded_columns import IntArray
from anonkit.dp_trees.plan import TreeRows

CodeArray = NDArray[np.integer]

Places = tuple[NDArray[np.integer], NDArray[np.integer] | None]
"""The node of each row in one tree, and how often the tree takes it (None: once)."""

WITHOUT_ATTRIBUTE = -1
"""In place of an attribute: count the classes of a node alone."""

_REMEMBERED = 1 << 26


@dataclass(frozen=True, kw_only=True, eq=False)
class CodedBatch:
    """Some rows as codes of the public domains."""

    codes: CodeArray
    """Shape (n_attributes, n_rows)."""
    labels: CodeArray
    """Class codes, shape (n_rows,)."""
    first_row: int
    """Number of the first row in the whole table."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.labels.size


@dataclass(frozen=True, kw_only=True, eq=False)
class Routing:
    """The routing of rows to nodes: the split attribute of each node and the child of each of its codes.

    A leaf is its own child. All trees share one numbering: tree t has root t.
    """

    attribute: IntArray
    """Shape (n_nodes,); 0 for leaves."""
    child: NDArray[np.int32]
    """Shape (n_nodes, most codes)."""
    depth: int
    """Longest way from a root to a leaf."""

    def step(self, batch: CodedBatch, nodes: NDArray[np.integer]) -> IntArray:
        """Return the child that each row goes to from its node, shape (n_rows,)."""
        codes = batch.codes.reshape(-1)[self.attribute[nodes] * batch.n_rows + np.arange(batch.n_rows)]
        return np.asarray(self.child.reshape(-1)[nodes * self.child.shape[1] + codes], dtype=np.int64)


@dataclass(frozen=True, kw_only=True, eq=False)
class Question:
    """Class counts of nodes by the codes of attributes.

    Made by `question_on`. Node `nodes[i]` is counted by each attribute of `attributes[i]`; the block of node i and its
    k-th attribute begins at `offsets[i, k]` of the answer and holds (codes of the attribute) * classes counts.
    """

    rows: TreeRows
    key: bytes = field(repr=False)
    routing: Routing
    nodes: IntArray
    attributes: IntArray
    offsets: IntArray
    n_classes: int
    size: int

    def count(self, batch: CodedBatch) -> IntArray:
        """Return the answer of a batch, shape (size,); answers of batches add up."""
        total = self.blank()
        for nodes, copies in self.places(batch):
            self.add(total, batch, nodes, copies)
        return total[: self.size]

    def places(self, batch: CodedBatch) -> Iterator[Places]:
        """Yield the node of every row, group by group, with its copies."""
        for trees, copies in self.rows.groups(self.key, batch.first_row, batch.n_rows):
            nodes = trees
            for _ in range(self.routing.depth):
                nodes = self.routing.step(batch, nodes)
            yield nodes, copies

    def blank(self) -> IntArray:
        """Return an answer of zeros, with one extra block at its end for counts outside every query."""
        return np.zeros(self.size + self.routing.child.shape[1] * self.n_classes, dtype=np.int64)

    def add(
        self, total: IntArray, batch: CodedBatch, nodes: NDArray[np.integer], copies: NDArray[np.integer] | None
    ) -> None:
        """Add the rows of one group, whose nodes are known, to an answer of `size` cells and the trash behind."""
        slot_of = np.full(self.routing.attribute.size, -1, dtype=np.int64)
        slot_of[self.nodes] = np.arange(self.nodes.size)
        slots = slot_of[nodes]
        counted = slots >= 0 if copies is None else (slots >= 0) & (copies > 0)
        at = None if bool(counted.all()) else np.flatnonzero(counted)
        slots = slots if at is None else slots[at]
        labels = (batch.labels if at is None else batch.labels[at]).astype(np.int64)
        weights = copies if copies is None or at is None else copies[at]
        for chosen, offsets in zip(self.attributes.T, np.ascontiguousarray(self.offsets.T), strict=True):
            keys = offsets[slots]
            keys += labels
            codes = self._codes(batch, chosen, slots, at)
            if codes is not None:
                keys += np.multiply(codes, self.n_classes, dtype=np.int64)
            _add_keys(total, keys, weights)

    def _codes(self, batch: CodedBatch, chosen: IntArray, slots: IntArray, at: IntArray | None) -> CodeArray | None:
        """Return the code of each row in the attribute its node is counted by; None where all are by none.

        A node that is by none among others that are gets any code: its counts go behind the answer.
        """
        needed = np.unique(chosen[chosen != WITHOUT_ATTRIBUTE])
        if not needed.size:
            return None
        if needed.size == 1:
            codes: CodeArray = batch.codes[needed[0]]
            return codes if at is None else np.asarray(codes[at])
        rows = np.arange(batch.n_rows) if at is None else at
        starts = np.maximum(chosen, 0) * batch.n_rows
        codes_of_rows: CodeArray = batch.codes.reshape(-1)[starts[slots] + rows]
        return codes_of_rows

    def split(self, answer: IntArray, codes: Sequence[int]) -> Iterator[tuple[int, IntArray, IntArray]]:
        """Yield (attribute, positions in `nodes`, counts of shape (n, codes, classes)) of the summed answer.

        Parameters
        ----------
        answer : int64 array, shape (size,)
        codes : sequence of int
            Number of codes of each attribute.
        """
        flat = self.attributes.reshape(-1)
        owners = np.repeat(np.arange(self.nodes.size), self.attributes.shape[1])
        offsets = self.offsets.reshape(-1)
        for attribute in np.unique(flat[offsets < self.size]):
            positions = np.flatnonzero((flat == attribute) & (offsets < self.size))
            n_codes = 1 if attribute == WITHOUT_ATTRIBUTE else codes[attribute]
            first = int(offsets[positions[0]])
            block = answer[first : first + positions.size * n_codes * self.n_classes]
            yield int(attribute), owners[positions], block.reshape(positions.size, n_codes, self.n_classes)


def _add_keys(total: IntArray, keys: IntArray, weights: NDArray[np.integer] | None) -> None:
    # of another type than the sums, weights would be added one by one, thirty times slower
    np.add.at(total, keys, 1 if weights is None else weights.astype(np.int64, copy=False))


class RowSums(Protocol):
    """Integer sums to which every row adds: picklable, and additive over batches."""

    @property
    def size(self) -> int:
        """Number of values."""
        ...

    def count(self, batch: CodedBatch) -> IntArray:
        """Return the counts of a batch, shape (size,)."""
        ...


class Counter(Protocol):
    """The holder of the rows: it answers counting queries by sums over its batches; the grower sees nothing else."""

    @property
    def n_rows(self) -> int:
        """Number of rows, known after an answer: exact, and never published."""
        ...

    def sum_up(self, sums: RowSums) -> IntArray:
        """Return the sum of `sums.count` over all rows, shape (sums.size,)."""
        ...

    def answer(self, question: Question) -> IntArray:
        """Return the sum of `question.count` over all rows, shape (question.size,)."""
        ...


def question_on(
    nodes: IntArray,
    attributes: IntArray,
    codes: Sequence[int],
    *,
    rows: TreeRows,
    key: bytes,
    routing: Routing,
    n_classes: int,
) -> Question:
    """Lay out a question.

    Parameters
    ----------
    nodes : int64 array, shape (n,)
        Distinct nodes.
    attributes : int64 array, shape (n, m)
        Up to m attributes each, padded with `WITHOUT_ATTRIBUTE`; a column of nothing else counts classes alone.
    codes : sequence of int
        Number of codes of each attribute.
    rows, key, routing, n_classes
        As for `Question`.
    """
    flat = attributes.reshape(-1)
    padding = (attributes == WITHOUT_ATTRIBUTE) & bool((attributes != WITHOUT_ATTRIBUTE).any())
    sizes = np.array([*codes, 1], dtype=np.int64)[flat] * n_classes  # -1 takes the last: one code
    order = np.lexsort((np.arange(flat.size), flat))  # blocks of one attribute are together
    order = order[~padding.reshape(-1)[order]]
    offsets = np.zeros(flat.size, dtype=np.int64)
    ends = np.cumsum(sizes[order])
    offsets[order] = ends - sizes[order]
    size = int(ends[-1]) if ends.size else 0
    offsets[padding.reshape(-1)] = size
    return Question(
        rows=rows,
        key=key,
        routing=routing,
        nodes=nodes,
        attributes=attributes,
        offsets=offsets.reshape(attributes.shape),
        n_classes=n_classes,
        size=size,
    )


class BatchCounter:
    """Answers from batches that can be read again; keeps the node of each row between queries, while small.

    Questions of one forest must come in the order it grows; those of another forest, recognized by its key, start anew.

    Parameters
    ----------
    batches : callable
        Opens the batches anew, always the same ones in the same order.
    remembered : int
        Most places of rows in trees that are kept between questions; rows beyond walk from the root each time.
    """

    def __init__(self, batches: Callable[[], Iterable[CodedBatch]], remembered: int = _REMEMBERED) -> None:
        self._batches = batches
        self._most = self._memory_left = remembered
        self._forest: tuple[bytes, int] | None = None
        self._places: dict[int, tuple[int, list[Places]]] = {}
        self.n_rows = 0
        """Rows of the last pass."""

    def sum_up(self, sums: RowSums) -> IntArray:
        """Return the sum over the batches. See `Counter.sum_up`."""
        total = np.zeros(sums.size, dtype=np.int64)
        seen = 0
        for batch in self._batches():
            seen += batch.n_rows
            total += sums.count(batch)
        self.n_rows = seen
        return total

    def answer(self, question: Question) -> IntArray:
        """Return the sum over the batches. See `Counter.answer`."""
        forest, depth = self._forest or (question.key, 0)
        if forest != question.key or depth > question.routing.depth:
            self._places, self._memory_left = {}, self._most
        self._forest = question.key, question.routing.depth
        total = question.blank()
        seen = 0
        for number, batch in enumerate(self._batches()):
            seen += batch.n_rows
            for nodes, copies in self._placed(question, number, batch):
                question.add(total, batch, nodes, copies)
        self.n_rows = seen
        return total[: question.size]

    def _placed(self, question: Question, number: int, batch: CodedBatch) -> Iterator[Places]:
        routing = question.routing
        if number not in self._places:
            stored: list[Places] = []
            for nodes, copies in question.places(batch):
                self._memory_left -= nodes.size
                if self._memory_left >= 0:
                    stored.append((nodes.astype(np.int32), None if copies is None else copies.astype(np.uint8)))
                yield nodes, copies
            if self._memory_left >= 0:
                self._places[number] = routing.depth, stored
            return
        depth, places = self._places[number]
        for group, (nodes, copies) in enumerate(places):
            moved = nodes.astype(np.int64)
            for _ in range(routing.depth - depth):
                moved = routing.step(batch, moved)
            places[group] = moved.astype(np.int32), copies
            yield moved, copies
        self._places[number] = routing.depth, places
