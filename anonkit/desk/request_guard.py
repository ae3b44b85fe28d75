# SPDX-License-Identifier: Apache-2.0
"""The guard of the desk: one wrapper around the whole page that lets nothing through but what it knows.

A page on this machine can be reached by every other page that a browser shows, by a name that another site has turned
to 127.0.0.1, and by other programs of this machine. So `Host` and `Origin` are compared exactly before a path is looked
at; the browser is opened by a token that opens once, and known by a cookie from then on; a change is a POST that this
very page has sent. What is refused has no effect.
"""

from __future__ import annotations

import re
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from hmac import compare_digest
from http import HTTPStatus
from typing import Any, TypeAlias
from urllib.parse import parse_qsl

from anonkit.errors import InternalError

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

FIELDS = "desk.fields"
"""Key of the scope under which the application finds the fields of a form: a list of (name, value)."""
FORM_TOKEN = "form"  # noqa: S105 - the name of a field
"""Field of every form that holds the form token of the session."""
OPENING = "/open"
"""The one path that may have a query: `token`."""
LARGEST_FORM = 8 * 2**20
"""Bytes of a form at most: a hierarchy of a hundred thousand values is smaller."""

_FORM_TYPE = "application/x-www-form-urlencoded"
_PATH = re.compile(r"/(?:[A-Za-z0-9_-][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*)?")
"""Paths of the desk: no empty part, none that begins with a dot, nothing encoded."""
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    b"cache-control": b"no-store",
    b"content-security-policy": _POLICY.encode(),
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"referrer-policy": b"same-origin",  # under no-referrer a browser sends a form with `Origin: null`
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
}
_OWN_POLICY = b"content-security-policy"
"""The one of these headers that the application may set itself: a page of a release brings its own style."""


class Refusal(Exception):  # noqa: N818 - what it is
    """A request that goes no further.

    Parameters
    ----------
    status : HTTPStatus
    reason : str
        One line for whoever sits at the browser. It repeats nothing of the request.
    """

    def __init__(self, *, status: HTTPStatus, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


@dataclass(kw_only=True)
class RequestGuard:
    """The application, behind what every request has to show.

    Parameters
    ----------
    application : callable
        ASGI. It is called for requests alone that are allowed, with the fields of a form in the scope.
    port : int
        On which the desk listens; the cookie is named by it, since ports of a machine share their cookies.
    host_name : str, optional
        The one `Host` that is allowed besides those of this machine, such as that of a forwarded port.
    seen : callable
        Called with the path of every request that is allowed.
    """

    application: Application = field(repr=False)
    port: int
    host_name: str | None = None
    seen: Callable[[str], None] = field(default=lambda _: None, repr=False)
    opening_token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    """Opens the browser, once."""
    form_token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    """In every form, for as long as the desk is open, so that two tabs work."""
    session: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    """Value of the cookie."""
    _is_opened: bool = False

    @property
    def hosts(self) -> frozenset[str]:
        """Every `Host` that is allowed."""
        names = {f"{name}:{self.port}" for name in ("127.0.0.1", "localhost")}
        if self.port == 80:  # a browser leaves it out
            names |= {"127.0.0.1", "localhost"}
        return frozenset(names | ({self.host_name} if self.host_name else set()))

    @property
    def cookie(self) -> str:
        """Name of the cookie."""
        return f"anonkit_desk_{self.port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            return
        answer = _Answer(send)
        try:
            await self._answered(scope, receive, answer)
        except Refusal as refusal:
            await _send_refusal(answer, refusal)
        except Exception as error:  # its words may quote cells of the table
            if answer.is_begun:
                raise
            reason = InternalError.of(error).message
            await _send_refusal(answer, Refusal(status=HTTPStatus.INTERNAL_SERVER_ERROR, reason=reason))

    async def _answered(self, scope: Scope, receive: Receive, send: _Answer) -> None:
        headers = _headers(scope)
        self._check_origin(scope["method"], headers)
        path = _path(scope)
        if path == OPENING:
            await self._open(scope, send)
            return
        if scope.get("query_string"):
            raise Refusal(status=HTTPStatus.BAD_REQUEST, reason="this page takes nothing in its address")
        if not _is_same(_cookie(headers.get("cookie", ""), self.cookie), self.session):
            raise Refusal(
                status=HTTPStatus.FORBIDDEN,
                reason="this browser is not the one that the desk opened; start anonkit desk again for a new address",
            )
        if scope["method"] == "POST":
            scope[FIELDS] = self._fields(headers, await _body(headers, receive))
        self.seen(path)
        await self.application(scope, receive, send)

    def _check_origin(self, method: str, headers: dict[str, str]) -> None:
        """Refuse a request that another page, or another name of this machine, has made."""
        host, origin, site = headers.get("host"), headers.get("origin"), headers.get("sec-fetch-site")
        if host not in self.hosts:
            raise Refusal(status=HTTPStatus.FORBIDDEN, reason="this name is not one of the desk")
        if origin is not None and origin != f"http://{host}":
            raise Refusal(status=HTTPStatus.FORBIDDEN, reason="another page has made this request")
        if method == "POST":
            if origin is None or site != "same-origin":
                raise Refusal(status=HTTPStatus.FORBIDDEN, reason="no page of the desk has made this request")
        elif method != "GET":
            raise Refusal(status=HTTPStatus.METHOD_NOT_ALLOWED, reason="the desk takes GET and POST alone")
        elif site not in (None, "none", "same-origin"):
            raise Refusal(status=HTTPStatus.FORBIDDEN, reason="another page has made this request")

    async def _open(self, scope: Scope, send: _Answer) -> None:
        """Give the browser that shows the token its cookie, once."""
        pairs = parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
        given = pairs[0][1] if len(pairs) == 1 and pairs[0][0] == "token" else ""
        if scope["method"] != "GET" or self._is_opened or not _is_same(given, self.opening_token):
            raise Refusal(
                status=HTTPStatus.FORBIDDEN,
                reason="this address has been opened before, or is none; start anonkit desk again for a new one",
            )
        self._is_opened = True
        self.seen(OPENING)
        set_cookie = f"{self.cookie}={self.session}; Path=/; HttpOnly; SameSite=Strict"
        moved = [(b"location", b"/"), (b"set-cookie", set_cookie.encode()), (b"content-length", b"0")]
        await send({"type": "http.response.start", "status": HTTPStatus.SEE_OTHER.value, "headers": moved})
        await send({"type": "http.response.body", "body": b""})

    def _fields(self, headers: dict[str, str], body: bytes) -> list[tuple[str, str]]:
        """Return the fields of a form that this session has shown, without the form token."""
        if headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM_TYPE:
            raise Refusal(status=HTTPStatus.UNSUPPORTED_MEDIA_TYPE, reason="the desk takes its own forms alone")
        try:
            fields = parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=100_000, errors="strict")
        except ValueError:
            raise Refusal(status=HTTPStatus.BAD_REQUEST, reason="this is no form") from None
        tokens = [value for name, value in fields if name == FORM_TOKEN]
        if len(tokens) != 1 or not _is_same(tokens[0], self.form_token):
            raise Refusal(status=HTTPStatus.FORBIDDEN, reason="this form is not of this desk; load the page again")
        return [(name, value) for name, value in fields if name != FORM_TOKEN]


