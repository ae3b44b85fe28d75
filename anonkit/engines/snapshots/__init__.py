# SPDX-License-Identifier: Apache-2.0
"""Snapshots: a source that may change or end while it is read is copied once, privately, and read from there.

``addresses``
    How a source is named: a path, a pattern, `-`, the address of a database or of an object store, and the options.
``dispatch``, ``private_copies``, ``whole_tables``
    From the address to the module that copies it, and the life of the copy: one command, one call.
``many_files``, ``spreadsheets``, ``statistics_files``, ``arrow_tables``, ``lake_tables``, ``web_files``, …
    One module per kind of source. Each has a function `live_table` and imports its library when it is called.

A copy holds rows, and no types are decided in it: those that the source brings are kept, and where it brings none every
cell is a text. The readers of `anonkit.engines.reading` do the rest, so that a cell means the same whatever its
source.
"""
