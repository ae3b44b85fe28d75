# SPDX-License-Identifier: Apache-2.0
"""One grower of differentially private trees; every paper is a set of choices.

`attributes` (what is split), `scores`, `selection`, `leaves`, `allocation`, `rows` (the choices), `plan` (the choices
with a budget, before any data), `questions` (what the grower asks about the rows), `grower`, `published` (the model as
JSON, read by consumers), `cells` and `microdata` (a table from a model).
"""
