# SPDX-License-Identifier: Apache-2.0
"""Files from the web: copied byte by byte over an encrypted connection, to the last byte.

A password comes from the address or from ~/.netrc, and goes to the host that it is for alone.
"""

from __future__ import annotations

import netrc
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException, HTTPMessage, HTTPResponse
from ipaddress import ip_address
from pathlib import Path
from typing import IO, Any, TypeVar
from urllib.error import HTTPError, URLError
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, Request, build_opener

from anonkit.engines.reading.failures import FOREIGN, shielded
from anonkit.engines.reading.parquet_tables import FileTable
from anonkit.engines.snapshots.addresses import TEXT_FORMATS, SourceAddress, compression_of_name
from anonkit.engines.snapshots.dispatch import of_fetched
from anonkit.errors import SourceError
from anonkit.policy.declaration import Policy

_T = TypeVar("_T")

_PART = 1 << 20  # bytes copied at a time
_PATIENCE = 60.0  # seconds without a byte
_FOREIGN = (HTTPException, netrc.NetrcParseError, *FOREIGN)
_UNAUTHORIZED = (401, 403, 407)
_GONE = (404, 410)
_TRUNCATED = "run the command again: nothing was written"


class _Insecure(Exception):  # noqa: N818 - it never leaves this module
    """A redirect leads to a place that is not encrypted."""


class _Redirects(HTTPRedirectHandler):
    """Follows redirects to encrypted places alone."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        if not _is_private(urlsplit(newurl)):
            raise _Insecure
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def live_table(address: SourceAddress, policy: Policy) -> WebFile:
    """Return a file of the web; no request is sent yet.

    Raises
    ------
    SourceError
        Rows would come over an open line.
    """
    address.refuse("query", of="a file of the web")
    if not _is_private(urlsplit(address.place)):
        raise SourceError(f"{address.shown} would send its rows over an open line", "https://…")
    return WebFile(address=address, policy=policy)


@dataclass(frozen=True, kw_only=True, repr=False)
class WebFile:
    """A file of the web; see `anonkit.engines.snapshots.dispatch.LiveTable`."""

    address: SourceAddress
    policy: Policy

    def copy(self, folder: Path) -> FileTable:
        """Copy the file.

        Raises
        ------
        SourceError
            The server cannot be reached or refuses, there is no such file, or it ends before its last byte.
        """
        place, kind = folder / "fetched", self.address.named_format
        compression = compression_of_name(self.address.bare)
        response: HTTPResponse = self._shielded(self._response)
        with response:
            self._refuse_recoded(response, compression)
            declared = response.length
            if (
                declared is None
                and not getattr(response, "chunked", False)
                and kind in TEXT_FORMATS
                and not compression
            ):
                raise SourceError(
                    f"the server of {self.address.shown} does not tell how long the file is",
                    "a part of it could pass for the whole: copy it here first",
                )
            n_bytes = self._shielded(lambda: _copied(response, place))
        if declared is not None and n_bytes != declared:
            raise SourceError(f"{self.address.shown} ended before its last byte", _TRUNCATED)
        return of_fetched(self.address, place, self.policy)

    def _response(self) -> HTTPResponse:
        parts = urlsplit(self.address.place)
        host = parts.netloc.rpartition("@")[2]
        request = Request(urlunsplit((parts.scheme, host, parts.path or "/", parts.query, "")))  # noqa: S310
        request.add_header("Accept-Encoding", "identity")
        credentials = _credentials(parts)
        if credentials is not None:  # not repeated to a host that the answer names
            request.add_unredirected_header("Authorization", credentials)
        answer: HTTPResponse = _opener().open(request, timeout=_PATIENCE)
        return answer

    def _shielded(self, action: Callable[[], _T]) -> _T:
        return shielded(action, self._refusal, (_Insecure, *_FOREIGN))

    def _refuse_recoded(self, response: HTTPResponse, compression: str | None) -> None:
        """Refuse bytes that are not those of the file, but packed once more on the way."""
        coding = (response.headers.get("Content-Encoding") or "identity").lower()
        if coding != "identity" and not (compression == "gzip" and coding in ("gzip", "x-gzip")):
            raise SourceError(f"the server of {self.address.shown} packs the file on its way", "copy it here first")

    def _refusal(self, error: Exception) -> SourceError:
        named = self.address.shown
        if isinstance(error, HTTPError):
            error.close()
            if error.code in _UNAUTHORIZED:
                return SourceError(
                    f"the server refuses to let you read {named} ({error.code})", "a password comes from ~/.netrc"
                )
            if error.code in _GONE:
                return SourceError(f"{named} does not exist ({error.code})", "is it spelled so?")
            return SourceError(f"the server of {named} answers with an error ({error.code})", _TRUNCATED)
        if isinstance(error, _Insecure):
            return SourceError(f"{named} leads to a place that would send its rows over an open line", "https://…")
        if isinstance(error, netrc.NetrcParseError):
            return SourceError("~/.netrc cannot be read", "its format, or its mode (0600)?")
        if isinstance(error, URLError):
            secure = "certificate" in str(error.reason).lower() or "ssl" in str(error.reason).lower()
            if secure:
                return SourceError(f"the server of {named} has no certificate that is trusted", "SSL_CERT_FILE")
            return SourceError(f"the server of {named} cannot be reached", "does it run, and is its host spelled so?")
        return SourceError(f"{named} ended before its last byte", _TRUNCATED)


def _opener() -> OpenerDirector:
    return build_opener(_Redirects)


def _copied(response: Any, place: Path) -> int:
    n_bytes = 0
    with place.open("xb") as file:
        while part := response.read(_PART):
            n_bytes += len(part)
            file.write(part)
    return n_bytes


def _credentials(parts: SplitResult) -> str | None:
    """Return the header for a user and a password, of the address or of ~/.netrc."""
    user, at, _ = parts.netloc.rpartition("@")
    if at:
        name, _, password = user.partition(":")
        name, password = unquote(name), unquote(password)
    else:
        try:
            found = netrc.netrc().authenticators(parts.hostname or "")
        except FileNotFoundError:
            return None
        if found is None:
            return None
        name, password = found[0], found[2] or ""
    return "Basic " + b64encode(f"{name}:{password}".encode()).decode()


def _is_private(parts: SplitResult) -> bool:
    """Return True if a connection is encrypted, or does not leave this machine."""
    if parts.scheme == "https":
        return True
    host = parts.hostname or ""
    try:
        return parts.scheme == "http" and (host == "localhost" or ip_address(host).is_loopback)
    except ValueError:
        return False
