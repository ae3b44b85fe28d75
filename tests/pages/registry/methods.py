"""The pages of the methods for the reader of the tests."""

from __future__ import annotations

from pages.inputs import customers, customers_policy, untargeted_policy
from pages.page import Page
from pages.registry.how_to import PEOPLE

PAGES = {
    "docs/methods/datafly.md": Page(inputs={"customers.csv": customers(300), "policy.toml": customers_policy()}),
    "docs/methods/dp_forest.md": Page(
        inputs={"in.csv": customers(300), "policy.toml": customers_policy(target="income")}
    ),
    "docs/methods/dp_marginals.md": Page(
        inputs={"in.csv": customers(300), "policy.toml": untargeted_policy}, leaves=("more.parquet", "model.json")
    ),
    "docs/methods/incognito.md": Page(inputs={"customers.csv": customers(300), "policy.toml": customers_policy()}),
    "docs/methods/mdav.md": Page(inputs={"customers.csv": customers(300), "policy.toml": customers_policy()}),
    "docs/methods/mondrian.md": Page(
        inputs={"in.csv": PEOPLE}, first="anonkit release --method mondrian --k 10 in.csv out.parquet"
    ),
    "docs/methods/rfka.md": Page(
        inputs={"in.csv": PEOPLE}, first="anonkit release --method rfka --k 10 in.csv out.parquet"
    ),
    "docs/methods/safepub.md": Page(inputs={"in.csv": customers(2000), "policy.toml": customers_policy()}),
    "docs/methods/rr.md": Page(
        inputs={"in.csv": customers(), "policy.toml": customers_policy()},
        first="anonkit release --method rr --epsilon 4 --budget 4 --policy policy.toml in.csv out.parquet",
        quick=True,
    ),
}
