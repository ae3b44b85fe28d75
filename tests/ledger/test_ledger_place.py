"""Places of ledgers: paths and addresses, and what is refused.

The user's ledger: its place, and the refusal of network file systems as disks.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import anonkit
from anonkit.errors import ParameterError
from anonkit.ledger import ledger_place as module
from anonkit.ledger.account import Account
from anonkit.ledger.ledger_place import LedgerPlace, is_on_network, mounts_of_linux, mounts_of_macos, users_ledger
from anonkit.ledger.store import Ledger
from anonkit.pipeline.recipe import run_recipe

LINUX = """\
22 1 0:21 / / rw,relatime - ext4 /dev/sda1 rw
30 22 0:25 / /home rw,relatime shared:1 - nfs4 server:/home rw,vers=4.2
31 30 0:26 / /home/local\\040disk rw,relatime - xfs /dev/sdb1 rw
32 22 0:27 / /mnt/share rw - cifs //server/share rw
33 32 0:28 / /mnt/share rw - tmpfs tmpfs rw
not a line of a table
"""
MACOS = """\
/dev/disk3s1s1 on / (apfs, sealed, local, read-only, journaled)
//bob@server/home on /Users/bob (smbfs, nodev, nosuid)
map auto_home on /System/Volumes/Data/home (autofs, automounted)
"""


def test_it_stands_in_the_folder_of_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of this user, whatever folder is worked in; no test finds that of anyone who runs the tests."""
    monkeypatch.chdir(tmp_path)
    file = users_ledger().file
    assert file is not None
    assert (file.name, file.parent.name) == ("ledger.sqlite", "anonkit")
    assert not file.is_relative_to(Path.home() / ".local")


def test_a_network_is_told_from_a_disk() -> None:
    """By the file system that is deepest, and mounted last."""
    linux = dict(mounts_of_linux(LINUX))
    assert linux[Path("/home")] == "nfs4"
    assert linux[Path("/home/local disk")] == "xfs"
    cases = {"/home/bob": "nfs4", "/home/local disk/x": "xfs", "/mnt/share/a": "tmpfs", "/srv": "ext4"}
    for path, kind in cases.items():
        assert module._type_at(Path(path), mounts_of_linux(LINUX)) == kind
    assert module._type_at(Path("/Users/bob/Library"), mounts_of_macos(MACOS)) == "smbfs"
    assert module._type_at(Path("/Users/eve"), mounts_of_macos(MACOS)) == "apfs"
    assert module._type_at(Path("/anything"), []) is None


def test_a_home_on_a_network_is_refused_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 2, before anything is read; a folder that is not there yet counts as where it would be made."""
    table = tmp_path / "mounts"
    table.write_text(f"22 1 0:21 / / rw - ext4 /dev/sda1 rw\n30 22 0:25 / {tmp_path} rw - nfs server:/x rw\n")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr(module, "_MOUNTS", table)
    assert is_on_network(tmp_path / "not" / "yet")
    assert not is_on_network(Path("/elsewhere"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    with pytest.raises(ParameterError, match="on a network") as refused:
        users_ledger()
    assert refused.value.exit_code == 2
    assert "postgresql://" in str(refused.value.hint)
    monkeypatch.setattr(module, "_MOUNTS", tmp_path / "none")
    assert not is_on_network(tmp_path)


def test_a_user_without_a_home_names_a_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in some containers: nothing is made in a folder that is called `~`."""
    monkeypatch.setattr("platformdirs.user_data_path", lambda *_, **__: Path("~/.local/share/anonkit"))
    with pytest.raises(ParameterError, match="no home"):
        users_ledger()


