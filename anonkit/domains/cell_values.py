# SPDX-License-Identifier: Apache-2.0
"""Values of cells: exact text or decimal, a number in a declared form, or a code of the declared public domain.

Each cell is read independently of all others, and none is refused. A column's type is a guess over all its rows, so
that one more row could change what every other row means. Here a text that reads as a number is its exact decimal, so
that `12`, `12.0`, ` 12`, `1.2e1` and `012` are one; everything else is its text without blanks at the ends. No float is
involved: 2**53 + 1 is not 2**53. Plain cells are read at the speed of Arrow, all others a distinct value at a time.

As a code of a domain a cell is the category with its exact string, else the category with its exact decimal; a number
beyond its bounds counts as the nearest bound. What is neither is missing. Every row has codes, so that neither a
refusal nor the codes of other rows disclose one.

Keys by which rows of two tables belong together are strings that are equal exactly when the keys are. A key is compared
as the text that its cell has: `007` and `7` are two people. Cells that are numbers by the type of their own file
(Parquet, a data frame, a database) are spelled in their one form (`cell_texts`), so 7 and 7.0 are one.

Numbers as people write them (thousands in groups, a decimal comma, a per cent sign, a currency) are read by the
declared form and by nothing else: a cell of another form is none of its numbers. `12.3%` is 12.3; the unit is per cent.
A minus may be U+2212, a blank between groups a no-break or a thin one, an apostrophe U+2019.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.documents import ParamsPart, left_out
from anonkit.domains.coded_columns import Codes, FloatArray
from anonkit.domains.number_bins import UNKNOWN, Categories, Grid, NumberBins
from anonkit.errors import ParameterError, PolicyError

_NUMBER = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?)([0-9]+))?")
_EXPONENT_DIGITS = 18
"""An exponent of more digits makes no number: nobody means it, and its arithmetic would never end."""
_WRITTEN_OUT = 40
"""Decimals of so many digits before or behind the point are written out, others with an exponent."""


def plain_text(text: str) -> str:
    """Return a text without blanks at the ends, in compatibility form, digits of every script as 0 to 9."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        text = "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in text)
    return text.strip()


def composed_text(text: str) -> str:
    """Return a text without blanks at the ends, its letters composed (NFC)."""
    return (text if text.isascii() else unicodedata.normalize("NFC", text)).strip()


def exact_decimal(text: str) -> str | None:
    """Return the exact decimal that a text spells, in its one form; None for a text that is no number.

    A number is digits with at most one point, perhaps a sign and an exponent. Words (`nan`, `inf`), other bases
    (`0x1F`), separators (`1,000`, `1_000`) and exponents of more than 18 digits make a text. The exponent is never
    multiplied out: the length of the result is bounded by the length of the text and 40 more digits.

    >>> [exact_decimal(text) for text in ("12.0", " 1.2e1", "012", "-0", "1e999999999", "0x1F")]
    ['12', '12', '12', '0', '1e999999999', None]
    """
    match = _NUMBER.fullmatch(plain_text(text))
    if match is None or not (match[2] or match[3]):
        return None
    fraction = match[3] or ""
    digits = (match[2] + fraction).lstrip("0")
    if not digits:
        return "0"
    power = (match[5] or "0").lstrip("0") or "0"
    if len(power) > _EXPONENT_DIGITS:
        return None
    significant = digits.rstrip("0")
    exponent = int((match[4] or "") + power) - len(fraction) + len(digits) - len(significant)
    return ("-" if match[1] == "-" else "") + _written(significant, exponent)


def _written(digits: str, exponent: int) -> str:
    """Return digits times a power of ten; digits begin and end with another digit than 0."""
    if 0 <= exponent <= _WRITTEN_OUT:
        return digits + "0" * exponent
    if -_WRITTEN_OUT <= exponent < 0:
        padded = digits.zfill(1 - exponent)
        return f"{padded[:exponent]}.{padded[exponent:]}"
    return f"{digits}e{exponent}"


def key_of_text(text: str) -> str | None:
    """Return the key of a text: its exact decimal, else the text without blanks at the ends; None when none is left."""
    return exact_decimal(text) or plain_text(text) or None


def number_of_text(text: str) -> float | None:
    """Return the number that a text spells, rounded once to the nearest double; None for a text that is no number."""
    decimal = exact_decimal(text)
    return None if decimal is None else float(decimal)


