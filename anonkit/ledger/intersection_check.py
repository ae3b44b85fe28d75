# SPDX-License-Identifier: Apache-2.0
"""Admission of a k-anonymous release beside earlier ones: its joint k against the ledger's lower bound.

What is counted are the rows of today, under the recodings of all releases. So the count holds when the earlier releases
were made of the same table, every row of it; of a table that has changed since nobody can count here what both together
show, and a release that promises a joint k is refused then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from anonkit.errors import GuaranteeError, option, spoken
from anonkit.ledger.joint_view import JointView
from anonkit.promises.guarantee import Check

_APPLY = "anonkit apply recodes as the earlier release did, and coarser steps of the same recoding keep groups together"


@dataclass(frozen=True, kw_only=True)
class JointFloor:
    """The least size of the groups that a release may form with earlier ones of its dataset.

    Parameters
    ----------
    k : int
        What the release promises by itself.
    asked : int, optional
        What the owner allows instead: `--accept-joint-k`, else the policy's `joint_k`. 1 allows everything.
    """

    k: int
    asked: int | None = None
    means: bool = False
    """True of the view with those earlier releases that show means, as this one does: no acceptance lowers it."""

    @property
    def required(self) -> int:
        """Smallest group allowed."""
        return self.k if self.asked is None else self.asked

    @property
    def accepted(self) -> int | None:
        """The joint k below the promise that the owner accepts, for everybody to read; None when there is none."""
        return self.asked if self.asked is not None and self.asked < self.k else None

    def check_countable(self, changed: Sequence[int]) -> None:
        """Refuse what cannot be counted, unless every joint k is allowed.

        Parameters
        ----------
        changed : sequence of int
            Earlier releases that were made of other rows or columns than today's.

        Raises
        ------
        GuaranteeError
            There are some.
        """
        if changed and self.required > 1:
            raise GuaranteeError(
                f"the table has changed since {numbers(changed)} of this dataset: what both show together cannot be "
                f"counted, and {self._rule()}",
                f"{_withdrawing(changed)}; {option('only_new', True)} releases those who are new, where a unit names "
                f"people; {option('dataset', 'NAME')} of its own when it holds other people; {self._way_out(1)}",
            )

    def check(self, view: JointView | None) -> None:
        """Refuse a joint view with smaller groups.

        Raises
        ------
        GuaranteeError
            It has some, or could not be counted.
        """
        if self.required <= 1:
            return
        if view is None:
            raise GuaranteeError(
                "the joint view with earlier releases of this dataset cannot be counted, since columns have other "
                "values than they had, too many classes are small, rows of people were left out of a release, or the "
                "groups of a release (mdav) cannot be found again, and "
                f"{self._rule()}",
                self._way_out(1),
            )
        if 0 < view.k < self.required:
            raise GuaranteeError(
                f"anyone who holds this release and {numbers(view.releases)} of this dataset finds groups of {view.k}, "
                f"and {self._rule()}",
                f"{_withdrawing(view.releases)}; {_APPLY}; {self._way_out(view.k)}",
            )

    def _way_out(self, k: int) -> str:
        """Return what releases it all the same: without means, or with the owner's word."""
        return f"{option('cells', 'bounds')} shows no means, of any method but mdav" if self.means else _accepting(k)

    def checks(self) -> tuple[Check, ...]:
        """Return what the report states was checked: that the floor holds, never by how much."""
        if self.asked is None or self.asked <= 1:
            return ()
        return (Check(name="joint_k", passed=True, observed=f"{self.asked} or more", required=self.asked),)

    def _rule(self) -> str:
        if self.means:
            return f"means of groups that differ by fewer than {self.k} people disclose who is in between"
        if self.asked is None:
            return f"the release promises {self.k}"
        return f"{self.asked} is required (joint_k)"


def numbers(releases: Sequence[int]) -> str:
    """Return releases by their numbers."""
    return f"release{'s' if len(releases) > 1 else ''} {', '.join(map(str, releases))}"


def _withdrawing(releases: Sequence[int]) -> str:
    """Return the way in which an owner takes back what nobody got: the first way out of a try-out."""
    ways = [
        spoken(python=f"Ledger(PATH).withdraw({number})", typed=f"anonkit ledger --withdraw {number}")
        for number in releases
    ]
    return f"{', '.join(ways)} where it was never handed out"


def _accepting(k: int) -> str:
    """Return the option by which an owner accepts smaller groups."""
    return f"{option('accept_joint_k', k)} releases it all the same, and its page says so"
