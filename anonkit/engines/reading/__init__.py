# SPDX-License-Identifier: Apache-2.0
"""Reading tables: files and data frames as batches of canonical columns, read cell by cell."""
