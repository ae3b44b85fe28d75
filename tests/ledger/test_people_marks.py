"""People known again by their keys: power, and tables that are taken for the same and are not, on thirty pairs."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import anonkit
from anonkit.engines.local.local_engine import LocalEngine
from anonkit.errors import GuaranteeError
from anonkit.ledger import Ledger, people_marks
from anonkit.ledger.ledger_place import users_ledger
from anonkit.ledger.people_marks import PeopleMarks, exponent_of, folded_name
from anonkit.policy.declaration import Policy

KEY = bytes(range(32))


def marks(table: pa.Table, column: str, key: bytes = KEY) -> PeopleMarks | None:
    """Return the people of a table."""
    engine = LocalEngine()
    source = engine.scan(table, Policy())
    names = [name for name in table.column_names if name != column]
    return people_marks.people_marks(source, engine, key, column, names)


def patients(ids: list[str] | list[int], seed: int, year: int = 0, key: str = "patient_id") -> pa.Table:
    """Patients with a birth year and a town that follow from who they are, and an illness of the year."""
    drawn = random.Random(seed)
    who = {person: random.Random(str(person) + str(seed // 1000)) for person in ids}
    return pa.table(
        {
            key: ids,
            "born": [1930 + who[person].randrange(80) for person in ids],
            "town": [f"t{who[person].randrange(30)}" for person in ids],
            "sex": ["fm"[who[person].randrange(2)] for person in ids],
            "illness": [f"i{drawn.randrange(12)}" for _ in ids],
            "year": [2023 + year] * len(ids),
        }
    )


def codes(n: int, seed: int) -> list[str]:
    """Keys that do not count up."""
    drawn = random.Random(seed)
    return [f"P{drawn.randrange(10**9):09d}" for _ in range(n)]


def returning(share: float, n: int = 3000) -> list[str]:
    """Keys of a year later: a share of the first year's, the others new."""
    old = int(n * share)
    return [*codes(n, 1)[:old], *codes(n - old, 2)]


FIRST = patients(codes(3000, 1), 1)
SERIAL = patients(list(range(1, 3001)), 1)

