"""The tutorials for the reader of the tests."""

from __future__ import annotations

from pages.page import Page

PAGES = {
    "docs/tutorials/engineer.md": Page(
        needs=("spark_is_there",),
        leaves=("2026-03/customers.parquet", "results.xml", "spark/customers.report.json"),
    ),
    "docs/tutorials/from-a-database.md": Page(
        needs=("server",),
        leaves=("policy.toml", "out.parquet", "out.report.json", "grown.toml"),
        after={
            "": 'python -c "from anonkit import Policy; from anonkit.policy.column_declarations import Role; '
            "assert Policy.load('policy.toml').names(Role.IDENTIFIER) == ('customer_id',)\""
        },
    ),
    "docs/tutorials/owner.md": Page(
        leaves=("frontier.html", "private/customers.dossier.html", "customers.signature.json"),
    ),
    "docs/tutorials/reviewer.md": Page(leaves=("people.report.html", "private/audit.owner.report.json")),
    "docs/tutorials/steward.md": Page(leaves=("out.report.html", "members.report.html")),
    "docs/tutorials/consumer.md": Page(leaves=("predictions.parquet",)),
}
