# SPDX-License-Identifier: Apache-2.0
"""TRR: transformed randomized response on numeric columns, with published moments and no formal guarantee."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from anonkit.errors import PolicyError, option
from anonkit.parameters import check_choice, parameter
from anonkit.policy.declaration import Policy, TargetUse
from anonkit.policy.public_domains import NumericAttribute, PublicDomains, public_assumptions
from anonkit.promises.guarantee import NoGuarantee
from anonkit.published.channels.category_channels import RandomizedResponse
from anonkit.published.channels.number_channels import NO_GUARANTEE, PUBLISHED, TransformedResponse
from anonkit.published.randomized_table import PublishedAttribute, PublishedTable
from anonkit.randomized_response.randomized_draft import clear_target
from anonkit.randomized_response.randomized_method import RandomizedMethod, refuse_designs

_PRESENCE_P_KEEP = 0.5
_POOR_RECONSTRUCTION = 0.2


@dataclass(frozen=True, kw_only=True)
class NumberNoise:
    """The laws by which numbers are multiplied and shifted; the parameters shared by `trr` and `ppnb`."""

    noise: str = parameter(
        default="N(1,1)",
        range="one of these",
        help="distribution of the multiplier, as mean and variance",
        choices=tuple(PUBLISHED),
    )
    center: bool = parameter(
        default=True, range="on or off", help="standardize numbers by their public bounds first; the paper does not"
    )

    def __post_init__(self) -> None:
        check_choice("noise", self.noise, tuple(PUBLISHED))

    def transformed(self, column: NumericAttribute, presence: RandomizedResponse) -> PublishedAttribute:
        """Return the treatment of a number; a missing one goes through `presence` when there may be one."""
        multiplier, offset = PUBLISHED[self.noise]
        hidden = presence if column.has_missing else None
        mechanism = (
            TransformedResponse.centred(multiplier, offset, column.bounds, presence=hidden)
            if self.center
            else TransformedResponse(multiplier=multiplier, offset=offset, presence=hidden)
        )
        return PublishedAttribute(name=column.name, domain=None, mechanism=mechanism)


def reconstruction_notes(table: PublishedTable, domains: PublicDomains, n_rows: int) -> list[str]:
    """Return warnings about numbers that consumers cannot reconstruct, judged by public bounds and the row count."""
    n_classes = 1 if table.target is None else table.target.domain.size
    out = []
    for attribute in table.attributes:
        bounds, mechanism = domains.bounds.get(attribute.name), attribute.mechanism
        if bounds is None or not isinstance(mechanism, TransformedResponse) or n_rows == 0:
            continue
        # a number spread evenly over its bounds; most are narrower, which makes matters worse
        away, spread = abs(sum(bounds) / 2 - mechanism.centre), (bounds[1] - bounds[0]) / 12**0.5
        error = mechanism.relative_error_of_variance(away / spread, max(n_rows // n_classes, 1))
        if error > _POOR_RECONSTRUCTION:
            out.append(
                f"Column {attribute.name!r} lies far from zero: the spread that consumers reconstruct is off by about "
                f"{error:.0%}. The parameter center avoids this."
            )
    return out


@dataclass(frozen=True, kw_only=True)
class TRR(NumberNoise, RandomizedMethod):
    """Publish each number x as a·x + b with fresh secret a and b of published moments.

    Numbers are standardized by their public bounds first, so that the noise does not grow with their distance from
    zero. The target is published unchanged; categories are not for this method.

    Privacy
    -------
    None that can be stated formally: zeros, signs and outliers can be learned. Do not use it to protect people; it is
    here for comparison with the literature.
    """

    name: ClassVar[str] = "trr"
    paper: ClassVar[str] = "Zhang & Tang: Chinese Journal of Computers 30(8), 2007, section 4"
    summary: ClassVar[str] = "numbers multiplied and shifted at random; no formal guarantee"
    target_use: ClassVar[TargetUse] = TargetUse.AS_DECLARED
    example: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    promise_words: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "kind": "none",
            "statement": "No formal guarantee, whatever the parameters: no finite epsilon holds for a x + b with "
            "unbounded a and b. Zeros, signs and outliers can be learned, and the target is published unchanged.",
        }
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType({"paper": {"center": False}})

    @property
    def needs_declared_target(self) -> bool:
        """True: the label is published unchanged."""
        return True

    def table_of(self, domains: PublicDomains) -> PublishedTable:
        """Return the treatment of each column."""
        refuse_designs(domains, self.name)
        attributes = []
        for column in domains.attributes:
            if not isinstance(column, NumericAttribute):
                raise PolicyError(
                    f"column {column.name!r} has categories, which trr cannot transform",
                    f"{option('method', 'ppnb')}, or role insensitive to leave it out",
                )
            attributes.append(self.transformed(column, RandomizedResponse.equal(2, _PRESENCE_P_KEEP)))
        return PublishedTable(target=clear_target(domains), attributes=tuple(attributes))

    def guarantee(self, policy: Policy) -> NoGuarantee:
        """State that nothing is promised, and why."""
        table = self.published(policy)
        names = [attribute.name for attribute in table.attributes]
        return NoGuarantee(
            reason=NO_GUARANTEE.removeprefix("No formal guarantee: ").capitalize(),
            parameters={"transformed": names, "clear": [] if table.target is None else [table.target.name]},
            assumptions=public_assumptions(policy),
            conditional=policy.conditional_columns,
        )

    def notes_of(self, table: PublishedTable, domains: PublicDomains, n_rows: int) -> list[str]:
        """Warn about numbers that cannot be reconstructed."""
        return reconstruction_notes(table, domains, n_rows)
