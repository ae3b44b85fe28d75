"""The server of the desk: names of hosts under which it answers."""

from __future__ import annotations

import pytest

from anonkit.desk.desk_server import allowed_name
from anonkit.errors import ParameterError


@pytest.mark.parametrize("name", ["localhost:8899", "127.0.0.1:1", "desk.localhost:65535"])
def test_names_of_this_machine_may_be_added(name: str) -> None:
    """With a port: browsers say of requests to these where they come from."""
    assert allowed_name(name) == name


@pytest.mark.parametrize(
    "name",
    ["localhost", "localhost:", "localhost:0", "localhost:99999", "evil:80", "xlocalhost:80", "localhost.evil:80",
     ":80", ".localhost:80", "LOCALHOST:80", "a@localhost:80", "localhost:８０", "127.0.0.1.localhost.:80", "[::1]:80"],
)  # fmt: skip
def test_other_names_are_refused(name: str) -> None:
    """Each would open the desk to pages from elsewhere, or be one that no browser sends."""
    with pytest.raises(ParameterError):
        allowed_name(name)
