# SPDX-License-Identifier: Apache-2.0
"""The release on disk: `out.parquet` and its sidecars, loaded and saved together."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet

from anonkit.bundle.atomic import Staging, finish, refuse_without_renames
from anonkit.bundle.data_files import SUFFIX, digest, first_rows, is_data_folder, parts_of, read_rows
from anonkit.bundle.json_documents import read_json, to_json
from anonkit.bundle.s3_store import SCHEME
from anonkit.bundle.store_manifest import StorePlace, place_in_store
from anonkit.errors import EngineError, GuaranteeError, ParameterError, ReleaseFormatError, option
from anonkit.redaction import is_address
from anonkit.report.listed_files import FILES

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

FORMAT = "anonkit-release/2"
DATA, PARAMS, REPORT, PAGE, DESCRIPTOR = SUFFIX, ".params.json", ".report.json", ".report.html", ".datapackage.json"
SIDECARS = (PARAMS, REPORT, PAGE, DESCRIPTOR)
SIGNATURE = ".signature.json"
"""Suffix of the signature over all other files, for releases that are signed."""
EMITTED = {"croissant": ".croissant.json", "registry": ".registry.yaml"}
"""Suffixes of the entries for catalogues and registries, by the word that asks for them; a release may have none."""
_NAMED = (DATA, *SIDECARS, *EMITTED.values(), SIGNATURE)
"""Suffixes of all files that a release may have."""
METADATA_KEY = "anonkit"
ROLES = {
    "data": DATA,
    "params": PARAMS,
    "report": REPORT,
    "page": PAGE,
    "descriptor": DESCRIPTOR,
    **EMITTED,
    "signature": SIGNATURE,
}
"""What each file of a release is for, in the order they are told."""
_FIGURES = ("dataset", "created", "budget", "rows", "columns", "utility", "disclosure_risk", "notes")
"""Blocks of the report that are told of a release that was published."""
_LARGEST_KEY = 1 << 16
"""Bytes of a key file that are read."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where the files of one release stand."""

    folder: Path
    stem: str
    store: StorePlace | None = None
    """Where the files stand in an object store; the folder is private then, and holds what was fetched of them."""

    @classmethod
    def of(cls, output: str | Path) -> Place:
        """Read an output argument: a name that ends in .parquet, or a folder that ends in a slash.

        A folder of data is known by its first part, with and without a slash. `s3://BUCKET/NAME.parquet` is a place in
        an object store, which is not asked yet.

        Raises
        ------
        ParameterError
            The name is neither, or an address of another kind, or has credentials in it.
        """
        text = str(output)
        if text.partition("://")[0] == SCHEME and is_address(text):
            return cls._in_store(text)
        if is_address(text):
            raise ParameterError(
                f"{text} is an address", "the files of a release stand on this machine, or under s3://: name a path"
            )
        path = Path(text)
        if (text.endswith("/") or path.is_dir()) and not is_data_folder(path):
            return cls(folder=path, stem=path.name or "release")
        for suffix in _NAMED:
            if path.name.endswith(suffix) and path.name != suffix:
                return cls(folder=path.parent, stem=path.name.removesuffix(suffix))
        raise ParameterError(f"output ({text}) must end in .parquet, or in / for a folder")

    @classmethod
    def _in_store(cls, address: str) -> Place:
        bucket, folder, name = place_in_store(address)
        stem = next((name.removesuffix(suffix) for suffix in _NAMED if name.endswith(suffix) and name != suffix), None)
        if not name:
            stem = folder.rstrip("/").rpartition("/")[2] or "release"
        if stem is None:
            raise ParameterError(f"output ({address}) must end in .parquet, or in / for a folder")
        store = StorePlace(
            bucket=bucket,
            prefix=folder,
            stem=stem,
            descriptor=f"{stem}{DESCRIPTOR}",
            signature=f"{stem}{SIGNATURE}",
        )
        return cls(folder=store.mirror, stem=stem, store=store)

    def file(self, suffix: str) -> Path:
        """Return the path of one of the files; from a store it is fetched, and compared with its descriptor.

        Raises
        ------
        GuaranteeError
            The store holds another file than was released.
        EngineError
            The store cannot be read.
        """
        if self.store is not None:
            self.store.fetch(self.name(suffix))
        return self.folder / self.name(suffix)

    def __reduce__(self) -> tuple[Callable[..., Place], tuple[str, ...]]:
        """Return how another process finds the place: what was fetched from a store stays with this one."""
        if self.store is not None:
            return Place.of, (self.store.address(self.store.descriptor),)
        return partial(Place, folder=self.folder, stem=self.stem), ()

    def has(self, suffix: str) -> bool:
        """Tell whether one of the files is there, without fetching it; of a store whether the release lists it."""
        if self.store is not None:
            return bool(self.store.listed(self.name(suffix)))
        return self.file(suffix).exists()

    @property
    def stray_objects(self) -> int:
        """Number of objects beside a release in a store that no descriptor lists: an interrupted run left them."""
        return 0 if self.store is None else sum(map(len, self.store.strays().values()))

    def shown(self, suffix: str) -> str:
        """Return how one of the files is told to people, and by which name it is found again."""
        return str(self.folder / self.name(suffix)) if self.store is None else self.store.address(self.name(suffix))

    def shown_files(self) -> dict[str, str]:
        """Return where the files are, by their role."""
        if self.store is None:
            return {role: str(path) for role, path in self.by_role().items()}
        files = {role: self.store.shown(self.name(suffix)) for role, suffix in ROLES.items() if self.has(suffix)}
        return {**files, "descriptor": self.store.address(self.store.descriptor)}

    def data_digest(self) -> str | None:
        """Return the SHA-256 of the data, or what the descriptor in a store states; None where there are none."""
        if self.store is not None:
            return self.store.data_sha256
        return sha256(self.file(DATA)) if self.file(DATA).exists() else None

    def name(self, suffix: str) -> str:
        """Return the name of one of the files."""
        return f"{self.stem}{suffix}"

    def existing(self) -> list[Path]:
        """Return the files of a release that are there; a store is looked at anew."""
        if self.store is not None:
            self.store.look()
            listed = [suffix for suffix in _NAMED if self.has(suffix)]
            return [] if self.store.is_empty else [self.folder / self.name(suffix) for suffix in (*listed, DESCRIPTOR)]
        return [path for suffix in _NAMED if (path := self.file(suffix)).exists()]

    def of_choice(self) -> tuple[str, ...]:
        """Return the suffixes of the files that are there and that not every release has."""
        return tuple(suffix for suffix in (*EMITTED.values(), SIGNATURE) if self.file(suffix).exists())

    def absent(self, suffixes: Collection[str]) -> list[str]:
        """Return the names that must not stand beside a release of some files: those of another one would lie."""
        return [self.name(suffix) for suffix in _NAMED if suffix not in suffixes]

    def by_role(self) -> dict[str, Path]:
        """Return the files that are there by their role."""
        return {role: path for role, suffix in ROLES.items() if (path := self.file(suffix)).exists()}

    def files(self) -> dict[str, Path]:
        """Return every file of the release by its name seen from the folder, the files of a folder of data one by one.

        The signature is not among them. A file that is absent is not, either.
        """
        digests: dict[str, Path] = {}
        for suffix in (DATA, *SIDECARS, *EMITTED.values()):
            path = self.file(suffix)
            inner = (
                sorted(inner_path for inner_path in path.rglob("*") if inner_path.is_file())
                if path.is_dir()
                else [path]
            )
            digests |= {
                inner_path.relative_to(self.folder).as_posix(): inner_path
                for inner_path in inner
                if inner_path.is_file()
            }
        return digests


