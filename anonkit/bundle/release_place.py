# SPDX-License-Identifier: Apache-2.0
"""The place of the files of one release, on this machine or in an object store, and whether one may be put there.

Copies of a release's data in other forms, such as a CSV file: they are those that its descriptor lists.

Names of the files of a release: the suffix of each, what it is for, and the name of its package.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path

from anonkit.bundle.atomic import finish, is_waiting, refuse_without_renames
from anonkit.bundle.data_files import SUFFIX, is_data_folder, sha256
from anonkit.bundle.json_documents import LARGEST_FILES, parse_json, read_capped, refuse_irregular
from anonkit.bundle.object_store import StorePlace, place_in_store, refuse_unfit
from anonkit.bundle.s3_store import SCHEME
from anonkit.errors import EngineError, ParameterError, ReleaseFormatError, option
from anonkit.redaction import is_address

FORMAT = "anonkit-release/2"
DATA, PARAMS, REPORT, PAGE, DESCRIPTOR = SUFFIX, ".params.json", ".report.json", ".report.html", ".datapackage.json"
SIDECARS = (PARAMS, REPORT, PAGE, DESCRIPTOR)
SIGNATURE = ".signature.json"
"""Suffix of the signature over all other files, for releases that are signed."""
EMITTED = {"croissant": ".croissant.json", "registry": ".registry.yaml"}
"""Suffixes of the entries for catalogues and registries, by the word that asks for them; a release may have none."""
NAMED = (DATA, *SIDECARS, *EMITTED.values(), SIGNATURE)
"""Suffixes of all files that a release may have."""
COPIES = {
    "csv": ".csv",
    "tsv": ".tsv",
    "xlsx": ".xlsx",
    "sav": ".sav",
    "dta": ".dta",
    "arrow": ".arrow",
    "sqlite": ".sqlite",
}
"""Suffixes of the copies of the data in other forms, by form; a release has those that its descriptor lists.

They are not among `NAMED`: a file of such a name beside a release may be anybody's, such as the source itself.
"""
BESIDE_SQLITE = ("-wal", "-shm", "-journal")
"""Suffixes, behind a file of SQLite, of the files that SQLite reads with it."""
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
"""Purpose of each file of a release, in the order of lists."""


def copy_of(name: str) -> tuple[str, str] | None:
    """Return the stem of a file's name and the form that its suffix means; None where it is no name of a copy."""
    return next(
        (
            (name.removesuffix(suffix), form)
            for form, suffix in COPIES.items()
            if name.endswith(suffix) and name != suffix
        ),
        None,
    )


def package_name(stem: str) -> str:
    """Return a Data Package name for a file stem: lower case, letters, digits, - . _ only."""
    cleaned = "".join(
        letter if letter.isascii() and (letter.isalnum() or letter in "-._") else "-" for letter in stem.lower()
    )
    return cleaned.strip("-") or "release"


_WHOLE = ("data", "params", "report")
"""Names that the descriptor of a release has; one of another tool has others."""


def listed_copies(folder: Path, stem: str) -> dict[str, str]:
    """Return the SHA-256 of every copy by its form, as the descriptor of a release states them.

    Parameters
    ----------
    folder : Path
        Place of the release.
    stem : str
        What the names of its files begin with.

    Returns
    -------
    dict
        Empty where there is no descriptor, or none of a release. Whether the files are there is not looked at.
    """
    path = folder / f"{stem}{DESCRIPTOR}"
    try:
        resources = {entry["name"]: entry for entry in parse_json(read_capped(path), repr(str(path)))["resources"]}
        if not all(role in resources for role in _WHOLE):
            return {}
        listed = {form: resources[form] for form in COPIES if form in resources}
        return {
            form: str(entry["hash"]).removeprefix("sha256:")
            for form, entry in listed.items()
            if entry["path"] == f"{stem}{COPIES[form]}"
        }
    except (OSError, ValueError, KeyError, TypeError, RecursionError, ReleaseFormatError):
        return {}


