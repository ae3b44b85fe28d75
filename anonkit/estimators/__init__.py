# SPDX-License-Identifier: Apache-2.0
"""Statistical estimators: distributions and moments from randomized answers, and forests with out-of-bag scores."""
