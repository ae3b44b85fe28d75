"""The how-to pages for the reader of the tests."""

from __future__ import annotations

from pages.inputs import (
    customers,
    customers_policy,
    first_customers,
    one_of,
    patients,
    person,
    table,
    text,
    visits,
    whole,
)
from pages.page import Page

PEOPLE = table(
    400, age=whole(18, 80), zip=one_of(10115, 20095, 50667, 80331), sex=one_of("f", "m"),
    job=one_of("clerk", "nurse", "cook"), illness=one_of("none", "flu", "asthma"),
    income=one_of("low", "middle", "high"),
)  # fmt: skip
COARSE = table(
    2_000, age=one_of(20, 40, 60), zip=one_of(10, 20), sex=one_of("f", "m"), illness=one_of("none", "flu", "cold")
)
EARNERS = table(2_000, age=whole(18, 99), education=one_of("school", "college", "university"), income=whole(0, 150_000))
VISITS = table(
    400, patient_id=person(4), age=whole(18, 60), ward=one_of("eyes", "surgery"), readmitted=one_of("no", "yes")
)
MOMENTS = table(
    600,
    born=lambda draw, at: f"{draw.randint(1, 28):02d}.{draw.randint(1, 12):02d}.{draw.randint(1950, 2000)}",
    seen=lambda draw, at: (
        f"2024-{draw.randint(1, 12):02d}-{draw.randint(1, 28):02d}T{draw.randint(0, 23):02d}:30+00:00"
    ),
    clock=lambda draw, at: f"{draw.randint(0, 23):02d}:{draw.randint(0, 59):02d}",
    lat=lambda draw, at: round(draw.uniform(50, 52), 4),
    lon=lambda draw, at: round(draw.uniform(8, 11), 4),
    y=one_of("no", "yes"),
)
BORN = table(
    600,
    born=lambda draw, at: f"{draw.randint(2015, 2019)}-{draw.randint(1, 12):02d}-{draw.randint(1, 28):02d}",
    clock=lambda draw, at: f"{draw.randint(0, 23):02d}:{draw.randint(0, 59):02d}",
    lat=lambda draw, at: round(draw.uniform(47.2, 55.1), 4),
    lon=lambda draw, at: round(draw.uniform(5.8, 15.1), 4),
    y=one_of("no", "yes"),
)
AIRFLOW = "tests/integrations/airflow/test_airflow.py"
DAGSTER = "tests/integrations/dagster/test_dagster.py"
DBT = "tests/integrations/dbt/test_dbt.py"
DVC = "tests/integrations/dvc/test_dvc.py"
PREFECT = "tests/integrations/prefect/test_prefect.py"
SNAKEMAKE = "tests/integrations/snakemake/test_snakemake.py"
SERVER = "postgresql://owner@127.0.0.1/postgres"