_ANY_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_OWN_KEY = r"^(0|-?[1-9][0-9]{0,29}|-?(0|[1-9][0-9]{0,29})\.[0-9]{0,29}[1-9])$"  # a number in its one form
_BEGINS_NUMBERS = np.zeros(256, dtype=bool)
_BEGINS_NUMBERS[np.frombuffer(b"0123456789+-.", dtype=np.uint8)] = True
_SIMPLE_NUMBER = r"^-?[0-9]{1,18}(\.[0-9]{1,18})?$"  # reads the same here and in Arrow
_LEAST_PLAIN, _MOST_PLAIN = ord("-"), ord("9")  # between them are the point, a slash and the digits
_EXACT_FLOAT = 2.0**53

NO_CATEGORY = -1
"""Place of a cell that is none of the categories."""


def cell_texts(array: pa.Array) -> pa.StringArray:
    """Return the text of every cell as a text file would have it, shape (n,); missing stays missing, NaN is missing.

    A number is spelled as its exact decimal, a float by the shortest decimal that is its alone (`0.1`, `2.5`): 1 is `1`
    also where a missing cell has made its column one of floats. Dates and times are spelled in full, truth values as
    `true` and `false`.
    """
    kind = array.type
    if pa.types.is_string(kind):
        return array
    if isinstance(array, pa.DictionaryArray):
        return cell_texts(array.dictionary).take(array.indices)
    if pa.types.is_floating(kind):
        return _texts_of_floats(array)
    if pa.types.is_decimal(kind):
        return _by_distinct(array, lambda values: [exact_decimal(str(value)) for value in values.to_pylist()])
    texts = array.cast(pa.string())
    if pa.types.is_temporal(kind) and not pa.types.is_date(kind):
        for zeros, replacement in ((r"\.0+(Z?)$", r"\1"), (r"(\.[0-9]*[1-9])0+(Z?)$", r"\1\2")):
            texts = pc.replace_substring_regex(texts, pattern=zeros, replacement=replacement)
    return texts


def cell_keys(array: pa.Array) -> pa.StringArray:
    """Return the key of every cell, shape (n,): one person, one key, whatever the other rows hold.

    Missing stays missing, and a text of blanks alone becomes so. See the module for the rule.
    """
    kind = array.type
    if isinstance(array, pa.DictionaryArray):
        return cell_keys(array.dictionary).take(array.indices)
    return _keys_of_texts(array) if pa.types.is_string(kind) else cell_texts(array)


def _keys_of_texts(texts: pa.StringArray) -> pa.StringArray:
    """Return the keys of strings: those that are their own key are found at the speed of a scan."""
    odd = _not_their_own_keys(texts)
    return _replaced(texts, pa.array(odd), key_of_text) if odd.any() else texts


def _not_their_own_keys(texts: pa.StringArray) -> NDArray[np.bool_]:
    """Return a mask of the strings that the rule may change, shape (n_texts,): blanks, other scripts or spellings."""
    offsets = np.frombuffer(texts.buffers()[1], dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1]
    data = np.frombuffer(texts.buffers()[2] or b"", dtype=np.uint8)
    there = np.flatnonzero(offsets[1:] > offsets[:-1])
    first, last = data[offsets[there]], data[offsets[there + 1] - 1]
    odd = np.asarray(pc.fill_null(pc.equal(texts, ""), False).to_numpy(zero_copy_only=False))
    odd[there] = (first <= ord(" ")) | (last <= ord(" "))
    if data[offsets[0] : offsets[-1]].max(initial=0) > ord("~"):
        odd |= ~pc.fill_null(pc.string_is_ascii(texts), True).to_numpy(zero_copy_only=False)
    likely = there[_BEGINS_NUMBERS[first] & ~odd[there]]
    if likely.size:
        some = texts.take(pa.array(likely))
        respelled = pc.and_not(pc.match_substring_regex(some, _ANY_NUMBER), pc.match_substring_regex(some, _OWN_KEY))
        odd[likely] = pc.fill_null(respelled, False).to_numpy(zero_copy_only=False)
    return odd


def _texts_of_floats(array: pa.Array) -> pa.StringArray:
    numbers = array.cast(pa.float64())
    small = pc.less(pc.abs(numbers), _EXACT_FLOAT)
    whole = pc.fill_null(pc.and_(small, pc.equal(pc.floor(numbers), numbers)), False)
    keys = pc.if_else(whole, numbers, None).cast(pa.int64()).cast(pa.string())
    if pc.all(pc.or_(whole, numbers.is_null(nan_is_null=True))).as_py() is not False:
        return keys
    others = pc.if_else(pc.or_(whole, pc.is_nan(numbers)), None, array)
    return pc.coalesce(keys, _by_distinct(others, _shortest))


