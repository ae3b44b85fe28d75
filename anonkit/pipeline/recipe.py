# SPDX-License-Identifier: Apache-2.0
"""Recipes: a whole release described in one TOML file, so that it can be read, reviewed and run again."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anonkit.bundle.stored_release import Release
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.drafting.table_domains import MIN_PEOPLE
from anonkit.errors import PolicyError, did_you_mean
from anonkit.ledger.account import Where
from anonkit.parameters import field_name
from anonkit.pipeline.release_path import release
from anonkit.policy.declaration import Policy
from anonkit.protocols import Progress, no_progress

_KEYS = (
    *("method", "preset", "input", "simulate", "output", "policy", "engine", "spark", "parameters"),
    *("search_rows", "part_rows", "domains_from_data", "domains_min_people", "sign"),
)
_SIMULATE_KEYS = ("rows", "seed")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One release, described.

    Paths are relative to the recipe's folder.
    """

    folder: Path
    method: str
    preset: str | None
    input: str | None
    """The table; None when simulated customers are released."""
    simulate: Mapping[str, int] | None
    """`rows` and `seed` of simulated bank customers."""
    output: str
    policy: Policy
    engine: str
    spark: Mapping[str, Any]
    """`master` and `conf` of the Spark engine."""
    parameters: Mapping[str, Any]
    search_rows: int | None = None
    """Rows held while searching; larger tables are searched on a sample."""
    part_rows: int | None = None
    """Rows of each file of a folder of data; None for one file."""
    sign: str | None = None
    """Private key that signs the release, relative to the recipe's folder."""
    domains_from_data: bool = False
    """True: domains the policy does not declare are read from the table, and the claim is conditional."""
    domains_min_people: int = MIN_PEOPLE
    """People that share a category that is read from the table, or lie beyond a bound that is."""
    accept_joint_k: int | None = None
    """Smallest group allowed when combined with earlier k-anonymous releases; None: what the policy says."""

    @classmethod
    def load(cls, path: str | Path) -> Recipe:
        """Read a recipe.

        Raises
        ------
        PolicyError
            The file is not there, is not TOML, or has keys a recipe does not know or lacks one it needs.
        """
        path = Path(path)
        try:
            with path.open("rb") as file:
                raw = tomllib.load(file)
        except FileNotFoundError:
            raise PolicyError(f"recipe {str(path)!r} does not exist") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError):
            raise PolicyError(f"recipe {str(path)!r} is not TOML") from None
        return cls._from_dict(raw, path)

    @classmethod
    def _from_dict(cls, raw: Mapping[str, Any], path: Path) -> Recipe:
        for key in raw:
            if key not in _KEYS:
                raise PolicyError(f"recipe {path.name!r}: unknown key {key!r}", did_you_mean(key, _KEYS))
        if ("input" in raw) == ("simulate" in raw):
            raise PolicyError(f"recipe {path.name!r} needs either input or simulate", 'input = "table.csv"')
        for key in ("method", "output"):
            if not isinstance(raw.get(key), str):
                raise PolicyError(f"recipe {path.name!r}: {key} must be a text", f'{key} = "…"')
        simulate = raw.get("simulate")
        if simulate is not None and (not isinstance(simulate, dict) or not set(simulate) <= set(_SIMULATE_KEYS)):
            raise PolicyError(f"recipe {path.name!r}: simulate must be a table", "simulate = { rows = 5000, seed = 1 }")
        parameters = raw.get("parameters", {})
        if not isinstance(parameters, dict):
            raise PolicyError(f"recipe {path.name!r}: parameters must be a table", "[parameters]")
        return cls(
            folder=path.parent,
            method=raw["method"],
            preset=raw.get("preset"),
            input=raw.get("input"),
            simulate=simulate,
            output=raw["output"],
            policy=_policy(raw.get("policy"), path.parent, simulated=simulate is not None),
            engine=raw.get("engine", "local"),
            spark=_spark(raw.get("spark", {}), path),
            parameters={field_name(name): value for name, value in parameters.items()},
            search_rows=_whole("search_rows", raw, path),
            part_rows=_whole("part_rows", raw, path),
            sign=_key(raw, path),
            domains_from_data=raw.get("domains_from_data") is True,
            domains_min_people=_whole("domains_min_people", raw, path) or MIN_PEOPLE,
            accept_joint_k=_whole("accept_joint_k", raw, path),
        )

    def run(
        self,
        *,
        output: str | Path | None = None,
        sign: str | Path | None = None,
        force: bool = False,
        dry_run: bool = False,
        ledger: str | Path | Where | None = Where.BESIDE,
        dataset: str | None = None,
        budget: float | None = None,
        accept_joint_k: int | None = None,
        progress: Progress = no_progress,
    ) -> Release:
        """Make the release; the same errors and the same ledger as `anonkit.release`.

        Parameters
        ----------
        output : path, optional
            Instead of the recipe's own.
        accept_joint_k : int, optional
            Instead of the recipe's own.
        sign : path, optional
            Private key instead of the recipe's own.
        """
        source: Any = (
            bank_customers(self.simulate.get("rows", 5_000), self.simulate.get("seed", 0))
            if self.simulate is not None
            else self.folder / str(self.input)
        )
        return release(
            source,
            method=self.method,
            preset=self.preset,
            output=self.folder / self.output if output is None else output,
            policy=self.policy,
            engine=self.engine,
            spark_master=self.spark.get("master"),
            spark_conf=self.spark.get("conf"),
            search_rows=self.search_rows,
            part_rows=self.part_rows,
            sign=self.folder / self.sign if sign is None and self.sign is not None else sign,
            force=force,
            dry_run=dry_run,
            domains_from_data=self.domains_from_data,
            domains_min_people=self.domains_min_people,
            ledger=ledger,
            dataset=dataset,
            budget=budget,
            accept_joint_k=self.accept_joint_k if accept_joint_k is None else accept_joint_k,
            progress=progress,
            **self.parameters,
        )


def _key(raw: Mapping[str, Any], path: Path) -> str | None:
    key = raw.get("sign")
    if key is None or isinstance(key, str):
        return key
    raise PolicyError(f"recipe {path.name!r}: sign must be a text", 'sign = "owner.pem"')


def _spark(raw: object, path: Path) -> Mapping[str, Any]:
    if not isinstance(raw, dict) or not set(raw) <= {"master", "conf"} or not isinstance(raw.get("conf", {}), dict):
        raise PolicyError(f"recipe {path.name!r}: spark must be a table", 'spark = { master = "local[4]", conf = {} }')
    return {**raw, "conf": {key: str(value) for key, value in raw.get("conf", {}).items()}}


def _whole(key: str, raw: Mapping[str, Any], path: Path) -> int | None:
    rows = raw.get(key)
    if rows is None or (isinstance(rows, int) and not isinstance(rows, bool) and rows > 0):
        return rows
    raise PolicyError(
        f"recipe {path.name!r}: {key} must be a whole number above 0",
        f"such as {key} = 10",
    )


def _policy(raw: object, folder: Path, *, simulated: bool) -> Policy:
    if isinstance(raw, str):
        return Policy.load(folder / raw)
    if isinstance(raw, dict):
        return Policy.from_dict(raw, folder=folder)
    return bank_customers_policy() if simulated else Policy()
