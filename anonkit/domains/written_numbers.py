# SPDX-License-Identifier: Apache-2.0
"""Numbers as people write them: thousands in groups, a decimal comma, a per cent sign, a currency.

Each cell is read by the declared form and by nothing else: a cell of another form is none of its numbers. `12.3%` is
12.3; the unit is per cent. A minus may be U+2212, a blank between groups a no-break or a thin one, an apostrophe
U+2019.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from anonkit.documents import ParamsPart, left_out
from anonkit.errors import ParameterError

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
