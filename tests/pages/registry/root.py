"""The pages at the top of the repository for the reader of the tests."""

from __future__ import annotations

from pages.inputs import customers
from pages.page import Page

AGAIN = 'rm -rf out.* .anonkit-ledger* "${XDG_DATA_HOME:?}/anonkit"'

PAGES = {
    "README.md": Page(
        inputs={
            "in.csv": customers(),
            "customers.csv": customers(),
            "next-month.csv": customers(300, seed=2),
        },
        first="openssl genpkey -algorithm ed25519 -out owner.pem",
        after={"anonkit release --method rfka --k 10 in.csv out.parquet": AGAIN},
    ),
}
