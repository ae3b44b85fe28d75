# %% [markdown]
# # A checkpoint that blocks publication
#
# Needs `pip install 'anonkit[validate]'`. The publishing step waits for a go-ahead file. The action of the
# checkpoint deletes it and writes it anew only when every declared expectation was evaluated and holds.

# %% A release
import tempfile
from pathlib import Path

import great_expectations as gx
from great_expectations.checkpoint import Checkpoint

import anonkit
from anonkit.checks import expectations as ax

folder = Path(tempfile.mkdtemp())
customers = anonkit.datasets.bank_customers(2_000, seed=1)
release = anonkit.release(customers, method="mondrian", k=10, output=folder / "out.parquet", dataset="customers")
columns = release.report["guarantee"]["parameters"]["quasi_identifiers"]
released = [name for name in columns if name in release.to_arrow().column_names]

# %% What must hold before it is published
expectations = [
    ax.ExpectTableToBeKAnonymous(columns=released, k={"$PARAMETER": "k"}),
    ax.ExpectReleaseToKeepItsPromise(release=str(folder / "out.parquet")),
]
context = gx.get_context(mode="ephemeral")
context.variables.progress_bars = {"globally": False}
batch = (
    context.data_sources.add_pandas("releases").add_dataframe_asset("out").add_batch_definition_whole_dataframe("all")
)
suite = context.suites.add(gx.ExpectationSuite("privacy", expectations=expectations))
definition = context.validation_definitions.add(gx.ValidationDefinition(name="privacy", data=batch, suite=suite))
go_ahead = folder / "go-ahead"
checkpoint = context.checkpoints.add(
    Checkpoint(
        name="publish",
        validation_definitions=[definition],
        actions=[ax.RefusePublication(name="go-ahead", declared=len(expectations), go_ahead=str(go_ahead))],
    )
)

# %% Publish or not
for k in (10, 500):
    result = checkpoint.run(batch_parameters={"dataframe": release.to_pandas()}, expectation_parameters={"k": k})
    print(f"k = {k}: checkpoint {'passed' if result.success else 'failed'}; publish: {go_ahead.exists()}")
