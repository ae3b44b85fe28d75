# SPDX-License-Identifier: Apache-2.0
"""Published aggregates of a trusted owner: requested tables, planned measurements, exact sums and noisy values."""
