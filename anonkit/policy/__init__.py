# SPDX-License-Identifier: Apache-2.0
"""The owner's declarations about a table: columns, roles, domains, units, hierarchies.

``declaration`` is the policy and its file, ``public_domains`` the domains that it gives to differential privacy,
``declared_cells`` how cells are read by it, ``answer_design`` answers about one attribute that are not drawn evenly.
"""

from anonkit.policy.declaration import Column, Policy, Role

__all__ = ["Column", "Policy", "Role"]
