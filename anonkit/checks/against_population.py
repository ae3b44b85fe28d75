# SPDX-License-Identifier: Apache-2.0
"""Knowledge of the population that a table was drawn from: a file of it, its size, or the sampling fraction."""

from __future__ import annotations

from dataclasses import dataclass

from anonkit.errors import ParameterError, option

SIMPLE_SAMPLE = "the table is a simple random sample of the population"
"""Assumption of every estimate."""
OF_WEIGHTS = "the weights say how many people of the population a row stands for"
"""Assumption of an estimate by the weights of a sample."""
WHOLE_POPULATION = "the file lists the whole population, a row a person"
"""Assumption on a file of the population."""


@dataclass(frozen=True, kw_only=True)
class AgainstPopulation:
    """Knowledge of the population: a file of it, its size, or the share of it that the table is; or nothing.

    Raises
    ------
    ParameterError
        More than one is given, or one that is no size or no share; or a k-map is required without a file.
    """

    file: object = None
    """A path, an address or a table: a row is a person. It has the quasi-identifiers, under the same names."""
    size: int | None = None
    """People of the population, at least as many as the table has."""
    fraction: float | None = None
    """Share of the population that the table is, in (0, 1]."""
    k_map: int | None = None
    """Fewest people that the file has to have of every released class, 2 or more; None asks nothing."""

    def __post_init__(self) -> None:
        names = ("population", "population_size", "sampling_fraction")
        given = [
            name for name, value in zip(names, (self.file, self.size, self.fraction), strict=True) if value is not None
        ]
        if len(given) > 1:
            raise ParameterError(f"{option(given[0])} and {option(given[1])} say the same thing", "give one of them")
        if self.size is not None and self.size < 1:
            raise ParameterError(f"population_size ({self.size}) must be at least 1", "people of the population")
        if self.fraction is not None and not 0 < self.fraction <= 1:
            raise ParameterError(
                f"sampling_fraction ({self.fraction}) must be in (0, 1]", "0.01 for one per cent of the population"
            )
        if self.k_map is not None and self.k_map < 2:
            raise ParameterError(f"k_map ({self.k_map}) must be at least 2", "people of every class in the population")
        if self.k_map is not None and self.file is None:
            raise ParameterError("k_map is counted in a file of the population", option("population", "FILE"))

    @classmethod
    def known(
        cls,
        *,
        population: object = None,
        population_size: int | None = None,
        sampling_fraction: float | None = None,
        k_map: int | None = None,
    ) -> AgainstPopulation:
        """Return what is known, by the names that calls, recipes and the command line have for it."""
        return cls(file=population, size=population_size, fraction=sampling_fraction, k_map=k_map)

    @property
    def is_given(self) -> bool:
        """Return True if anything is known of the population."""
        return self.basis != "none"

    @property
    def basis(self) -> str:
        """Basis of the estimates."""
        if self.file is not None:
            return "file"
        return "size" if self.size is not None else "fraction" if self.fraction is not None else "none"

    def fraction_of(self, n_people: int, in_file: int | None) -> float | None:
        """Return the share of the population that so many people are; None where it is not known.

        Raises
        ------
        ParameterError
            The stated population is smaller than the table.
        """
        if self.size is not None and self.size < n_people:
            raise ParameterError(
                f"population_size ({self.size}) is smaller than the table ({n_people})", "it counts everybody"
            )
        size = in_file if self.file is not None else self.size
        if size is None:
            return self.fraction
        return n_people / size if size >= n_people else None
