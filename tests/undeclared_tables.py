"""Simulated tables without a policy: sixty awkward ones, and forty ordinary ones. Nobody in them is real."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np


def _words(text: str) -> list[str]:
    return text.split()


GIVEN = _words(
    "Anna Peter Maria Jonas Clara Emil Sofia Lukas Ida Paul Nora Felix Lena Oskar Mia Hugo Eva Anton Marta Karl"
)
SYLLABLES = _words("ber lin mar ten kof win hal dor sel ger ros bau tan vik mol rad fen gil hop ner")
TOWNS = [f"{a.capitalize()}{b}{c}" for a in SYLLABLES[:8] for b in ("", "a") for c in ("dorf", "burg", "stadt")]
ILLNESSES = ["flu", "asthma", "diabetes", "hiv", "cancer", "depression", "hepatitis", "none"]
JOBS = ["nurse", "teacher", "clerk", "driver", "engineer", "cook", "farmer", "lawyer"]
EMPLOYERS = [f"{a.capitalize()}{b} GmbH" for a in SYLLABLES for b in SYLLABLES]
FIRST_DAY = datetime.date(1930, 1, 1)

Cells = Callable[[np.random.Generator, int], Sequence[object]]


def _picked(values: Sequence[object], weights: Sequence[float] | None = None) -> Cells:
    def cells(rng: np.random.Generator, n: int) -> Sequence[object]:
        shares = None if weights is None else np.asarray(weights) / np.sum(weights)
        return [values[at] for at in rng.choice(len(values), n, p=shares)]

    return cells


def _numbers(low: int, high: int) -> Cells:
    return lambda rng, n: rng.integers(low, high, n).tolist()


def _decimals(mean: float, spread: float, digits: int = 2) -> Cells:
    return lambda rng, n: [f"{value:.{digits}f}" for value in rng.normal(mean, spread, n)]


def _formed(pattern: Callable[[np.random.Generator], str]) -> Cells:
    return lambda rng, n: [pattern(rng) for _ in range(n)]


def _surname(rng: np.random.Generator) -> str:
    return "".join(rng.choice(SYLLABLES, 3)).capitalize()


def _day(rng: np.random.Generator) -> str:
    return (FIRST_DAY + datetime.timedelta(days=int(rng.integers(0, 27_000)))).isoformat()


def _digits(rng: np.random.Generator, n: int) -> str:
    return "".join(map(str, rng.integers(0, 10, n)))


CELLS: dict[str, Cells] = {
    "age": _numbers(18, 90),
    "sex": _picked(["female", "male"]),
    "town": _picked(TOWNS),
    "job": _picked(JOBS),
    "education": _picked(["primary", "secondary", "bachelor", "master"]),
    "marital": _picked(["single", "married", "divorced", "widowed"]),
    "height": _decimals(170, 9, 1),
    "score": _numbers(0, 101),
    "visits": _numbers(0, 12),
    "size": _picked(["small", "medium", "large"]),
    "colour": _picked(["red", "green", "blue", "grey"]),
    "yes": _picked(["yes", "no"], [3, 7]),
    "born": _formed(_day),
    "illness": _picked(ILLNESSES, [9, 5, 5, 1, 3, 4, 1, 20]),
    "name": _formed(lambda rng: f"{rng.choice(GIVEN)} {_surname(rng)}"),
    "surname": _formed(_surname),
    "given": _picked(GIVEN),
    "email": _formed(lambda rng: f"{rng.choice(GIVEN).lower()}.{_surname(rng).lower()}@example.org"),
    "phone": _formed(lambda rng: f"+49 {_digits(rng, 3)} {_digits(rng, 7)}"),
    "zip": _formed(lambda rng: f"{rng.integers(10_000, 12_000)}"),
    "lon": _decimals(13.4, 0.2, 5),
    "lat": _decimals(52.5, 0.1, 5),
    "salary": _formed(lambda rng: str(int(rng.lognormal(10.4, 0.5)))),
    "employer": _picked(EMPLOYERS),
    "number": lambda rng, n: (rng.permutation(n) + 1).tolist(),
    "code": _formed(lambda rng: f"{_surname(rng)[:2].upper()}-{_digits(rng, 6)}"),
    "text": _formed(
        lambda rng: f"{rng.choice(GIVEN)} came with {_surname(rng)} on {_day(rng)} and was seen by the doctor"
    ),
    "plate": _formed(lambda rng: f"B-{rng.choice(list('ABCDEFGH'))}{rng.choice(list('KLMNP'))} {_digits(rng, 4)}"),
    "iban": _formed(lambda rng: _iban(_digits(rng, 18))),
    "religion": _picked(["catholic", "protestant", "muslim", "jewish", "none"], [4, 3, 2, 1, 5]),
    "party": _picked(["left", "right", "green", "centre"]),
    "country": _picked(["Germany", "France", "Poland", "Turkey", "Syria"], [20, 2, 3, 3, 1]),
    "moment": _formed(lambda rng: f"{_day(rng)}T{rng.integers(0, 24):02d}:{rng.integers(0, 60):02d}:00"),
    "klass": _picked(["a", "b", "c"], [5, 3, 2]),
}


def _iban(digits: str) -> str:
    check = 98 - int(digits + "131400") % 97
    return f"DE{check:02d}{digits}"


@dataclass(frozen=True, kw_only=True)
class UndeclaredTable:
    """A table as it comes, and what must not leave it."""

    name: str
    columns: tuple[tuple[str, str], ...]
    """Names in the file, and the kind of their cells (a key of `CELLS`)."""
    rows: int = 1_500
    never: tuple[str, ...] = ()
    """Columns no cell of which may be in any file of a release."""
    label: str | None = None
    """The column that may be guessed to be a class label and released unchanged."""
    rows_a_person: int = 1
    """Rows of one person: then `person` are the columns that are alike in all of them."""
    person: tuple[str, ...] = ()
    has_key: bool = True
    """False if no column identifies one person among all others."""
    header: bool = True
    seed: int = 0

    def records(self) -> list[dict[str, object]]:
        """Return the rows."""
        rng = np.random.default_rng([self.seed, *map(ord, self.name)])
        people = -(-self.rows // self.rows_a_person)
        own = {name: CELLS[kind](rng, people) for name, kind in self.columns if name in self.person}
        cells = {name: CELLS[kind](rng, self.rows) for name, kind in self.columns if name not in self.person}
        whose = rng.permutation(np.arange(self.rows) // self.rows_a_person)
        return [
            {name: own[name][whose[at]] if name in own else cells[name][at] for name, _ in self.columns}
            for at in range(self.rows)
        ]

    def csv(self) -> str:
        """Return the table as a CSV file."""
        names = [name for name, _ in self.columns]
        lines = [",".join(names)] if self.header else []
        return "\n".join([*lines, *(",".join(str(row[name]) for name in names) for row in self.records())]) + "\n"


def _table(name: str, columns: str, **more: object) -> UndeclaredTable:
    """Return a table; a column is `name` or `name:kind`."""
    parts = tuple((part.split(":")[0], part.split(":")[-1]) for part in columns.split())
    return UndeclaredTable(name=name, columns=parts, **more)  # type: ignore[arg-type]


_SECRETS_LAST = [
    _table(f"{header} last", f"age sex town job {header}:{kind}")
    for header, kind in (
        *(("illness", "illness"), ("diagnose", "illness"), ("religion", "religion"), ("konfession", "religion")),
        *(("party", "party"), ("vote", "party"), ("salary", "salary"), ("gehalt", "salary"), ("wage", "salary")),
        *(("hiv_status", "yes"), ("convicted", "yes"), ("union_member", "yes"), ("sexual_orientation", "klass")),
    )
]
_KNOWN_LAST = [
    _table(f"{header} last", f"gender:sex job illness {header}:{kind}")
    for header, kind in (
        *(("born", "born"), ("dob", "born"), ("geburtsdatum", "born"), ("admitted", "moment"), ("zip", "zip")),
        *(("postcode", "zip"), ("plz", "zip"), ("lon", "lon"), ("lat", "lat"), ("town", "town"), ("ort", "town")),
        *(
            ("employer", "employer"),
            ("age", "age"),
            ("sexe", "sex"),
            ("marital_status", "marital"),
            ("height", "height"),
        ),
        *(("country", "country"), ("nationality", "country"), ("race", "klass"), ("geschlecht", "sex")),
    )
]
_IDENTIFIERS = [
    _table("names last", "age sex town name", never=("name",)),
    _table("e-mail last", "age sex town contact:email", never=("contact",)),
    _table("phones last", "age sex town rufnummer:phone", never=("rufnummer",)),
    _table("accounts last", "age sex town konto:iban", never=("konto",)),
    _table("plates last", "age sex town kennzeichen:plate", never=("kennzeichen",)),
    _table("numbers of rows last", "age sex town lfd:number"),
    _table("free text last", "age sex town remark:text", never=("remark",)),
    _table("keys last", "age sex town ref:code", never=("ref",)),
    _table("names in the middle", "age x1:name sex town churn:yes", never=("x1",), label="churn"),
    _table("texts in the middle", "age x1:text sex town churn:yes", never=("x1",), label="churn"),
]
_VISITS = [
    _table(
        f"visits by {header}",
        f"{header}:{kind} born sex town visits churn:yes",
        rows=3_000,
        never=never,
        label="churn",
        rows_a_person=rows,
        person=(header, "born", "sex", "town"),
    )
    for header, kind, rows, never in (
        *(("member", "name", 15, ("member",)), ("konto", "iban", 20, ("konto",)), ("acct", "code", 25, ("acct",))),
        *(
            ("patient", "name", 30, ("patient",)),
            ("contact", "email", 10, ("contact",)),
            ("tel", "phone", 12, ("tel",)),
        ),
        *(("x7", "code", 20, ("x7",)), ("person", "number", 10, ())),
    )
]
_NO_HEADER = [
    _table("no header, people", "age sex town zip illness", header=False),
    _table("no header, names", "name born sex illness", header=False, never=("name",)),
    _table("no header, numbers", "age height score visits yes", header=False),
]
_ODD_SIZES = [
    _table("tiny", "age sex town illness", rows=12),
    _table("one row", "age sex illness", rows=1),
    _table("one column", "illness", rows=400),
    _table("wide", " ".join(f"q{at}:score" for at in range(40)) + " illness", rows=400),
    _table(
        "twins",
        "given born sex town illness",
        rows=800,
        rows_a_person=2,
        person=("given", "born", "sex", "town"),
        has_key=False,
    ),
    _table("all dates", "born admitted:born left:born", rows=600),
]

AWKWARD = [*_SECRETS_LAST, *_KNOWN_LAST, *_IDENTIFIERS, *_VISITS, *_NO_HEADER, *_ODD_SIZES]
"""Sixty tables of which the first command may publish nobody unprotected."""


def _ordinary() -> list[UndeclaredTable]:
    labels = (
        "churn:yes",
        "class:klass",
        "y:yes",
        "default:yes",
        "outcome:klass",
        "result:klass",
        "label:yes",
        "bought:yes",
    )
    columns = (
        *("age sex education job", "age sex town visits", "size colour score", "age marital education visits"),
        "score visits size job",
    )
    return [
        _table(
            f"{label.split(':')[0]} from {known}", f"{known} {label}", label=label.split(":")[0], rows=800 + 300 * at
        )
        for at, known in enumerate(columns)
        for label in labels
    ]


ORDINARY = _ordinary()
"""Forty tables that the first command releases, with the class label that it guesses."""
