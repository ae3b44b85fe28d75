"""Every change of one place of a release's documents: a key or a leaf deleted, of another type, or of another value.

A place is named by its document and its keys, list positions as `[]`: places of one name hold the same kind of thing,
so that a few of them represent all if there is no time to try each.
"""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from checks.forgeries import Files, Path_, forged, verdict

DOCUMENTS = ("params", "report", "descriptor", "manifest")
UNKNOWN = "certified"
"""A key that no document has, which a reader would believe."""
DELETED = object()
_DATED = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T")


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One change of one place."""

    document: str
    path: Path_
    change: str
    to: Any

    @property
    def place(self) -> str:
        """The document and its keys, positions in lists as `[]`."""
        steps = "".join("[]" if isinstance(step, int) else f".{step}" for step in self.path)
        return f"{self.document}: {steps.removeprefix('.')}"

    def edit(self, files: Files) -> None:
        """Change the place in a release in memory."""
        self.change_in(getattr(files, self.document))

    def change_in(self, document: Any) -> None:
        """Change the place in a document."""
        *above, last = self.path
        for step in above:
            document = document[step]
        if self.to is DELETED:
            del document[last]
        else:
            document[last] = self.to


def mutants(files: Files) -> Iterator[Mutant]:
    """Yield every mutant of a release."""
    for document in DOCUMENTS:
        for path, value in _places(getattr(files, document)):
            made = list(_changes(value)) if path else []
            is_hash = document == "manifest" and "sidecars" in path[:-1]  # it is made anew, unless it is not there
            for change, to in made[:1] if is_hash else made:
                yield Mutant(document=document, path=path, change=change, to=to)
            if isinstance(value, dict):
                yield Mutant(document=document, path=(*path, UNKNOWN), change="added", to=True)


def sampled(files: Files, each: int, seed: int) -> list[Mutant]:
    """Return up to a number of mutants for each change of each place, drawn by a seed."""
    groups: dict[tuple[str, str], list[Mutant]] = defaultdict(list)
    for mutant in mutants(files):
        groups[mutant.place, mutant.change].append(mutant)
    drawn = random.Random(seed)
    return [one for group in groups.values() for one in drawn.sample(group, min(each, len(group)))]


def is_accepted(original: Files, mutant: Mutant) -> bool:
    """Return whether `anonkit validate` ends with exit code 0 after one change, all hashes made anew."""
    return outcome(original, mutant)[0] == 0


def outcome(original: Files, mutant: Mutant) -> tuple[int, tuple[str, ...]]:
    """Return the exit code of `anonkit validate` after one change, and what was said."""
    with TemporaryDirectory() as folder:
        if mutant.document != "descriptor":
            return verdict(forged(original, mutant.edit, Path(folder)))
        data = original.copy().write(Path(folder))  # nothing has the hash of the descriptor: it is changed last
        place = data.with_name("out.datapackage.json")
        descriptor = json.loads(place.read_text())
        mutant.change_in(descriptor)
        place.write_text(json.dumps(descriptor))
        return verdict(data)


def _places(document: Any, path: Path_ = ()) -> Iterator[tuple[Path_, Any]]:
    yield path, document
    inner = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for key, value in inner:
        yield from _places(value, (*path, key))


def _changes(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the ways in which one value is changed, with the new value."""
    yield "deleted", DELETED
    if value is not None:
        yield "null", None
    match value:
        case None:
            yield "filled", "certified"
        case bool():
            yield "flipped", not value
            yield "type", int(value)
            yield "quoted", str(value).lower()
        case int():
            yield "number", value + 1
            yield "quoted", str(value)
        case float():
            yield "number", value * 1.01 + (value == 0)
            yield "quoted", str(value)
        case str():
            yield "text", f"1999{value[4:]}" if _DATED.match(value) else f"{value} "
            yield "type", 1
        case _:
            if value:
                yield "emptied", type(value)()
            yield "type", "certified"
            if isinstance(value, list) and value:
                yield "doubled", [*value, value[-1]]