@dataclass(frozen=True, kw_only=True, eq=False)
class Release:
    """A release: the perturbed data, what a consumer needs to use them, and the privacy report.

    Privacy
    -------
    Right after `anonkit.release`, `owner` has the measures of the source. They are no part of the value: a copy of it,
    by `pickle`, `copy` or `dataclasses`, has none, so that nothing that stores results writes them down.
    """

    params: Mapping[str, Any]
    """What `out.params.json` holds."""
    report: Mapping[str, Any]
    """What `out.report.json` holds."""
    place: Place | None = None
    """Where the files stand, unless the release is in memory only."""
    contents: Mapping[str, bytes] | None = None
    """The files by suffix, when the release is in memory; empty for a dry run."""

    @property
    def owner(self) -> Mapping[str, Any]:
        """Measures computed from the source, for the owner's eyes; none for a release that was loaded or copied."""
        return _OWNER_MEASURES.get(self, {})

    @property
    def reused(self) -> bool:
        """True when the release stood there already and was not made anew; False for one that was loaded or copied.

        It tells that the table has not changed, so it is for the owner, as `owner` is, and travels as little.
        """
        return self in _REUSED

    def as_reused(self, measures: Mapping[str, Any]) -> Release:
        """Return the same release as one that was not made anew, with what its owner is told."""
        told = self.with_owner(measures)
        _REUSED.add(told)
        return told

    def with_owner(self, measures: Mapping[str, Any]) -> Release:
        """Return the same release with the measures of its owner, for as long as that object lives."""
        told = replace(self)
        _OWNER_MEASURES[told] = measures
        return told

    @property
    def is_dry_run(self) -> bool:
        """True when nothing was written, and nothing kept that could be."""
        return self.contents is not None and not self.contents

    @property
    def is_plan(self) -> bool:
        """True of a dry run that drew nothing: it has the claim and its cost, and no parameters."""
        return self.is_dry_run and not self.params

    def to_dict(self) -> dict[str, Any]:
        """Return what everybody may know of the release, as plain JSON types.

        Returns
        -------
        dict
            `dry_run`, `files` and `sha256` by role ("data", "params", "report", "page", "descriptor", "signature"; null
            where there are none), `k_anonymity` where a k is promised, and `method`, `guarantee`, `checks` and further
            blocks as they stand in the report. A dry run has the claim and its cost alone.

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
            return {"dry_run": True, "files": None, "sha256": None, **claim, "budget": budget}
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
        """Return what a notebook shows: promise, checks, columns and the first rows; of a dry run the claim alone."""
        from anonkit.report.notebook_view import dry_run_fragment, release_fragment

        if self.is_dry_run:
            return dry_run_fragment(self.report)
        return release_fragment(self.report, first_rows(self._data))

    @property
    def _data(self) -> Path | bytes:
        """Where the data are, or the data file itself when the release is in memory."""
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
        signed would not be what stands there: the copy is unsigned. Entries for catalogues name the files, and are
        copied with their names too.

        Raises
        ------
        ParameterError
            There is a release already and `force` is not set.
        """
        if self.is_dry_run:
            raise ParameterError("a dry run has no files to save", "release without dry_run")
        place = Place.of(output)
        refuse_existing(place, force)
        staging = Staging(place.folder, place.stem)
        renamed = self.place is None or self.place.stem != place.stem
        more = () if self.place is None or renamed else self.place.of_choice()
        suffixes = (*SIDECARS, *more, DATA)
        try:
            for suffix in suffixes:
                self._copy(suffix, staging.folder / place.name(suffix))
            if renamed:
                _rename_in_descriptor(staging.folder / place.name(DESCRIPTOR), place)
            if place.store is None:
                staging.commit([place.name(suffix) for suffix in suffixes], absent=place.absent(suffixes))
            else:
                place.store.put(staging.folder)
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
    """Return the k that was asked and reached, in people where people are counted; nothing for other promises."""
    checks = {check["name"]: check for check in report["verification"]["checks"]}
    check = checks.get("k_anonymity_people") or checks.get("k_anonymity")
    if check is None:
        return {}
    return {"k_anonymity": {"requested": check["required"], "achieved": check["observed"], "meets": check["passed"]}}


