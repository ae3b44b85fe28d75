# SPDX-License-Identifier: Apache-2.0
"""A validation result as a JUnit file, which build servers show as test results."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from anonkit.promises.guarantee import Check

_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def junit_xml(name: str, checks: Sequence[Check], unchecked: Sequence[str] = ()) -> str:
    """Return the checks as one test suite.

    Parameters
    ----------
    name : str
        What was validated.
    checks : sequence of Check
    unchecked : sequence of str
        A promise or requirement that could not be checked: an error each, never a success. A suite without any check
        is an error too.
    """
    missing = list(unchecked) or ([] if checks else ["anything"])
    errors = [(absent, "could not be checked", "unchecked") for absent in missing]
    return _document(name, checks, errors)


def junit_error(name: str, code: str, message: str) -> str:
    """Return a validation that came to no result as one error, so that nobody takes an older file for its result.

    Parameters
    ----------
    name : str
        What was to be validated.
    code : str
        Word of the error, such as "SOURCE".
    message : str
        One line, without a cell.
    """
    return _document(name, (), [("validation", message, code)])


def _document(name: str, checks: Sequence[Check], errors: Sequence[tuple[str, str, str]]) -> str:
    """Return one test suite; errors are a name, a message and a type each."""
    suite = Element(
        "testsuite",
        name="anonkit validate",
        tests=str(len(checks) + len(errors)),
        failures=str(sum(not check.passed for check in checks)),
        errors=str(len(errors)),
    )
    classname = _printable(name)
    for check in checks:
        case = SubElement(suite, "testcase", classname=classname, name=_printable(check.name))
        if not check.passed:
            message = _printable(f"observed {check.observed}, required {check.required}")
            SubElement(case, "failure", message=message, type="promise")
    for what, message, kind in errors:
        case = SubElement(suite, "testcase", classname=classname, name=_printable(what))
        SubElement(case, "error", message=_printable(message), type=kind)
    root = Element("testsuites")
    root.append(suite)
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _printable(text: str) -> str:
    """Replace characters that no XML file may hold."""
    return _UNFIT.sub("\ufffd", text)
