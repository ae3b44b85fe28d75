# SPDX-License-Identifier: Apache-2.0
"""Methods compared on one table: privacy, utility and cost of each, and the page that shows the frontier.

``comparison`` releases one half of a table by every method, two at a time, and scores each on the other half
(``model_scores``). ``foreseen_release`` forecasts a release under noise from simulated rows. ``frontier`` makes the
page and what a notebook shows, ``frontier_plot`` the plot. It uses the main path and the audit as they are: no
method, attack or measure is written here. Nothing is published; a comparison is for the owner.
"""
