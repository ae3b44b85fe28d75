# SPDX-License-Identifier: Apache-2.0
"""The plot of an experiment: panels with a measure along an axis, one line a system, drawn by matplotlib as SVG."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from typing import Any

import numpy as np

from anonkit.errors import MissingDependencyError, PolicyError, did_you_mean
from anonkit.policy.side_files import expect, optional_text, refuse_unknown, texts
from papers.harness.claims import MeasuredConfiguration, chosen
from papers.harness.systems import Value

SCALES = ("even", "linear", "log")
_KEYS = ("title", "x", "measure", "where", "systems", "ratio_to", "scale", "x_label", "y_label")
_COLOURS = (
    "#1f5fa8",
    "#b5482a",
    "#2a8c4a",
    "#872f83",
    "#7a6200",
    "#4c5560",
    "#0b8a8a",
    "#d9906f",
    "#6aa5dd",
    "#8fbf6a",
)
_MARKERS = "os^Dvp<>hX"
_DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 2, 1, 2)), (0, (8, 2)))
_WIDTH, _HEIGHT = 4.6, 3.5


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One panel of the plot."""

    title: str
    x: str
    """The axis that runs to the right."""
    measure: str
    where: Mapping[str, Any] = field(default_factory=dict)
    """Columns and what of them is shown."""
    systems: tuple[str, ...] = ()
    """Systems that are shown, in their order; empty: all that have the measure."""
    ratio_to: str | None = None
    """A system by whose mean at the same point every other is divided."""
    scale: str = "even"
    """Scale of the axis: values at equal distances, or where they are."""
    x_label: str = ""
    y_label: str = ""

    @classmethod
    def from_dict(cls, raw: object, where: str) -> Panel:
        """Read a panel of a recipe.

        Raises
        ------
        PolicyError
            A key is not known, of the wrong kind, or missing.
        """
        spec: Mapping[str, Any] = expect(where, "panel", raw, dict)
        refuse_unknown(where, spec, _KEYS)
        words = {key: optional_text(where, key, spec) for key in _KEYS if key not in ("where", "systems")}
        for key in ("x", "measure"):
            if words[key] is None:
                raise PolicyError(f"{where} needs {key}", f'{key} = "…"')
        if words["scale"] not in (None, *SCALES):
            raise PolicyError(f"{where}: scale must be one of {', '.join(SCALES)}")
        return cls(
            where=expect(where, "where", spec.get("where", {}), dict),
            systems=tuple(texts(where, "systems", spec.get("systems", []))),
            **{"title": "", **{key: word for key, word in words.items() if word is not None}},
        )

    def refuse_unknown_names(
        self, columns: Collection[str], measures: Collection[str], systems: Collection[str], where: str
    ) -> None:
        """Refuse columns, measures and systems that the experiment does not have.

        Raises
        ------
        PolicyError
        """
        for name in (self.x, *self.where):
            if name not in columns:
                raise PolicyError(f"{where}: there is no axis {name!r}", did_you_mean(name, columns))
        if self.measure not in measures:
            raise PolicyError(f"{where}: {self.measure!r} is not measured", did_you_mean(self.measure, measures))

    def lines(self, measured: Sequence[MeasuredConfiguration], titles: Mapping[str, str]) -> list[Line]:
        """Return the lines of the panel."""
        shown = [one for one in measured if chosen(one, self.where) and one.values(self.measure)]
        if self.systems:
            shown = [one for name in self.systems for one in shown if one.system == name]
        own = {name: value for name, value in self.where.items() if not isinstance(value, list | Mapping)}
        varied = [name for name in _names(shown) if name not in (self.x, "system") and name not in own]
        varied = [name for name in varied if len({one.named.get(name) for one in shown if name in one.named}) > 1]
        base = self._base(shown)
        groups: dict[tuple[str, str], list[MeasuredConfiguration]] = {}
        for one in shown:
            extra = ", ".join(f"{name} {one.named[name]}" for name in varied if name in one.named)
            groups.setdefault((one.system, extra), []).append(one)
        out = []
        for (system, extra), members in groups.items():
            title = titles.get(system, system)
            label = f"{title}, {extra}" if extra else title
            heights = [(one.point.get(self.x), self._height(one, base)) for one in members]
            points = tuple((x, *height) for x, height in heights if height is not None)
            out.append(Line(system=system, label=label, points=points))
        return [line for line in out if line.points]

    def _base(self, shown: Sequence[MeasuredConfiguration]) -> dict[Value | None, float] | None:
        if self.ratio_to is None:
            return None
        ours = [one for one in shown if one.system == self.ratio_to]
        return {one.point.get(self.x): float(np.mean(list(one.values(self.measure).values()))) for one in ours}

    def _height(
        self, one: MeasuredConfiguration, base: Mapping[Value | None, float] | None
    ) -> tuple[float, float] | None:
        """Return mean and standard deviation as they are drawn; None where there is nothing to divide by."""
        values = np.array(list(one.values(self.measure).values()))
        divisor = 1.0
        if base is not None:
            at = one.point.get(self.x)
            if not base.get(at, base.get(None, 0.0)):
                return None
            divisor = base.get(at, base.get(None, 1.0))
        spread = float(values.std(ddof=1)) if values.size > 1 else 0.0
        mean = float(values.mean())
        return (mean / divisor, spread / divisor) if math.isfinite(mean) else None