SAME: dict[str, Callable[[], tuple[pa.Table, str, pa.Table, str]]] = {
    **{
        f"{share:.0%} return": lambda share=share: (FIRST, "patient_id", patients(returning(share), 1, 1), "patient_id")
        for share in (1.0, 0.8, 0.5, 0.2, 0.12)
    },
    "two columns dropped": lambda: (FIRST, "patient_id", FIRST.drop_columns(["town", "illness"]), "patient_id"),
    "every other column dropped": lambda: (FIRST, "patient_id", FIRST.select(["patient_id"]), "patient_id"),
    "the key renamed": lambda: (FIRST, "patient_id", patients(returning(0.5), 1, 1, "pid"), "pid"),
    "the key spelled otherwise": lambda: (
        FIRST, "patient_id", patients(returning(0.5), 1, 1, "Patient-ID"), "Patient-ID",
    ),
    "visits, not patients": lambda: (
        FIRST, "patient_id", pa.concat_tables([FIRST.slice(0, 2000), FIRST.slice(0, 1500)]), "patient_id",
    ),
    "a small table of them": lambda: (FIRST, "patient_id", FIRST.slice(100, 60), "patient_id"),
    "the same serial numbers a year later": lambda: (
        SERIAL, "patient_id", patients(list(range(1, 3501)), 1, 1), "patient_id",
    ),
    "half of the serial numbers, renamed": lambda: (
        SERIAL, "patient_id", patients(list(range(1500, 3500)), 1, 1, "nr"), "nr",
    ),
    "numbers as texts": lambda: (
        SERIAL, "patient_id", patients([str(at) for at in range(1, 2000)], 1, 1), "patient_id",
    ),
    "other columns changed": lambda: (
        FIRST, "patient_id", patients(codes(3000, 1), 7000, 1), "patient_id",
    ),
}  # fmt: skip
OTHERS: dict[str, Callable[[], tuple[pa.Table, str, pa.Table, str]]] = {
    "serial numbers, 3,000 and 3,500": lambda: (
        SERIAL, "patient_id", patients(list(range(1, 3501)), 5000), "patient_id",
    ),
    "serial numbers of customers": lambda: (
        SERIAL, "patient_id", patients(list(range(1, 3001)), 6000, 0, "customer"), "customer",
    ),
    "serial numbers behind a letter": lambda: (
        patients([f"C{at:05d}" for at in range(1, 3001)], 1), "patient_id",
        patients([f"C{at:05d}" for at in range(1, 2001)], 5000), "patient_id",
    ),
    "serial numbers from a thousand": lambda: (
        SERIAL, "patient_id", patients(list(range(1000, 4000)), 5000, 0, "id"), "id",
    ),
    "serial numbers with gaps": lambda: (
        patients(sorted(random.Random(1).sample(range(6000), 3500)), 1), "patient_id",
        patients(sorted(random.Random(2).sample(range(6000), 3500)), 5000), "patient_id",
    ),
    "other codes": lambda: (FIRST, "patient_id", patients(codes(3000, 9), 1), "patient_id"),
    "other codes of another table": lambda: (FIRST, "patient_id", patients(codes(500, 9), 8000, 0, "id"), "id"),
    "twenty of them by chance": lambda: (
        FIRST, "patient_id", patients([*codes(3000, 1)[:20], *codes(180, 4)], 1), "patient_id",
    ),
    "a twentieth of them": lambda: (FIRST, "patient_id", patients(returning(0.05), 1, 1), "patient_id"),
    "numbers by chance under other names": lambda: (
        patients(random.Random(1).sample(range(10**5), 9000), 1), "patient_id",
        patients(random.Random(2).sample(range(10**5), 9000), 5000, 0, "order"), "order",
    ),
    "a column with one value": lambda: (
        SERIAL.select(["patient_id", "year"]), "patient_id",
        patients(list(range(1, 3001)), 5000).select(["patient_id", "year"]), "patient_id",
    ),
    "a column with few values": lambda: (
        SERIAL.select(["patient_id", "sex"]), "patient_id",
        patients(list(range(1, 3001)), 5000).select(["patient_id", "sex"]), "patient_id",
    ),
    "years that grow with the numbers": lambda: (
        SERIAL.append_column("joined", pa.array([2000 + at // 150 for at in range(3000)])), "patient_id",
        patients(list(range(1, 3001)), 5000).append_column("since", pa.array([2000 + at // 170 for at in range(3000)])),
        "patient_id",
    ),
    "another letter before the numbers": lambda: (
        patients([f"C{at:05d}" for at in range(1, 3001)], 1), "patient_id",
        patients([f"D{at:05d}" for at in range(1, 3001)], 1), "patient_id",
    ),
    "no table at all": lambda: (FIRST, "patient_id", patients(codes(40, 77), 3000), "patient_id"),
}  # fmt: skip


@pytest.mark.slow
def test_thirty_pairs() -> None:
    """All fifteen pairs with people in common are recognised, and none of the fifteen without."""
    assert len(SAME) == len(OTHERS) == 15

    def alike(pair: tuple[pa.Table, str, pa.Table, str]) -> bool:
        one, two = marks(pair[0], pair[1]), marks(pair[2], pair[3])
        assert one is not None
        assert two is not None
        assert one.is_like(two) == two.is_like(one)
        return one.is_like(two)

    assert {name: alike(pair()) for name, pair in SAME.items()} == dict.fromkeys(SAME, True)
    assert {name: alike(pair()) for name, pair in OTHERS.items()} == dict.fromkeys(OTHERS, False)


def test_marks_are_read_back_and_say_nothing_without_the_key() -> None:
    """Bytes and back; under another key no person is found, and no key is in them."""
    made = marks(FIRST, "patient_id")
    assert made is not None
    again = PeopleMarks.from_bytes(made.to_bytes())
    assert again.is_like(made)
    assert (again.people, again.is_serial, again.traits.shape) == (3000, False, made.traits.shape)
    assert not [code for code in codes(3000, 1) if code.encode() in made.to_bytes()]
    other = marks(FIRST, "patient_id", bytes(32))
    assert other is not None
    assert not other.is_like(made)
    assert marks(FIRST.slice(0, 0), "patient_id") is None
    few = marks(FIRST.slice(0, 29), "patient_id")
    assert few is not None
    assert not few.is_like(made)
    assert folded_name("Patient_ID ") == folded_name("patient id")


def test_of_very_many_people_a_fixed_part_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same part in every table, so that those of a sample are found in a whole table and the other way round."""
    assert [exponent_of(n) for n in (0, 10**7, 10**7 + 1, 4 * 10**7, 10**9)] == [0, 0, 1, 2, 7]
    whole = marks(FIRST, "patient_id")
    monkeypatch.setattr(people_marks, "MOST", 1000)
    part = marks(patients(returning(0.5), 1, 1), "patient_id")
    assert whole is not None
    assert part is not None
    assert part.exponent == 2
    assert part.tags.size < 1000
    assert 2000 < part.people < 4000
    assert part.is_like(whole)
    assert whole.is_like(part)


FEW = FIRST.slice(0, 600)
"""As many as it takes for a fifth of them to be known again: most of a release is the search for its classes."""


def release(table: pa.Table, output: Path, **more: Any) -> anonkit.Release:
    """Release patients, five alike."""
    given: dict[str, Any] = {"method": "mondrian", "k": 5, "target": "illness", "unit": "patient_id"}
    return anonkit.release(table, output=output, utility=False, **{**given, **more})


@pytest.mark.slow_cases("unit")
@pytest.mark.parametrize("role", ["unit", "identifier"])
def test_the_same_people_a_year_later_are_not_a_new_dataset(tmp_path: Path, role: str) -> None:
    """By the unit, or by an identifier; it was booked as new. With a name the owner is informed, and no file is."""
    more: dict[str, Any] = {} if role == "unit" else {"unit": None, "identifiers": ["patient_id"]}
    release(FEW, tmp_path / "2023.parquet", **more)
    later = patients(returning(0.2, FEW.num_rows), 1, 1)
    with pytest.raises(GuaranteeError, match=r"looks like dataset 'table' of the ledger \(people in common\)"):
        release(later, tmp_path / "2024.parquet", **more)
    made = release(later, tmp_path / "2024.parquet", dataset="later", **more)
    assert any("people in common" in note for note in made.owner["ledger"]["notes"])
    assert "people in common" not in (tmp_path / "2024.report.json").read_text(encoding="utf-8")


@pytest.mark.slow_cases("server")
def test_people_are_forgotten_or_never_remembered(tmp_path: Path, where: str) -> None:
    """`forget` deletes their tags and keeps the totals; `remember_people = false` is said by the release."""
    made = release(FEW, tmp_path / "a.parquet", ledger=where)
    assert "people_remembered" not in made.report["ledger"]
    ledger = Ledger(where)
    assert [one.people for one in ledger.people(1)] == [600]
    assert ledger.forget("table") == 1
    assert ledger.people(1) == []
    assert len(ledger.standing("table").counted) == 1
    release(patients(returning(0.2, FEW.num_rows), 1, 1), tmp_path / "b.parquet", ledger=where)
    policy = tmp_path / "policy.toml"
    policy.write_text("remember_people = false\n", encoding="utf-8")
    other = patients(codes(300, 9), 1)
    made = release(other, tmp_path / "c.parquet", ledger=where, policy=policy, dataset="c")
    assert made.report["ledger"]["people_remembered"] is False
    assert ledger.people(3) == []
    with pytest.raises(anonkit.AnonkitError, match="no dataset"):
        ledger.forget("nobody")


@pytest.mark.slow
def test_the_same_people_are_kept_once(tmp_path: Path) -> None:
    """A second release of the same table adds no tags; what was rolled back is not known."""
    for name in ("a", "b"):
        release(FEW, tmp_path / f"{name}.parquet")
    ledger = Ledger(users_ledger())
    with ledger._backend.transaction() as connection:
        assert connection.execute("SELECT count(*) FROM people").fetchone()[0] == 1
        assert connection.execute("SELECT count(*) FROM release_people").fetchone()[0] == 2
