"""Secrets of addresses are shown nowhere: in no message, no JSON, no file, whatever command they are given to."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import anonkit
from anonkit.cli import anonkit as commands
from anonkit.cli.boundary import run
from anonkit.errors import AnonkitError, SourceError
from anonkit.redaction import is_address, redacted, source_names, table_name

SECRETS = st.text(st.sampled_from("abcXYZ019@:/?#%&=+~!$*()[]._-"), min_size=10, max_size=24).map(
    lambda tail: f"q7{tail}k9"
)
"""Secrets with any sign that has a meaning in an address, at least ten letters long so that no chance shows them."""
SCHEMES = st.sampled_from(["https", "postgresql", "mysql+pymysql", "s3", "s3a", "jdbc:postgresql", "sftp", "abfss"])
PATHS = st.sampled_from(["", "/", "/people.csv", "/db?table=people", "/a/b/people.parquet", "/out/"])


@st.composite
def addresses(draw: st.DrawFn) -> tuple[str, str]:
    """An address with a secret, and the secret."""
    secret, scheme, path = draw(SECRETS), draw(SCHEMES), draw(PATHS)
    where = draw(st.sampled_from(["password", "user", "parameter", "fragment"]))
    if where == "password":
        return f"{scheme}://owner:{secret}@host.example{path}", secret
    if where == "user":
        return f"{scheme}://{secret}@host.example{path}", secret
    key = draw(st.sampled_from(["sig", "token", "X-Amz-Signature", "password", "api_key", "sv"]))
    secret = "".join(letter for letter in secret if letter not in "&#?@:/")
    if where == "parameter":
        return f"{scheme}://host.example{path}{'&' if '?' in path else '?'}{key}={secret}", secret
    return f"{scheme}://host.example{path}#{key}={secret}", secret


@given(
    address=addresses(),
    before=st.sampled_from(["", "'", '"', "cannot read '"]),
    after=st.sampled_from(["", "'", " it"]),
)
def test_no_secret_is_left_in_a_text(address: tuple[str, str], before: str, after: str) -> None:
    """Neither in the address nor in a sentence that quotes it, also where it was taken for a path; hosts stay."""
    url, secret = address
    for text in (url, str(Path(url))):
        shown = redacted(f"{before}{text}{after}")

        assert secret not in shown
        assert secret[:8] not in shown
        assert "host.example" in shown
        assert redacted(shown) == shown


@given(secret=SECRETS, path=PATHS, scheme=SCHEMES)
def test_a_fragment_is_hidden_whatever_it_looks_like(secret: str, path: str, scheme: str) -> None:
    """A token without a name, behind parameters or a path; what comes before it stays."""
    shown = redacted(f"cannot read '{scheme}://host.example{path}#{secret}'")

    assert secret not in shown
    assert secret[:8] not in shown
    assert "@" in secret or f"host.example{path}#***" in shown
    assert redacted(shown) == shown
    assert secret[:8] not in table_name(f"{scheme}://host.example{path}#{secret}")


@given(address=addresses())
def test_a_table_is_named_without_secrets(address: tuple[str, str]) -> None:
    """The name a dataset gets from its source holds no part of a secret."""
    url, secret = address
    assert secret[:8] not in table_name(url)
    assert secret[:8] not in table_name(Path(url))
    assert not [name for name in source_names(url) if secret[:8] in name]


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("people.2024.csv", "people"),
        ("folder/people.parquet", "people"),
        ("postgresql://owner:pw@host/db?table=people", "people"),
        ("https://u:p@host/x/people.csv?sig=1", "people"),
        ("https://u:p@host", "host"),
        (pa.table({"x": [1]}), "table"),
    ],
)
def test_tables_are_named_by_file_or_table(source: Any, name: str) -> None:
    """A file's stem, the table of an address; other tables are called table."""
    assert table_name(source) == name
    assert source_names(source)[0] == name


def test_the_owner_finds_a_source_by_the_name_of_its_file() -> None:
    """All of the file's name, or the address without its secrets."""
    assert source_names("folder/people.2024.csv")[1] == "people.2024.csv"
    assert source_names(Path("folder") / "people.parquet")[1] == "people.parquet"
    assert source_names(pa.table({"x": [1]}))[1] == "a table in memory"
    assert source_names("postgresql://owner:secret@host/db?table=people")[1].startswith("postgresql://")


