# SPDX-License-Identifier: Apache-2.0
"""Experiments of papers, from one TOML file each to a table, a plot and a verdict on what the paper claims.

``experiment_recipe`` reads the file, ``experiment_tables`` opens and divides its tables, ``systems`` are what is
compared, ``experiment_runner`` carries the runs out and ``kept_runs`` keeps them, ``claims`` judges, ``result_files``
writes. Releases are seeded, made in memory by the main path, and left nowhere.
"""
