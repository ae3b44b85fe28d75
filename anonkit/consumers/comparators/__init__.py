# SPDX-License-Identifier: Apache-2.0
"""Older proposals that no release of anonkit needs: DTPD and DTCRD, for comparison with published results."""
