"""A forger: changes what a release says, and rewrites all files and hashes: only a check of content can refuse it.

`Files.read` takes a release into memory, an edit changes any part of it, and `Files.write` puts it on disk again with
the manifest and the descriptor's hashes made anew. The page and the descriptor follow the report, as a careful forger
would have them do, unless the edit changed them itself (`follow = False` leaves them as they were).
"""

from __future__ import annotations

import copy
import hashlib
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anonkit.cli import anonkit
from anonkit.cli.boundary import run
from anonkit.errors import AnonkitError
from anonkit.k_anonymity.held_out_labels import label_entries
from anonkit.report.page import render_page

KEY = b"anonkit"
Tree = dict[str, Any]
Edit = Callable[["Files"], object]


@dataclass(kw_only=True, repr=False)
class Files:
    """A release in memory."""

    params: Tree
    report: Tree
    descriptor: Tree
    manifest: Tree
    page: str
    table: pa.Table
    """The rows, without metadata."""
    metadata: dict[bytes, bytes] = field(default_factory=dict)
    """Parquet metadata beside the manifest."""
    follow: bool = True
    """Let the page and the descriptor say what the report says."""
    raw: dict[str, str] = field(default_factory=dict)
    """Texts of sidecars that no document has, by suffix: `params.json`, `report.json`."""

    @classmethod
    def read(cls, data: Path) -> Files:
        """Take a release into memory."""
        table = pq.read_table(data, partitioning=None)
        metadata = dict(table.schema.metadata)
        return cls(
            params=json.loads(_beside(data, "params.json").read_text()),
            report=json.loads(_beside(data, "report.json").read_text()),
            descriptor=json.loads(_beside(data, "datapackage.json").read_text()),
            manifest=json.loads(metadata.pop(KEY)),
            page=_beside(data, "report.html").read_text(),
            table=table.replace_schema_metadata(None),
            metadata=metadata,
        )

    def copy(self) -> Files:
        """Return a copy whose documents can be changed."""
        return copy.deepcopy(self)

    def columns(self, name: str) -> Tree:
        """Return the report's entry of a column."""
        return next(entry for entry in self.report["columns"] if entry["name"] == name)

    def write(self, folder: Path) -> Path:
        """Put the release on disk with all hashes made anew, and return its data file."""
        data = folder / "out.parquet"
        texts = {
            "params.json": json.dumps(self.params),
            "report.json": json.dumps(self.report),
            "report.html": self.page,
            **self.raw,
        }
        for suffix, text in texts.items():
            _beside(data, suffix).write_text(text)
        if isinstance(self.manifest.get("sidecars"), dict):
            for name in self.manifest["sidecars"]:
                if _beside(data, name).exists():
                    self.manifest["sidecars"][name] = _hash(_beside(data, name))
        pq.write_table(
            self.table.replace_schema_metadata({**self.metadata, KEY: json.dumps(self.manifest).encode()}), data
        )
        for resource in self.descriptor["resources"]:
            path = data.with_name(Path(resource["path"]).name)
            if path.exists():
                resource["hash"] = f"sha256:{_hash(path)}"
                resource["anonkit:bytes"] = path.stat().st_size
        _beside(data, "datapackage.json").write_text(json.dumps(self.descriptor))
        return data

    def say_everywhere(self) -> None:
        """Let the page and the descriptor say what the report says."""
        try:
            self.page = render_page(self.report)
        except AnonkitError:
            return  # a report no page can be made of keeps its old page
        guarantee, roles = self.report["guarantee"], {entry["name"]: entry for entry in self.report["columns"]}
        dataset = self.report["dataset"]
        self.descriptor["description"] = guarantee["statement"]
        self.descriptor["created"] = self.report["created"]
        self.descriptor["title"] = f"Release of {dataset}" if dataset else "anonkit release"
        self.descriptor["anonkit"] = {
            "method": self.report["method"]["name"],
            "guarantee": {key: guarantee[key] for key in ("kind", "parameters", "basis")},
            "randomness": self.report["randomness"],
        }
        for one in self.descriptor["resources"][0]["schema"]["fields"]:
            if one["name"] in roles:
                one["anonkit:role"] = roles[one["name"]].get("role")
                one["anonkit:action"] = roles[one["name"]].get("action")
        self._explain_labels()

    def _explain_labels(self) -> None:
        """Let the descriptor explain the labels of the params, where these are a recoding."""
        try:
            explained = label_entries(self.params)
        except (AnonkitError, LookupError, TypeError, ValueError, AttributeError):
            return
        for one in self.descriptor["resources"][0]["schema"]["fields"]:
            one.pop("anonkit:labels", None)
            if one["name"] in explained:
                one["anonkit:labels"] = explained[one["name"]]


def forged(original: Files, edit: Edit, folder: Path) -> Path:
    """Return the data file of a release after an edit, all files and hashes rewritten."""
    files = original.copy()
    edit(files)
    if files.follow and (files.page, files.descriptor) == (original.page, original.descriptor):
        files.say_everywhere()
    return files.write(folder)


def verdict(data: Path) -> tuple[int, tuple[str, ...]]:
    """Return the exit code of `anonkit validate`, and the checks that failed, or what was said instead."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run(anonkit, ["validate", str(data), "--json"], "anonkit")
    told = json.loads(out.getvalue())
    failed = tuple(check["name"] for check in told.get("checks", ()) if not check["passed"])
    return code, failed or ((told["message"],) if code else ())


Path_ = tuple[str | int, ...]


def leaves(document: Any, path: Path_ = ()) -> Iterator[tuple[Path_, Any]]:
    """Yield the path and the value of every scalar of a document."""
    if isinstance(document, dict):
        for key, value in document.items():
            yield from leaves(value, (*path, key))
    elif isinstance(document, list):
        for at, value in enumerate(document):
            yield from leaves(value, (*path, at))
    else:
        yield path, document


def put(document: Any, path: Path_, value: Any) -> None:
    """Change one scalar of a document."""
    *above, last = path
    for step in above:
        document = document[step]
    document[last] = value


def _beside(data: Path, suffix: str) -> Path:
    return data.with_name(f"{data.name.removesuffix('.parquet')}.{suffix}")


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


SMALL: dict[str, dict[str, Any]] = {
    "rfka": {"k": 5, "l": 2, "trees": 5, "sensitive": ["customer_value"], "max_suppression": 0.1},
    "mondrian": {"k": 5},
    "greedy-hamdist": {"k": 5, "max_suppression": 0.3},
    "rr": {"epsilon": 1.0, "domains_from_data": True},
    "dp-forest": {"epsilon": 1.0, "domains_from_data": True},
}
"""The releases that are forged, and how they were made."""
ANONYMOUS = ("rfka", "mondrian", "greedy-hamdist")
NOISY = ("rr", "dp-forest")


def over(table: Mapping[str, Any], methods: Sequence[str]) -> list[Any]:
    """Return the pairs of a test: every forgery on one method in turn, on the others in the slow suite."""
    return [
        pytest.param(name, method, marks=() if at % len(methods) == turn else pytest.mark.slow, id=f"{name}-{method}")
        for at, name in enumerate(table)
        for turn, method in enumerate(methods)
    ]


def refused(original: Files, forgery: tuple[Edit, str], folder: Path) -> None:
    """Assert that a named check refuses a forgery; `a|b` names two, `a:` one of a column."""
    edit, check = forgery
    code, failed = verdict(forged(original, edit, folder))

    assert code == 1, failed
    assert any(name == one or (one[-1] == ":" and name.startswith(one)) for one in check.split("|") for name in failed)
