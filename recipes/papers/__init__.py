# SPDX-License-Identifier: Apache-2.0
"""Published experiments: one recipe a paper, the harness that runs them, the comparators of the literature."""
