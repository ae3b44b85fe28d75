# SPDX-License-Identifier: Apache-2.0
"""Disk space that a release under noise needs, looked for before anything is drawn.

How much is wanted follows from what is public alone, since a refusal is an output: where the number of rows is private,
it is one number for every table.

The output of a release: its path, its format, and the files beside it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

from anonkit.bundle.atomic import finish
from anonkit.bundle.data_files import part_name
from anonkit.bundle.exports.opened_targets import copy_at
from anonkit.bundle.private_files import MEGABYTE, ReservedSpace
from anonkit.bundle.release_place import COPIES, DATA, EMITTED, Place, refuse_existing, refuse_taken_by_others
from anonkit.bundle.signing import Signer, refuse_replacing
from anonkit.engines.snapshots.addresses import files_of
from anonkit.errors import ParameterError, option
from anonkit.ledger.booked_releases import PlaceTakenError
from anonkit.parameters import check_choice, check_integer
from anonkit.pipeline.dossier import OWNER_REPORT, dossier_name
from anonkit.policy.declaration import Policy
from anonkit.promises.guarantee import REPLACE, Guarantee, Neighbours
from anonkit.protocols import Engine, Method, Source
from anonkit.randomness import Randomness
from anonkit.report.descriptors import has_entry

LABELS = "labels"
BOUNDS = "bounds"
MEANS = "means"


Foresees: TypeAlias = Callable[[Method, Policy, Sequence[str]], Mapping[str, Any]]
"""Given a method, the policy with a role for every column, and the columns' names: what can be foreseen."""


