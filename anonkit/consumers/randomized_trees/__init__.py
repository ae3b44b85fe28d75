# SPDX-License-Identifier: Apache-2.0
"""Decision trees on randomized rows, after the comparators of Zhang & Tang 2007: DTPD and DTCRD."""
