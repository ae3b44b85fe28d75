# SPDX-License-Identifier: Apache-2.0
"""The verdict on one column: an identifier or not, and may it be released unchanged? Never a cell value.

``judged`` answers for a column that nobody declared: name and cells speak. ``judged_by_cells`` answers for any column,
also one whose role is declared: do its cells have the form of identifiers, or number the rows? Its name plays no part.
A verdict has a rule and a `IdentifierKind`: what kind of identifier it is (a key, an e-mail address, a person's name,
…).

The rules for columns that repeat, and their numbers, were chosen on `tests/drafting/identifying/tables_to_choose.py`.
`test_repeating_columns.py` beside it counts their errors on these columns and on others, `tables_to_report.py`.

A column that a release shows unchanged is refused for forms of identifiers and for row numbers (`found_in`), and noted
where it is a function of another one (`follows_from`). Both the maker of a release and its validation use this, each of
the cells that it has read by itself: so neither passes what the other refuses. No promise is decided here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from anonkit.domains.coded_columns import CodedColumn, FloatArray, category_value, is_ordered
from anonkit.drafting.identifying.cell_shapes import SHAPES, is_quantity
from anonkit.drafting.identifying.issued_numbers import (
    are_codes_of_things,
    are_initials_with_birthday,
    are_issued_numbers,
    are_licence_plates,
    are_phones,
    begin_with_birth,
)
from anonkit.drafting.identifying.person_names import are_user_names, kind_of_names, mention_persons
from anonkit.drafting.identifying.street_addresses import (
    HeaderKind,
    IdentifierKind,
    are_street_addresses,
    header_kind,
    is_measure,
    is_numbering,
    is_postal,
    kind_named,
    names_persons,
    names_things,
)
from anonkit.errors import option

_LOOKED_AT = 1_000
"""Distinct values whose spelling is tested, evenly spaced in their order: the same ones in every run."""
_FIRST_LOOK = 40
_MOSTLY = 0.9
_ENOUGH_ROWS = 10
_MANY_ROWS = 100
_FEW_VALUES = 100
_ROWS_A_VALUE = 20
_CHANCE = 1e-4
"""Measured integers repeat at least so seldom by chance."""
_ENOUGH_NUMBERS = 20
_FREE_TEXT_WORDS = 5
_FREE_TEXT_LETTERS = 80


@dataclass(frozen=True, kw_only=True)
class IdentifierVerdict:
    """Why a column is taken for an identifier."""

    rule: str
    """Key of the rule, for reports."""
    reason: str
    """The rule in words; no value of the column."""
    kind: IdentifierKind = IdentifierKind.OTHER
    """Kind of identifier of its cells."""


NOTHING_COMMON = IdentifierVerdict(rule="no_common_value", reason="no value of it is common enough to be listed")
_BY_NUMBERING = IdentifierVerdict(
    rule="numbering", reason="its name is that of a numbering, and it has many values", kind=IdentifierKind.KEY
)
_UNIQUE_TEXT = IdentifierVerdict(rule="unique_text", reason="nearly every row has a value of its own")
_GIVEN_OUT = IdentifierVerdict(
    rule="unique_numbers", reason="whole numbers that nearly every row has for itself", kind=IdentifierKind.KEY
)
_ROW_NUMBERS = IdentifierVerdict(
    rule="row_numbers", reason="whole numbers without a gap, each in one row", kind=IdentifierKind.KEY
)
_FREE_TEXT = IdentifierVerdict(rule="free_text", reason="its cells are free text", kind=IdentifierKind.FREE_TEXT)


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnEvidence:
    """The evidence on a column's cells: some of the distinct values as strings, and how often values repeat."""

    name: str
    filled: int
    """Rows in which the column has a value."""
    distinct: int
    texts: Sequence[str]
    """Strings of evenly spaced distinct values; empty for dates, and for numbers that are not whole."""
    numbers: tuple[int, int] | None
    """Smallest and largest value, when all, or nearly all, are integers."""
    quantity: bool
    """True for numbers, dates, times, and strings that are mostly such."""

    @property
    def share(self) -> float:
        """Distinct values a filled row."""
        return self.distinct / self.filled if self.filled else 0.0

    @property
    def is_coarse(self) -> bool:
        """True when the values identify groups, not people: few of them, each in many rows on average."""
        return 0 < self.distinct <= _FEW_VALUES and self.filled >= _ROWS_A_VALUE * self.distinct


