# SPDX-License-Identifier: Apache-2.0
"""Methods compared on one table: privacy, utility and cost of each, and the page that shows the frontier."""