def _shortest(values: pa.Array) -> list[str]:
    spelled = (str(value) for value in values.to_numpy(zero_copy_only=False))
    return [exact_decimal(text) or text for text in spelled]  # infinity is a word


def cell_numbers(array: pa.Array) -> NDArray[np.float64]:
    """Return the number in every cell, shape (n,); NaN where a cell is missing, or holds no number.

    Truth values, dates and times are no numbers; an infinite float is beyond every bound.
    """
    kind = array.type
    if isinstance(array, pa.DictionaryArray):
        floats: pa.Array = pa.array(cell_numbers(array.dictionary)).take(array.indices)
    elif pa.types.is_string(kind):
        floats = _floats_of_texts(array)
    elif pa.types.is_decimal(kind):
        floats = _floats_of_texts(cell_texts(array))
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind):
        floats = array.cast(pa.float64(), safe=False)  # to the nearest double
    else:
        floats = pa.nulls(len(array), pa.float64())
    floats = floats if floats.null_count == 0 else pc.fill_null(floats, np.nan)
    return np.asarray(floats.to_numpy(zero_copy_only=False), dtype=np.float64)


def category_codes(
    array: pa.Array,
    categories: Sequence[str],
    *,
    texts_alone: bool,
    absent: int = NO_CATEGORY,
    kind: type[np.integer[Any]] = np.int64,
) -> Codes:
    """Return the index of every cell among the categories, shape (n,); `absent` for missing and all others.

    A cell is the category with its exact string, else the category with its exact decimal, unless strings alone are
    compared. No two categories may have one decimal then. Else it is the one category that differs from it by blanks
    around the text or by letters composed or not (NFC).

    Parameters
    ----------
    array : Array
        Cells of any type; a dictionary is looked at an entry at a time.
    categories : sequence of str
    texts_alone : bool
        True when 1 and 1.0 are different categories.
    absent : int
        Code of a cell that is none of the categories.
    kind : type
        Integer type of the places; it must hold all of them and `absent`.
    """
    if isinstance(array, pa.DictionaryArray):
        entries = category_codes(array.dictionary, categories, texts_alone=texts_alone, absent=absent, kind=kind)
        return _of_entries(np.append(entries, kind(absent)), array.indices)
    if not pa.types.is_string(array.type):
        encoded = pc.dictionary_encode(array)
        texts = pa.DictionaryArray.from_arrays(encoded.indices, cell_texts(encoded.dictionary))
        return category_codes(texts, categories, texts_alone=texts_alone, absent=absent, kind=kind)
    codes = pc.index_in(array, value_set=pa.array(categories, pa.string()))
    if codes.null_count > array.null_count:
        places: dict[str | None, int | None] = {}
        if not texts_alone:
            places.update((exact_decimal(text), at) for at, text in enumerate(categories))
            places.pop(None, None)
        alike: dict[str, int | None] = {}
        for at, text in enumerate(categories):
            alike[composed_text(text)] = None if composed_text(text) in alike else at
        odd = pc.dictionary_encode(pc.if_else(codes.is_valid(), None, array))
        known = [
            places.get(None if texts_alone else exact_decimal(text), alike.get(composed_text(text)))
            for text in odd.dictionary.to_pylist()
        ]
        codes = pc.coalesce(codes, pa.array(known, pa.int32()).take(odd.indices))
    filled = codes if codes.null_count == 0 else pc.fill_null(codes, absent)
    return np.asarray(filled.to_numpy(zero_copy_only=False), dtype=kind)


def _of_entries(codes: Codes, indices: pa.Array) -> Codes:
    """Return the codes of cells by those of the entries of their dictionary, the last for missing cells."""
    if indices.null_count:
        indices = pc.fill_null(indices, codes.size - 1)
    elif np.array_equal(codes[:-1], np.arange(codes.size - 1)):  # no look-up: a place in the dictionary is the code
        return np.asarray(indices.to_numpy(zero_copy_only=False), dtype=codes.dtype)
    # "clip" saves a look at every index: Arrow lets none point elsewhere
    return np.asarray(codes.take(indices.to_numpy(zero_copy_only=False), mode="clip"))


def _floats_of_texts(texts: pa.StringArray) -> pa.Array:
    floats = plain_floats(texts)
    if floats is not None:
        return floats
    simple = pc.match_substring_regex(texts, _SIMPLE_NUMBER)
    if pc.all(simple).as_py() is not False:
        return texts.cast(pa.float64())
    known = pc.if_else(simple, texts, None).cast(pa.float64())
    distinct = pc.dictionary_encode(pc.if_else(simple, None, texts))
    values = pa.array([number_of_text(text) for text in distinct.dictionary.to_pylist()], pa.float64())
    return pc.coalesce(known, values.take(distinct.indices))


