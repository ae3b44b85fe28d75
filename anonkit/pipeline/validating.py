# SPDX-License-Identifier: Apache-2.0
"""`anonkit.validate`: a release or a table is checked from its files, against a population too where one is given.

Arrow's arrays of whoever reads files alone: without pandas.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from anonkit.bundle.data_files import PartWorkers
from anonkit.bundle.stored_release import Release
from anonkit.checks.population_risk import AgainstPopulation
from anonkit.checks.requirements import Validation
from anonkit.checks.validation import validate as validated
from anonkit.pipeline.population_measures import PopulationFile
from anonkit.utility.learning_process import BlockedImports


def without_pandas() -> None:
    """Let pyarrow look for pandas while there is none to be found.

    At its first array it imports pandas to recognize the objects of pandas, which takes a third as long as all
    other imports of a command. Whoever reads files has no such objects. Whoever asks for a data frame afterwards
    gets one: pyarrow looks again then. Other threads find pandas all the time.
    """
    import pyarrow as pa

    if "pandas" in sys.modules:  # it is not imported again
        return
    finder = BlockedImports(("pandas",), thread=threading.get_ident())
    sys.meta_path.insert(0, finder)
    try:
        pa.array([])
    finally:
        sys.meta_path.remove(finder)


def validate(
    table: str | Path | Release | Any,
    *,
    quasi_identifiers: Sequence[str] | None = None,
    sensitive: Sequence[str] = (),
    k: int | None = None,
    l: float | None = None,  # noqa: E741 - the field's own letter
    t: float | None = None,
    alpha: float | None = None,
    beta: float | None = None,
    release_as_is: Sequence[str] = (),
    population: object = None,
    population_size: int | None = None,
    sampling_fraction: float | None = None,
    k_map: int | None = None,
    signed_by: str | Path | None = None,
    workers: PartWorkers | None = None,
) -> Validation:
    """Validate a release against its own report, or any table against requirements.

    Parameters
    ----------
    table : path, Release or table
        A release (its data file, a sidecar, its folder), or any table file, or an Arrow-capable table.
    quasi_identifiers : sequence of str, optional
        Columns an attacker may know; those of the report for a release.
    sensitive : sequence of str
        Columns whose diversity is measured, beside those of the report.
    k, l, t, alpha, beta : optional
        Required of the table, on top of the report's promise: k-anonymity, distinct l-diversity, t-closeness, the
        largest share of one sensitive value in a class, and basic beta-likeness (the most by which a value is
        likelier in a class than in the table, as a share; Cao and Karras 2012).
    release_as_is : sequence of str
        Columns of a plain table that may be handed out although their cells look like identifiers or number the rows;
        the report of a release states which.
    population : path or table, optional
        The population that the table was drawn from, a row a person, with the quasi-identifiers under the names that
        they had in the source. At most one of this and the next two is given. The people of every class are counted
        anew: of a release by its published recoding, of a plain table by its cells.
    population_size : int, optional
        People of the population.
    sampling_fraction : float, optional
        Share of the population that the source was, in (0, 1].
    k_map : int, optional
        With a population: fewest people of it that share each class, 2 or more. The owner's requirement is checked
        anyway.
    signed_by : path, optional
        Public key (Ed25519, PEM) that must have signed the release.
    workers : PartWorkers, optional
        Who reads the files of a release in a folder, such as `open_engine("spark").workers`: hashes, classes and cells
        are then counted where they run, and this machine adds up. They must see the folder under the same name, or
        fetch its files from an object store, where they are compared with the descriptor each time.

    Returns
    -------
    Validation

    Raises
    ------
    ReleaseFormatError, EngineError
        It could not be checked: a file is missing or cannot be read, the key among them.
    UncheckedError
        Nobody can know which people of the population would show which labels of this release.
    ParameterError
        Nothing to check was named, or a column is not there; or the stated population is no share or no size.
    PolicyError, SourceError
        The population file lacks a column or cannot be read.
    ChoiceError
        A column is not there, and the first line of the file looks like a record.
    """
    if isinstance(table, str | Path) and (population is None or isinstance(population, str | Path)):
        without_pandas()
    against = AgainstPopulation.known(
        population=population, population_size=population_size, sampling_fraction=sampling_fraction, k_map=k_map
    )
    return validated(
        table,
        quasi_identifiers=quasi_identifiers,
        sensitive=sensitive,
        k=k,
        l=l,
        t=t,
        alpha=alpha,
        beta=beta,
        release_as_is=release_as_is,
        against=against,
        population=None if population is None else PopulationFile(file=population),
        signed_by=signed_by,
        workers=workers,
    )
