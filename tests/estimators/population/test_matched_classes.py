"""Risk against a file of the population, worked out by hand on four classes."""

from __future__ import annotations

import numpy as np

from anonkit.estimators.population.matched_classes import matched_classes