def refuse_existing(place: Place, force: bool, difference: str | None = None) -> None:
    """Refuse to touch a release that is there, unless forced; refuse a folder that cannot be written to.

    Parameters
    ----------
    place : Place
    force : bool
    difference : str, optional
        How the release that is there came to be, in words for the owner.
    """
    refuse_unwritable_folder(place)
    finish(place.folder, place.stem)
    existing = place.existing()
    if existing and not force:
        hint = f"{option('force', True)} replaces the old release by the new one"
        there = str(existing[0]) if place.store is None else place.shown(DESCRIPTOR)
        raise ParameterError(f"{there!r} exists", hint if difference is None else f"{difference}; {hint}")


def refuse_unwritable_folder(place: Place) -> None:
    """Refuse a folder that cannot be written to, and a store that puts on no condition.

    Raises
    ------
    EngineError
    """
    if place.store is not None:
        place.store.refuse_unfit()
        return
    standing = next(folder for folder in (place.folder, *place.folder.absolute().parents) if folder.exists())
    if not standing.is_dir() or not os.access(standing, os.W_OK | os.X_OK):
        raise EngineError(f"cannot write to {str(place.folder)!r}", "choose another output, or mend its permissions")
    refuse_without_renames(standing)


def load(path: str | Path) -> Release:
    """Open a release by its data file, one of its sidecars, or its folder.

    Parameters
    ----------
    path : path
        Any of its files, or the folder that it was written into, or its address in an object store
        (`s3://BUCKET/out.parquet`). Data are read, and fetched, when they are asked for.

    Raises
    ------
    ReleaseFormatError
        A file is missing or is not of this format.
    """
    return load_place(Place.of(path))