@dataclass(frozen=True, kw_only=True)
class Line:
    """The line of a system in a plot."""

    system: str
    label: str
    points: tuple[tuple[Value | None, float, float], ...]
    """Place on the axis, mean, standard deviation; no place where the system does not vary along the axis."""


def refuse_without_matplotlib() -> None:
    """Refuse to begin where the plot could not be drawn in the end.

    Raises
    ------
    MissingDependencyError
    """
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingDependencyError.of_extra("matplotlib, which draws the plot,", "plots")


def plot_svg(
    panels: Sequence[Panel],
    measured: Sequence[MeasuredConfiguration],
    titles: Mapping[str, str],
    names: Mapping[str, str],
) -> str:
    """Return the plot as SVG, the same text for the same figures.

    Parameters
    ----------
    panels : sequence of Panel
    measured : sequence of Measured
    titles : mapping
        Of the systems.
    names : mapping
        Titles of the tables, for panels without a title.
    """
    refuse_without_matplotlib()
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    # a quick form may leave nothing of a panel
    drawn = [(panel, lines) for panel in panels if (lines := panel.lines(measured, titles))]
    if not drawn:
        raise PolicyError("no panel shows anything that was measured", "leave the panels out, or run what they show")
    looks = _looks(line.label for _, lines in drawn for line in lines)
    across = min(len(drawn), 2)
    down = -(-len(drawn) // across)
    rows = -(-len(looks) // 2)
    with mpl.rc_context(
        {"font.size": 9, "svg.fonttype": "none", "svg.hashsalt": "anonkit", "font.family": "sans-serif"}
    ):
        figure = Figure(figsize=(_WIDTH * max(across, 1.4), _HEIGHT * down + 0.25 * rows), layout="constrained")
        FigureCanvasSVG(figure)
        axes = list(np.atleast_1d(np.asarray(figure.subplots(down, across), dtype=object)).ravel())
        for axis in axes[len(drawn) :]:
            axis.set_visible(False)
        handles: dict[str, Any] = {}
        for axis, (panel, lines) in zip(axes, drawn, strict=False):
            _draw(axis, panel, lines, looks, names)
            for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
                handles.setdefault(label, handle)
        order = [label for label in looks if label in handles]
        figure.legend(
            [handles[label] for label in order], order, loc="outside lower center", ncols=2, frameon=False, fontsize=8.5
        )
        text = StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return text.getvalue()


def _draw(axis: Any, panel: Panel, lines: Sequence[Line], looks: Mapping[str, Any], names: Mapping[str, str]) -> None:
    ticks = list(dict.fromkeys(x for line in lines for x, _, _ in line.points if x is not None))
    if all(not isinstance(tick, str) for tick in ticks):
        ticks.sort()
    places = {tick: at if panel.scale == "even" else float(tick) for at, tick in enumerate(ticks)}
    for line in lines:
        colour, marker, dash = looks[line.label]
        if any(x is None for x, _, _ in line.points):
            axis.axhline(line.points[0][1], color=colour, linestyle=(0, (2, 2)), linewidth=1.2, label=line.label)
            continue
        points = sorted((places[x], mean, spread) for x, mean, spread in line.points if x is not None)
        across, means, spreads = (np.array(part) for part in zip(*points, strict=True))
        axis.fill_between(across, means - spreads, means + spreads, color=colour, alpha=0.12, linewidth=0)
        axis.plot(
            across, means, color=colour, marker=marker, markersize=4, linewidth=1.4, linestyle=dash, label=line.label
        )
    if panel.scale == "log":
        axis.set_xscale("log")
    if panel.scale != "linear":
        axis.set_xticks(
            list(places.values()), [f"{tick:g}" if isinstance(tick, float) else str(tick) for tick in ticks]
        )
        axis.minorticks_off()
        if len(ticks) > 10:
            axis.tick_params(axis="x", labelsize=7.5)
    if panel.ratio_to is not None:
        axis.set_yscale("log")
        _plain_log(axis)
    data = panel.where.get("data")
    title = panel.title or (names.get(data, data) if isinstance(data, str) else "")
    axis.set_title(title, fontsize=10)
    axis.set_xlabel(panel.x_label or panel.x)
    axis.set_ylabel(panel.y_label or panel.measure.replace("_", " "))
    axis.grid(axis="y", color="#e5e5e5", linewidth=0.6)
    axis.spines[["top", "right"]].set_visible(False)


def _plain_log(axis: Any) -> None:
    """Label a logarithmic axis of ratios with plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.yaxis.set_minor_formatter(NullFormatter())


def _looks(labels: Iterator[str]) -> dict[str, tuple[str, str, Any]]:
    """Return colour, marker and dash of every label; none is like another in black and white either."""
    return {
        label: (_COLOURS[at % len(_COLOURS)], _MARKERS[at % len(_MARKERS)], _DASHES[at // len(_COLOURS) % len(_DASHES)])
        for at, label in enumerate(dict.fromkeys(labels))
    }


def _names(shown: Sequence[MeasuredConfiguration]) -> list[str]:
    return list(dict.fromkeys(name for one in shown for name in one.named))
