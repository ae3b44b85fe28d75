# SPDX-License-Identifier: Apache-2.0
"""Writing tables: the shuffle of rows, Parquet files and sharded datasets, and the tasks of a cluster.

``parquet_files`` writes a release as a sharded dataset, and replaces a file's metadata. ``shuffling`` is the secret
shuffle, ``part_tasks`` applies functions to the files of a release in tasks of a cluster. Nothing here imports PySpark:
the tasks are handed to Spark by its engine.
"""
