# SPDX-License-Identifier: Apache-2.0
"""Writing tables: the shuffle of rows, Parquet files and sharded datasets, and the tasks of a cluster.

``parquet_writer`` writes one file, ``part_files`` a sharded dataset, ``relabelling`` replaces a file's metadata.
``shuffling`` and ``ordered_parts`` are the secret shuffle, on one machine and by tasks; ``row_maps`` applies batch
functions in a task of a cluster, ``part_tasks`` functions of the files of a release. Nothing here imports PySpark: the
tasks are handed to Spark by its engine.
"""
