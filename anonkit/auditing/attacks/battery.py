# SPDX-License-Identifier: Apache-2.0
"""All attacks on one release, each with its controls, as one result for the owner."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from anonkit.auditing.attacks.aligned import Aligned, align, identity
from anonkit.auditing.attacks.attack_evidence import AttackColumn, Readings, Values, columns_of, evidence_for
from anonkit.auditing.attacks.attack_kinds import (
    Ballot,
    Linkage,
    ObservedValue,
    Secret,
    Votes,
    link,
    membership,
    predicates,
    right_about,
    singled_out,
    votes_for,
)
from anonkit.auditing.attacks.success_rates import Attack, LossBound, Rate, next_step
from anonkit.documents import ReportPart
from anonkit.errors import ParameterError, in_python
from anonkit.promises.promise_kinds import read_promise
from anonkit.protocols import Progress, no_progress
from anonkit.published.randomized_table import FORMAT, PublishedTable

ATTACKS = 500
"""Attempts of an attack where no number is given: the interval of a rate is at most .044 to either side."""
AUDIT_STEPS = ("reading", "singling out", "linking", "inferring")
"""Names of the steps of an audit, in order, as progress shows them; control rows and an epsilon take one more each."""
PREDICATES = 1000
"""Descriptions that singling out tries at most: a bound on time."""
_FEWEST = 25
"""Holders of a value that are attacked, where there are so many: a convention."""
_SYNTHETIC = "No row of this release belongs to one person, so there is nothing to link."
_ASSUMED = "How the table was made is not known: a row that fits in every column counts as the person's."
_REDRAWN = "The release hides its row order: scored on a second draw of the published mechanism, which is not written."
_HIDDEN = "The secret is part of other answers, or released in coarser groups: this attack does not guess it."
_NO_CONTROL = "Without control rows the risk of inference is overstated: general patterns count as leaks."


@dataclass(frozen=True, kw_only=True)
class Audit(
    ReportPart,
    keys=("**blocks", "epsilon", "rows", "rows_released=released", "attacker_knows=known", "next_step", "notes"),
):
    """The measured risk of a release.

    Privacy
    -------
    Computed from the source: for the owner, and in none of the files of a release.
    """

    attacks: tuple[Attack, ...]
    rows: int
    """Rows of the source."""
    released: int
    known: tuple[str, ...]
    """Columns the attacker knows of every target."""
    epsilon: LossBound | None = None
    """Lower bound on epsilon from running the randomization again; None where no epsilon is claimed."""
    notes: tuple[str, ...] = ()
    """Reasons for attacks that were not made."""

    @property
    def next_step(self) -> str:
        """Advice on the findings, in one sentence."""
        return in_python(next_step(self.attacks, self.epsilon))

    def attack(self, name: str) -> Attack:
        """Return one attack by its name."""
        return next(attack for attack in self.attacks if attack.name == name)

    @property
    def blocks(self) -> dict[str, Attack]:
        """The attacks by name."""
        return {attack.name: attack for attack in self.attacks}


@dataclass(frozen=True, kw_only=True, eq=False)
class _AttackedRelease:
    """A release, or a control, as one attacker sees it."""

    columns: Mapping[str, AttackColumn]
    position: np.ndarray[Any, np.dtype[np.int64]] | None


def audit_tables(
    released: pa.Table,
    original: pa.Table,
    *,
    params: Mapping[str, Any] | None = None,
    guarantee: Mapping[str, Any] | None = None,
    control: pa.Table | None = None,
    secrets: Sequence[str] = (),
    widths: Mapping[str, float] | None = None,
    quasi_identifiers: Sequence[str] = (),
    attacks: int = ATTACKS,
    seed: int = 0,
    people: np.ndarray[Any, np.dtype[np.int64]] | None = None,
    ceilings: bool = True,
    progress: Progress = no_progress,
) -> Audit:
    """Attack a table.

    Parameters
    ----------
    released, original : Table
        The release, and its source with canonical values; every row of both counts.
    params, guarantee : mapping, optional
        What `params.json` and the report's `guarantee` block hold; without them the table is one of an unknown maker.
    control : Table, optional
        Rows of the same population that were not released.
    secrets : sequence of str
        Columns to infer.
    widths : mapping of float, optional
        By column: how near numbers count as one value, where the release states it.
    quasi_identifiers : sequence of str
        What a weaker attacker knows.
    attacks : int
        People attacked.
    seed : int
        Which people and which descriptions are drawn.
    people : array, optional
        Person of each row of the source, -1 for nobody: then people are drawn, each with one of their rows, a
        description singles out when it fits rows of one person alone, and any row of a person is theirs.
    ceilings : bool
        Whether the rows as they are, renamed and shuffled ones are attacked too: what the attacks find at most.
        Without them descriptions are twice the people attacked, and holders of single values are not attacked apart.
    progress : callable
        Called with the step and the share done.
    """
    auditor = _Auditor(
        released, original, params or {}, guarantee or {}, control, quasi_identifiers, attacks, seed, people, ceilings
    )
    _, *steps = AUDIT_STEPS
    secret = [name for name in secrets if name in auditor.names]
    attacked: list[Attack] = []
    inference = partial(auditor.inference, secret, widths or {})
    attacks_by_step: Sequence[Callable[[], Attack]] = (auditor.singling_out, auditor.linkability, inference)
    for step, attack in zip(steps, attacks_by_step, strict=True):
        progress(step, 0.0)
        attacked.append(attack())
    if control is not None:
        progress("recognizing members", 0.0)
    return Audit(
        attacks=(*attacked, *auditor.membership()),
        rows=original.num_rows,
        released=released.num_rows,
        known=tuple(auditor.known),
    )


class _Auditor:
    def __init__(
        self,
        released: pa.Table,
        original: pa.Table,
        params: Mapping[str, Any],
        guarantee: Mapping[str, Any],
        control: pa.Table | None,
        quasi_identifiers: Sequence[str],
        attacks: int,
        seed: int,
        people: np.ndarray[Any, np.dtype[np.int64]] | None,
        ceilings: bool,
    ) -> None:
        self.names = [name for name in released.column_names if name in original.column_names]
        if not self.names or not original.num_rows or not released.num_rows:
            raise ParameterError("the release and its source have no rows or no columns in common")
        self._weaker = [name for name in quasi_identifiers if name in self.names]
        promise = read_promise(guarantee) if guarantee else None
        is_counted = promise is not None and promise.counted_classes is not None
        self.known = self._weaker if is_counted and self._weaker else self.names
        self._random = np.random.default_rng(seed)
        self._source = original.select(self.names)
        self._values, others = _in_common(self._source, control)
        self._randomized = PublishedTable.from_params(params) if params.get("format") == FORMAT else None
        self._synthetic = promise is not None and not promise.shows_rows
        self._released = released
        self._people_of_rows = people
        self._targets = self._shuffled_rows(original.num_rows)[:attacks].tolist()
        self._people = [self._person(row) for row in self._targets]
        self._others = (
            others if len(others) <= attacks else [others[at] for at in self._random.permutation(len(others))[:attacks]]
        )
        aligned = None if self._synthetic else align(params, released, original)
        self._aligned = aligned is not None
        self._readings: Readings = {}
        self._release = self._scene(released, aligned, self._randomized)
        self._descriptions = PREDICATES if ceilings else min(PREDICATES, 2 * attacks)
        self._ceilings: dict[str, _AttackedRelease] = {}
        if ceilings:
            renamed = _renamed(self._source)
            self._ceilings["identity"] = self._scene(self._source, identity(self._source), None)
            self._ceilings["renamed"] = self._scene(renamed, identity(renamed), None)
        mixed = self._shuffled(released if aligned is None else aligned.table)
        position = None if aligned is None else aligned.position
        self._mixed = _AttackedRelease(columns=self._columns_of(mixed), position=position)

    def _shuffled_rows(self, n_rows: int) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return the rows in random order; where people are known, one row of each person."""
        rows: np.ndarray[Any, np.dtype[np.int64]] = self._random.permutation(n_rows)
        if self._people_of_rows is None:
            return rows
        rows = rows[self._people_of_rows[rows] >= 0]
        first = np.unique(self._people_of_rows[rows], return_index=True)[1]
        return rows[np.sort(first)]

    def _scene(
        self, released: pa.Table, aligned: Aligned | None, randomized: PublishedTable | None
    ) -> _AttackedRelease:
        table = released if aligned is None else aligned.table
        columns = columns_of(table, self._values, randomized, self._readings)
        return _AttackedRelease(columns=columns, position=None if aligned is None else aligned.position)

    def _columns_of(self, table: pa.Table) -> dict[str, AttackColumn]:
        """Return the columns of the release, in another order of its rows, as evidence."""
        return columns_of(table, self._values, self._randomized, self._readings)

    def _shuffled(self, table: pa.Table) -> pa.Table:
        """Shuffle every column by itself: the values stay, nobody's row does."""
        order = [pa.array(self._random.permutation(table.num_rows)) for _ in table.column_names]
        return pa.table([table.column(at).take(rows) for at, rows in enumerate(order)], names=table.column_names)

    def singling_out(self) -> Attack:
        """Descriptions from the release that fit exactly one row; the control has the source's columns shuffled."""
        actual = self._columns_of(self._released)
        n_rows = self._source.num_rows
        chance = {
            name: Values(values=column.values, codes=column.codes[self._random.permutation(n_rows)])
            for name, column in self._values.items()
        }

        def rates(columns: Mapping[str, AttackColumn]) -> tuple[Rate, Rate]:
            descriptions = predicates(columns, self._values, self._descriptions, self._random)
            people = self._people_of_rows
            return singled_out(descriptions, self._values, people), singled_out(descriptions, chance, people)

        attack, control = rates(actual)
        shuffled = None
        if self._ceilings:
            mixed = self._columns_of(self._shuffled(self._released))
            shuffled = _AttackedRelease(columns=mixed, position=None)
        return Attack(
            name="singling_out",
            attack=attack,
            control=control,
            **self._at_most(lambda scene: rates(scene.columns)[0]),
            shuffled=None if shuffled is None else rates(shuffled.columns)[0],
        )

    def _at_most(self, rate: Callable[[_AttackedRelease], Rate]) -> dict[str, Any]:
        """Return the finding of an attack in rows as they are and in renamed ones; None where it is not computed."""
        return {
            name: rate(self._ceilings[name]) if name in self._ceilings else None for name in ("identity", "renamed")
        }

    def _link(self, scene: _AttackedRelease, names: Sequence[str]) -> Linkage:
        return link(scene.columns, names, self._values, self._targets, scene.position, self._people_of_rows)

    def linkability(self) -> Attack:
        """Rank the rows for people of whom the quasi-identifiers, or all released columns, are known."""
        if self._synthetic:
            none = Rate(successes=0.0, attacks=len(self._targets))
            return Attack(
                name="linkability",
                attack=none,
                control=none,
                identity=None,
                renamed=None,
                shuffled=None,
                note=_SYNTHETIC,
            )
        links, mixed = self._link(self._release, self.known), self._link(self._mixed, self.known)
        others = {"full_knowledge": self.names, "quasi_identifiers_only": self._weaker}
        return Attack(
            name="linkability",
            attack=links.first,
            control=mixed.first,
            **self._at_most(lambda scene: self._link(scene, self.known).first),
            shuffled=mixed.first,
            details={
                "top_10": links.first_ten.value,
                **{
                    key: (links if names == self.known else self._link(self._release, names)).first.value
                    for key, names in others.items()
                    if names
                },
            },
            note=_REDRAWN if self._randomized is not None else None if self._aligned else _ASSUMED,
        )

    def inference(self, names: Sequence[str], widths: Mapping[str, float]) -> Attack:
        """Guess each secret; figures of all are beside those of the one that is guessed best."""
        if not names:
            none = Rate(successes=0.0, attacks=0)
            note = "No column is declared sensitive or target: nothing to infer."
            return Attack(
                name="inference", attack=none, control=none, identity=None, renamed=None, shuffled=None, note=note
            )
        secrets = [Secret.of(name, self._values[name], widths.get(name)) for name in names]
        everybody = {
            "release": self._votes(self._release, secrets, self._people),
            "mixed": self._votes(self._mixed, secrets, self._people),
            **{name: self._votes(scene, secrets, self._people) for name, scene in self._ceilings.items()},
            "others": self._votes(self._release, secrets, self._others),
        }
        found = {secret.name: self._inference(secret, everybody) for secret in secrets}
        worst = max(found.values(), key=lambda attack: attack.risk)
        shown = {
            secret.name: {
                **found[secret.name].to_dict(),
                **({"by_value": self._by_value(secret, everybody)} if self._ceilings else {}),
            }
            for secret in secrets
        }
        return replace(worst, details={**worst.details, "secrets": shown})

    def _votes(
        self, scene: _AttackedRelease, secrets: Sequence[Secret], people: Sequence[Mapping[str, int]]
    ) -> dict[str, list[Votes]]:
        return votes_for(scene.columns, self.known, secrets, people)

    def _inference(self, secret: Secret, votes: Mapping[str, Mapping[str, list[Votes]]]) -> Attack:
        """Return the rate at which the secret of a person is guessed."""
        scenes = {**self._ceilings, "mixed": self._mixed}

        def rate(release: str, people: Sequence[Mapping[str, int]]) -> Rate:
            ballot = Ballot.of(scenes.get(release, self._release).columns.get(secret.name), secret)
            if ballot is None:
                return Rate(successes=0.0, attacks=0)
            overall = ballot.overall()
            right = sum(
                secret.is_right(secret.guess(own, overall), person[secret.name])
                for own, person in zip(votes[release][secret.name], people, strict=True)
            )
            return Rate(successes=float(right), attacks=len(people))

        shuffled = rate("mixed", self._people)
        return Attack(
            name="inference",
            attack=rate("release", self._people),
            control=rate("others", self._others) if self._others else shuffled,
            identity=rate("identity", self._people) if "identity" in scenes else None,
            renamed=rate("renamed", self._people) if "renamed" in scenes else None,
            shuffled=shuffled,
            details={"secret": secret.name, **({"width": secret.width} if secret.width else {})},
            note=_HIDDEN if shuffled.attacks == 0 else None if self._others else _NO_CONTROL,
        )

    def _by_value(self, secret: Secret, votes: Mapping[str, Mapping[str, list[Votes]]]) -> list[dict[str, Any]]:
        """Return the risk that holders of single values are distinguished from others, the largest risk first."""
        if secret.name not in votes["release"]:
            return []
        values = secret.attacked_values()
        holders = [self._holders(secret, value, -(-len(self._targets) // max(len(values), 1))) for value in values]
        people = [self._person(row) for rows in holders for row in rows]
        own = {name: self._votes(scene, [secret], people)[secret.name] for name, scene in self._known_releases.items()}
        found, first = [], 0
        for value, rows in zip(values, holders, strict=True):
            mine = {name: own[name][first : first + len(rows)] for name in own}
            first += len(rows)
            found.append(self._of_value(secret, value, mine, votes))
        return sorted(found, key=lambda entry: -float(entry["risk"]))

    @property
    def _known_releases(self) -> dict[str, _AttackedRelease]:
        return {"release": self._release, "mixed": self._mixed}

    def _of_value(
        self,
        secret: Secret,
        value: ObservedValue,
        holders: Mapping[str, list[Votes]],
        votes: Mapping[str, Mapping[str, list[Votes]]],
    ) -> dict[str, Any]:
        """Return the attack on holders of a value, beside as many people who do not hold it."""

        def rate(scene: _AttackedRelease, mine: list[Votes], release: str, people: Sequence[Mapping[str, int]]) -> Rate:
            ballot = Ballot.of(scene.columns[secret.name], secret)
            assert ballot is not None  # noqa: S101 - else nobody has voted
            truth = [person[secret.name] for person in people]
            theirs = [at for at, true in enumerate(truth) if not value.codes[true]][: len(mine)]
            sample = [*mine[: len(theirs)], *(votes[release][secret.name][at] for at in theirs)]
            is_holder = [True] * min(len(mine), len(theirs)) + [False] * len(theirs)
            return right_about(value, sample, ballot.overall(), is_holder)

        attack = rate(self._release, holders["release"], "release", self._people)
        shuffled = rate(self._mixed, holders["mixed"], "mixed", self._people)
        apart = [at for at, person in enumerate(self._others) if value.codes[person[secret.name]]]
        control = shuffled
        if apart:
            control = rate(self._release, [votes["others"][secret.name][at] for at in apart], "others", self._others)
        alone = Attack(
            name="inference", attack=attack, control=shuffled, identity=None, renamed=None, shuffled=shuffled
        )
        figures = replace(alone, control=control).to_dict()
        return {
            "value": value.value,
            "base_rate": float(value.codes[secret.values.codes].mean()),
            **{key: figures[key] for key in ("attack_rate", "control_rate", "risk", "ci", "n_attacks", "verdict")},
            "verdict_without_control": alone.verdict,
        }

    def _holders(self, secret: Secret, value: ObservedValue, most: int) -> list[int]:
        """Return rows of people who hold a value, drawn at random."""
        rows = self._shuffled_rows(self._source.num_rows)
        own: list[int] = rows[value.codes[secret.values.codes[rows]]][: max(most, _FEWEST)].tolist()
        return own

    def _person(self, row: int) -> dict[str, int]:
        return {name: int(self._values[name].codes[row]) for name in self.names}

    def membership(self) -> list[Attack]:
        """Attack membership: distinguish people of the table from others, when there are others."""
        if not self._others:
            return []

        def fit(scene: _AttackedRelease, people: Sequence[Mapping[str, int]]) -> np.ndarray[Any, Any]:
            return np.array([evidence_for(scene.columns, self.names, person).max(initial=0.0) for person in people])

        result = membership(fit(self._release, self._people), fit(self._release, self._others))
        if "identity" not in self._ceilings:
            return [result]
        identical = self._ceilings["identity"]
        clear = membership(fit(identical, self._people), fit(identical, self._others))
        return [replace(result, identity=clear.attack)]


def _in_common(source: pa.Table, control: pa.Table | None) -> tuple[dict[str, Values], list[dict[str, int]]]:
    """Return the source's columns and the control's rows in the same codes; values of the control alone come last."""
    names, n_rows = source.column_names, source.num_rows
    if control is None:
        return {name: Values.of(source.column(name)) for name in names}, []
    missing = [name for name in names if name not in control.column_names]
    if missing:
        raise ParameterError(f"column {missing[0]!r} is not in the control rows", "they need the source's columns")
    both = {
        name: Values.of(pa.chunked_array([*_plain(source, name).chunks, *_plain(control, name, source).chunks]))
        for name in names
    }
    values = {name: Values(values=value.values, codes=value.codes[:n_rows]) for name, value in both.items()}
    rows = zip(*(both[name].codes[n_rows:].tolist() for name in names), strict=True)
    return values, [dict(zip(names, row, strict=True)) for row in rows]


def _plain(table: pa.Table, name: str, like: pa.Table | None = None) -> pa.ChunkedArray:
    column, kind = table.column(name), (like or table).schema.field(name).type
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    return column.cast(plain)


def _renamed(table: pa.Table) -> pa.Table:
    """Return the table with every value replaced by a name of its own, missing ones too."""
    columns = []
    for name in table.column_names:
        column = Values.of(table.column(name))
        columns.append(pa.array([f"renamed-{code}" for code in column.codes.tolist()]))
    return pa.table(columns, names=table.column_names)
