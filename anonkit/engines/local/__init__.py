# SPDX-License-Identifier: Apache-2.0
"""The engine of one machine: pyarrow moves batches, numpy and DuckDB count."""
