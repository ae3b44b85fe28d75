# SPDX-License-Identifier: Apache-2.0
"""Reading tables: files and data frames as batches of canonical columns, read cell by cell.

The same table gives the same cells and row numbers from every format and in every engine.

``open_source``, ``sources``, ``batches``, ``splits``
    From a path or a data frame to batches that can be read repeatedly, whole or by split.
``parquet_tables``, ``lake_folders``, ``delimited``, ``text_files``, ``json_lines``, ``json_literals``, ``frames``
    One module per format; lake tables are recognized in order to be refused.
``untyped``, ``text_cells``
    Column types inferred from the cells of text files.
``canonical``, ``names``, ``settled_tables``
    Canonical cell values, column names, and a policy's rules for cells.
``carriers``, ``categories``, ``encoding``, ``repetition``
    The form in which columns travel: carrier types, dictionaries, integer codes.
``failures``
    Errors of third-party libraries, whose messages may quote cells.
"""