@dataclass(frozen=True, kw_only=True)
class Output:
    """The place and form of a release, and the files beside it.

    Raises
    ------
    ParameterError
        A number of rows is below 1, or example rows are requested without a folder for them.
    """

    place: Place | None = None
    """Place of its files; None: the release stays in memory."""
    copy: str | None = None
    """Form of the copy of the data beside the Parquet file, such as "csv" (one of `COPIES`)."""
    part_rows: int | None = None
    """Rows of each file of a folder of data, about, 1 or more; None: the data are one file."""
    force: bool = False
    """True: a release that is there is replaced."""
    dry_run: bool = False
    """True: everything is done except writing."""
    for_owner: bool = True
    """False: nobody is shown what a release discloses to its owner alone. The source is measured for an owner's report
    alone, and a dry run under a privacy loss draws nothing, so that nothing of it follows from draws that are not
    charged."""
    foresees: Foresees | None = field(default=None, repr=False, compare=False)
    """Forecast of a plan under noise from a release of simulated rows; None: there is no forecast."""
    previews: bool = False
    """True: where a k-anonymous method drops columns, the owner's notes list those that `mondrian` would show."""
    owner_report: Path | None = None
    """Folder for the measures of the source and the dossier, which must not be published."""
    examples: int = 0
    """Example rows of the source in the dossier, 0 or more."""
    sign: Path | None = None
    """Private key that signs all files."""
    emit: tuple[str, ...] = ()
    """Entries for catalogues and registries that are written too: "croissant", "registry"."""
    cells: str = LABELS
    """Form of generalized numbers: "labels", such as [30, 40), "bounds", as two columns of numbers, or "means", as
    these and a third with the mean of each class."""

    IN_RECIPES: ClassVar[tuple[str, ...]] = ("part_rows", "sign", "emit", "cells")
    """Fields that a recipe may set; the others are for whoever runs it."""

    def __post_init__(self) -> None:
        if self.part_rows is not None:
            check_integer("part_rows", self.part_rows, 1, hint="leave it out for one file")
        for word in self.emit:
            check_choice("emit", word, tuple(EMITTED))
        check_choice("cells", self.cells, (LABELS, BOUNDS, MEANS))
        check_integer("examples", self.examples, 0, hint="10 rows show what the release does to a row")
        if self.examples and self.owner_report is None:
            raise ParameterError("example rows are only in the dossier", option("owner_report", "DIR"))

    @property
    def shows_owner(self) -> bool:
        """Return True if anybody sees what was measured on the source."""
        return self.for_owner or self.owner_report is not None

    @classmethod
    def at(
        cls,
        output: str | Path | None,
        *,
        owner_report: str | Path | None = None,
        sign: str | Path | None = None,
        emit: Iterable[str] = (),
        cells: str = LABELS,
        **options: Any,
    ) -> Output:
        """Return the output at a path, with the other fields as they are given.

        Parameters
        ----------
        output : path, optional
            `NAME.parquet`, or a folder when it ends in a slash; `NAME.csv` and the other forms of `COPIES` are written
            beside the Parquet file of that name; None: in memory.
        owner_report, sign : path, optional
        emit : iterable of str
            Any of "croissant" and "registry".
        cells : str
            "labels", "bounds" or "means".
        **options
            The other fields.

        Raises
        ------
        ParameterError
            The name is neither, or a field is out of its range.
        """
        words = (emit,) if isinstance(emit, str) else tuple(emit)
        place, copy = (None, None) if output is None else Place.of_output(output)
        return cls(
            place=place,
            copy=copy,
            owner_report=None if owner_report is None else Path(owner_report),
            sign=None if sign is None else Path(sign),
            emit=tuple(word for word in EMITTED if word in words)
            + tuple(word for word in words if word not in EMITTED),
            cells=cells,
            **options,
        )

    @property
    def files_there(self) -> list[Path]:
        """Paths of the release's files on this machine, existing or not: those that exist are replaced."""
        if self.place is None:
            return []
        copies = [] if self.copy is None else [self.place.folder / self.place.name(COPIES[self.copy])]
        return [*self.place.on_this_machine(), *copies]

    @property
    def is_folder(self) -> bool:
        """True when the data are a folder of files, which workers of a cluster can write and read."""
        return self.part_rows is not None

    @property
    def form(self) -> int | tuple[int | None, str] | None:
        """In what form the data are written: about so many rows a file of a folder, or None for one file.

        With the word for how generalized numbers are shown, where that is not as labels.
        """
        return self.part_rows if self.cells == LABELS else (self.part_rows, self.cells)

    def refuse_unwritable(self, *, seeded: bool) -> None:
        """Refuse what cannot be written so, before any data is opened.

        Raises
        ------
        ParameterError
            A release in memory has parts or a signature; a seeded one is signed; the owner's figures would be in the
            folder that is handed out.
        """
        if self.part_rows is not None and self.place is None:
            raise ParameterError("a release in memory is one file", "name an output, or leave part_rows out")
        if self.sign is not None and seeded:
            raise ParameterError(
                "a seeded release is not for release, so it is not signed", "leave out the seed, or sign"
            )
        if self.sign is not None and self.place is None:
            raise ParameterError("a release in memory is not signed: its files have no names yet", "name an output")
        if self.emit and self.place is None:
            raise ParameterError(
                "entries for catalogues name the files of a release, and one in memory has none", "name an output"
            )
        if self.place is not None and self.owner_report is not None:
            refuse_within_release(self.owner_report, self.place)

    def refuse_replacing(self, sources: Iterable[object]) -> None:
        """Refuse to take the place of what the release is made from, forced or not.

        Raises
        ------
        ParameterError
        """
        if self.place is None:
            return
        written = self.files_there
        parts = [] if self.part_rows is None else [path / part_name(0) for path in written if path.suffix == DATA]
        refuse_replacing([*written, *parts], chain.from_iterable(map(files_of, sources)))

    def refuse_losing(self, ledger: Path | None) -> None:
        """Refuse to put a file of the release, or of its owner, in the place of the ledger that it is booked in.

        Raises
        ------
        ParameterError
        """
        if ledger is None:
            return
        stem, folder = None if self.place is None else self.place.stem, self.owner_report
        owned = [] if folder is None else [folder / OWNER_REPORT, folder / dossier_name(stem)]
        refuse_replacing([*self.files_there, *owned], [ledger])

    def refuse_unheld(self, policy: Policy, declared: Policy, promise: Guarantee, n_rows: Callable[[], int]) -> None:
        """Refuse columns, categories and rows that the form of a copy cannot hold, before anything is drawn.

        Rows are counted here only where a release has as many as its source and their number is no secret: else what is
        refused would disclose it. Cells are looked at when they are there.

        Parameters
        ----------
        policy : Policy
            With a role for every column.
        declared : Policy
            As its owner wrote it: categories that were read or drawn from the table are looked at among the cells.
        n_rows : callable
            Counts the rows of the source.

        Raises
        ------
        ParameterError
        """
        if self.place is None or self.copy is None:
            return
        form = copy_at(self.place.folder / self.place.name(COPIES[self.copy]))
        released = [name for name, column in policy.columns.items() if column.is_released]
        texts = {name: column.categories or () for name, column in declared.columns.items() if name in released}
        form.refuse_unheld(released, texts)
        loss = promise.loss()
        # where a row is replaced by another, their number is public; a promise that shows rows then shows all of them
        replaced = loss is not None and loss.neighbours == Neighbours(adjacency=REPLACE)
        if replaced and promise.shows_rows and policy.unit is None:
            form.refuse_size(n_rows())

    @property
    def shows_bounds(self) -> bool:
        """True when generalized numbers are columns of numbers."""
        return self.cells in (BOUNDS, MEANS)

    def refuse_unfit(self, promise: Guarantee) -> None:
        """Refuse an entry for the registry where no epsilon is promised, and bounds where nothing is generalized.

        Raises
        ------
        ParameterError
            The promise has no epsilon, or one without bound; it is about no equivalence classes; or it has a loss, and
            means of the rows are not in it.
        """
        if self.shows_bounds and promise.counted_classes is None:
            raise ParameterError(
                f"{self.cells} are those of generalized numbers, and this method generalizes none",
                f"leave {option('cells')} out, or take a k-anonymous method",
            )
        if self.cells == MEANS and promise.loss() is not None:
            raise ParameterError(
                "means of the rows would spend privacy that this method does not account for",
                f"{option('cells', BOUNDS)} shows nothing but the intervals",
            )
        if "registry" in self.emit and not has_entry(promise):
            raise ParameterError(
                f"the registry is for differential privacy with an epsilon, and this promise is {promise.kind}",
                "leave registry out: croissant describes any release",
            )

    def refuse_existing(self, difference: str | None = None) -> None:
        """Refuse to replace a release that is there, unless forced, and to write where nothing can be written.

        Parameters
        ----------
        difference : str, optional
            How the release that is there came to be, in words for the owner.

        Raises
        ------
        ParameterError
            A release is there already.
        EngineError
            The folder cannot be written to.
        """
        if self.place is None or self.dry_run:
            return
        refuse_existing(self.place, self.force, difference)
        self.refuse_taken_by_others()

    def refuse_taken_by_others(self) -> None:
        """Refuse to write a copy in the place of a file that is none of the release there, forced or not.

        Raises
        ------
        ParameterError
        """
        if self.place is None or self.copy is None or self.dry_run:
            return
        finish(self.place.folder, self.place.stem)  # what an interrupted run was putting there is the release's
        refuse_taken_by_others(self.place, self.copy)

    def refuse_taken(self) -> None:
        """Refuse to put files over others that were not there when the work began.

        Raises
        ------
        PlaceTakenError
        """
        if self.place is not None and not self.force and self.place.existing():
            raise PlaceTakenError(f"a release was made in {self.place.shown(DATA)!r} meanwhile", "run it again")

    def write(
        self,
        engine: Engine,
        source: Source,
        path: Path,
        *,
        metadata: Mapping[str, str] | None = None,
        randomness: Randomness | None = None,
        first: str | None = None,
    ) -> int:
        """Write rows in the requested form; return how many. See `anonkit.protocols.Engine.write`.

        Raises
        ------
        EngineError
            The data cannot be written; what was written is deleted then.
        """
        return engine.write(
            source, path, metadata=metadata or {}, randomness=randomness, part_rows=self.part_rows, first=first
        )

    def signer(self) -> Signer | None:
        """Return the signer of the files, if there is one.

        Raises
        ------
        ReleaseFormatError
            The key cannot be read.
        """
        return None if self.sign is None else Signer.load(self.sign)


