# SPDX-License-Identifier: Apache-2.0
"""The main path: promise, source, draft, verification, release. The only place where the steps meet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from anonkit import __version__
from anonkit.bundle import (
    DATA,
    DESCRIPTOR,
    FORMAT,
    METADATA_KEY,
    PAGE,
    PARAMS,
    REPORT,
    SIDECARS,
    Place,
    Release,
    load,
    package_name,
    read_json,
    refuse_existing,
    sha256,
    to_json,
)
from anonkit.atomic import Staging
from anonkit.checks.disclosure import Disclosure, measure
from anonkit.descriptor import build_descriptor
from anonkit.engines import open_engine
from anonkit.errors import AnonkitError, GuaranteeError, ParameterError
from anonkit.guarantee import Check, Guarantee
from anonkit.methods import make_method
from anonkit.page import render_page
from anonkit.parameters import parameters_of
from anonkit.policy import Policy
from anonkit.protocols import Draft, Engine, Method, Progress, no_progress
from anonkit.randomness import Randomness
from anonkit.report import build_owner_report, build_report

PARAMS_FORMAT = "anonkit-params/1"
