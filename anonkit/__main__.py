# SPDX-License-Identifier: Apache-2.0
"""`python -m anonkit`: the command line."""

from anonkit.cli import main

main()
