# SPDX-License-Identifier: Apache-2.0
"""The params of a randomized table: per attribute its public domain, mechanism and exact parameters.

The params file of a randomized release holds one such description (`to_params`), keys in this order::

    {
      "format": "anonkit-randomized-1",
      "target": {"name": "income", "type": "category",
                 "domain": {"categories": ["<=50K", ">50K"], "has_missing": false},
                 "mechanism": "randomized-response",
                 "parameters": {"word_bits": 32, "categories": 2, "truth_weight": 4294967296, "blind_weight": 0},
                 "epsilon": "inf"},
      "attributes": [
        {"name": "age", "type": "number",
         "domain": {"bounds": [17, 90], "cells": 64, "has_missing": false},
         "mechanism": "band-response",
         "parameters": {"positions": 64, "band": 33, "blind_weight": ..., "excess_weight": ..., "segments": 1,
                        "word_bits": 32, "has_missing": false},
         "epsilon": 0.99999995, "joint_with_target": false}, ...],
      "asked_column": null
    }

* `type` is `category` (published values are category names, null for missing) or `number` (published values are
  numbers: middles of published cells, or multiples of a step; null for missing).
* `mechanism` is one of `randomized-response`, `response-matrix`, `band-response`, `set-response`, `trr`. All
  probabilities are integers of `2**word_bits` words. `domain` is null for a number published by `trr`, which has
  no grid. The value (and class) that a set response shows names a set of them: those from which one of the `members`
  leads to it, `class * values + value` added up class by class and value by value, around their ends.
* `epsilon` is recomputed from the integers on reading; a file that states another one is refused.
* `joint_with_target`: the answer was drawn for (class, value) together; the class shown in the target column of a row
  that answers this attribute is part of the same answer, and the target's own `mechanism`, `parameters` and `epsilon`
  are null.
* `asked_column` names the column that records which attribute a row answers; every other attribute of the row is null,
  which then means "not asked". Null: every row answers every attribute, and null in a cell means missing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Self, TypeAlias

from anonkit.documents import Loss, ParamsPart
from anonkit.domains.number_bins import Categories, Grid, NumberBins, shown_classes
from anonkit.errors import ParameterError, ReleaseFormatError, did_you_mean
from anonkit.published.channels.category_channels import RandomizedResponse, SetResponse
from anonkit.published.channels.number_channels import BandResponse, TransformedResponse
from anonkit.published.channels.response_channel import Channel, ResponseMatrix, TruthOrBlind
from anonkit.published.exact_losses import privacy_loss

FORMAT = "anonkit-randomized-1"
Mechanism = Channel | TransformedResponse

StoredChannel: TypeAlias = RandomizedResponse | ResponseMatrix | BandResponse | SetResponse
"""The channels that params may state."""


@dataclass(frozen=True, kw_only=True)
class PublishedAttribute(
    ParamsPart,
    keys=(
        "name",
        "type",
        "domain",
        "mechanism=mechanism.mechanism",
        "parameters=mechanism",
        "epsilon",
        "joint_with_target",
    ),
    made_by="of_params",
    damage="an attribute of the params lacks a key or has one of the wrong kind",
):
    """One column of a randomized table.

    Raises
    ------
    ParameterError
        When mechanism and domain do not fit each other.
    """

    name: str
    domain: Categories | Grid | None
    """The public domain of the true values; None for a number published by TRR."""
    mechanism: Mechanism
    joint_with_target: bool = False
    """True when the answer was drawn for (class, value) together; the mechanism then has a code for each pair."""

    def __post_init__(self) -> None:
        where = f"attribute {self.name!r}"
        if isinstance(self.mechanism, TransformedResponse):
            if self.domain is not None or self.joint_with_target:
                raise ParameterError(f"{where}: trr has no grid and is never joint with the target")
            return
        if self.domain is None:
            raise ParameterError(f"{where}: {self.mechanism.mechanism} needs a public domain")
        pairs, rest = divmod(self.mechanism.n_inputs, self.domain.size)
        if rest or pairs < 1 or (pairs > 1 and not self.joint_with_target):
            raise ParameterError(
                f"{where}: the mechanism has {self.mechanism.n_inputs} codes, the domain {self.domain.size}"
            )
        if isinstance(self.mechanism, BandResponse) and not isinstance(self.domain, Grid):
            raise ParameterError(f"{where}: band response is for numbers on a grid")
        if isinstance(self.mechanism, SetResponse) and self.mechanism.values != self.domain.size:
            raise ParameterError(f"{where}: the sets of the mechanism are not made of the values of the domain")

    @property
    def is_number(self) -> bool:
        """True when the published values are numbers."""
        return not isinstance(self.domain, Categories)

    @property
    def type(self) -> str:
        """Word for the kind of the published values: `number` or `category`."""
        return "number" if self.is_number else "category"

    @property
    def epsilon(self) -> float:
        """Privacy loss of one answer, realised."""
        return self.mechanism.epsilon

    def value_channel(self, n_classes: int) -> Channel:
        """Return the channel of the value alone, whatever class a joint answer shows.

        Raises
        ------
        ParameterError
            When the attribute was published by TRR, which has no codes.
        """
        if isinstance(self.mechanism, TransformedResponse):
            raise ParameterError(f"attribute {self.name!r} was published by trr, which has no response matrix")
        if self.joint_with_target and isinstance(self.mechanism, TruthOrBlind):
            return self.mechanism.marginal(n_classes)
        return self.mechanism

    def alone(self, n_classes: int) -> PublishedAttribute:
        """Return the description of the value alone, whatever class a joint answer shows."""
        if not self.joint_with_target:
            return self
        return replace(self, mechanism=self.value_channel(n_classes), joint_with_target=False)

    def answers(self) -> Categories | Grid | None:
        """Return the domain of the published values (of one class, when joint); a band response's is wider."""
        if isinstance(self.domain, Grid) and isinstance(self.mechanism, BandResponse):
            return self.domain.widened(self.mechanism.band)
        return self.domain

    @classmethod
    def of_params(
        cls,
        *,
        name: str,
        type: str,  # noqa: A002 - the key of the params
        domain: Categories | Grid | None,
        parameters: StoredChannel | TransformedResponse,
        epsilon: Loss,
        joint_with_target: bool,
    ) -> Self:
        """Return the attribute that the params state.

        Raises
        ------
        ReleaseFormatError
            The stated ε is not that of the integers.
        """
        attribute = cls(name=name, domain=domain, mechanism=parameters, joint_with_target=joint_with_target)
        if attribute.type != type:
            raise ParameterError(f"attribute {name!r}: its type is not that of its domain")
        _check_stated(name, epsilon, attribute.epsilon)
        return attribute


