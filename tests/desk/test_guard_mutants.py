"""A guard that forgets one of its comparisons is caught by the combinations of what a request shows."""

from __future__ import annotations

import inspect
import sys
from types import ModuleType

import pytest
from desk import test_request_guard as requests

from anonkit.desk import request_guard

MUTANTS = {
    "any name": ("if host not in self.hosts:", "if host is None:"),
    "a name in other letters": ("if host not in self.hosts:", "if str(host).lower() not in self.hosts:"),
    "a name that begins like one of the desk": (
        "if host not in self.hosts:",
        "if not any(str(host).startswith(each) for each in self.hosts):",
    ),
    "any origin": ("if origin is not None and origin !=", "if False and origin !="),
    "an origin by its host alone": (
        'origin != f"http://{host}"',
        'origin.partition("://")[2] != host',
    ),
    "no origin": ('if origin is None or site != "same-origin":', 'if site != "same-origin":'),
    "any site of a form": ('if origin is None or site != "same-origin":', "if origin is None:"),
    "a site that is not said": (
        'if origin is None or site != "same-origin":',
        'if origin is None or site not in (None, "same-origin"):',
    ),
    "any site of a page": ('elif site not in (None, "none", "same-origin"):', "elif False:"),
    "any method": ('elif method != "GET":', "elif False:"),
    "any cookie": (
        'if not _is_same(_cookie(headers.get("cookie", ""), self.cookie), self.session):',
        'if not headers.get("cookie"):',
    ),
    "a cookie that comes twice": ('return found[0] if len(found) == 1 else ""', 'return found[0] if found else ""'),
    "any form token": ("if len(tokens) != 1 or not _is_same(tokens[0], self.form_token):", "if len(tokens) != 1:"),
    "a form token that comes twice": (
        "if len(tokens) != 1 or not _is_same(tokens[0], self.form_token):",
        "if not tokens or not _is_same(tokens[0], self.form_token):",
    ),
    "a header that comes twice": ("if any(number > 1 for number", "if any(number > 2 for number"),
    "headers of other sites": (' and not name.startswith(b"access-control-")', ""),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_guard_that_forgets_a_comparison_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each mutant lets something through, or answers otherwise, that the rules refuse."""
    found, instead = MUTANTS[name]
    source = inspect.getsource(request_guard)
    assert source.count(found) == 1, found
    mutant = ModuleType("mutant_of_the_guard")
    monkeypatch.setitem(sys.modules, mutant.__name__, mutant)  # its dataclass asks for it
    exec(compile(source.replace(found, instead), "mutant", "exec"), mutant.__dict__)
    monkeypatch.setattr(requests, "RequestGuard", mutant.__dict__["RequestGuard"])
    with pytest.raises(AssertionError):
        requests.check(100_003)
