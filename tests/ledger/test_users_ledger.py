"""The user's ledger: its place, and the refusal of network file systems as disks."""

from __future__ import annotations

from pathlib import Path

import pytest

from anonkit.errors import ParameterError
from anonkit.ledger import users_ledger as module
from anonkit.ledger.users_ledger import is_on_network, mounts_of_linux, mounts_of_macos, users_ledger

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
