"""No place of a release's documents can be changed, of whatever family it is, but for those that are named here.

A forger deletes a key, adds one, or changes a leaf or its type, and makes the page and every hash again. What is
accepted all the same is nobody's promise, place by place, and the list has no place that is refused anyway.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest
from checks.forgeries import Files
from checks.leaf_mutants import Mutant, is_accepted, mutants, sampled
from checks.small_releases import FAMILIES

from anonkit.checks.file_integrity import key_checks, own_methods
from anonkit.methods import method_class, method_names

WORDS, NAME, NEXT, DRAWN, SEARCH, SCORE, ROUNDING, UNSAID = (
    "words for the reader, which promise nothing",
    "a name, or who vouches: no file can tell",
    "how the next batch is read by `anonkit apply`; what is released is checked by itself",
    "an outcome of noise: it could have been drawn so",
    "how the search went, which no promise rests on",
    "a measure of usefulness of a model that was drawn",
    "a figure rounded to the side of the promise: a larger loss than it has",
    "a no, which is left out as well",
)
EVERYWHERE = {
    "report: created": WORDS,
    "report: dataset": NAME,
    "report: domains_declared_by": NAME,
    "report: method.paper": WORDS,
    "report: method.summary": WORDS,
    "report: columns[].reason": WORDS,
    "descriptor: resources[].anonkit:bytes": "how large a file is: earlier versions did not say it",
}
"""Of every family: the place, and why nobody's promise is in it."""
_RECODED = {
    "params: missing_values": NEXT,
    "params: columns[].missing": NEXT,
    "params: columns[].type": NEXT,
    "params: columns[].domain": NEXT,
    "params: recoding.axes[].other": UNSAID,
    "report: columns[].importance": SEARCH,
    "report: search": SEARCH,
}
_QUESTIONS = {"report: columns[].may_be_person": WORDS}
_FOREST = {
    **_QUESTIONS,
    "params: histograms": DRAWN,
    "params: scores.leaves": DRAWN,
    "params: scores.attributes": DRAWN,
    "params: trees[][].counts": DRAWN,
    "params: weights": DRAWN,
    "params: accounting[].rate": ROUNDING,
}
ALLOWED: dict[str, dict[str, str]] = {
    "k-anonymous": _RECODED,
    "bounds": {**_RECODED, "report: notes": WORDS},
    "whose rows": _RECODED,
    "local": {**_QUESTIONS, "report: published_measures.breach.how": WORDS, "report: shuffle.epsilon": ROUNDING},
    "forest": _FOREST,
    "led forest": {**_FOREST, "params: rule.dependence.steps": DRAWN},
    "marginals": {**_QUESTIONS, "params: rows.count": DRAWN, "params: readings[].steps": DRAWN},
    "tables": {**_QUESTIONS, "params: measurements[].values": DRAWN},
    "safepub": {
        "params: missing_values": NEXT,
        "params: columns[].type": NEXT,
        "params: columns[].domain": "what the owner declared of a column that is not shown, or declared and no row has",
        "params: recoding.columns[].labels": "the owner's name of a group that no row is in",
        "params: recoding.columns[].other": UNSAID,
        "report: utility.prediction_of_target": SCORE,
    },
}
"""Of each family besides. The places below a place are allowed with it."""

QUICK = {
    "k-anonymous": 10,
    "bounds": 6,
    "whose rows": 10,
    "local": 30,
    "forest": 20,
    "led forest": 15,
    "marginals": 30,
    "tables": 30,
    "safepub": 6,
}
"""The number of mutants of a family that the quick test samples; the slow one tries each."""
QUICKEST = ("tables", "marginals", "forest", "led forest", "local", "k-anonymous", "bounds", "whose rows", "safepub")
_LIKELY = "text number filled deleted"
"""Changes that are accepted most often, the most frequent first."""


def _reasons(family: str) -> dict[str, str]:
    return {**EVERYWHERE, **ALLOWED[family]}


def _allowance(family: str, mutant: Mutant) -> str | None:
    """Return the listed place that a mutant is at or below; None where there is none."""
    name = mutant.place
    places = [one for one in _reasons(family) if name == one or name.startswith((f"{one}.", f"{one}[]"))]
    return max(places, key=len, default=None)


def _accepted(files: Files, family: str, drawn: Iterable[Mutant]) -> list[tuple[str, str]]:
    """Return the mutants that nobody listed and that are accepted all the same."""
    tried = [mutant for mutant in drawn if _allowance(family, mutant) is None]
    assert tried
    return [(mutant.place, mutant.change) for mutant in tried if is_accepted(files, mutant)]


