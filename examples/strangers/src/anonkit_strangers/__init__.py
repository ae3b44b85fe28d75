# SPDX-License-Identifier: Apache-2.0
"""Methods of somebody else: two with noise on figures, one with randomized answers, one of k-anonymity."""
