# SPDX-License-Identifier: Apache-2.0
"""Requested tables, each read from one line of text: `stay = mean(days) by ward weight 2`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NoReturn

from anonkit.errors import ParameterError
from anonkit.published.aggregates import Statistic
from anonkit.published.quoted_names import QUOTED, in_quotes, unquoted

MOST_GROUPS = 3
"""Columns by which a table is divided at most."""
MOST_LEVELS = 99
_TOKEN = re.compile(rf'\s*(?:{QUOTED}|([(),=])|([^\s(),="]+))')
_PLAIN = re.compile(r'[^\s(),="]+(?: [^\s(),="]+)*')
_KEYWORDS = ("by", "weight")
_FUNCTIONS = {"sum": Statistic.SUM, "mean": Statistic.MEAN, "quantile": Statistic.QUANTILE,
              "quantiles": Statistic.QUANTILE, "median": Statistic.QUANTILE}  # fmt: skip
HINT = "such as 'age, sex', 'sum(hours) by sex', 'mean(hours)' or 'quantile(age, 0.25, 0.5, 0.75) by sex'"


@dataclass(frozen=True, kw_only=True)
class Request:
    """One requested table.

    Attributes
    ----------
    statistic : Statistic
    by : tuple of str
        Columns by which it is divided, in the order of the published table.
    of : str, optional
        The column that is added up; None for counts.
    levels : tuple of Fraction
        Of quantiles, ascending, in (0, 1).
    weight : float
        How much of the budget it is to have, against 1 for others of its size.
    name : str, optional
        What the table is called; by default what it shows.
    """

    statistic: Statistic
    by: tuple[str, ...]
    of: str | None = None
    levels: tuple[Fraction, ...] = ()
    weight: float = 1.0
    name: str | None = None

    @property
    def shown(self) -> str:
        """The requested statistic in its canonical form: `mean(days) by ward`."""
        groups = f" by {', '.join(map(_quoted, self.by))}" if self.by else ""
        if self.statistic is Statistic.COUNT:
            return f"count{groups}"
        levels = "".join(f", {float(level):g}" for level in self.levels)
        return f"{self.statistic}({_quoted(str(self.of))}{levels}){groups}"

    @property
    def table(self) -> str:
        """Name of the table."""
        return self.shown if self.name is None else self.name

    @property
    def text(self) -> str:
        """The whole line in the one form, from which the same request is read again."""
        named = "" if self.name is None or self.name == self.shown else f"{_quoted(self.name)} = "
        return f"{named}{self.shown}{'' if self.weight == 1 else f' weight {self.weight:.10g}'}"


def requests_of(lines: Sequence[str]) -> tuple[Request, ...]:
    """Read lines.

    Raises
    ------
    ParameterError
        One cannot be read, or two tables have one name.
    """
    requests = tuple(_RequestLine(line).request() for line in lines)
    names = [request.table for request in requests]
    for name in names:
        if names.count(name) > 1:
            raise ParameterError(f"aggregate: two tables are called {name!r}", "a name in front: 'NAME = mean(age)'")
    return requests


class _RequestLine:
    """A line, token by token."""

    def __init__(self, text: object) -> None:
        self.text = text if isinstance(text, str) else ""
        self.tokens: list[tuple[str, bool]] = []
        """Each with whether it stood in quotes."""
        at = 0
        while self.text[at:].strip():
            found = _TOKEN.match(self.text, at)
            if found is None:
                self._refuse("a quotation mark is not closed")
            quoted, sign, word = found.groups()
            self.tokens.append((unquoted(quoted), True) if quoted is not None else (sign or word, False))
            at = found.end()
        if not self.tokens:
            self._refuse("no table is requested")

    def request(self) -> Request:
        """Read the whole line."""
        name = self._before_equals()
        request = replace(self._statistic(), name=name)
        if self._take("by"):
            if request.statistic is Statistic.COUNT and request.by:
                self._refuse("the columns of a count come before or after 'by'")
            request = replace(request, by=self._names())
        if self._take("weight"):
            request = replace(request, weight=self._weight())
        if self.tokens:
            self._refuse(f"{self.tokens[0][0]!r} is not expected there")
        if len(request.by) > MOST_GROUPS or len(set(request.by)) < len(request.by):
            self._refuse(f"a table is divided by {MOST_GROUPS} different columns at most")
        if request.name == "":
            self._refuse("a name is empty")
        return request

    def _statistic(self) -> Request:
        word, quoted = self.tokens[0]
        following = self.tokens[1:2]
        if not quoted and following == [("(", False)]:
            if word not in _FUNCTIONS:
                self._refuse(f"{word!r} is none of {', '.join(_FUNCTIONS)}")
            self.tokens = self.tokens[2:]
            return self._function(word)
        if not quoted and word == "count" and (not following or following[0][0] in _KEYWORDS):
            self.tokens = self.tokens[1:]
            return Request(statistic=Statistic.COUNT, by=())
        return Request(statistic=Statistic.COUNT, by=self._names())

    def _function(self, word: str) -> Request:
        arguments = self._names()
        if not self._take(")"):
            self._refuse("a bracket is not closed")
        of, *rest = arguments
        if word == "median":
            rest = [*rest, "0.5"]
        levels = tuple(sorted({self._level(level) for level in rest}))
        statistic = _FUNCTIONS[word]
        if (statistic is Statistic.QUANTILE) != bool(levels) or (word == "median" and len(rest) > 1):
            self._refuse("quantiles need levels, such as quantile(age, 0.5), and nothing else has any")
        if len(levels) > MOST_LEVELS:
            self._refuse(f"{MOST_LEVELS} quantiles of a column are the most")
        return Request(statistic=statistic, by=(), of=of, levels=levels)

    def _before_equals(self) -> str | None:
        ends = [at for at, token in enumerate(self.tokens) if token == ("=", False)]
        if not ends:
            return None
        words, self.tokens = self.tokens[: ends[0]], self.tokens[ends[0] + 1 :]
        if not self.tokens:
            self._refuse("no table is requested")
        return " ".join(word for word, _ in words)

    def _names(self) -> tuple[str, ...]:
        """Take names with commas between."""
        names = [self._name()]
        while self._take(","):
            names.append(self._name())
        return tuple(names)

    def _name(self) -> str:
        words: list[str] = []
        while self.tokens and (self.tokens[0][1] or self.tokens[0][0] not in ("(", ")", ",", "=", *_KEYWORDS)):
            word, quoted = self.tokens.pop(0)
            words.append(word)
            if quoted:
                break
        if not words:
            self._refuse("the name of a column is missing")
        return " ".join(words)

    def _level(self, text: str) -> Fraction:
        if not re.fullmatch(r"0?\.\d{1,4}", text) or not Fraction(text) > 0:
            self._refuse("a quantile's level is a decimal between 0 and 1 of four digits at most")
        return Fraction(text)

    def _weight(self) -> float:
        text = self.tokens.pop(0)[0] if self.tokens else ""
        if not re.fullmatch(r"\d{1,4}(\.\d{1,4})?", text) or not 0.01 <= float(text) <= 1000:
            self._refuse("a weight is a number in [0.01, 1000]")
        return float(text)

    def _take(self, word: str) -> bool:
        if self.tokens[:1] != [(word, False)]:
            return False
        self.tokens = self.tokens[1:]
        return True

    def _refuse(self, why: str) -> NoReturn:
        raise ParameterError(f"aggregate {self.text!r}: {why}", HINT)


def _quoted(name: str) -> str:
    """Return a name as a line may have it: in quotation marks where it would be read otherwise."""
    plain = _PLAIN.fullmatch(name) and not set(name.split(" ")) & {*_KEYWORDS, "count"}
    return name if plain else in_quotes(name)
