"""Jobs of the desk: charts of declared dates."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest

from anonkit.desk.job_kinds import ProgressChannel, columns_of


def test_dates_have_a_chart_as_they_are_declared(tmp_path: Path) -> None:
    """Ranges of days in their order; what is hidden has none, and values are counted as they are spelled."""
    days = [date(1950, 1, 1) + timedelta(days=100 * at) for at in range(60)]
    lines = [f"{at},{day:%d.%m.%Y},{day},{day:%d.%m.%Y}" for at, day in enumerate(days)]
    (tmp_path / "in.csv").write_text("\n".join(["n,born,seen,card", *lines, "60,unknown,,"]), encoding="utf-8")
    declared = 'type = "date"\nformat = "%d.%m.%Y"\n'
    policy = f'[columns.born]\nrole = "sensitive"\n{declared}[columns.card]\nrole = "identifier"\n{declared}'
    policy += '[columns.seen]\nrole = "quasi_identifier"\n'
    order = {"source": str(tmp_path / "in.csv"), "how": {}, "policy": policy, "folder": str(tmp_path)}
    found = columns_of({**order, "simulated": False, "names": []}, ProgressChannel(send=lambda _: None))
    columns = {column["name"]: column for column in found}
    for name in ("born", "seen"):
        assert columns[name]["kind"] == "dates or times", name
        first, *_, last = columns[name]["bars"]
        assert (first[0], last[0][:10]) == ("1950-01-01 to 1951-05-07", "1964-10-26"), name
        assert len(columns[name]["bars"]) == 12
        assert first[1] == pytest.approx(5 / 61), name
    assert ("01.01.1950", 1) in columns["born"]["counts"]
    assert (columns["card"]["bars"], columns["card"]["kind"]) == ([], "categories or texts")