def evidence_of(column: CodedColumn) -> ColumnEvidence:
    """Gather what is known of a column that an engine has coded."""
    filled = len(column.codes) - (
        0 if column.missing is None else int(np.count_nonzero(column.codes == column.missing))
    )
    values = list(column.values[: column.size - (column.missing is not None)])
    texts: list[str] = []
    numbers = None
    quantity = column.ordered
    if not column.ordered:
        texts = [str(value).strip() for value in _spaced(sorted(map(str, values)))]
        if texts and sum(text.isascii() and text.isdigit() for text in texts) >= _MOSTLY * len(texts):
            integers = [int(text) for text in map(str, values) if text.isascii() and text.isdigit() and len(text) <= 40]
            numbers = (min(integers), max(integers)) if integers else None
        quantity = bool(texts) and sum(map(is_quantity, texts)) >= _MOSTLY * len(texts)
    elif values and all(isinstance(value, int | float) and value == value // 1 for value in _spaced(values)):
        texts = [str(int(value)) for value in _spaced(values)]  # type: ignore[call-overload]
        numbers = (int(values[0]), int(values[-1]))  # type: ignore[call-overload]
    return ColumnEvidence(
        name=column.name, filled=filled, distinct=len(values), texts=texts, numbers=numbers, quantity=quantity
    )


def _spaced(values: Sequence[object]) -> Sequence[object]:
    """Return evenly spaced values, all of them when they are few."""
    if len(values) <= _LOOKED_AT:
        return values
    return [values[at] for at in np.linspace(0, len(values) - 1, _LOOKED_AT).astype(np.int64).tolist()]


def verdict_of(column: CodedColumn) -> IdentifierVerdict | None:
    """Return the reason why a column is taken for an identifier, None when it is not.

    Parameters
    ----------
    column : CodedColumn
        As `Engine.encode` returns it. Its cells are judged by their distinct values alone and by how often they
        repeat: the order of the rows, and chance, play no part.

    Privacy
    -------
    The verdict depends on cells. Under a promise of differential privacy it is an output that no budget covers: the
    release must state that its claim is conditional on it.
    """
    return judged(evidence_of(column))


def judged(evidence: ColumnEvidence) -> IdentifierVerdict | None:
    """Return the verdict on what is known of a column."""
    return _by_form(evidence) or _by_name(evidence) or _by_repetition(evidence)


def judged_by_cells(evidence: ColumnEvidence) -> IdentifierVerdict | None:
    """Return the verdict on the cells of a column, whatever its name and its declared role.

    Cells that have the form of identifiers, strings that are nearly all different, and integers that run without a
    gap, each in one row, whatever their order. Numbers, dates and measures that are merely nearly unique are none of
    these: `is_nearly_unique` finds them.
    """
    found = _by_form(evidence)
    if found is not None or evidence.filled < _ENOUGH_ROWS:
        return found
    if evidence.numbers is not None:
        low, high = evidence.numbers
        once = evidence.distinct == evidence.filled == high - low + 1
        return _ROW_NUMBERS if once else None
    return _UNIQUE_TEXT if _is_unique_text(evidence) else None


def is_nearly_unique(evidence: ColumnEvidence) -> bool:
    """Return True if a column is a measured quantity that nearly identifies rows."""
    enough = evidence.filled >= _ENOUGH_ROWS and evidence.share >= _MOSTLY
    return evidence.quantity and (enough or (evidence.filled >= _MANY_ROWS and evidence.share >= 0.5))


@dataclass(frozen=True, kw_only=True)
class _CellForm:
    """A form that all cells of a column together have; one cell alone is weak evidence."""

    rule: str
    words: str
    kind: IdentifierKind
    matches: Callable[[Sequence[str]], bool]
    also_things: bool = False
    """True when codes of things have such a form, too: not where the name of the column says that it holds things."""
    also_quantities: bool = False
    """True when quantities have such a form, too, such as intervals."""


_FORMS: Sequence[_CellForm] = (
    _CellForm(
        rule="licence_plate",
        words="licence plates",
        kind=IdentifierKind.KEY,
        matches=are_licence_plates,
        also_things=True,
    ),
    _CellForm(
        rule="birthday_code",
        words="initials with a birthday",
        kind=IdentifierKind.KEY,
        matches=are_initials_with_birthday,
    ),
    _CellForm(
        rule="national_id",
        words="numbers of persons that begin with a date of birth",
        kind=IdentifierKind.NATIONAL_NUMBER,
        matches=begin_with_birth,
    ),
    _CellForm(rule="phone", words="phone numbers", kind=IdentifierKind.PHONE, matches=are_phones, also_things=True),
    _CellForm(
        rule="street_address", words="street addresses", kind=IdentifierKind.ADDRESS, matches=are_street_addresses
    ),
    _CellForm(
        rule="issued_number",
        words="numbers of accounts, policies or contracts",
        kind=IdentifierKind.KEY,
        matches=are_issued_numbers,
        also_things=True,
        also_quantities=True,
    ),
    _CellForm(rule="user_name", words="user names", kind=IdentifierKind.KEY, matches=are_user_names, also_things=True),
)


def _by_form(evidence: ColumnEvidence) -> IdentifierVerdict | None:
    """Judge the form of the cells; a name that says what they are acquits, or lets the shape of names suffice."""
    of_things = names_things(evidence.name)
    return (
        _by_shape(evidence, of_things=of_things)
        or _by_common_form(evidence, of_things=of_things or are_codes_of_things(evidence.texts))
        or _by_words(evidence, of_things=of_things)
    )


def _by_shape(evidence: ColumnEvidence, *, of_things: bool) -> IdentifierVerdict | None:
    texts = evidence.texts
    first = texts[:: max(1, len(texts) // _FIRST_LOOK)]
    for shape in SHAPES:
        if (
            len(texts) < shape.values
            or (evidence.is_coarse and not shape.even_few)
            or (of_things and shape.also_things)
        ):
            continue
        if len(first) < len(texts) and not _enough_match(shape.matches, first, shape.share / 2 * len(first)):
            continue
        enough = max(shape.share * len(texts), shape.values * min(shape.share, 1))
        if _enough_match(shape.matches, texts, enough) and shape.of_all(texts):
            return IdentifierVerdict(rule=shape.rule, reason=f"its cells look like {shape.words}", kind=shape.kind)
    return None


def _enough_match(matches: Callable[[str], bool], texts: Sequence[str], enough: float) -> bool:
    """Return True if so many strings match; the rest is not looked at once too many do not, as in most columns."""
    others = len(texts) - math.ceil(enough)
    for text in texts:
        if not matches(text):
            others -= 1
        if others < 0:
            return False
    return others >= 0


def _by_common_form(evidence: ColumnEvidence, *, of_things: bool) -> IdentifierVerdict | None:
    if evidence.is_coarse or (evidence.numbers is not None and is_measure(evidence.name)) or is_postal(evidence.name):
        return None
    is_written_quantity = evidence.quantity and evidence.numbers is None
    for form in _FORMS:
        if (of_things and form.also_things) or (is_written_quantity and form.also_quantities):
            continue
        if form.matches(evidence.texts):
            return IdentifierVerdict(rule=form.rule, reason=f"its cells look like {form.words}", kind=form.kind)
    return None


def _by_words(evidence: ColumnEvidence, *, of_things: bool) -> IdentifierVerdict | None:
    if evidence.numbers is not None or evidence.quantity:
        return None
    named = names_persons(evidence.name)
    if not of_things and (kind := kind_of_names(evidence.texts, named=named)) is not None:
        return IdentifierVerdict(rule="personal_name", reason="its cells look like names of persons", kind=kind)
    return _FREE_TEXT if _is_free_text(evidence) or mention_persons(evidence.texts) else None


def _is_free_text(evidence: ColumnEvidence) -> bool:
    texts = evidence.texts
    if evidence.distinct < _ENOUGH_ROWS or evidence.share < 0.5 or evidence.quantity:
        return False
    words, letters = (sum(map(size, texts)) / len(texts) for size in (_count_words, len))
    return words >= _FREE_TEXT_WORDS or letters >= _FREE_TEXT_LETTERS


def _count_words(text: str) -> int:
    return len(text.split())


def _by_name(evidence: ColumnEvidence) -> IdentifierVerdict | None:
    is_number = evidence.quantity and evidence.numbers is None
    if is_number and evidence.filled:
        return None  # measured: what identifies is a text or an integer
    kind = header_kind(evidence.name)
    bare = kind is HeaderKind.BARE_PERSON and evidence.numbers is not None and evidence.distinct >= _ENOUGH_NUMBERS
    identifies = kind is HeaderKind.IDENTIFIER and not evidence.is_coarse
    if kind is HeaderKind.PERSON_NUMBER or bare or identifies:
        return IdentifierVerdict(rule="column_name", reason="its name says so", kind=kind_named(evidence.name))
    if evidence.filled >= _ENOUGH_ROWS and evidence.share >= 0.5 and is_numbering(evidence.name):
        return _BY_NUMBERING
    return None


def _by_repetition(evidence: ColumnEvidence) -> IdentifierVerdict | None:
    if evidence.filled < _ENOUGH_ROWS or evidence.share < _MOSTLY:
        return None
    if evidence.numbers is not None:
        numbered = not is_measure(evidence.name) and _are_numbered(evidence, *evidence.numbers)
        return _GIVEN_OUT if numbered else None
    return _UNIQUE_TEXT if _is_unique_text(evidence) else None


def _is_unique_text(evidence: ColumnEvidence) -> bool:
    """Return True if nearly every row has a string of its own, codes of things, of places and of classes apart."""
    if evidence.quantity or evidence.share < _MOSTLY or is_postal(evidence.name):
        return False
    return not (names_things(evidence.name) or are_codes_of_things(evidence.texts))


def _are_numbered(evidence: ColumnEvidence, low: int, high: int) -> bool:
    """Return True if numbers were given out, not measured.

    Given out: they repeat far less than even uniform draws from their range would (the birthday problem), or all have
    the same number of digits, six at least, and are not rounded more often than chance has it.
    """
    pairs = evidence.filled * (evidence.filled - 1) / 2
    if _poisson_at_most(evidence.filled - evidence.distinct, pairs / (high - low + 1)) < _CHANCE:
        return True
    digits = [text for text in evidence.texts if text.isdigit()]
    rounded = sum(text.endswith("0") for text in digits) >= 0.3 * len(digits)
    same_length = len({len(text) for text in digits}) == 1 and len(digits[0]) >= 6
    return low > 0 and same_length and not rounded and not is_postal(evidence.name)


def _poisson_at_most(count: int, mean: float) -> float:
    """Return the chance of at most `count` events where `mean` are expected; an upper bound below the mean (Chernoff).

    Source: Mitzenmacher and Upfal (2017), theorem 5.4: P(X <= x) <= e**-m (e m / x)**x for x < m.
    """
    if count >= mean:
        return 1.0
    if count == 0:
        return math.exp(-mean)
    return math.exp(min(0.0, -mean + count * (1 + math.log(mean / count))))


ROWS_COMPARED = 20_000
"""Rows in which columns are compared, at most."""

_NUMBERED_ROWS = IdentifierVerdict(
    rule="row_numbers", reason="its whole numbers number the rows", kind=IdentifierKind.KEY
)
_FEWEST_COMPARED = 10
_FEWEST_NUMBERED = 20  # below, different integers that lie close together are nothing unusual
_GAPS = 1.5  # numbers a row: rows may have been left out after they were numbered
_MOSTLY_DETERMINED = 0.98  # of the rows, in which a value follows from another column
_COMMON = 0.9  # share of the commonest value above which it hardly matters
_ROWS_A_KNOWN_VALUE = 5
_IN_LINE = 0.99  # correlation of two measures that are functions of each other


def evidence_of_times(name: str, *, filled: int, distinct: int) -> ColumnEvidence:
    """Return the evidence of dates, moments or times: they need not fit into Python's, and are not spelled."""
    return ColumnEvidence(name=name, filled=filled, distinct=distinct, texts=(), numbers=None, quantity=True)


def evidence_of_values(
    name: str, values: pa.ChunkedArray, *, filled: int, distinct: int, ends: tuple[Any, Any]
) -> ColumnEvidence:
    """Return the evidence of a column by some of its different values, in ascending order.

    Parameters
    ----------
    filled, distinct : int
        Rows with a value, and different values.
    ends : tuple
        Smallest and largest value.
    """
    cells, ordered = _values(values)
    evidence = evidence_of(CodedColumn(name=name, codes=np.zeros(0, dtype=np.int32), values=cells, ordered=ordered))
    numbers = evidence.numbers
    if numbers is not None and ordered:
        numbers = (int(ends[0]), int(ends[1]))
    return replace(evidence, filled=filled, distinct=distinct, numbers=numbers)


def evidence_of_cells(column: pa.ChunkedArray, name: str) -> ColumnEvidence:
    """Return the evidence of a column of a table: numbers or strings, no times and no nested cells."""
    return evidence_of(_coded(column, name))


def functions_among(rows: pa.Table, names: Sequence[str], known: Sequence[str]) -> list[tuple[str, str]]:
    """Return the columns of a table that follow from a known one, each with the first such.

    Times, and cells of several values, are left out.
    """
    spelled = [field.name for field in rows.schema if _is_spelled(field.type)]
    coded = {name: _coded(rows.column(name), name) for name in spelled}
    found: dict[str, str] = {}
    for name in names:
        for of in known:
            if name in coded and of in coded and name not in found and follows_from(coded[name], coded[of]):
                found[name] = of
    return list(found.items())


def _is_spelled(kind: pa.DataType) -> bool:
    return not (pa.types.is_temporal(kind) or pa.types.is_nested(kind))


def _values(column: pa.ChunkedArray) -> tuple[list[Any], bool]:
    """Return different values as a code list holds them, and whether they are ordered: numbers."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    ordered = is_ordered(kind)
    return [category_value(value, ordered) for value in column.to_pylist()], ordered


def _coded(column: pa.ChunkedArray, name: str) -> CodedColumn:
    plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    encoded = plain.combine_chunks().dictionary_encode()
    values, ordered = _values(pa.chunked_array([encoded.dictionary]))
    codes = encoded.indices.fill_null(len(values)).to_numpy(zero_copy_only=False).astype(np.int32)
    missing = [None] if encoded.null_count else []
    return CodedColumn(name=name, codes=codes, values=[*values, *missing], ordered=ordered)


def found_in(evidence: ColumnEvidence, *, rows_a_row: float = 1.0) -> IdentifierVerdict | None:
    """Return the verdict on cells that must not be released unchanged; None where they may.

    Parameters
    ----------
    evidence : Evidence
    rows_a_row : float
        Rows of the table for each row that was looked at, 1 or more.
    """
    if evidence.numbers is not None and evidence.distinct == evidence.filled >= _FEWEST_COMPARED:
        (low, high), rows = evidence.numbers, rows_a_row * evidence.filled
        if high - low + 1 <= (rows if rows < _FEWEST_NUMBERED else _GAPS * rows):
            return _NUMBERED_ROWS
    return judged_by_cells(evidence)


def follows_from(column: CodedColumn, known: CodedColumn) -> bool:
    """Return True if a column is, nearly everywhere, a function of another one that is known.

    By the commonest value beside each value of the known column, where these have enough rows; of two measures
    also by their correlation.
    """
    present = np.ones(column.codes.size, dtype=bool)
    for each in (column, known):
        present &= np.ones_like(present) if each.missing is None else each.codes != each.missing
    codes, given = column.codes[present].astype(np.int64), known.codes[present].astype(np.int64)
    if codes.size < _FEWEST_COMPARED or np.bincount(codes).max() > _COMMON * codes.size:
        return False
    if codes.size >= _ROWS_A_KNOWN_VALUE * np.unique(given).size:
        pairs, sizes = np.unique(given * column.size + codes, return_counts=True)
        most = np.zeros(known.size, dtype=np.int64)
        np.maximum.at(most, pairs // column.size, sizes)
        if most.sum() >= _MOSTLY_DETERMINED * codes.size:
            return True
    return abs(_correlation(_numbers(column)[codes], _numbers(known)[given])) >= _IN_LINE


def _numbers(column: CodedColumn) -> FloatArray:
    """Return the values of a column of numbers; of others nothing that correlates."""
    values = [value if isinstance(value, int | float) else np.nan for value in column.values]
    return np.array(values, dtype=np.float64)


def _correlation(first: FloatArray, second: FloatArray) -> float:
    if np.isnan(first).any() or np.isnan(second).any() or not (np.ptp(first) and np.ptp(second)):
        return 0.0
    with np.errstate(all="ignore"):  # of the largest and the least doubles it is no number
        return float(np.corrcoef(first, second)[0, 1])


def opening(name: str) -> str:
    """Return the begin of every sentence about a column that a release shows as it is."""
    return f"Column {name!r} is released as it is"


def nearly_unique_note(name: str) -> str:
    """Return the note that a measure which nearly identifies rows is released unchanged."""
    return f"{opening(name)}, and most rows have a value of their own in it: anyone who knows that value finds the row."


def follows_note(name: str, known: str) -> str:
    """Return the note that a column which is released unchanged determines a quasi-identifier."""
    return (
        f"{opening(name)} and goes with {known!r}, a quasi-identifier: anyone who knows the one knows the other, and k "
        "does not count it. Is it a quasi-identifier, too?"
    )


def refused_note(name: str, verdict: IdentifierVerdict) -> str:
    """Return the message that a column's cells must not be released unchanged, unless the owner declares so."""
    return (
        f"{opening(name)}, and {verdict.reason}: leave it out, or say that it may be handed out, "
        f"{option('release_as_is', [name])}."
    )


def allowed_note(name: str, verdict: IdentifierVerdict) -> str:
    """Return the note that a column is released although its cells look like identifiers."""
    return f"{opening(name)} on the owner's word ({option('release_as_is', [name])}), although {verdict.reason}."