def refuse_beside_release(folder: Path, release: Path) -> None:
    """Refuse to put the owner's figures into the folder that is handed out.

    Raises
    ------
    ParameterError
        Both are the same folder.
    """
    if folder.resolve() == release.resolve():
        raise ParameterError(
            f"owner_report ({str(folder)!r}) is the folder of the release, where the owner's figures must not be",
            "name a folder that is not handed out",
        )


def refuse_within_release(folder: Path, place: Place) -> None:
    """Refuse to put the owner's figures anywhere that is handed out with a release.

    Parameters
    ----------
    folder : Path
        Folder of the owner's files; it need not exist.
    place : Place
        Of the release. One that has a folder for itself has the name of that folder.

    Raises
    ------
    ParameterError
        It is the folder of the release, lies in a folder that the release has for itself, or among its data.
    """
    refuse_beside_release(folder, place.folder)
    here, release = folder.resolve(), place.folder.resolve()
    data = release / place.name(DATA)
    if data in (here, *here.parents) or (place.stem == release.name and release in here.parents):
        raise ParameterError(
            f"owner_report ({str(folder)!r}) lies in the folder of the release, where the owner's figures must not be",
            "name a folder that is not handed out",
        )


ROWS_UNKNOWN = 64 * MEGABYTE
"""Bytes wanted where the number of rows is private: two million cells and more, with report, page and parameters."""
_SIDECARS = 16 * MEGABYTE
_CELL = 8
"""Bytes of a cell at most: a number has as many before it is packed, and a text is the number of a value in a list."""


def release_space(output: Output, ledger: Path | None) -> ReservedSpace:
    """Return the disks on which a release is drafted, written, booked and described to its owner.

    Parameters
    ----------
    output : Output
    ledger : Path, optional
        File of the ledger; None: there is none, or it is on a server.
    """
    folders = [] if (drafts := drafted_in()) is None else [drafts]
    if output.place is not None and output.place.store is None:
        folders.append(output.place.folder)
    if output.owner_report is not None:
        folders.append(output.owner_report)
    if ledger is not None:
        folders.append(ledger.parent)
    return ReservedSpace(folders)


def drafted_in() -> Path | None:
    """Return the folder of temporary files; None where none can be written to, which a private folder refuses."""
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError:
        return None


def bytes_wanted(method: Method, promise: Guarantee, policy: Policy, n_rows: Callable[[], int]) -> int:
    """Return the bytes that the files of a release may have, of which each disk should have as many free.

    Parameters
    ----------
    method : Method
    promise : Guarantee
    policy : Policy
        With a role for every column.
    n_rows : callable
        Counts the rows of the source; called where their number is public.
    """
    loss = promise.loss()
    stated = int(getattr(method, "n_rows", 0) or 0)
    is_public = (
        loss is not None
        and loss.neighbours == Neighbours(adjacency=REPLACE)
        and promise.shows_rows
        and policy.unit is None
    )
    if not stated and not is_public:
        return ROWS_UNKNOWN
    columns = sum(column.is_released for column in policy.columns.values())
    return _SIDECARS + _CELL * columns * (stated or n_rows())