def plain_floats(texts: pa.StringArray) -> pa.Array | None:
    """Return the numbers of strings of digits, points and signs alone; None where a text has, or is, anything else.

    No byte lies outside `-./0123456789`, which is found at the speed of a scan, and every string is one that Arrow
    reads: then both rules read the same decimal.
    """
    ends, data = texts.buffers()[1], texts.buffers()[2]
    if ends is None or data is None:
        return None
    first, last = np.frombuffer(ends, dtype=np.int32)[[texts.offset, texts.offset + len(texts)]].tolist()
    characters = np.frombuffer(data, dtype=np.uint8)[first:last]
    if characters.min(initial=_MOST_PLAIN) < _LEAST_PLAIN or characters.max(initial=_LEAST_PLAIN) > _MOST_PLAIN:
        return None
    try:
        return texts.cast(pa.float64())
    except pa.ArrowInvalid:
        return None


def _replaced(texts: pa.StringArray, where: pa.Array, rule: Callable[[str], str | None]) -> pa.StringArray:
    """Return strings with some of them replaced by a rule, which is called once a distinct string."""
    changed = _by_distinct(texts.filter(where), lambda values: [rule(text) for text in values.to_pylist()])
    return pc.replace_with_mask(texts, pc.fill_null(where, False), changed)


def _by_distinct(array: pa.Array, texts_of: Callable[[pa.Array], list[Any]]) -> pa.StringArray:
    """Return the strings of cells, found once a distinct value."""
    distinct = pc.dictionary_encode(array)
    return pa.array(texts_of(distinct.dictionary), pa.string()).take(distinct.indices)


def join_keys(columns: Sequence[pa.Array]) -> pa.StringArray:
    """Return the key of every row, shape (n,); missing where any of its columns is.

    The strings are written in hexadecimal, each after an `x`: whatever reads units by a rule of its own (blanks, other
    spellings of numbers, letters of other scripts) keeps all of them apart, and no two lists of strings have one key.
    """
    parts = [_hexadecimal(cell_texts(column)) for column in columns]
    return pc.binary_join_element_wise(*parts, "", null_handling="emit_null")


def _hexadecimal(texts: pa.StringArray) -> pa.StringArray:
    """Return strings as the digits of their UTF-8 bytes, once a distinct string."""
    distinct = pc.dictionary_encode(texts)
    spelled = [None if text is None else f"x{text.encode().hex()}" for text in distinct.dictionary.to_pylist()]
    return pa.array(spelled, pa.string()).take(distinct.indices)


def codes_of_cells(
    batch: pa.RecordBatch, name: str, domain: Categories | Grid, kind: type[np.integer[Any]] = np.int64
) -> Codes:
    """Return the codes of a column, shape (n,).

    Parameters
    ----------
    batch : RecordBatch
    name : str
        Name of the column.
    domain : Categories or Grid
        Its public domain. A cell that it does not have is missing; where it has no missing, such a cell counts as the
        first category, or as the lower bound.
    kind : type
        Integer type of the codes; it must hold all of them.

    Privacy
    -------
    The code of a cell is a function of the cell and the domain.
    """
    array = batch.column(name)
    if isinstance(domain, Grid):
        numbers = clamped(cell_numbers(array), domain.lower, domain.upper)
        if not domain.has_missing:
            numbers = np.where(np.isnan(numbers), domain.lower, numbers)
        return domain.encode(numbers).astype(kind, copy=False)
    if isinstance(domain, NumberBins):
        codes = domain.bins_of(cell_numbers(array))
        return np.where(codes == UNKNOWN, 0, codes).astype(kind, copy=False)
    absent = len(domain.values) if domain.has_missing else 0
    return category_codes(array, domain.values, texts_alone=domain.texts_alone, absent=absent, kind=kind)


def labels_of_cells(batch: pa.RecordBatch, name: str, classes: Categories) -> Codes:
    """Return the classes of rows, shape (n,); UNKNOWN for rows without one.

    A missing label is a class where the domain has missing. Else the row has no class, as a row with a label outside
    the declared classes has none. A number beyond its bounds is in the nearest bin; what is no number is missing.
    """
    if isinstance(classes, NumberBins):
        return classes.bins_of(cell_numbers(batch.column(name)))
    absent = len(classes.values) if classes.has_missing else UNKNOWN
    return category_codes(batch.column(name), classes.values, texts_alone=classes.texts_alone, absent=absent)


