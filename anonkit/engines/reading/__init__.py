# SPDX-License-Identifier: Apache-2.0
"""Reading tables: files and data frames as batches of canonical columns, read cell by cell.

The same table gives the same cells and row numbers from every format and in every engine.

``open_source``, ``sources``
    From a path or a data frame to batches that can be read repeatedly, whole or by split.
``parquet_tables``, ``delimited``, ``preambles``, ``json_lines``
    One module per format, and the layout of a delimited text.
``text_cells``, ``number_columns``
    Column types inferred from the cells of text files, and numbers by the form in which they are written.
``column_encoding``
    Canonical cell values, and the form in which columns travel: dictionaries, integer codes.
``declared_tables``
    A policy's rules for cells.
``failures``
    Errors of third-party libraries, whose messages may quote cells.
"""
