# %% [markdown]
# # k-anonymity as a pandera check
#
# Needs `pip install pandera`. The check says of every row whether its class is large enough; pandera's failure cases
# hold rows, so report the number of failures and not the cases.

# %%
from collections.abc import Sequence

import pandas as pd
import pandera.pandas as pa
from pandera import extensions


@extensions.register_check_method(statistics=["columns", "k"])
def k_anonymous(frame: pd.DataFrame, *, columns: Sequence[str], k: int) -> "pd.Series[bool]":
    """Every row is in a class of at least k rows, a missing value being one of its own."""
    return frame.groupby(list(columns), dropna=False)[columns[0]].transform("size") >= k


schema = pa.DataFrameSchema(
    {"age": pa.Column(str), "sex": pa.Column(str, nullable=True)},
    checks=pa.Check.k_anonymous(columns=["age", "sex"], k=3),
)

# %%
good = pd.DataFrame({"age": ["20-29"] * 3 + ["30-39"] * 3, "sex": ["F"] * 3 + [None] * 3})
print("good:", len(schema.validate(good)), "rows pass")
try:
    schema.validate(good.iloc[:5], lazy=True)
    print("bad table passed")
except pa.errors.SchemaErrors as error:
    print("bad:", len(error.failure_cases), "failures")
