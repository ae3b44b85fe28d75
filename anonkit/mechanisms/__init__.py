# SPDX-License-Identifier: Apache-2.0
"""Pure mathematics on arrays: no tables, no files, no policy."""