def _check_stated(name: str, stated: float, realised: float) -> None:
    """Refuse a privacy loss that is not that of the parameters."""
    if stated != realised and not math.isclose(stated, realised, rel_tol=1e-12):
        raise ReleaseFormatError(
            f"attribute {name!r}: the stated epsilon is not that of its parameters", "the params file was altered"
        )


@dataclass(frozen=True, kw_only=True)
class PublishedTarget(
    ParamsPart,
    keys=(
        "name",
        "type=domain.type",
        "domain",
        "mechanism=mechanism.mechanism",
        "parameters=mechanism",
        "epsilon",
    ),
    made_by="of_params",
    damage="the target of the params lacks a key or has one of the wrong kind",
):
    """The class label of a randomized table.

    Raises
    ------
    ParameterError
        When mechanism and classes do not fit each other.
    """

    name: str
    domain: Categories
    """The public list of classes; of a number its bins, each a cell of a grid."""
    mechanism: Channel | None
    """Channel of the label; None when it is part of the attributes' answers."""

    def __post_init__(self) -> None:
        if isinstance(self.domain, NumberBins) and not self.domain.are_cells:
            raise ParameterError(f"target {self.name!r}: its bins must be the cells of its grid")
        if self.mechanism is not None and self.mechanism.n_inputs != self.domain.size:
            raise ParameterError(f"target {self.name!r}: the mechanism does not fit the classes")

    @property
    def is_number(self) -> bool:
        """True when the published labels are numbers: middles of bins."""
        return isinstance(self.domain, NumberBins)

    @property
    def type(self) -> str:
        """Word for the kind of the published values: `number` or `category`."""
        return "number" if self.is_number else "category"

    @property
    def shown(self) -> Categories | Grid:
        """The domain of the published labels."""
        return shown_classes(self.domain)

    @property
    def epsilon(self) -> float | None:
        """Privacy loss of the label, realised; None when it is part of the attributes' answers."""
        return None if self.mechanism is None else self.mechanism.epsilon

    @classmethod
    def of_params(
        cls,
        *,
        name: str,
        domain: Categories | NumberBins,
        mechanism: str | None,
        parameters: StoredChannel | None,
        epsilon: Loss | None,
    ) -> Self:
        """Return the target that the params state; what is refused is that of `PublishedAttribute.of_params`."""
        if {mechanism is None, parameters is None, epsilon is None} == {True, False}:
            raise ParameterError("a target without a mechanism has parameters")
        if parameters is not None and epsilon is not None:
            PublishedAttribute(name=name, domain=shown_classes(domain), mechanism=parameters)
            _check_stated(name, epsilon, parameters.epsilon)
        return cls(name=name, domain=domain, mechanism=parameters)