@pytest.mark.parametrize(
    "text",
    ["in.csv", "C:\\data\\in.csv", "mail me: a@b.de", "https://doi.org/10.1145/1", "a = 3", "k = 3, epsilon=1", "x:/y"],
)
def test_other_texts_stay(text: str) -> None:
    """A string that is no address with a secret is unchanged."""
    assert redacted(text) == text


@given(address=addresses())
def test_errors_hold_no_secret(address: tuple[str, str]) -> None:
    """Message, hint, text, repr, arguments and pickled bytes of an error are free of the secret that it got."""
    url, secret = address
    error = SourceError(f"{url!r} does not exist", f"is {url} right?")
    shown = [error.message, str(error.hint), str(error), repr(error), repr(error.args), repr(error.__dict__)]

    assert not any(secret[:8] in text for text in shown)
    assert secret.encode() not in pickle.dumps(error)


COMMANDS: dict[str, Callable[[str, str], list[str]]] = {
    "release from": lambda url, at: ["release", "--method", "mondrian", url, f"{at}/out.parquet"],
    "release to": lambda url, at: ["release", "--method", "mondrian", f"{at}/in.csv", url],
    "release policy": lambda url, at: ["release", "--policy", url, f"{at}/in.csv", f"{at}/out.parquet"],
    "release ledger": lambda url, at: [
        *("release", "--method", "mondrian", "--k", "2", "--dry-run", "--dataset", url, f"{at}/in.csv"),
        f"{at}/o.parquet",
    ],
    "init": lambda url, at: ["init", url, "--output", f"{at}/policy.toml"],
    "risk": lambda url, at: ["risk", url],
    "risk population": lambda url, at: ["risk", f"{at}/in.csv", "--population", url],
    "audit": lambda url, at: ["audit", url, "--original", f"{at}/in.csv"],
    "audit original": lambda url, at: ["audit", f"{at}/out.parquet", "--original", url],
    "compare": lambda url, at: ["compare", url, "--target", "y", "--methods", "mondrian"],
    "compare output": lambda url, at: ["compare", f"{at}/in.csv", "--target", "y", "--methods", "no", "--output", url],
    "validate": lambda url, at: ["validate", url],
    "apply": lambda url, at: ["apply", url, f"{at}/in.csv", f"{at}/out.parquet"],
    "reconstruct": lambda url, at: ["reconstruct", url],
    "report": lambda url, at: ["report", url],
    "run": lambda url, at: ["run", url],
    "ledger": lambda url, at: ["ledger", url],
    "too much": lambda url, at: ["validate", "a", url, "b"],
    "unknown": lambda url, at: [url],
    "an option": lambda url, at: ["release", f"--k={url}", "a", "b"],
}


@pytest.mark.quick_cases("*-False", "release *")
@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("command", COMMANDS)
@settings(
    max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(address=addresses(), blank=st.sampled_from(["", " ", "'", '"']))
def test_no_command_shows_a_secret(
    capfd: pytest.CaptureFixture[str], command: str, as_json: bool, address: tuple[str, str], blank: str
) -> None:
    """For any use of an address, no printed line and no written file has the secret."""
    url, secret = address
    if f"{secret}@" in url:
        url, secret = url.replace(secret, secret[:10] + blank + secret[10:]), secret[:10] + blank + secret[10:]
    with tempfile.TemporaryDirectory() as folder:
        pacsv.write_csv(pa.table({"x": [1, 2] * 4, "y": ["a", "b"] * 4}), f"{folder}/in.csv")
        capfd.readouterr()
        run(commands, [*COMMANDS[command](url, folder), *(["--json"] if as_json else [])], "anonkit")
        told = capfd.readouterr()

        for part in (secret, secret[:10], secret[10:]):
            assert len(part.strip()) < 6 or part not in told.out + told.err
        for path in Path(folder).rglob("*"):
            assert secret[:10] not in str(path)
            assert not path.is_file() or secret[:10].encode() not in path.read_bytes()


def test_a_release_is_not_written_to_an_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No folder named like an address appears on this machine."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AnonkitError, match="is an address") as refusal:
        anonkit.release(pa.table({"x": ["a"] * 9}), method="mondrian", k=2, output="https://u:pw12345@h/out.parquet")

    assert "pw12345" not in str(refusal.value)
    assert not list(tmp_path.iterdir())
    assert is_address("https://h")
