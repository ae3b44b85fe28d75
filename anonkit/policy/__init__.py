# SPDX-License-Identifier: Apache-2.0
"""The owner's declarations about a table: columns, roles, domains, units, hierarchies.

``declaration`` is the policy and its file, ``column_declarations`` its columns, ``public_domains`` the domains that it
gives to differential privacy, ``declared_cells`` the rules by which cells are read, ``answer_design`` the response
designs of single attributes. No engine is known here: the rules are functions of cells.
"""
