"""The compared parts of a golden release: data, params.json, and report.json without its sentences.

* **Data**: the released rows as JSON lines, which no version of a Parquet writer changes, by their SHA-256; with the
  columns, their Arrow types, the order of categories, the number of rows and the first two rows, to read a difference.
  A folder of data: the rows of each file.
* **params.json**: byte by byte, but for the version of anonkit.
* **report.json**: all keys, numbers, names and short words. Times, hashes and `anonkit_version` are left out, and the
  strings at `SENTENCES` are prose, of which only the number of sentences counts. The owner's report, where one is
  written, likewise.
* **datapackage.json**: the fields of the data, and which files it lists.
* What consumers learn: scores and the model.

Integers, words, keys and their order are compared exactly, everywhere. So is every float of the data and of
params.json. A float elsewhere (p-values, the bound of a shuffled file, means of a model) is compared to eight digits:
numpy's exp and log differ in the last bit from one processor to another.

A mixture (`dp-marginals`) is fitted in floats of 32 bits, by hundreds of products of matrices that each processor adds
up in an order of its own, and then rounded to integers: these are others elsewhere (up to .4 % between processors
with and without instructions for 512 bits, 2 % of the smallest). Its weights, and the shares of each component, may
move by .002 of their sum in all (.0007 was seen). What follows from them (the rows, figures that compare them with
tables) is compared to the letter only where they are the very same; else by the number of rows, and to a thousandth of
themselves or a ten-thousandth of the rows.

The page (HTML) is exempt.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import warnings
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from golden.cases import Case

import anonkit

EXPECTED = Path(__file__).parent / "expected"
PINNED = ("numpy", "scikit-learn", "pyarrow", "pandas", "scipy", "duckdb")
"""The packages that sample, learn, count and read: other versions of these may give other releases."""

SENTENCES = frozenset(
    {
        "method.summary",
        "method.paper",
        "guarantee.statement",
        "guarantee.formal",
        "guarantee.assumptions[]",
        "guarantee.not_protected[]",
        "columns[].reason",
        "columns[].detail",
        "guarantee.parameters.reason",
        "guarantee.parameters.published_claim",
        "published_measures.breach.how",
        "published_measures.breach_width.how",
        "search.sample.effect",
        "search.sample.how",
        "shuffle.assumption",
        "shuffle.bound",
        "shuffle.reason",
        "utility.prediction_of_target.protocol",
        "utility_of_source.prediction_of_target.protocol",
        "prediction_for_all_rows.protocol",
        "rows_left_out.rule",
        "rows_left_out.note",
        "banner",
        "notes[]",
    }
)
"""Keys of report.json that hold prose; `[]` is any entry of a list."""

_FITTED = "mixtures"
"""Key of params.json that holds what was fitted in floats and rounded."""

_FITTED_LIST = re.compile(rf"\.{_FITTED}\[\d+\]\.(weights|shares\[\d+\])")
_MOST_MOVED = 0.002
"""Part of the sum of a list of fitted numbers."""

_LEFT_OUT = frozenset({"created", "anonkit_version", "ledger.previous_release.created", "data_sha256"})
_VERSION = re.compile(rb'"anonkit_version": "[^"]*"')


def other_versions() -> list[str]:
    """Name the libraries that are not here as `constraints.txt` pins them, for which the expected files hold."""
    pins = dict(re.findall(r"^([\w-]+)==(\S+)$", (Path(__file__).parents[2] / "constraints.txt").read_text(), re.M))
    return [f"{name} {version(name)}, not {pins[name]}" for name in PINNED if version(name) != pins[name]]


def files_of(case: Case) -> dict[str, bytes]:
    """Make a golden release and return what is stored of it, by file name."""
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = case.make(Path(folder))
        if isinstance(made, Mapping):
            return {f"{case.name}.json": _shown(made)}
        held = _files(made) if isinstance(made, Path) else made.contents
        outcome = {"data": _data(held[".parquet"]), "report": without_sentences(json.loads(held[".report.json"]))}
        if fitted := json.loads(held[".params.json"]).get(_FITTED):
            outcome["fitted"] = hashlib.sha256(json.dumps(fitted).encode()).hexdigest()
        outcome["descriptor"] = _descriptor(json.loads(held[".datapackage.json"]))
        owned = sorted(Path(folder).rglob("*owner.report.json"))
        if owned:
            outcome["owner"] = [without_sentences(json.loads(path.read_bytes())) for path in owned]
    return {
        f"{case.name}.json": _shown(outcome),
        f"{case.name}.params.json": _VERSION.sub(b'"anonkit_version": "any"', held[".params.json"], count=1),
    }


def without_sentences(report: Any, at: str = "") -> Any:
    """Return a report with "…" for each of its sentences, and without what differs from run to run."""
    if isinstance(report, dict):
        inner = f"{at}." if at else ""
        return {
            key: without_sentences(value, inner + key) for key, value in report.items() if inner + key not in _LEFT_OUT
        }
    if isinstance(report, list):
        return [without_sentences(value, f"{at}[]") for value in report]
    return "…" if at in SENTENCES and isinstance(report, str) else report


def differences(file: str, content: bytes, stored: bytes) -> list[str]:
    """Return where the release differs from the stored one: a line each, at most twenty; empty if it does not."""
    if content == stored:
        return []
    new, old = json.loads(content), json.loads(stored)
    exact = file.endswith(".params.json")
    refitted = not exact and new.get("fitted", 0) != old.get("fitted", 0) and {"fitted"} <= set(new) & set(old)
    if refitted:
        for outcome in (new, old):
            outcome["fitted"] = None
            for table in outcome["data"]:
                table["first"] = table["sha256"] = None
    floats = (0.0, 0.0) if exact else (1e-3, 1e-4) if refitted else (1e-8, 0.0)
    found = list(islice(_differ(new, old, "", floats), 20))
    return found or (["in its bytes alone"] if exact and _FITTED not in new else [])


def _differ(made: Any, stored: Any, at: str, floats: tuple[float, float]) -> Iterator[str]:
    """Return where two values differ, floats by more than so much of themselves and more than so much."""
    if isinstance(made, dict) and isinstance(stored, dict) and list(made) == list(stored):
        for key, value in made.items():
            yield from _differ(value, stored[key], f"{at}.{key}", floats)
    elif _FITTED_LIST.fullmatch(at) and isinstance(made, list) and isinstance(stored, list):
        yield from _moved(made, stored, at)
    elif isinstance(made, list) and isinstance(stored, list) and len(made) == len(stored):
        for number, (left, right) in enumerate(zip(made, stored, strict=True)):
            yield from _differ(left, right, f"{at}[{number}]", floats)
    elif isinstance(made, float) and isinstance(stored, float) and any(floats):
        if not math.isclose(made, stored, rel_tol=floats[0], abs_tol=floats[1]):
            yield f"{at}: {made!r}, was {stored!r}"
    elif isinstance(made, dict | list) or type(made) is not type(stored) or made != stored:
        yield f"{at}: {_short(made)}, was {_short(stored)}"


def _moved(made: list[Any], stored: list[Any], at: str) -> Iterator[str]:
    """Return whether a list of integers is another one, or more than so much of its sum has moved."""
    whole = [*made, *stored]
    if len(made) != len(stored) or any(type(number) is not int or number < 0 for number in whole):
        yield f"{at}: no such list of whole numbers"
    elif (moved := sum(abs(new - old) for new, old in zip(made, stored, strict=True)) / 2) > _MOST_MOVED * sum(stored):
        yield f"{at}: {moved:.0f} of {sum(stored)} have moved"


def _short(value: Any) -> str:
    text = f"keys {list(value)}" if isinstance(value, dict) else repr(value)
    return text if len(text) < 300 else f"{text[:300]}…"


def _files(place: Path) -> dict[str, Any]:
    """Return the files of a release on disk by suffix: contents, for the data the paths."""
    folder, stem = (place, place.name) if place.suffix != ".parquet" else (place.parent, place.stem)
    found: dict[str, Any] = {kind: (folder / f"{stem}{kind}").read_bytes() for kind in (".params.json", ".report.json")}
    found[".datapackage.json"] = (folder / f"{stem}.datapackage.json").read_bytes()
    data = folder / f"{stem}.parquet"
    found[".parquet"] = sorted(data.rglob("*.parquet")) if data.is_dir() else [data]
    # the same through the reader that consumers use
    whole = anonkit.load(data).to_arrow()
    assert whole.num_rows == sum(pq.read_metadata(part).num_rows for part in found[".parquet"])
    return found


def _data(source: bytes | list[Path]) -> list[dict[str, Any]]:
    tables = [pq.read_table(pa.BufferReader(source))] if isinstance(source, bytes) else map(_one_file, source)
    return [_rows(table) for table in tables]


def _one_file(path: Path) -> pa.Table:
    return pq.ParquetFile(path).read()


def _rows(table: pa.Table) -> dict[str, Any]:
    rows = table.to_pylist()
    lines = [json.dumps(list(row.values()), ensure_ascii=False, default=_text) for row in rows]
    return {
        "columns": {field.name: _type(field, table) for field in table.schema},
        "rows": len(rows),
        "first": [json.loads(line) for line in lines[:2]],
        "sha256": hashlib.sha256("\n".join(lines).encode()).hexdigest(),
    }


def _type(field: pa.Field, table: pa.Table) -> Any:
    if not pa.types.is_dictionary(field.type):
        return str(field.type)
    values = table.column(field.name).combine_chunks().dictionary.to_pylist()
    return {str(field.type): values}


def _text(cell: object) -> str:
    return f"{type(cell).__name__} {cell}"


def _descriptor(descriptor: Mapping[str, Any]) -> dict[str, Any]:
    resources = descriptor["resources"]
    fields = [resource["schema"]["fields"] for resource in resources if "fields" in resource.get("schema", {})]
    return {
        "keys": sorted(descriptor),
        "resources": [resource["path"] for resource in resources],
        "fields": [[{key: one.get(key) for key in ("name", "type")} for one in each] for each in fields],
    }


def _shown(value: Any) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode()