def load_place(place: Place) -> Release:
    """Open the release in a place; see `load`."""
    if place.store is not None:
        place.store.require()
    finish(place.folder, place.stem)
    for suffix in (DATA, PARAMS, REPORT):
        if not place.has(suffix):
            raise ReleaseFormatError(
                f"{place.shown(suffix)!r} does not exist", "a release is a Parquet file with its sidecars"
            )
    return Release(params=read_json(place.file(PARAMS)), report=read_json(place.file(REPORT)), place=place)


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
        resources = json.loads(descriptor.read_text(encoding="utf-8"))["resources"]
        return {str(resource["name"]): str(resource["hash"]).removeprefix("sha256:") for resource in resources}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise ReleaseFormatError(f"{str(descriptor)!r} is not the descriptor of a release") from None


def sha256(content: bytes | Path) -> str:
    """Return the SHA-256, in hexadecimal, of bytes, a file or a folder of data (see `anonkit.bundle.data_files`)."""
    return hashlib.sha256(content).hexdigest() if isinstance(content, bytes) else digest(content)


def read_key(path: Path, hint: str) -> bytes:
    """Return the bytes of a key file.

    Raises
    ------
    ReleaseFormatError
        It cannot be read; `hint` says how such a key is made.
    """
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST_KEY)
    except OSError:
        raise ReleaseFormatError(f"the key {str(path)!r} cannot be read", hint) from None


def _rename_in_descriptor(path: Path, place: Place) -> None:
    """Point the descriptor's resources to the files' new names; their hashes stay the same."""
    document = json.loads(path.read_text(encoding="utf-8"))
    document["name"] = package_name(place.stem)
    document["resources"] = [resource for resource in document["resources"] if resource["name"] not in EMITTED]
    for resource in document["resources"]:
        if resource["name"] == "data":
            resource["path"] = data_paths(path.parent / place.name(DATA))
            for entry, named in zip(resource.get(FILES, ()), resource["path"], strict=False):
                entry["path"] = named
        else:
            resource["path"] = place.name(next(s for s in (PARAMS, REPORT, PAGE) if resource["path"].endswith(s)))
    path.write_bytes(to_json(document))


def data_paths(data: Path) -> str | list[str]:
    """Return how the descriptor names the data, seen from its folder: a file, or the files of a folder in order."""
    if not data.is_dir():
        return data.name
    return [part.relative_to(data.parent).as_posix() for part in parts_of(data)]


def package_name(stem: str) -> str:
    """Return a Data Package name for a file stem: lower case, letters, digits, - . _ only."""
    cleaned = "".join(
        letter if letter.isascii() and (letter.isalnum() or letter in "-._") else "-" for letter in stem.lower()
    )
    return cleaned.strip("-") or "release"
