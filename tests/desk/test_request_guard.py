"""The guard of the desk: every combination of what a request shows, against rules that are written anew here."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import pytest
from desk.visitor import completed

from anonkit.desk.request_guard import FIELDS, LARGEST_FORM, RequestGuard

PORT = 8765
FORWARDED = "localhost:8899"
OWN = "127.0.0.1:8765"
HOSTS = (
    *(OWN, "localhost:8765", FORWARDED, None),
    *(
        "evil.example",
        "127.0.0.1",
        "localhost:8766",
        "LOCALHOST:8765",
        "127.0.0.1:8765@evil.example",
        "localhost:8765.",
    ),
)
ORIGINS = ("own", None, "http://localhost:8765", "http://evil.example", "null", "https")
COOKIES = ("right", None, "wrong", "twice", "another port", "beside others")
FORMS = ("right", None, "wrong", "twice")
METHODS = ("GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "get")
SITES = (None, "none", "same-origin", "same-site", "cross-site")
TWICE = (None, "host", "origin", "cookie", "sec-fetch-site", "accept")


@dataclass(frozen=True)
class Shown:
    """The parts of a request that the guard sees."""

    host: str | None = OWN
    origin: str | None = "own"
    cookie: str | None = "right"
    form: str | None = "right"
    method: str = "POST"
    site: str | None = "same-origin"
    twice: str | None = None


class Behind:
    """An application that counts what reaches it."""

    def __init__(self) -> None:
        self.scopes: list[Any] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.scopes.append(scope)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"access-control-allow-origin", b"*")]})
        await send({"type": "http.response.body", "body": b"ok"})


def guarded() -> tuple[RequestGuard, Behind]:
    """Return a guard, and what is behind it."""
    behind = Behind()
    return RequestGuard(application=behind, port=PORT, host_name=FORWARDED), behind


def sent(
    guard: RequestGuard, method: str, path: str, headers: list[tuple[str, str]], body: bytes = b"", query: str = ""
) -> tuple[int, dict[str, list[str]]]:
    """Call the guard as a server would; return status and headers of the answer."""
    answer: list[Any] = []
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        return messages.pop(0)

    async def send(message: Any) -> None:
        answer.append(message)

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers],
    }
    coroutine = guard(scope, receive, send)
    try:
        coroutine.send(None)  # type: ignore[attr-defined]
    except StopIteration:
        pass
    else:
        raise AssertionError("nothing of it waits")
    found: dict[str, list[str]] = {}
    for name, value in answer[0]["headers"]:
        found.setdefault(name.decode(), []).append(value.decode())
    return answer[0]["status"], found


def headers_of(guard: RequestGuard, shown: Shown) -> tuple[list[tuple[str, str]], bytes]:
    """Return the headers and the body of a request."""
    name = "anonkit_desk_8765"
    origin = {"own": f"http://{shown.host}", "https": f"https://{shown.host}"}.get(str(shown.origin), shown.origin)
    cookie = {
        "right": f"{name}={guard.session}",
        "wrong": f"{name}={'0' * 43}",
        "twice": f"{name}={guard.session}; {name}=other",
        "another port": f"anonkit_desk_8766={guard.session}",
        "beside others": f"theme=dark; {name}={guard.session}; _xsrf=2",
    }.get(str(shown.cookie))
    form = {
        "right": [("form", guard.form_token)],
        "wrong": [("form", "0" * 43)],
        "twice": [("form", guard.form_token), ("form", guard.form_token)],
    }.get(str(shown.form), [])
    given = {"host": shown.host, "origin": origin, "cookie": cookie, "sec-fetch-site": shown.site, "accept": "*/*"}
    headers = [(header, value) for header, value in given.items() if value is not None]
    headers += [(header.title(), value) for header, value in headers if header == shown.twice]
    if shown.method == "POST":
        headers.append(("content-type", "application/x-www-form-urlencoded"))
    return headers, urlencode([*form, ("role", "a b")]).encode()


def is_allowed(shown: Shown) -> bool:
    """Return which requests reach the application, by a second implementation."""
    if (
        shown.twice is not None
        and {
            "host": shown.host,
            "origin": shown.origin,
            "cookie": shown.cookie,
            "sec-fetch-site": shown.site,
            "accept": "*/*",
        }[shown.twice]
        is not None
    ):
        return False
    if shown.host not in ("127.0.0.1:8765", "localhost:8765", "localhost:8899"):
        return False
    if shown.cookie not in ("right", "beside others"):
        return False
    is_own_origin = shown.origin == "own" or shown.origin == f"http://{shown.host}"
    if shown.method == "POST":
        return is_own_origin and shown.site == "same-origin" and shown.form == "right"
    if shown.method == "GET":
        return (is_own_origin or shown.origin is None) and shown.site in (None, "none", "same-origin")
    return False


def combinations(step: int) -> Iterator[Shown]:
    """Yield every combination, or every so many of them, and all that differ from an allowed one in one thing."""
    parts = (HOSTS, ORIGINS, COOKIES, FORMS, METHODS, SITES, TWICE)
    for values in itertools.islice(itertools.product(*parts), 0, None, step):
        yield Shown(*values)
    for method in ("GET", "POST"):
        usual = {"method": method}
        for name, listed in zip(Shown.__dataclass_fields__, parts, strict=True):
            yield from (Shown(**{**usual, name: value}) for value in listed)  # type: ignore[arg-type]


def check(step: int) -> int:
    """Send every so many of the combinations; return how many were allowed."""
    allowed = 0
    guard, behind = guarded()
    for shown in combinations(step):
        headers, body = headers_of(guard, shown)
        before = len(behind.scopes)
        status, answered = sent(guard, shown.method, "/roles", headers, body)
        reached = len(behind.scopes) > before
        assert reached is is_allowed(shown), shown
        assert (status == 200) is reached, shown
        assert "access-control-allow-origin" not in answered
        assert "unsafe" not in answered["content-security-policy"][0]
        assert answered["cache-control"] == ["no-store"]
        allowed += reached
    assert allowed
    return allowed


def test_a_request_is_allowed_if_all_that_it_shows_is_right() -> None:
    """Thousands of combinations of host, origin, cookie, form token, method, site and doubled headers."""
    check(101)


@pytest.mark.slow
def test_every_combination_is_answered_as_the_rules_say() -> None:
    """All of them: three hosts, one origin and one form token change something."""
    # 3 hosts, 2 right cookies: POST with 1 form token, its own origin; GET with any form, 3 sites
    assert check(1) > 100


def test_fields_reach_the_application_without_the_form_token() -> None:
    """In the order of the form, blanks and empty values too."""
    guard, behind = guarded()
    headers, _ = headers_of(guard, Shown())
    body = urlencode([("role", "a b"), ("form", guard.form_token), ("empty", ""), ("role", "é\u202e<")]).encode()

    assert sent(guard, "POST", "/roles", headers, body)[0] == 200
    assert behind.scopes[-1][FIELDS] == [("role", "a b"), ("empty", ""), ("role", "é\u202e<")]


def test_the_address_opens_one_browser_once() -> None:
    """A cookie that no script reads and no other site sends, and never again."""
    guard, behind = guarded()
    host = [("host", OWN)]
    assert sent(guard, "GET", "/open", host, query="token=guess")[0] == 403
    assert sent(guard, "GET", "/open", host, query=f"token={guard.opening_token}&token=x")[0] == 403
    assert sent(guard, "GET", "/open", [("host", "evil.example")], query=f"token={guard.opening_token}")[0] == 403
    from_elsewhere = [*host, ("sec-fetch-site", "cross-site")]
    assert sent(guard, "GET", "/open", from_elsewhere, query=f"token={guard.opening_token}")[0] == 403
    status, answered = sent(guard, "GET", "/open", host, query=f"token={guard.opening_token}")

    assert (status, answered["location"]) == (303, ["/"])
    cookie = f"anonkit_desk_{PORT}={guard.session}"
    assert answered["set-cookie"] == [f"{cookie}; Path=/; HttpOnly; SameSite=Strict"]
    assert sent(guard, "GET", "/open", host, query=f"token={guard.opening_token}")[0] == 403
    assert sent(guard, "GET", "/", [*host, ("cookie", cookie)])[0] == 200
    assert len(behind.scopes) == 1


@pytest.mark.parametrize(
    "path",
    [
        "/../etc/passwd",
        "/files/..",
        "/files/.hidden",
        "//roles",
        "/roles/",
        "/files/%2e%2e/x",
        "/a\\b",
        "roles",
        "/rôles",
    ],
)
def test_a_path_is_one_of_the_desk_or_none(path: str) -> None:
    """Nothing that climbs, hides or is encoded reaches the application."""
    guard, behind = guarded()
    headers, _ = headers_of(guard, Shown(method="GET", origin=None))

    assert sent(guard, "GET", path, headers)[0] == 404
    assert behind.scopes == []


def test_nothing_is_taken_from_an_address() -> None:
    """A query is for the opening token alone: addresses stay in the history of a browser."""
    guard, behind = guarded()
    headers, body = headers_of(guard, Shown(method="GET"))

    assert sent(guard, "GET", "/roles", headers, body, query="column=age")[0] == 400
    assert behind.scopes == []


@pytest.mark.parametrize("kind", ["multipart/form-data; boundary=x", "application/json", "text/plain", ""])
def test_other_bodies_than_forms_are_refused(kind: str) -> None:
    """A page elsewhere can send some of these without a preflight request."""
    guard, behind = guarded()
    headers, body = headers_of(guard, Shown())
    headers = [*(pair for pair in headers if pair[0] != "content-type"), ("content-type", kind)]

    assert sent(guard, "POST", "/roles", headers, body)[0] == 415
    assert behind.scopes == []


def test_a_form_that_is_too_large_is_refused() -> None:
    """By what it says of its size, and by its size."""
    guard, behind = guarded()
    headers, body = headers_of(guard, Shown())

    assert sent(guard, "POST", "/roles", [*headers, ("content-length", str(LARGEST_FORM + 1))], body)[0] == 413
    assert sent(guard, "POST", "/roles", headers, body + b"&x=" + b"a" * LARGEST_FORM)[0] == 413
    assert sent(guard, "POST", "/roles", headers, b"\xff\xfe")[0] == 400
    assert behind.scopes == []


def test_a_web_socket_is_closed() -> None:
    """There is none, whatever it shows."""
    guard, behind = guarded()
    said: list[Any] = []

    async def send(message: Any) -> None:
        said.append(message)

    completed(guard({"type": "websocket", "path": "/events", "headers": []}, send, send))  # type: ignore[arg-type]
    assert said == [{"type": "websocket.close", "code": 1008}]
    assert behind.scopes == []


def test_a_defect_says_where_and_nothing_of_the_table() -> None:
    """The words of an exception may quote cells."""

    async def broken(scope: Any, receive: Any, send: Any) -> None:
        raise ValueError("cell: Ada Lovelace")

    said: list[Any] = []

    async def send(message: Any) -> None:
        said.append(message)

    async def receive() -> Any:
        return {"type": "http.request"}

    guard = RequestGuard(application=broken, port=PORT)
    headers, _ = headers_of(guard, Shown(method="GET"))
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/",
        "headers": [(name.encode(), value.encode()) for name, value in headers],
    }
    completed(guard(scope, receive, send))
    assert said[0]["status"] == 500
    assert b"ValueError" in said[1]["body"]
    assert b"Ada" not in said[1]["body"]
    assert guard.session not in repr(guard)
    assert guard.form_token not in repr(guard)
    assert guard.opening_token not in repr(guard)
