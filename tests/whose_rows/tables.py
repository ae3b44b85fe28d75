"""Tables of people with several rows each, and tables whose rows are independent: whose rows they are nobody declares.

None of them served to choose a constant of the detector.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

Rng = np.random.Generator
GIVEN = ("Anna", "Bernd", "Carla", "David", "Elif", "Frank", "Greta", "Hans", "Ines", "Jonas", "Karin", "Lukas")
FAMILY = tuple(
    f"{first}{last}"
    for first in ("Bau", "Fel", "Gar", "Hol", "Kra", "Lin", "Mor", "Sto")
    for last in ("er", "mann", "dorf", "stein", "berg", "ke")
)


@dataclass(frozen=True, kw_only=True)
class PeopleTable:
    """A table in which people have several rows."""

    rows: pa.Table
    person: np.ndarray[Any, np.dtype[np.int64]]
    """The person of each row: no column states it as such."""
    options: Mapping[str, Any]
    """The options beside the method and k."""


def _table(rng: Rng, person: np.ndarray[Any, Any], columns: Mapping[str, Any], **options: Any) -> PeopleTable:
    order = rng.permutation(person.size)
    shuffled = {name: pa.array(list(values)).take(pa.array(order)) for name, values in columns.items()}
    return PeopleTable(rows=pa.table(shuffled), person=person[order], options=options)


def _birthdays(rng: Rng, n: int) -> list[datetime.date]:
    return [datetime.date(1940, 1, 1) + datetime.timedelta(days=int(day)) for day in rng.integers(0, 23_000, n)]


def _people(rng: Rng, n: int, most: int) -> np.ndarray[Any, Any]:
    return np.repeat(np.arange(n), rng.integers(2, most + 1, n))


def _of(values: Any, person: np.ndarray[Any, Any]) -> list[Any]:
    listed = list(values)
    return [listed[one] for one in person]


# --- people ----------------------------------------------------------------------------------------------------------


def visits(rng: Rng, key: Callable[[int], Any], name: str, **options: Any) -> PeopleTable:
    """Visits of patients: year of birth, sex and postcode are the person's, month and outcome the visit's."""
    n = 150
    person = _people(rng, n, 30)
    columns = {
        name: [key(int(one)) for one in person],
        "birth_year": _of(rng.integers(1935, 2010, n).tolist(), person),
        "sex": _of(rng.choice(["f", "m"], n).tolist(), person),
        "zip": _of([str(code) for code in rng.integers(20000, 20060, n)], person),
        "month": rng.integers(1, 13, person.size).tolist(),
        "outcome": rng.choice(["better", "same"], person.size).tolist(),
    }
    return _table(rng, person, columns, target="outcome", **options)


def payments(rng: Rng, key: Callable[[int], Any], name: str, **options: Any) -> PeopleTable:
    """Payments of customers: age, sex and region are the person's, shop and amount the payment's."""
    n = 220
    person = _people(rng, n, 20)
    columns = {
        name: [key(int(one)) for one in person],
        "age": _of(rng.integers(18, 90, n).tolist(), person),
        "gender": _of(rng.choice(["female", "male"], n).tolist(), person),
        "region": _of(rng.choice(["north", "south", "east", "west"], n).tolist(), person),
        "shop": rng.choice(["food", "books", "fuel", "rail"], person.size).tolist(),
        "hour": rng.integers(6, 23, person.size).tolist(),
        "refunded": rng.choice(["no", "yes"], person.size, p=[0.8, 0.2]).tolist(),
    }
    return _table(rng, person, columns, target="refunded", **options)


def doses(rng: Rng, key: Callable[[int], Any], name: str, **options: Any) -> PeopleTable:
    """Doses of a drug: date of birth, marital state and ward are the person's, dose and reaction the dose's."""
    n = 120
    person = _people(rng, n, 25)
    columns = {
        name: [key(int(one)) for one in person],
        "born": _of(_birthdays(rng, n), person),
        "marital_status": _of(rng.choice(["single", "married", "widowed"], n).tolist(), person),
        "ward": _of(rng.choice(["A", "B", "C"], n).tolist(), person),
        "dose": rng.choice([5, 10, 20, 40], person.size).tolist(),
        "reaction": rng.choice(["none", "mild"], person.size, p=[0.7, 0.3]).tolist(),
    }
    return _table(rng, person, columns, target="reaction", **options)


def named(rng: Rng, born: bool) -> PeopleTable:
    """Lessons of pupils who are identified by given and family name, with or without a date of birth."""
    n = 140
    person = _people(rng, n, 18)
    names = [
        (GIVEN[int(a)], FAMILY[int(b)]) for a, b in zip(rng.integers(0, 12, n), rng.integers(0, 48, n), strict=True)
    ]
    columns: dict[str, Any] = {
        "first_name": _of([given for given, _ in names], person),
        "last_name": _of([family for _, family in names], person),
        **({"date_of_birth": _of(_birthdays(rng, n), person)} if born else {}),
        "sex": _of(rng.choice(["f", "m"], n).tolist(), person),
        "grade": _of(rng.integers(1, 13, n).tolist(), person),
        "subject": rng.choice(["maths", "art", "sports"], person.size).tolist(),
        "passed": rng.choice(["no", "yes"], person.size).tolist(),
    }
    return _table(rng, person, columns, target="passed", identifiers=["first_name", "last_name"])


def two_keys(rng: Rng) -> PeopleTable:
    """A membership and a national number that part the rows alike: they are one candidate."""
    made = visits(rng, lambda one: 3_000 + 7 * one, "member")
    number = pa.array([f"{1010 + 13 * int(one):06d}-{2000 + 17 * int(one):04d}" for one in made.person])
    return PeopleTable(rows=made.rows.append_column("cpr", number), person=made.person, options=made.options)


def with_gaps(rng: Rng) -> PeopleTable:
    """A fifth of the rows does not say whose they are."""
    made = payments(rng, lambda one: f"C{5000 + 3 * one}", "customer_id")
    gaps = rng.random(made.person.size) < 0.2
    keys = [None if gap else key for gap, key in zip(gaps, made.rows["customer_id"].to_pylist(), strict=True)]
    rows = made.rows.set_column(0, "customer_id", pa.array(keys, pa.string()))
    return PeopleTable(rows=rows, person=made.person, options=made.options)


def _konto(one: int) -> str:
    return f"K{10000 + 7 * one}"


def _mail(one: int) -> str:
    return f"{FAMILY[one % 48].lower()}{one}@example.org"


def _phone(one: int) -> str:
    return f"+49 30 {1_000_000 + 7919 * one}"


def _number(one: int) -> int:
    return 4_000 + 3 * one


def _name(one: int) -> str:
    return f"{GIVEN[one % 12]} {FAMILY[(one // 12 + 5 * one) % 48]}"


PEOPLE: dict[str, Callable[[Rng], PeopleTable]] = {
    "visits, account declared": lambda rng: visits(rng, _konto, "konto", identifiers=["konto"]),
    "visits, account found": lambda rng: visits(rng, _konto, "konto"),
    "visits, patient_id": lambda rng: visits(rng, _number, "patient_id"),
    "visits, e-mail": lambda rng: visits(rng, _mail, "contact"),
    "visits, phone": lambda rng: visits(rng, _phone, "phone"),
    "visits, full name": lambda rng: visits(rng, _name, "patient"),
    "visits, unnamed number": lambda rng: visits(rng, _number, "member"),
    "visits, unnamed code": lambda rng: visits(rng, lambda one: f"x{one * 7 % 997:03d}", "ref_a"),
    "payments, account declared": lambda rng: payments(rng, _konto, "acct", identifiers=["acct"]),
    "payments, customer_id": lambda rng: payments(rng, _konto, "customer_id"),
    "payments, e-mail": lambda rng: payments(rng, _mail, "mail"),
    "payments, phone declared": lambda rng: payments(rng, _phone, "line", identifiers=["line"]),
    "payments, full name": lambda rng: payments(rng, _name, "holder"),
    "payments, unnamed number": lambda rng: payments(rng, _number, "party"),
    "payments, unnamed code": lambda rng: payments(rng, lambda one: f"P-{one:04d}", "party"),
    "payments, gaps": with_gaps,
    "doses, patient_no": lambda rng: doses(rng, _number, "patient_no"),
    "doses, e-mail": lambda rng: doses(rng, _mail, "e-mail"),
    "doses, account found": lambda rng: doses(rng, _konto, "konto"),
    "doses, unnamed number": lambda rng: doses(rng, _number, "subject"),
    "doses, unnamed code": lambda rng: doses(rng, lambda one: f"d{one * 31 % 1009}", "who"),
    "lessons, names with a date of birth": lambda rng: named(rng, born=True),
    "lessons, names alone": lambda rng: named(rng, born=False),
    "visits, two keys": two_keys,
}
"""24 tables of people."""


# --- things ----------------------------------------------------------------------------------------------------------


def _census(rng: Rng, **more: Any) -> pa.Table:
    n = 3_000
    age = rng.integers(17, 90, n)
    schooling = rng.integers(1, 14, n)
    return pa.table(
        {
            "age": age,
            "sex": rng.choice(["f", "m"], n),
            "schooling": [f"level {level}" for level in schooling],
            "occupation": rng.choice([f"job {at}" for at in range(14)], n),
            **{name: make(rng, n, age, schooling) for name, make in more.items()},
            "earns": np.where((schooling > 7) ^ (rng.random(n) < 0.2), "more", "less"),
        }
    )


def _sales(rng: Rng, goods: int, name: str, **more: Any) -> pa.Table:
    n = 4_000
    sold = rng.integers(0, goods, n)
    return pa.table(
        {
            name: [f"{name[:2].upper()}-{one:05d}" for one in 1000 + 37 * sold],
            "category": [f"category {one}" for one in rng.integers(0, 8, goods)[sold]],
            "brand": [f"brand {one}" for one in rng.integers(0, 20, goods)[sold]],
            **{each: make(rng, sold) for each, make in more.items()},
            "quantity": rng.integers(1, 9, n),
            "weekday": rng.choice(["mo", "tu", "we", "th", "fr", "sa"], n),
            "returned": rng.choice(["no", "yes"], n, p=[0.9, 0.1]),
        }
    )


def _readings(rng: Rng, machines: int, name: str) -> pa.Table:
    n = 3_500
    of = rng.integers(0, machines, n)
    return pa.table(
        {
            name: of + 100,
            "hall": [f"hall {one}" for one in rng.integers(0, 5, machines)[of]],
            "model": [f"model {one}" for one in rng.integers(0, 9, machines)[of]],
            "temperature": rng.normal(60, 8, n).round(1),
            "load": rng.integers(0, 100, n),
            "fault": rng.choice(["no", "yes"], n, p=[0.85, 0.15]),
        }
    )


def _trips(rng: Rng) -> pa.Table:
    n = 3_000
    line = rng.integers(0, 40, n)
    return pa.table(
        {
            "line": [f"L{one}" for one in line],
            "start": [f"stop {one}" for one in rng.integers(0, 25, 40)[line]],
            "end": [f"stop {one}" for one in rng.integers(0, 25, 40)[line]],
            "delay": rng.poisson(3, n),
            "passengers": rng.integers(0, 80, n),
            "late": rng.choice(["no", "yes"], n),
        }
    )


def _answers(rng: Rng, questions: int) -> pa.Table:
    n = 2_500
    mood = rng.random(n)
    asked = {f"q{at}": np.clip((5 * mood + rng.normal(0, 1, n)).round(), 1, 5).astype(int) for at in range(questions)}
    return pa.table({**asked, "age": rng.integers(18, 80, n), "content": np.where(mood > 0.5, "yes", "no")})


def _country(rng: Rng, n: int, age: Any, schooling: Any) -> list[str]:
    return [f"C{one:02d}" for one in rng.integers(0, 60, n)]


def _shops(rng: Rng) -> pa.Table:
    n, shops = 4_000, 60
    of = rng.integers(0, shops, n)
    return pa.table(
        {
            "branch": of + 500,
            "city": [f"city {one}" for one in rng.integers(0, 30, shops)[of]],
            "region": [f"region {one}" for one in rng.integers(0, 6, shops)[of]],
            "size": rng.integers(200, 2_000, shops)[of],
            "customer_age": rng.integers(18, 85, n),
            "customer_sex": rng.choice(["f", "m"], n),
            "card": rng.choice(["no", "yes"], n),
        }
    )


def _unique(rng: Rng) -> pa.Table:
    rows = _census(rng)
    return rows.append_column("person_id", pa.array([f"P{90000 + at}" for at in range(rows.num_rows)]))


def _codes(rng: Rng) -> pa.Table:
    n, kinds = 3_500, 90
    of = rng.integers(0, kinds, n)
    return pa.table(
        {
            "code": [f"{'ABCDEF'[one % 6]}{one:02d}" for one in of],
            "illness": [f"illness {one}" for one in of],
            "chapter": [f"chapter {one}" for one in rng.integers(0, 12, kinds)[of]],
            "age": rng.integers(0, 99, n),
            "sex": rng.choice(["f", "m"], n),
            "long_stay": rng.choice(["no", "yes"], n),
        }
    )


THINGS: dict[str, Callable[[Rng], pa.Table]] = {
    "census": _census,
    "census with a year of birth": lambda rng: _census(rng, birth_year=lambda r, n, age, s: 2024 - age),
    "census with age groups": lambda rng: _census(
        rng, age_group=lambda r, n, age, s: [f"{one // 10 * 10}-{one // 10 * 10 + 9}" for one in age]
    ),
    "census with schooling twice": lambda rng: _census(rng, schooling_code=lambda r, n, age, s: s),
    "census with countries": lambda rng: _census(rng, country=_country),
    "census with hours": lambda rng: _census(rng, hours=lambda r, n, age, s: r.integers(5, 80, n)),
    "census with postcodes": lambda rng: _census(
        rng, postcode=lambda r, n, age, s: [f"{one:05d}" for one in r.integers(20000, 20300, n)]
    ),
    "census with unique numbers": _unique,
    "sales of 60 goods": lambda rng: _sales(rng, 60, "product"),
    "sales of 300 goods": lambda rng: _sales(rng, 300, "product"),
    "sales with prices": lambda rng: _sales(
        rng, 200, "article", price=lambda r, sold: np.exp(r.normal(3, 1, 200)).round(2)[sold]
    ),
    "sales with origins": lambda rng: _sales(
        rng, 200, "article", origin=lambda r, sold: r.choice(["China", "Germany", "Italy", "France"], 200)[sold]
    ),
    "sales with colours": lambda rng: _sales(
        rng, 120, "model", colour=lambda r, sold: r.choice(["red", "blue", "green"], 120)[sold]
    ),
    "sales of 30 goods": lambda rng: _sales(rng, 30, "sort"),
    "machines": lambda rng: _readings(rng, 40, "machine"),
    "sensors": lambda rng: _readings(rng, 150, "sensor_id"),
    "pumps": lambda rng: _readings(rng, 25, "pump_no"),
    "trips": _trips,
    "four questions": lambda rng: _answers(rng, 4),
    "nine questions": lambda rng: _answers(rng, 9),
    "shops": _shops,
    "illnesses": _codes,
    "sales of 800 goods": lambda rng: _sales(rng, 800, "serial_no"),
    "readings of 300": lambda rng: _readings(rng, 300, "meter_id"),
}
"""24 tables of things, and of people with one row each."""
