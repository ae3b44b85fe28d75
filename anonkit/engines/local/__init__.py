# SPDX-License-Identifier: Apache-2.0
"""The engine of one machine: pyarrow moves batches, numpy and DuckDB count.

``local_engine`` is the engine, and counts combinations of codes in memory; ``spilling_counts`` counts those that do not
fit, with the private folder as scratch space. Both return the same counts in the same form. ``left_join`` joins two
tables, and spills likewise.
"""
