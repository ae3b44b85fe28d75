"""The matrix of pairs: well-formed whatever the labels are, true to its figures, a table on each side."""

from __future__ import annotations

from itertools import combinations
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from anonkit.report.charts import safe_text
from anonkit.report.matrix_chart import pair_matrix

SVG = "{http://www.w3.org/2000/svg}"


@given(st.lists(st.text(st.characters(), max_size=60), max_size=5), st.data())
def test_a_cell_is_as_dark_as_its_figure(labels: list[str], data: st.DataObject) -> None:
    """Darkness is the share of the largest figure; titles say both names and the figure."""
    pairs = list(combinations(range(len(labels)), 2))
    figures = st.fixed_dictionaries({pair: st.floats(0, 1) for pair in pairs})
    below, above = data.draw(figures), data.draw(figures)
    svg = ElementTree.fromstring(pair_matrix(labels, below, above, name="m", title="<T>", description="&D"))

    most = max([*below.values(), *above.values(), 0.0])
    drawn = [
        (float(square.get("x", "")), float(square.get("y", "")), float(square.get("fill-opacity", "")), square[0].text)
        for square in svg.iter(f"{SVG}rect")
    ][: 2 * len(pairs)]
    columns = sorted({x for x, *_ in drawn})
    for x, y, darkness, told in drawn:
        row, column = round((y - 20) / 22), columns.index(x)
        pair = (min(row, column), max(row, column))
        value = (below if column < row else above)[pair]
        assert abs(darkness - (value / most if most else 0)) <= 0.0051
        names = " and ".join(safe_text(labels[at]) for at in pair)
        assert "".join((told or "").split()) == "".join(f"{names}: {value:.3f}".split())