PAGES = {
    "docs/how-to/airflow.md": Page(covered={"*": f"{AIRFLOW}::test_the_page_runs"}),
    "docs/how-to/audit.md": Page(
        inputs={"in.csv": customers(), "held-out.csv": customers(100, seed=2)},
        first="anonkit release --method mondrian --k 10 in.csv out.parquet",
    ),
    "docs/how-to/check-in-great-expectations.md": Page(needs=("great_expectations_is_there",)),
    "docs/how-to/choose-delta.md": Page(inputs={"in.csv": customers(8_000)}),
    "docs/how-to/choose-epsilon.md": Page(inputs={"in.csv": customers(), "policy.toml": customers_policy()}),
    "docs/how-to/choose-k.md": Page(inputs={"in.csv": customers(1_000), "policy.toml": customers_policy()}),
    "docs/how-to/compare-methods.md": Page(
        inputs={"in.csv": customers(300), "policy.toml": customers_policy(target="income")}
    ),
    "docs/how-to/count-people.md": Page(
        inputs={"visits.csv": VISITS},
        after={
            "[columns]": "anonkit release --method mondrian --k 10 --policy policy.toml "
            "--no-ledger visits.csv p.parquet",
        },
    ),
    "docs/how-to/dagster.md": Page(covered={"*": f"{DAGSTER}::test_the_page_runs"}),
    "docs/how-to/dates-times-and-places.md": Page(
        inputs={"moments.csv": MOMENTS, "born.csv": BORN},
        after={
            "[columns]": "anonkit release --method mondrian --k 10 --policy policy.toml moments.csv moments.parquet",
            "[columns] #2": "anonkit release --method dp-nb --epsilon 1 --policy private.toml born.csv born.parquet",
        },
        quick=True,
    ),
    "docs/how-to/dbt.md": Page(covered={"*": f"{DBT}::test_the_page_runs"}),
    "docs/how-to/decide-on-a-release.md": Page(
        inputs={"in.csv": customers(), "policy.toml": customers_policy()},
        after={
            "[publication]": "anonkit release --method mondrian --k 10 --policy policy.toml in.csv told.parquet "
            "--no-ledger --owner-report told\ngrep -q 'Institute of Labour Research' told/told.dossier.html"
        },
    ),
    "docs/how-to/declare-domains.md": Page(
        inputs={
            "small.csv": table(
                400,
                age=whole(18, 95),
                education=one_of("primary school", "college", "bachelor"),
                marital_status=one_of("single", "married", "other"),
                deposit=whole(0, 250_000),
                customer_value=one_of("low", "mid", "high"),
            )
        },
    ),
    "docs/how-to/declare-a-policy.md": Page(inputs={"customers.csv": customers()}),
    "docs/how-to/dvc.md": Page(covered={"*": f"{DVC}::test_the_page_runs"}),
    "docs/how-to/publish-aggregates.md": Page(
        inputs={"in.csv": customers(300), "policy.toml": customers_policy()},
        after={
            'dataset = "customers"': "anonkit release --method dp-tables --epsilon 1 --policy policy.toml "
            "--no-ledger in.csv listed.parquet",
        },
        quick=True,
    ),
    "docs/how-to/export-a-release.md": Page(
        inputs={"in.csv": customers(), "people.csv": COARSE},
        needs=("server",),
        stand_ins={"postgresql://owner@host/db": SERVER, "postgresql://reader@host/db": SERVER},
        first="anonkit release --method mondrian --k 10 in.csv out.parquet",
        leaves=("out.csv", "out.xlsx", "out.arrow", "out.sqlite", "open.db", "open.duckdb"),
    ),
    "docs/how-to/find-what-makes-people-unique.md": Page(
        inputs={"in.csv": customers(), "register.csv": customers(2_000), "policy.toml": customers_policy()},
        quick=True,
    ),
    "docs/how-to/count-households.md": Page(
        inputs={
            "members.csv": table(
                400,
                hid=person(2),
                pid=person(1),
                region=one_of("north", "south"),
                age=one_of(20, 40, 60),
                sex=one_of("f", "m"),
                works=one_of("no", "yes"),
            )
        },
        quick=True,
    ),
    "docs/how-to/release-a-weighted-sample.md": Page(
        inputs={
            "survey.csv": table(
                1_000,
                age=one_of(20, 30, 40, 50),
                region=one_of("north", "south"),
                income=one_of("low", "high"),
                w=one_of(110.5, 148.0, 152.5, 249.0),
            )
        },
    ),
    "docs/how-to/state-risk-in-a-population.md": Page(
        inputs={
            "survey.csv": first_customers(400, 4_000),
            "register.csv": customers(4_000),
            "table.csv": COARSE,
        },
        quick=True,
    ),
    "docs/how-to/github-action.md": Page(
        covered={"*": "tests/integrations/test_github_action.py::test_the_workflow_of_the_page_calls_the_action"}
    ),
    "docs/how-to/keep-a-budget.md": Page(
        inputs={"in.csv": customers(), "policy.toml": customers_policy()},
        stand_ins={"/srv/private/": "{folder}/srv/private/"},
        after={
            "anonkit ledger create /srv/private/ledger.sqlite": "mkdir new\nanonkit release --method rr --epsilon 1 "
            '--budget 3 --policy policy.toml in.csv new/first.parquet\ntest -s "$ANONKIT_LEDGER"'
        },
        quick=False,
    ),
    "docs/how-to/keep-a-column.md": Page(
        inputs={
            "adult.csv": table(
                2_000,
                **{"native-country": one_of("Canada", "India", "Italy")},
                age=whole(18, 80),
                sex=one_of("f", "m"),
                income=one_of("low", "high"),
            )
        },
    ),
    "docs/how-to/learn-from-a-k-anonymous-release.md": Page(
        inputs={"people.csv": PEOPLE, "test.csv": PEOPLE},
        first="anonkit release --method mondrian --k 10 people.csv out.parquet",
    ),
    "docs/how-to/pre-commit.md": Page(
        covered={"*": "tests/cli/test_precommit.py::test_the_page_names_hooks_that_there_are"}
    ),
    "docs/how-to/missing-values.md": Page(
        inputs={
            "survey.csv": table(
                400,
                age=whole(18, 80),
                occupation=one_of("clerk", "?", ""),
                income=one_of("-9", "1000", "2500", ""),
                answer=one_of("yes", "no", "refused"),
            )
        },
    ),
    "docs/how-to/predict-a-number.md": Page(
        inputs={"in.csv": EARNERS, "test.csv": EARNERS},
        after={
            'task = "regression"          # or "classification"': "anonkit release --method mondrian --k 10 "
            "--policy policy.toml --no-ledger in.csv k.parquet"
        },
    ),
    "docs/how-to/prefect.md": Page(covered={"*": f"{PREFECT}::test_the_page_runs"}),
    "docs/how-to/protect-a-sensitive-attribute.md": Page(
        inputs={
            "adult.csv": PEOPLE,
            "patients.csv": table(
                400,
                age=whole(18, 80),
                sex=one_of("f", "m"),
                diagnosis=one_of("", "flu", "asthma"),
                salary=whole(20_000, 90_000),
                smoker=one_of("no", "yes"),
                cured=one_of("no", "yes"),
            ),
            "clinic.csv": table(
                400,
                age=whole(18, 80),
                sex=one_of("f", "m"),
                diagnosis=one_of("flu", "asthma"),
                cured=one_of("no", "yes"),
            ),
        },
        after={
            "[columns]": "anonkit release --method mondrian --k 10 --l 2 --policy policy.toml --no-ledger "
            "patients.csv declared.parquet"
        },
    ),
    "docs/how-to/read-any-source.md": Page(
        inputs={
            "people.csv": PEOPLE,
            "in.csv": text("height;weight;y\n" + "1,5;60,25;no\n1,75;80,5;yes\n" * 20),
            "headerless.csv": text("41,f,2020-01-31\n35,m,2021-03-01\n" * 40),
            "export.csv": text("Patients\nof March\n\nage,sex,y\n" + "52,f,no\n67,m,yes\n" * 60),
            "export.txt": text("weight~smokes~y\n" + "81~never~no\n64~daily~yes\n" * 50),
            "money.csv": text("income;share;label\n" + "1.234,50 €;12.3%;no\n2.800,00 €;40%;yes\n" * 70),
        },
        first="gzip -k people.csv\npython - <<'P'\n"
        "import pandas as pd\n"
        "pd.read_csv('people.csv').to_excel('people.xlsx', sheet_name='People', index=False, startrow=3)\nP",
    ),
    "docs/how-to/recode-the-next-batch.md": Page(
        inputs={"january.csv": customers(), "february.csv": customers(300, seed=2)}
    ),
    "docs/how-to/reconstruct.md": Page(
        inputs={"in.csv": customers(8_000), "test.csv": customers(200, seed=2), "policy.toml": customers_policy()},
        first="anonkit release --method rr --epsilon 8 --budget 8 --policy policy.toml in.csv out.parquet",
        leaves=("predictions.parquet", "model.json"),
    ),
    "docs/how-to/release-into-an-object-store.md": Page(
        covered={"*": "tests/cli/test_store_commands.py::test_the_page_runs"}
    ),
    "docs/how-to/release-several-tables.md": Page(
        inputs={"patients.csv": patients(), "visits.csv": visits()},
        after={"# private.toml": "anonkit run private.toml"},
        quick=True,
        leaves=("out.parquet", "private.parquet"),
    ),
    "docs/how-to/repeat-a-release.md": Page(
        inputs={
            "january.csv": customers(),
            "february.csv": customers(300, seed=2),
            "policy.toml": customers_policy(),
        },
    ),
    "docs/how-to/review-a-release.md": Page(
        inputs={"in.csv": customers()},
        first="anonkit release --method mondrian --k 10 in.csv out.parquet",
        leaves=("review.html",),
    ),
    "docs/how-to/run-in-a-pipeline.md": Page(
        inputs={
            "in.parquet": customers(),
            "people.parquet": PEOPLE,
            "policy.toml": text('[columns]\ncustomer_value = { role = "target" }\n'),
        },
        leaves=("release.json", "validation.json"),
    ),
    "docs/how-to/share-a-ledger.md": Page(
        inputs={"in.csv": customers()},
        needs=("server",),
        stand_ins={
            "postgresql://owner@db.example.org/ledger?sslmode=verify-full": SERVER,
            "postgresql://releaser@db.example.org/ledger?sslmode=verify-full": SERVER,
            "'64 hexadecimal digits'": '"$(cat ~/.config/anonkit/ledger-*.key)"',
            "export PGPASSWORD='of the role'": 'test -n "$PGPASSWORD"',
        },
        covered={
            "GRANT USAGE ON SCHEMA anonkit TO releasers;": "tests/ledger/test_server_store.py"
            "::test_roles_may_do_what_the_page_grants_them_and_no_more"
        },
        after={
            "# policy.toml": "anonkit release --method mondrian --k 10 --policy policy.toml in.csv first.parquet",
            "# variables and secrets of the build server": "rm policy.toml ~/.config/anonkit/*.key\n"
            "anonkit release --method mondrian --k 10 --accept-joint-k 1 --dataset customers in.csv second.parquet\n"
            "anonkit ledger | grep -c parquet | grep -qx 2",
        },
    ),
    "docs/how-to/sign-a-release.md": Page(
        inputs={"in.csv": customers(), "withdrawn.txt": text("out.parquet was found wrong: delete it.\n")}
    ),
    "docs/how-to/snakemake.md": Page(covered={"*": f"{SNAKEMAKE}::test_the_page_runs"}),
    "docs/how-to/spark.md": Page(
        needs=("spark_is_there",),
        inputs={
            "customers/0.parquet": customers(),
            "shared/customers/0.parquet": customers(seed=2),
            "policy.toml": customers_policy(),
        },
        stand_ins={  # the session of a notebook has another table than the first block, of one dataset here
            'policy="policy.toml", output=': 'policy="policy.toml", budget=float("inf"), output=',
            "/shared/": "{folder}/shared/",
            "spark://host:7077": "local[1]",
            "spark.executor.memory=8g": "spark.executor.memory=1g",
            '"spark.executor.memory" = "8g"': '"spark.executor.memory" = "1g"',
            'anonkit.release("main.crm.customers"': 'others = spark.read.parquet("{folder}/customers")\n'
            'others.createOrReplaceTempView("customers")\nanonkit.release("customers"',
        },
        after={"# monthly.toml": "anonkit run monthly.toml --budget inf"},
        leaves=("out.parquet", "cluster.parquet", "shared/out.parquet", "catalog.parquet", "monthly.parquet"),
    ),
    "docs/how-to/write-a-method.md": Page(
        covered={"*": "tests/methods/test_third_party_method.py::test_commands_know_it_and_its_release_validates"},
        methods=("in-step",),
    ),
    "docs/how-to/add-a-noise-method.md": Page(
        covered={"*": "tests/methods/test_strangers.py::test_the_page_shows_the_file_of_the_package"},
        methods=("joint-histogram",),
    ),
    "docs/how-to/validate.md": Page(
        inputs={"in.csv": PEOPLE, "any.csv": COARSE},
        first="anonkit release --method mondrian --k 10 --sensitive illness --l 2 --target income in.csv out.parquet",
        leaves=("results.xml",),
    ),
}