def _ratio(mechanism: Mechanism) -> Fraction | None:
    """Return the largest likelihood ratio of an answer, exact; None without a bound."""
    return None if isinstance(mechanism, TransformedResponse) else mechanism.ratio


@dataclass(frozen=True, kw_only=True)
class PublishedTable(ParamsPart, keys=("format", "target", "attributes", "asked_column")):
    """A randomized table: its target, its attributes, and whether a row answers all of them or one.

    Raises
    ------
    ParameterError
        When names repeat, the target is a number, or an answer is joint with a target that is also randomized alone.
    """

    format: ClassVar[str] = FORMAT
    target: PublishedTarget | None
    """The class label; None when the table has none."""
    attributes: tuple[PublishedAttribute, ...]
    asked_column: str | None = None
    """Column that names the one attribute a row answers; None when every row answers all."""

    def __post_init__(self) -> None:
        names = [attribute.name for attribute in self.attributes]
        names += [self.target.name] if self.target else []
        names += [self.asked_column] if self.asked_column else []
        if len(set(names)) != len(names):
            raise ParameterError("the columns of a randomized table must have distinct names")
        joint = [attribute.joint_with_target for attribute in self.attributes]
        if self.target is not None and (self.target.mechanism is None) != any(joint):
            raise ParameterError("the label is randomized either alone or as part of the attributes' answers")
        if any(joint) and not (all(joint) and self.target and self.asked_column):
            raise ParameterError("answers joint with the target need a target, one answer per row, and no other kind")
        if any(joint) and self.target is not None:
            for attribute in self.attributes:
                self._check_joint(attribute, self.target.domain.size)

    @staticmethod
    def _check_joint(attribute: PublishedAttribute, n_classes: int) -> None:
        where = f"attribute {attribute.name!r}"
        if not isinstance(attribute.mechanism, TruthOrBlind) or attribute.domain is None:
            raise ParameterError(f"{where}: only randomized, band or set response can be joint with the target")
        if attribute.mechanism.n_inputs != n_classes * attribute.domain.size:
            raise ParameterError(f"{where}: the joint mechanism does not fit the classes")

    def attribute(self, name: str) -> PublishedAttribute:
        """Return the description of one attribute.

        Raises
        ------
        ParameterError
            When there is no such attribute.
        """
        for attribute in self.attributes:
            if attribute.name == name:
                return attribute
        known = [attribute.name for attribute in self.attributes]
        raise ParameterError(f"attribute {name!r} is not described by the params", did_you_mean(name, known))

    def without_target(self) -> PublishedTable:
        """Return the description of the same rows when nobody looks at the class, not even inside joint answers."""
        n_classes = self.target.domain.size if self.target else 1
        return PublishedTable(
            target=None,
            attributes=tuple(attribute.alone(n_classes) for attribute in self.attributes),
            asked_column=self.asked_column,
        )

    @property
    def joint(self) -> bool:
        """True when attributes are answered jointly with the target."""
        return any(attribute.joint_with_target for attribute in self.attributes)

    @property
    def losses(self) -> dict[str, float]:
        """Privacy loss of each answer by column, the target's too unless it is part of the attributes' answers."""
        losses = {attribute.name: attribute.epsilon for attribute in self.attributes}
        if self.target is not None and self.target.epsilon is not None:
            losses[self.target.name] = self.target.epsilon
        return losses

    @property
    def record_epsilon(self) -> float:
        """Privacy loss of a whole record, target included: the sum over what a row answers, else the largest."""
        ratios = [_ratio(attribute.mechanism) for attribute in self.attributes]
        label = Fraction(1) if self.target is None or self.target.mechanism is None else self.target.mechanism.ratio
        if label is None or any(ratio is None for ratio in ratios):
            return math.inf
        known = [ratio for ratio in ratios if ratio is not None]
        spent = max(known, default=Fraction(1)) if self.asked_column else math.prod(known, start=Fraction(1))
        return privacy_loss(spent * label)  # a sum of floats could fall below the sum of the losses
