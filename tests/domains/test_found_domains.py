"""Domains that a private search found: lines of an account, and their sum."""

from __future__ import annotations

from fractions import Fraction

from anonkit.domains.found_domains import FindingLine, FoundDomains
from anonkit.errors import PolicyError

LINE = FindingLine(purpose="categories of city", mechanism="laplace", rate=1 << 51)


def test_losses_of_the_lines_add_up_exactly() -> None:
    """Rates are whole parts of 2**-52: no rounding on the way."""
    found = FoundDomains(lines=(LINE, FindingLine(purpose="cells", mechanism="laplace", rate=3)))
    assert LINE.epsilon == Fraction(1, 2)
    assert found.row_epsilon == Fraction(1, 2) + Fraction(3, 1 << 52)
    assert FoundDomains().row_epsilon == 0


def test_a_line_states_a_threshold_only_where_it_has_one() -> None:
    """The keys of every line of an account come first, in their order."""
    plain = LINE.to_params()
    assert list(plain)[:4] == ["purpose", "mechanism", "rate", "rate_unit"]
    assert "threshold" not in plain
    assert "delta" not in plain
    with_threshold = FindingLine(
        purpose="categories", mechanism="laplace", rate=1, threshold=12, delta=Fraction(1, 10**6)
    ).to_params()
    assert with_threshold["threshold"] == 12
    assert "delta" in with_threshold


def test_a_refusal_that_follows_is_charged_like_the_rest() -> None:
    """The lines stay; message and hint are kept as words."""
    refused = FoundDomains(lines=(LINE,)).refused_by(PolicyError("nothing is left", "declare more"))
    assert refused.lines == (LINE,)
    assert (refused.undecided, refused.advice) == ("nothing is left", "declare more")
