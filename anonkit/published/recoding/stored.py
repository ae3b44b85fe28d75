# SPDX-License-Identifier: Apache-2.0
"""Recodings read back from `params.json`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from anonkit.domains.interval_ends import point_from_text
from anonkit.errors import ReleaseFormatError
from anonkit.published.recoding.axes import CategoryAxis, Grouping, IntervalAxis, KeptAxis, MeanAxis, Named
from anonkit.published.recoding.box_routes import BoxRoutes
from anonkit.published.recoding.centroids import Centroids
from anonkit.published.recoding.narrowed import NarrowedBoxes
from anonkit.published.recoding.recodings import GlobalRecoding, LocalRecoding, Recoding, RecodingSplit


def recoding_from_dict(raw: Mapping[str, Any]) -> Recoding:
    """Read a recoding back from `params.json`.

    Raises
    ------
    ReleaseFormatError
        The block is not a recoding.
    """
    try:
        if raw["kind"] == "global":
            columns = tuple(_column_from_dict(column) for column in raw["columns"])
            means = [column.name for column in columns if isinstance(column, MeanAxis)]
            centroids = (
                Centroids.from_dict(raw["centroids"], [column.name for column in columns], means) if means else None
            )
            return GlobalRecoding(columns=columns, merged=_merged(raw), centroids=centroids)
        if raw["kind"] == "local":
            axes = tuple(_axis_from_dict(axis) for axis in raw["axes"])
            nodes = tuple(
                None
                if node is None
                else RecodingSplit(
                    axis=node["axis"], left=tuple(node["left"]), children=(node["children"][0], node["children"][1])
                )
                for node in raw["nodes"]
            )
            BoxRoutes.of([axis.size for axis in axes], nodes)  # no part, axis or child that there is not
            return LocalRecoding(axes=axes, nodes=nodes, merged=_merged(raw), narrowed=_narrowed(raw, axes, nodes))
    except (KeyError, TypeError, IndexError, ValueError, OverflowError):
        pass
    raise ReleaseFormatError("the recoding in params.json is damaged", "anonkit validate tells which file was changed")


def _merged(raw: Mapping[str, Any]) -> bool:
    if raw.get("merged", False) not in (True, False):
        raise ValueError("merged")
    return bool(raw.get("merged", False))


def _narrowed(
    raw: Mapping[str, Any], axes: Sequence[IntervalAxis | CategoryAxis], nodes: Sequence[RecodingSplit | None]
) -> NarrowedBoxes | None:
    if "narrowed" not in raw:
        return None
    n_boxes = sum(node is None for node in nodes)
    return NarrowedBoxes.from_dict(raw["narrowed"], [axis.size for axis in axes], n_boxes)


def _axis_from_dict(raw: Mapping[str, Any]) -> IntervalAxis | CategoryAxis:
    if raw["kind"] == "intervals":
        return IntervalAxis(
            name=raw["name"],
            cuts=tuple(point_from_text(cut) for cut in raw["cuts"]),
            has_missing=raw["missing"],
            named=_named_from_dict(raw),
        )
    if raw["kind"] == "categories":
        axis = CategoryAxis(
            name=raw["name"],
            values=tuple(raw["values"]),
            has_other=raw["other"],
            has_missing=raw["missing"],
            named=_named_from_dict(raw),
        )
        for key, label in (("other_label", axis.other_label), ("missing_label", axis.missing_label)):
            if raw.get(key, label) != label:
                raise ValueError(key)
        return axis
    raise ValueError(raw["kind"])


def _named_from_dict(raw: Mapping[str, Any]) -> Named | None:
    if "groups" not in raw:
        return None
    return tuple((str(group["label"]), tuple(int(part) for part in group["parts"])) for group in raw["groups"])


def _column_from_dict(raw: Mapping[str, Any]) -> KeptAxis | Grouping:
    if raw["kind"] == "kept":
        return KeptAxis(name=raw["name"])
    if raw["kind"] == "means":
        if not 0 < raw["unit"] < math.inf:
            raise ValueError("unit")
        return MeanAxis(name=raw["name"], unit=float(raw["unit"]))
    axis = _axis_from_dict(raw)
    coarser = tuple(tuple(level) for level in raw["coarser"]) if "coarser" in raw else None
    if any(len(labels) != axis.size for labels in (raw["labels"], *(coarser or ()))):
        raise ValueError("labels")
    return Grouping(axis=axis, labels=tuple(raw["labels"]), coarser=coarser)