_OTHER_FORMS = (
    f"or in {', '.join(COPIES.values())} for a copy of the data beside the Parquet file, on this machine; "
    "`anonkit export` writes tables of databases"
)
_NOT_IN_DUCKDB = (
    "out.sqlite is a copy of the data beside the Parquet file, or `anonkit export out.parquet out.duckdb` writes one; "
    "validation opens copies, and DuckDB expects files of trusted writers alone"
)
"""DuckDB's security model: opening its file is closer to loading a library than to opening a document."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """The place of the files of one release."""

    folder: Path
    stem: str
    store: StorePlace | None = None
    """Place in an object store, if any; the folder is private then, and holds what was fetched of it."""

    @classmethod
    def of(cls, output: str | Path) -> Place:
        """Read the name of a release: one of its files, or a folder that ends in a slash.

        A folder of data is known by its first part, with and without a slash. A name such as `x.csv` is that of a
        release where the descriptor beside it lists this copy, or an interrupted run was putting it there.
        `s3://BUCKET/NAME.parquet` is a place in an object store, to which no request is sent yet.

        Raises
        ------
        ParameterError
            The name is neither, or an address of another kind, or has credentials in it; or it is no name, such as a
            table in its place, whose cells are not shown.
        """
        if not isinstance(output, str | PathLike):
            raise ParameterError(
                f"a release is named by the path of one of its files, not by a {type(output).__name__}",
                "the path comes first in apply, and the table after it",
            )
        text = str(output)
        if text.partition("://")[0] == SCHEME and is_address(text):
            return cls._in_store(text)
        if is_address(text):
            raise ParameterError(
                f"{text} is an address", "the files of a release are on this machine, or under s3://: name a path"
            )
        path = Path(text)
        if (text.endswith("/") or path.is_dir()) and not is_data_folder(path):
            return cls(folder=path, stem=path.name or "release")
        for suffix in NAMED:
            if path.name.endswith(suffix) and path.name != suffix:
                return cls(folder=path.parent, stem=path.name.removesuffix(suffix))
        stem, form = copy_of(path.name) or ("", "")
        if stem and (form in listed_copies(path.parent, stem) or is_waiting(path.parent, stem, path.name)):
            return cls(folder=path.parent, stem=stem)
        hint = _NOT_IN_DUCKDB if path.suffix.lower() == ".duckdb" else _OTHER_FORMS
        raise ParameterError(f"output ({text}) must end in .parquet, or in / for a folder", hint)

    @classmethod
    def of_output(cls, output: str | Path) -> tuple[Place, str | None]:
        """Read the place of a release to be written, and the form of its data beside the Parquet file, if any.

        Returns
        -------
        tuple
            The place, and one of `COPIES`; None for the Parquet file alone.

        Raises
        ------
        ParameterError
            As `of`.
        """
        text, path = str(output), Path(output)
        copy = None if is_address(text) or text.endswith("/") or path.is_dir() else copy_of(path.name)
        return (cls.of(output), None) if copy is None else (cls(folder=path.parent, stem=copy[0]), copy[1])

    @classmethod
    def _in_store(cls, address: str) -> Place:
        bucket, folder, name = place_in_store(address)
        stem = next((name.removesuffix(suffix) for suffix in NAMED if name.endswith(suffix) and name != suffix), None)
        if not name:
            stem = folder.rstrip("/").rpartition("/")[2] or "release"
        if stem is None:
            raise ParameterError(f"output ({address}) must end in .parquet, or in / for a folder", _OTHER_FORMS)
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
        """Return the address of the place for another process: what was fetched from a store stays with this one."""
        if self.store is not None:
            return Place.of, (self.store.address(self.store.descriptor),)
        return partial(Place, folder=self.folder, stem=self.stem), ()

    def has(self, suffix: str) -> bool:
        """Return True if one of the files is there, without fetching it; of a store whether the release lists it."""
        if self.store is not None:
            return bool(self.store.listed(self.name(suffix)))
        return self.file(suffix).exists()

    @property
    def stray_objects(self) -> int:
        """Number of objects beside a release in a store that no descriptor lists: an interrupted run left them."""
        return 0 if self.store is None else sum(map(len, self.store.strays().values()))

    def shown(self, suffix: str) -> str:
        """Return the name of one of the files for people, by which it is found again."""
        return str(self.folder / self.name(suffix)) if self.store is None else self.store.address(self.name(suffix))

    def shown_files(self) -> dict[str, str]:
        """Return the paths of the files, by their role."""
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

    def on_this_machine(self) -> list[Path]:
        """Return the paths of the files of a release, whether they exist or not; none in a store.

        Of copies those that the release which is there lists.
        """
        suffixes = (*NAMED, *(COPIES[form] for form in self.copies()))
        return [] if self.store is not None else [self.folder / self.name(suffix) for suffix in suffixes]

    def copies(self) -> dict[str, str]:
        """Return the SHA-256 of the copies that the descriptor lists, by form; none in a store."""
        return {} if self.store is not None else listed_copies(self.folder, self.stem)

    def guarded(self) -> dict[str, str | None]:
        """Return the names of all copies with the SHA-256 of the file that is this release's; None: none is.

        Any other file of the name is not the release's to remove or replace.
        """
        listed = self.copies()
        return {self.name(suffix): listed.get(form) for form, suffix in COPIES.items()}

    def existing(self) -> list[Path]:
        """Return the files of a release that are there; a store is looked at anew."""
        if self.store is not None:
            self.store.look()
            listed = [suffix for suffix in NAMED if self.has(suffix)]
            return [] if self.store.is_empty else [self.folder / self.name(suffix) for suffix in (*listed, DESCRIPTOR)]
        return [path for suffix in NAMED if (path := self.file(suffix)).exists()]

    def of_choice(self) -> tuple[str, ...]:
        """Return the suffixes of the files that are there and that not every release has."""
        return tuple(suffix for suffix in (*EMITTED.values(), SIGNATURE) if self.file(suffix).exists())

    def of_copies(self) -> tuple[str, ...]:
        """Return the suffixes of the copies that are there and that the descriptor lists."""
        return tuple(COPIES[form] for form in self.copies() if self.file(COPIES[form]).exists())

    def absent(self, suffixes: Collection[str]) -> list[str]:
        """Return the names that must be absent beside a release of some files: those of another one would mislead.

        Of copies those that the release which is there lists; see `guarded` for which of them may be removed.
        """
        listed = (COPIES[form] for form in self.copies())
        return [self.name(suffix) for suffix in (*NAMED, *listed) if suffix not in suffixes]

    def by_role(self) -> dict[str, Path]:
        """Return the files that are there by their role."""
        suffixes = {**ROLES, **{form: COPIES[form] for form in self.copies()}}
        return {role: path for role, suffix in suffixes.items() if (path := self.file(suffix)).exists()}

    def files(self, copies: Collection[str] | None = None) -> dict[str, Path]:
        """Return every file of the release by its name seen from the folder, the files of a folder of data one by one.

        The signature is not among them. A file that is absent is not, either.

        Parameters
        ----------
        copies : collection of str, optional
            Forms of the copies among them; by default those that the descriptor lists, which is read for it.
        """
        digests: dict[str, Path] = {}
        forms = self.copies() if copies is None else copies
        for suffix in (DATA, *SIDECARS, *EMITTED.values(), *(COPIES[form] for form in forms)):
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


def refuse_unfit_files(place: Place) -> None:
    """Refuse, before any of them is read, files that cannot be of a release: pipes, devices, documents beyond any size.

    Raises
    ------
    ReleaseFormatError
    """
    if place.store is not None:  # fetched by size, into a private folder
        return
    for suffix in NAMED:
        path = place.folder / place.name(suffix)
        if suffix == DATA and path.is_dir():
            for folder, _, names in os.walk(path):
                for name in names:
                    refuse_irregular(Path(folder, name))
        else:
            refuse_irregular(path, LARGEST_FILES.get(suffix))


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


def refuse_taken_by_others(place: Place, form: str) -> None:
    """Refuse to write a copy over a file that the release does not list, or that was changed since.

    Parameters
    ----------
    place : Place
    form : str
        One of `COPIES`.

    Raises
    ------
    ParameterError
    """
    path, expected = place.folder / place.name(COPIES[form]), place.copies().get(form)
    if os.path.lexists(path) and (not path.is_file() or path.is_symlink() or sha256(path) != expected):
        raise ParameterError(
            f"{str(path)!r} exists, and is no file of the release there", "move it away, or choose another name"
        )
    for more in BESIDE_SQLITE if form == "sqlite" else ():
        if os.path.lexists(other := path.with_name(path.name + more)):
            raise ParameterError(
                f"{str(other)!r} exists, and would be read with {path.name!r}", "move it away, or choose another name"
            )


def refuse_unwritable_folder(place: Place) -> None:
    """Refuse a folder that cannot be written to, and a store that puts on no condition.

    Raises
    ------
    EngineError
    """
    if place.store is not None:
        refuse_unfit(place.store)
        return
    standing = next(folder for folder in (place.folder, *place.folder.absolute().parents) if folder.exists())
    if not standing.is_dir() or not os.access(standing, os.W_OK | os.X_OK):
        raise EngineError(f"cannot write to {str(place.folder)!r}", "choose another output, or mend its permissions")
    refuse_without_renames(standing)
