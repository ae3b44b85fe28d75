# SPDX-License-Identifier: Apache-2.0
"""Writing tables: the shuffle of rows, Parquet files and sharded datasets, and the tasks of a cluster."""
