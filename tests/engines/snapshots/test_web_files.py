"""Files of the web, from a real server on this machine: whole or not at all, and no password to anybody else."""

from __future__ import annotations

import gzip
import io
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engines.snapshots.live import quotes_nothing, read

from anonkit.errors import ParameterError, SourceError

MARKER = "a-cell-of-somebody"
ROWS = b"age,name\n" + b"\n".join(b"%d,%s" % (n, MARKER.encode()) for n in range(2000)) + b"\n"
SECRET = "a/wrong:secret"
QUOTED = "a%2Fwrong%3Asecret"

Answer = Callable[[BaseHTTPRequestHandler], None]


class Web:
    """A server whose answers are functions, by path."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.asked: list[tuple[str, str | None]] = []
        web = self

        class Handler(BaseHTTPRequestHandler):
            """Answers, and keeps the requests."""

            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                path = self.path.partition("?")[0]
                web.asked.append((self.path, self.headers.get("Authorization")))
                web.answers.get(path, lambda handler: handler.send_error(404))(self)
                self.close_connection = True

            def log_message(self, *_: Any) -> None:
                """Log nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Stop."""
        self._server.shutdown()
        self._server.server_close()

    def at(self, path: str, user: str = "") -> str:
        """Return an address."""
        return f"http://{user}127.0.0.1:{self.port}{path}"


def body(content: bytes, *, told: int | None = 0, **headers: str) -> Answer:
    """Return an answer; `told` is how long it says that it is: 0 the truth, None nothing."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        if told is not None:
            handler.send_header("Content-Length", str(told or len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    return answer


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Web]:
    """A server, no password file and no proxy."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("no_proxy", "*")
    server = Web()
    yield server
    server.close()


def test_files_of_text_and_of_parquet_are_read(web: Web) -> None:
    """Plain, packed, with parameters in the address, without a name that says the format."""
    file = io.BytesIO()
    pq.write_table(pa.table({"age": [1, 2], "name": ["x", "y"]}), file)
    web.answers = {
        "/people.csv": body(ROWS),
        "/people.csv.gz": body(gzip.compress(ROWS)),
        "/export": body(ROWS),
        "/people.parquet": body(file.getvalue()),
    }
    for address, how in (("/people.csv?signature=abc", {}), ("/people.csv.gz", {}), ("/export", {"format": "csv"})):
        assert read(web.at(address), **how).column("age").to_pylist() == list(range(2000))
    assert web.asked[0][0] == "/people.csv?signature=abc"
    assert read(web.at("/people.parquet")).column("name").to_pylist() == ["x", "y"]


def _chunks(*parts: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (body(ROWS[:9000], told=len(ROWS)), "ended before its last byte"),
        (body(_chunks(ROWS[:9000], ROWS[9000:12000]), told=None, Transfer_Encoding="chunked"), "ended before its last"),
        (body(ROWS, told=None), "does not tell how long"),
        (body(gzip.compress(ROWS), Content_Encoding="gzip"), "packs the file"),
        (lambda handler: handler.send_error(401, MARKER), r"refuses to let you read .* \(401\)"),
        (lambda handler: handler.send_error(500, MARKER), r"answers with an error \(500\)"),
        (lambda handler: handler.send_error(404, MARKER), "does not exist"),
        (lambda handler: handler.wfile.write(MARKER.encode() + b"\r\n\r\n"), "ended before its last byte"),
    ],
)
def test_a_file_is_read_to_its_end_or_not_at_all(
    web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: Answer, said: str
) -> None:
    """Cut short, of unknown length, repacked, refused: exit 3, nothing kept, and not a word of the server."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    web.answers["/people.csv"] = answer
    with pytest.raises(SourceError, match=said) as caught:
        read(web.at("/people.csv?token=hidden", f"owner:{QUOTED}@"))
    quotes_nothing(caught.value, MARKER, SECRET, QUOTED, "hidden")
    assert caught.value.exit_code == 3
    assert list(tmp_path.iterdir()) == []


def test_a_password_goes_to_its_own_host_alone(web: Web, tmp_path: Path) -> None:
    """From the address or the password file; a place that the answer leads to gets none."""
    other = Web()
    other.answers["/people.csv"] = body(ROWS)

    def leads_away(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(302)
        handler.send_header("Location", other.at("/people.csv"))
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    web.answers["/people.csv"] = leads_away
    assert read(web.at("/people.csv", f"owner:{QUOTED}@")).num_rows == 2000
    (tmp_path / ".netrc").write_text(f'machine 127.0.0.1 login owner password "{SECRET}"\n')
    (tmp_path / ".netrc").chmod(0o600)
    web.answers["/kept.csv"] = body(ROWS)
    assert read(web.at("/kept.csv")).num_rows == 2000
    basic = "Basic " + b64encode(f"owner:{SECRET}".encode()).decode()
    assert web.asked == [("/people.csv", basic), ("/kept.csv", basic)]
    assert other.asked == [("/people.csv", None)]
    other.close()


@pytest.mark.parametrize("place", ["http://example.invalid/people.csv", "ftp://127.0.0.1/x.csv", "file:///etc/passwd"])
def test_rows_do_not_come_over_an_open_line(web: Web, place: str) -> None:
    """Neither from an address nor from a place that an answer leads to."""

    def leads_away(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(302)
        handler.send_header("Location", place)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    web.answers["/people.csv"] = leads_away
    with pytest.raises(SourceError, match=r"open line|answers with an error"):
        read(web.at("/people.csv"))
    if place.startswith("http"):
        with pytest.raises(SourceError, match="open line"):
            read(place)


def test_a_server_that_is_not_there_is_reported(web: Web) -> None:
    """No server, and no such host."""
    for place in ("http://127.0.0.1:9/people.csv", "https://nowhere.invalid/people.csv"):
        with pytest.raises(SourceError, match="cannot be reached"):
            read(place)
    with pytest.raises(ParameterError, match="query means nothing"):
        read(web.at("/people.csv"), query="SELECT 1")
