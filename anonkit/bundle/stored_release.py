# SPDX-License-Identifier: Apache-2.0
"""The release as a value: `out.parquet` and its sidecars, loaded and saved together.

Files of a release compared with the SHA-256 that its descriptor states of each, before they are used.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet

from anonkit.bundle.atomic import Staging, finish
from anonkit.bundle.data_files import data_paths, first_rows, read_rows, sha256
from anonkit.bundle.exports.opened_targets import write_copy
from anonkit.bundle.json_documents import parse_json, read_capped, read_json, to_json
from anonkit.bundle.object_store import put_release
from anonkit.bundle.release_place import (
    COPIES,
    DATA,
    DESCRIPTOR,
    EMITTED,
    PAGE,
    PARAMS,
    REPORT,
    ROLES,
    SIDECARS,
    SIGNATURE,
    Place,
    package_name,
    refuse_existing,
    refuse_taken_by_others,
    refuse_unfit_files,
)
from anonkit.errors import GuaranteeError, ParameterError, ReleaseFormatError
from anonkit.report.descriptors import FILES, with_resources

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


def refuse_changed(place: Place, *suffixes: str) -> None:
    """Compare files with the hashes in the descriptor of their release, before they are used.

    A descriptor that is absent states no hash: there is nothing to compare with then.

    Parameters
    ----------
    place : Place
    *suffixes : str
        Of the files that will be used; those that are absent are passed over.

    Raises
    ------
    GuaranteeError
        A file is not the one that was released.
    ReleaseFormatError
        The descriptor cannot be read.
    """
    descriptor = place.file(DESCRIPTOR)
    if not descriptor.exists():
        return
    stated = stated_hashes(descriptor)
    for suffix in suffixes:
        path, name = place.file(suffix), "data" if suffix == DATA else suffix.split(".")[1]
        if path.exists() and sha256(path) != stated.get(name):
            raise GuaranteeError(
                f"{place.shown(suffix)!r} was changed after the release: its SHA-256 is not that of the descriptor",
                "take the files from their owner again; `anonkit validate` looks at all of them",
            )


def stated_hashes(descriptor: Path) -> dict[str, str]:
    """Return the SHA-256 of every file by its role, as a descriptor states them.

    Raises
    ------
    ReleaseFormatError
        It is no descriptor.
    """
    try:
        resources = parse_json(read_capped(descriptor), repr(str(descriptor)))["resources"]
        return {str(resource["name"]): str(resource["hash"]).removeprefix("sha256:") for resource in resources}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise ReleaseFormatError(f"{str(descriptor)!r} is not the descriptor of a release") from None


_FIGURES = ("dataset", "created", "budget", "rows", "columns", "utility", "disclosure_risk", "notes")
"""Blocks of the report in the result for a release that was published."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Release:
    """A release: the perturbed data, what a consumer needs to use them, and the privacy report.

    Privacy
    -------
    Right after `anonkit.release`, `owner` has the measures of the source. They are no part of the value: a copy of it,
    by `pickle`, `copy` or `dataclasses`, has none, so that nothing that stores results writes them down.
    """

    params: Mapping[str, Any]
    """Content of `out.params.json`."""
    report: Mapping[str, Any]
    """Content of `out.report.json`."""
    place: Place | None = None
    """Place of the files, unless the release is in memory only."""
    contents: Mapping[str, bytes] | None = None
    """The files by suffix, when the release is in memory; empty for a dry run."""

    @property
    def owner(self) -> Mapping[str, Any]:
        """Measures computed from the source, for the owner's eyes; none for a release that was loaded or copied."""
        return _OWNER_MEASURES.get(self, {})

    @property
    def reused(self) -> bool:
        """True when the release existed already and was not made anew; False for one that was loaded or copied.

        It discloses that the table has not changed, so it is for the owner, as `owner` is, and travels as little.
        """
        return self in _REUSED

    def as_reused(self, measures: Mapping[str, Any]) -> Release:
        """Return the same release as one that was not made anew, with measures for its owner."""
        reused = self.with_owner(measures)
        _REUSED.add(reused)
        return reused

    def with_owner(self, measures: Mapping[str, Any]) -> Release:
        """Return the same release with the measures of its owner, for as long as that object lives."""
        measured = replace(self)
        _OWNER_MEASURES[measured] = measures
        return measured

    @property
    def is_dry_run(self) -> bool:
        """True when nothing was written, and nothing kept that could be."""
        return self.contents is not None and not self.contents

    @property
    def is_plan(self) -> bool:
        """True of a dry run that drew nothing: it has the claim and its cost, and no parameters."""
        return self.is_dry_run and not self.params

    def to_dict(self) -> dict[str, Any]:
        """Return the public part of the release, as plain JSON types.

        Returns
        -------
        dict
            `dry_run`, `files` and `sha256` by role ("data", "params", "report", "page", "descriptor", "signature"; null
            where there are none), `k_anonymity` where a k is promised, and `method`, `guarantee`, `checks` and further
            blocks as in the report. A dry run has the claim, its cost, the ledger's answer to it
            (`ledger`), and under noise what can be foreseen of simulated rows (`foreseen`, on the command line).

        Privacy
        -------
        It follows from the files of the release, and so does what a platform makes of it.
        """
        report = json.loads(to_json(self.report))
        claim = {
            "anonkit_version": report["anonkit_version"],
            "method": report["method"],
            "guarantee": report["guarantee"],
            "randomness": report["randomness"],
        }
        if self.is_dry_run:
            budget = {key: report["budget"].get(key) for key in ("epsilon", "delta")}
            planned = {key: report[key] for key in ("ledger", "foreseen") if key in report}
            return {"dry_run": True, "files": None, "sha256": None, **claim, "budget": budget, **planned}
        return {
            "dry_run": False,
            "files": None if self.place is None else self.place.shown_files(),
            "sha256": self._hashes(),
            **class_figures(report),
            **claim,
            **{name: report[name] for name in _FIGURES},
            "checks": report["verification"]["checks"],
        }

    def _hashes(self) -> dict[str, str]:
        """Return the SHA-256 of every file by its role; that of the data as the descriptor states it."""
        if self.place is None:
            contents = self.contents or {}
            return {role: sha256(contents[suffix]) for role, suffix in ROLES.items() if suffix in contents}
        if self.place.store is not None:
            stated = stated_hashes(self.place.file(DESCRIPTOR))
            return {**stated, "descriptor": self.place.store.descriptor_sha256 or ""}
        stated = stated_hashes(self.place.file(DESCRIPTOR)) if self.place.file(DESCRIPTOR).exists() else {}
        files = self.place.by_role()
        return {role: (stated.get(role) if role == "data" else None) or sha256(path) for role, path in files.items()}

    def __repr__(self) -> str:
        method = self.report.get("method", {}).get("name")
        rows = self.report.get("rows", {}).get("out")
        return f"<Release {method}, {rows} rows, {self.report.get('guarantee', {}).get('kind')}>"

    def _repr_html_(self) -> str:
        """Return the HTML of a notebook: promise, checks, columns and the first rows; of a dry run the claim alone."""
        from anonkit.report.document import dry_run_fragment, release_fragment

        if self.is_dry_run:
            return dry_run_fragment(self.report)
        return release_fragment(self.report, first_rows(self._data))

    @property
    def _data(self) -> Path | bytes:
        """Path of the data, or the data file itself when the release is in memory."""
        if self.contents is not None:
            return self.contents[DATA]
        assert self.place is not None  # noqa: S101 - a release is in memory or on disk
        return self.place.file(DATA)

    def to_arrow(self) -> pa.Table:
        """Return the data as an Arrow table, categories as the owner ordered them."""
        return read_rows(self._data).replace_schema_metadata(None)

    def to_pandas(self) -> pd.DataFrame:
        """Return the data as a pandas data frame."""
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        return frame

    def save(self, output: str | Path, *, force: bool = False) -> Release:
        """Write the files, together or not at all, and return the release on disk.

        A signature is copied when the files keep their names. Under other names the descriptor changes, and what was
        signed would not be the one there: the copy is unsigned. Entries for catalogues name the files, and are
        copied with their names too, and so are the data in other forms.

        Parameters
        ----------
        output : path
            `NAME.parquet`, or a folder when it ends in a slash. With `NAME.csv`, or another form of `COPIES`, the data
            are there in this form too, and the descriptor, which lists it, changes.
        force : bool
            Replace a release that is there.

        Raises
        ------
        ParameterError
            There is a release already and `force` is not set; or the form cannot hold the data, or a file that is of no
            release is in its place.
        """
        if self.is_dry_run:
            raise ParameterError("a dry run has no files to save", "release without dry_run")
        place, copy = Place.of_output(output)
        refuse_existing(place, force)
        if copy is not None:
            refuse_taken_by_others(place, copy)
        staging = Staging(place.folder, place.stem, private=place.store is not None)
        renamed = self.place is None or self.place.stem != place.stem
        renamed = renamed or (place.store is not None and bool(self.place and self.place.copies()))
        same_place = None if renamed else self.place
        more, copies = ((), ()) if same_place is None else (same_place.of_choice(), same_place.of_copies())
        made = None if copy is None or COPIES[copy] in copies else COPIES[copy]
        # copies last, as when a release is made
        suffixes = (*SIDECARS, *(suffix for suffix in more if made is None or suffix != SIGNATURE), DATA, *copies)
        try:
            for suffix in suffixes:
                self._copy(suffix, staging.folder / place.name(suffix))
            if renamed:
                _rename_in_descriptor(staging.folder / place.name(DESCRIPTOR), place)
            if made is not None:
                _make_copy(staging.folder, place, made)
                suffixes = (*suffixes, made)
            if place.store is None:
                names, absent = [place.name(suffix) for suffix in suffixes], place.absent(suffixes)
                staging.commit(names, absent=absent, guarded=place.guarded())
            else:
                put_release(place.store, staging.folder)
        finally:
            staging.discard()
        return load_place(place)

    def _copy(self, suffix: str, to: Path) -> None:
        if self.contents is not None:
            to.write_bytes(self.contents[suffix])
            return
        assert self.place is not None  # noqa: S101
        file = self.place.file(suffix)
        if file.is_dir():
            shutil.copytree(file, to)
        else:
            shutil.copyfile(file, to)


