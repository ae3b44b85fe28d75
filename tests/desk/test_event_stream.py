"""The stream by which open pages hear that something has changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from desk.visitor import Visitor, completed


def test_a_change_right_after_another_reaches_the_page(
    sits_at: Callable[..., Visitor], table: Path, tmp_path: Path
) -> None:
    """The last change of several counts: it comes during the pause that follows each of them."""
    pages = sits_at(table, tmp_path / "out").pages

    async def heard() -> list[str]:
        pages.watch(asyncio.get_running_loop())
        stream = pages._stream()
        told = [await anext(stream)]
        pages._wake()
        told.append(await anext(stream))
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0.05)  # the stream pauses
        pages._wake()
        told.append(await asyncio.wait_for(waiting, 5))
        return told

    told = completed(heard())
    assert len(set(told)) == 3, told
    assert all(one.startswith("event: changed") for one in told)