def numbers_of_cells(batch: pa.RecordBatch, name: str, bounds: tuple[float, float] | None) -> FloatArray:
    """Return the cells of a column as floats within the bounds, NaN for missing and for strings, shape (n,)."""
    numbers = cell_numbers(batch.column(name))
    return numbers if bounds is None else clamped(numbers, *bounds)


def clamped(numbers: FloatArray, low: float, high: float) -> FloatArray:
    """Return numbers with those beyond a bound at the bound; NaN stays."""
    return np.clip(numbers, low, high)


def refuse_kinds(schema: pa.Schema, numbers: Iterable[str]) -> None:
    """Refuse bounds on columns whose own type holds no numbers: truth values, dates and times.

    The type is that of a file or a data frame, and looks at no cell: the columns of a text file are strings here.

    Raises
    ------
    PolicyError
        A column is of such a type.
    """
    for name in numbers:
        kind = schema.field(name).type
        if pa.types.is_boolean(kind) or pa.types.is_temporal(kind):
            raise PolicyError(f"column {name!r} has bounds but its cells are not numbers", "declare categories instead")


_GROUPS = {",": ",", ".": r"\.", " ": "[ \u00a0\u2009\u202f]", "'": "['\u2019]"}
"""Separators of groups of three digits, in all their forms."""
_BLANKS = "[ \u00a0\u2009\u202f]*"
_LONGEST_CURRENCY = 8


@dataclass(frozen=True, kw_only=True)
class NumberForm(ParamsPart):
    """The written form of the numbers of a column.

    Raises
    ------
    ParameterError
        A mark is not known, or means two things.
    """

    decimal: str = "."
    """Sign before the fraction, `.` or `,`."""
    thousands: str | None = field(default=None, metadata=left_out())
    """Sign that may separate groups of three digits: `,`, `.`, a blank or `'`."""
    percent: bool = field(default=False, metadata=left_out())
    """A per cent sign follows, or may be left out."""
    currency: str | None = field(default=None, metadata=left_out())
    """Sign that may come before or after, such as `$` or `EUR`."""

    def __post_init__(self) -> None:
        if self.decimal not in (".", ","):
            raise ParameterError("decimal must be a point or a comma", 'decimal = ","')
        if self.thousands is not None and (self.thousands not in _GROUPS or self.thousands == self.decimal):
            raise ParameterError(
                "thousands must be a comma, a point, a blank or an apostrophe, and not the decimal mark",
                'thousands = ","',
            )
        currency = self.currency
        if currency is not None and (
            not 0 < len(currency) <= _LONGEST_CURRENCY or re.search(r"[0-9.,\s+%-]", currency)
        ):
            raise ParameterError("currency must be a short sign or code", 'currency = "€"')

    def plain(self, texts: pa.StringArray) -> pa.StringArray:
        """Return strings of this form as plain decimals with a point; missing where a text is of another form.

        Privacy
        -------
        A function of each cell and the form.
        """
        bare = self.bare(texts)
        if self.percent:
            bare = pc.replace_substring_regex(bare, rf"{_BLANKS}%$", "")
        whole = "[0-9]+"
        if self.thousands is not None:
            whole = rf"(?:[0-9]+|[1-9][0-9]{{0,2}}(?:{_GROUPS[self.thousands]}[0-9]{{3}})+)"
        fits = pc.match_substring_regex(bare, rf"^[+-]?{whole}(?:{re.escape(self.decimal)}[0-9]+)?$")
        if self.thousands is not None:
            bare = pc.replace_substring_regex(bare, _GROUPS[self.thousands], "")
        if self.decimal == ",":
            bare = pc.replace_substring(bare, ",", ".")
        return pc.if_else(fits, bare, pa.scalar(None, pa.string()))

    def bare(self, texts: pa.StringArray) -> pa.StringArray:
        """Return strings without blanks at the ends and without the currency, a minus as `-`."""
        bare = pc.replace_substring(pc.utf8_trim_whitespace(texts), "\u2212", "-")
        if self.currency is None:
            return bare
        sign = re.escape(self.currency)
        bare = pc.replace_substring_regex(bare, rf"^([+-]?){_BLANKS}{sign}{_BLANKS}", r"\1")
        return pc.replace_substring_regex(bare, rf"{_BLANKS}{sign}$", "")

    def __str__(self) -> str:
        parts = [f'decimal = "{self.decimal}"']
        parts += [f'thousands = "{self.thousands}"'] if self.thousands else []
        parts += ["percent = true"] if self.percent else []
        parts += [f'currency = "{self.currency}"'] if self.currency else []
        return ", ".join(parts)
