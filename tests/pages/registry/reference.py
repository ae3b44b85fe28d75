"""The reference and the explanations for the reader of the tests."""

from __future__ import annotations

from pages.inputs import customers, one_of, table, text, whole
from pages.page import Page
from pages.registry.how_to import PEOPLE

WRITTEN = "tests/documentation/test_python_reference.py::test_the_page_is_what_the_docstrings_say"

PAGES = {
    "docs/explanation/architecture.md": Page(shown={"people.csv   policy.toml*": "a diagram of the flow of data"}),
    "docs/reference/cli.md": Page(
        inputs={"in.csv": PEOPLE},
        covered={"Usage: anonkit*": "tests/cli/test_reference.py::test_the_help_texts_of_the_page_are_those_of_today"},
        fails={"$ anonkit release --target incme in.csv out.parquet": 3},
        quick=True,
    ),
    "docs/reference/policy.md": Page(
        inputs={
            "in.csv": table(
                300,
                name=lambda draw, at: f"Person {at}",
                age=whole(17, 90),
                sex=one_of("Female", "Male"),
                zip=one_of(101, 102, 201),
                income=one_of("<=50K", ">50K"),
                illness=one_of("", "flu", "cold"),
                note=one_of("a", "b"),
            ),
            "zip.csv": text("101,1,*\n102,1,*\n201,2,*\n"),
            "answers.csv": table(
                300,
                smoker=one_of("no", "yes"),
                job=one_of("clerk", "farmer", "nurse"),
                illness=one_of("none", "flu", "other"),
            ),
            "job.csv": text("0.8,0.1,0.1\n0.1,0.8,0.1\n0.1,0.1,0.8\n"),
            "people.csv": table(300, job=one_of("clerk", "farmer", "nurse")),
            "noisy-shares.csv": text("clerk,0.4\nfarmer,0.3\nnurse,0.3\n"),
            "job-shares.csv": text("clerk,0.5\nfarmer,0.2\nnurse,0.2\n,0.1\n"),
        },
        after={
            'dataset = "adult"': "anonkit release --method mondrian --k 10 --policy policy.toml in.csv out.parquet",
            "[columns]": "anonkit release --method errph --p-keep 0.5 --no-target --budget inf "
            "--policy answers.toml answers.csv a.parquet",
            "# shares of the last census": "anonkit release --method errph --p-keep 0.5 --no-target --no-ledger "
            "--policy shares.toml answers.csv s.parquet",
        },
        covered={"[[constraints]]*": "tests/policy/test_constraints.py::test_the_rules_of_the_page_are_read"},
        quick=True,
    ),
    "docs/reference/python.md": Page(covered={"def *": WRITTEN, "class *": WRITTEN, ">>> *": WRITTEN}),
    "docs/reference/report.md": Page(
        inputs={"in.csv": customers()}, first="anonkit release --method mondrian --k 10 in.csv out.parquet"
    ),
    "docs/reference/release-files.md": Page(
        shown={'{"name": "age", "type": "string"*': "an excerpt of a descriptor: how labels are explained"},
    ),
}