class _Answer:
    """The sender of an answer, with the headers that every answer has."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.is_begun = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.is_begun = True
            given = [(bytes(name).lower(), value) for name, value in message.get("headers", ())]
            headers = [
                (name, value)
                for name, value in given
                if (name not in _HEADERS or name == _OWN_POLICY) and not name.startswith(b"access-control-")
            ]
            names = {name for name, _ in headers}
            message["headers"] = [*headers, *((name, value) for name, value in _HEADERS.items() if name not in names)]
        await self._send(message)


def _headers(scope: Scope) -> dict[str, str]:
    """Return the headers of a request, none of which comes twice."""
    pairs = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"]]
    if any(number > 1 for number in Counter(name for name, _ in pairs).values()):
        raise Refusal(status=HTTPStatus.BAD_REQUEST, reason="a header of this request comes twice")
    return dict(pairs)


def _path(scope: Scope) -> str:
    """Return the path as it was sent, if it can be one of the desk."""
    path = bytes(scope.get("raw_path") or scope["path"].encode()).decode("latin-1")
    if not _PATH.fullmatch(path) or path != scope["path"]:
        raise Refusal(status=HTTPStatus.NOT_FOUND, reason="there is no such page")
    return path


def _cookie(header: str, name: str) -> str:
    """Return the value of a cookie that is there once; an empty text else."""
    pairs = [part.strip().partition("=") for part in header.split(";")]
    found = [value for given, _, value in pairs if given == name]
    return found[0] if len(found) == 1 else ""


def _is_same(given: str, secret: str) -> bool:
    return compare_digest(given.encode("utf-8", "surrogatepass"), secret.encode())


async def _body(headers: dict[str, str], receive: Receive) -> bytes:
    """Return the body of a request, if it is no larger than a form may be."""
    too_large = Refusal(status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE, reason="this form is too large")
    declared = headers.get("content-length", "")
    if declared.isascii() and declared.isdigit() and int(declared) > LARGEST_FORM:
        raise too_large
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise Refusal(status=HTTPStatus.BAD_REQUEST, reason="the form was cut off")
        body += message.get("body", b"")
        if len(body) > LARGEST_FORM:
            raise too_large
        if not message.get("more_body", False):
            return bytes(body)


async def _send_refusal(send: _Answer, refusal: Refusal) -> None:
    """Answer with one line of plain text."""
    text = f"{refusal.reason}\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(text)).encode())]
    await send({"type": "http.response.start", "status": refusal.status.value, "headers": headers})
    await send({"type": "http.response.body", "body": text})