def test_a_path_is_a_file_and_an_address_is_a_server() -> None:
    """Paths are never taken for addresses, nor the other way round; `~` is the owner's home."""
    assert LedgerPlace.of("a/b.sqlite").file == Path("a/b.sqlite")
    assert LedgerPlace.of(Path("postgresql://x")).file == Path("postgresql:/x")
    assert LedgerPlace.of("~/l.sqlite").file == Path.home() / "l.sqlite"
    for scheme in ("postgresql", "postgres"):
        place = LedgerPlace.of(f"{scheme}://db/ledger")
        assert place.address is not None
        assert place.file is None
        assert place.may_be_there


@pytest.mark.parametrize(
    ("address", "bare", "schema"),
    [
        ("postgresql://db/l", "postgresql://db/l", "anonkit"),
        ("postgresql://db/l?schema=team", "postgresql://db/l", "team"),
        ("postgresql://db/l?schema=team&sslmode=require", "postgresql://db/l?sslmode=require", "team"),
        ("postgresql://db/l?sslmode=require&schema=team", "postgresql://db/l?sslmode=require", "team"),
        ("postgresql://db/l?a=1&schema=team&b=2", "postgresql://db/l?a=1&b=2", "team"),
    ],
)
def test_the_schema_is_ours_and_the_rest_is_the_driver_s(address: str, bare: str, schema: str) -> None:
    """`schema` is taken out, parameters of TLS and the rest go on as they are; the text says it all again."""
    place = LedgerPlace.of(address)
    assert (place.address, place.schema) == (bare, schema)
    assert LedgerPlace.of(str(place)).schema == schema


@pytest.mark.parametrize(
    "address", ["mysql://db/l", "sqlite:///l.sqlite", "postgresql://db/l?schema=a%22b", "s3://b/l"]
)
def test_other_places_are_refused(address: str) -> None:
    """No server but PostgreSQL, no schema that would have to be quoted."""
    with pytest.raises(ParameterError):
        LedgerPlace.of(address)


@pytest.fixture(scope="module")
def earlier(small_customers: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The params of a release by which a next batch is recoded."""
    folder = tmp_path_factory.mktemp("earlier")
    anonkit.release(small_customers, method="datafly", k=5, output=folder / "a.parquet", ledger=None)
    return folder / "a.params.json"


def _run(folder: Path, ledger: Any) -> None:
    text = "method = 'mondrian'\nsimulate = { rows = 300 }\noutput = 'b.parquet'\n"
    (folder / "recipe.toml").write_text(text, encoding="utf-8")
    run_recipe(folder / "recipe.toml", ledger=ledger)


BOOKING: dict[str, Callable[[Path, Path, pa.Table, Any], object]] = {
    "release": lambda folder, earlier, table, ledger: anonkit.release(
        table, method="mondrian", k=5, output=folder / "b.parquet", ledger=ledger
    ),
    "apply": lambda folder, earlier, table, ledger: anonkit.apply(
        earlier, table, output=folder / "b.parquet", ledger=ledger
    ),
    "compare": lambda folder, earlier, table, ledger: anonkit.compare(
        table, target="customer_value", methods=["rr"], epsilon=[2.0], charge=ledger
    ),
    "run_recipe": lambda folder, earlier, table, ledger: _run(folder, ledger),
    "Account": lambda folder, earlier, table, ledger: Account(ledger=ledger),
    "Ledger": lambda folder, earlier, table, ledger: Ledger(ledger),
    "Ledger.create": lambda folder, earlier, table, ledger: Ledger.create(ledger),
}
"""Name -> every call that is given a ledger."""


@pytest.mark.parametrize("call", BOOKING)
@pytest.mark.parametrize("ledger", [False, 5, b"l.sqlite"], ids=repr)
def test_what_is_no_place_is_refused_in_words(
    call: str, ledger: object, earlier: Path, small_customers: pa.Table, tmp_path: Path
) -> None:
    """`ledger=False` is no word for none: nobody is left with a TypeError, and nothing is released on the way."""
    with pytest.raises(ParameterError, match=f"a ledger is a path or an address, no {type(ledger).__name__}"):
        BOOKING[call](tmp_path, earlier, small_customers, ledger)
    assert not list(tmp_path.glob("b.*"))