@pytest.mark.slow_cases("safepub", "forest", "whose rows", "k-anonymous", "marginals", "local", "tables")
@pytest.mark.parametrize("family", FAMILIES)
def test_a_change_of_any_place_is_refused(small_releases: dict[str, Files], family: str) -> None:
    """Of some places and changes, drawn from all; those listed apart."""
    drawn = sampled(small_releases[family], each=1, seed=1)
    unlisted = [mutant for mutant in drawn if _allowance(family, mutant) is None]
    assert _accepted(small_releases[family], family, random.Random(family).sample(unlisted, QUICK[family])) == []


def test_a_width_of_texts_is_refused(small_releases: dict[str, Files]) -> None:
    """Only numbers may be one value that lie close to each other."""
    files = small_releases["k-anonymous"]
    (changed,) = (one for one in mutants(files) if (one.place, one.change) == ("params: columns[].width", "number"))
    assert not is_accepted(files, changed)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_every_change_of_every_place_is_refused(small_releases: dict[str, Files], family: str) -> None:
    """All keys and leaves of all documents, each deleted, of another type, and of another value."""
    assert sorted(set(_accepted(small_releases[family], family, mutants(small_releases[family])))) == []


def _needless(files: Files, family: str, listed: Iterable[str]) -> list[str]:
    """Return the listed places of which every change is refused; the likeliest to be accepted is tried first."""
    below: dict[str | None, list[Mutant]] = defaultdict(list)
    for mutant in mutants(files):
        below[_allowance(family, mutant)].append(mutant)
    for tried in below.values():
        tried.sort(key=lambda mutant: _LIKELY.find(mutant.change) % len(_LIKELY))
    return [place for place in listed if not any(is_accepted(files, one) for one in below[place])]


@pytest.mark.slow
def test_a_listed_place_is_accepted(small_releases: dict[str, Files]) -> None:
    """In one of its changes at least, of one family: a place that is refused anyway must not be on the list."""
    holders = {place: family for family in reversed(QUICKEST) for place in _reasons(family)}
    needless = [
        _needless(small_releases[family], family, [place for place, holder in holders.items() if holder == family])
        for family in FAMILIES
    ]
    assert [place for places in needless for place in places] == []


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_a_listed_place_is_accepted_in_every_family(small_releases: dict[str, Files], family: str) -> None:
    """For which it is listed."""
    assert _needless(small_releases[family], family, _reasons(family)) == []


def test_the_listed_places_are_documented(repository: Path) -> None:
    """The page says of each that only a signature protects it."""
    page = (repository / "docs/how-to/validate.md").read_text(encoding="utf-8")
    told = {f"{document}: {place}" for document, place in re.findall(r"^\| `(\w+)` \| `([^`]+)` \|", page, re.M)}
    listed = {place.removeprefix("descriptor: ") for family in FAMILIES for place in _reasons(family)}
    assert {place.removeprefix("descriptor: ") for place in told} == listed


def test_the_methods_of_anonkit_are_known() -> None:
    """Only what somebody else's method writes may have blocks of its own."""
    ours = {name for name in method_names() if method_class(name).__module__.startswith("anonkit.")}
    assert {*ours, "recoded"} == own_methods()


@pytest.mark.parametrize(
    ("name", "added", "wrong"),
    [("rr", {"found": 1}, 1), ("rr", True, 1), ("in-step", {"found": 1}, 0), ("in-step", True, 1), ("in-step", "x", 1)],
)
def test_a_method_of_somebody_else_may_add_a_block(
    small_releases: dict[str, Files], name: str, added: object, wrong: int
) -> None:
    """Of its own: an object or a list, no word or flag; one of ours may not."""
    files = small_releases["local"].copy()
    files.report["method"]["name"] = name
    files.report["certified"] = files.params["certified"] = added
    (found,) = key_checks(files.params, files.report)
    assert found.observed == 2 * wrong


def test_a_block_of_anonkit_is_closed_for_all(small_releases: dict[str, Files]) -> None:
    """Also in the report of a method that somebody else wrote."""
    for block in ("method", "budget", "verification", "rows", "utility"):
        files = small_releases["local"].copy()
        files.report["method"]["name"] = "in-step"
        files.report[block]["certified"] = True
        (found,) = key_checks(files.params, files.report)
        assert not found.passed, block
