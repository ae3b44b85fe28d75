# SPDX-License-Identifier: Apache-2.0
"""Writing tables: the shuffle of rows, Parquet files and folders of them, and what a task of a cluster does."""
