"""A validation as JUnit results: failures are failures, and what was not checked is an error."""

from __future__ import annotations

from xml.etree import ElementTree

from anonkit.checks.junit import junit_error, junit_xml
from anonkit.promises.guarantee import Check

HOLDS = Check(name="k_anonymity", passed=True, observed=5, required=5)
BROKEN = Check(name="t_closeness:a<b>\x00", passed=False, observed=0.5, required=0.1)


def test_every_check_is_a_test_case() -> None:
    """Counts, names and the figures of what failed."""
    suite = ElementTree.fromstring(junit_xml("out.parquet", [HOLDS, BROKEN])).find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0")
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.get("message") == "observed 0.5, required 0.1"


def test_what_was_not_checked_is_an_error() -> None:
    """Neither a promise nobody looked at nor a suite without checks is a success."""
    for text in (junit_xml("x", [HOLDS], ["l_diversity"]), junit_xml("x", [])):
        suite = ElementTree.fromstring(text).find("testsuite")
        assert suite is not None
        assert suite.get("errors") == "1"


def test_what_ended_without_a_result_is_one_error() -> None:
    """Code and message of what went wrong, without characters that no XML file holds."""
    suite = ElementTree.fromstring(junit_error("x", "SOURCE", "it is \x00 away")).find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("1", "0", "1")
    error = suite.find("testcase/error")
    assert error is not None
    assert (error.get("type"), error.get("message")) == ("SOURCE", "it is \ufffd away")