_REUSED: WeakSet[Release] = WeakSet()
_OWNER_MEASURES: WeakKeyDictionary[Release, Mapping[str, Any]] = WeakKeyDictionary()
"""The owner's measures of a release, beside it and not in it: whatever writes an object down, writes what is in it."""


def class_figures(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return the k that was required and reached, in people where people are counted; nothing for other promises."""
    checks = {check["name"]: check for check in report["verification"]["checks"]}
    check = checks.get("k_anonymity_people") or checks.get("k_anonymity")
    if check is None:
        return {}
    return {"k_anonymity": {"requested": check["required"], "achieved": check["observed"], "meets": check["passed"]}}


def load(path: str | Path) -> Release:
    """Open a release by its data file, one of its sidecars, or its folder.

    Parameters
    ----------
    path : path
        Any of its files, or the folder that it was written into, or its address in an object store
        (`s3://BUCKET/out.parquet`). Data are read, and fetched, at their first use.

    Raises
    ------
    ReleaseFormatError
        A file is missing or is not of this format.
    """
    return load_place(Place.of(path))


def load_place(place: Place, *, untouched: bool = False) -> Release:
    """Open the release in a place; see `load`.

    Parameters
    ----------
    place : Place
    untouched : bool
        True: not even what an interrupted run of this user has prepared is put in place.
    """
    if place.store is not None:
        place.store.require()
    elif not untouched:
        finish(place.folder, place.stem)
    refuse_unfit_files(place)
    refuse_incomplete(place)
    return Release(params=read_json(place.file(PARAMS)), report=read_json(place.file(REPORT)), place=place)


def refuse_incomplete(place: Place) -> None:
    """Refuse a release that lacks one of the files that every statement about it needs.

    Raises
    ------
    ReleaseFormatError
    """
    for suffix in (DATA, PARAMS, REPORT):
        if not place.has(suffix):
            raise ReleaseFormatError(
                f"{place.shown(suffix)!r} does not exist", "a release is a Parquet file with its sidecars"
            )


def _rename_in_descriptor(path: Path, place: Place) -> None:
    """Point the descriptor's resources to the files' new names; their hashes stay the same."""
    document = parse_json(read_capped(path), repr(str(path)))
    document["name"] = package_name(place.stem)
    named = (*EMITTED, *COPIES)
    document["resources"] = [resource for resource in document["resources"] if resource["name"] not in named]
    for resource in document["resources"]:
        if resource["name"] == "data":
            resource["path"] = data_paths(path.parent / place.name(DATA))
            for entry, named in zip(resource.get(FILES, ()), resource["path"], strict=False):
                entry["path"] = named
        else:
            resource["path"] = place.name(next(s for s in (PARAMS, REPORT, PAGE) if resource["path"].endswith(s)))
    path.write_bytes(to_json(document))


def _make_copy(folder: Path, place: Place, suffix: str) -> None:
    """Write the data in another form among the files of a release that are prepared, and name it in the descriptor."""
    path, described = folder / place.name(suffix), folder / place.name(DESCRIPTOR)
    write_copy(folder / place.name(DATA), path)
    form = next(form for form, known in COPIES.items() if known == suffix)
    document = parse_json(read_capped(described), repr(str(described)))
    described.write_bytes(to_json(with_resources(document, {form: (path.name, sha256(path), path.stat().st_size)})))
