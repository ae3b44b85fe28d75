"""Tables inside the statsmodels wheel, written as CSV files with a column of classes `y`: no figure of a peer."""

import json
import sys
from pathlib import Path

import numpy as np
from statsmodels.datasets import anes96, fair, modechoice, randhie, star98


def tables(folder: str) -> None:
    """Write each table, and print its name."""
    found = {}
    table = fair.load_pandas().data
    found["affairs"] = table.drop(columns="affairs").assign(y=np.where(table["affairs"] > 0, "yes", "no"))
    table = anes96.load_pandas().data
    found["vote of 1996"] = table.drop(columns="vote").assign(y=[f"vote {vote:.0f}" for vote in table["vote"]])
    known = table.drop(columns=["vote", "PID"])
    found["party of 1996 (7 classes)"] = known.assign(y=[f"party {party:.0f}" for party in table["PID"]])
    table = randhie.load_pandas().data
    visits = np.select([table["mdvis"] == 0, table["mdvis"] < 4], ["none", "few"], "many")
    found["visits to a doctor (3 classes)"] = table.drop(columns="mdvis").assign(y=visits)
    table = modechoice.load_pandas().data
    table["mode"] = [f"mode {mode:.0f}" for mode in table["mode"]]
    chosen = np.where(table["choice"] > 0, "yes", "no")
    found["choice of transport"] = table.drop(columns=["individual", "choice"], errors="ignore").assign(y=chosen)
    table = star98.load_pandas().data
    above = np.where(table["NABOVE"] > table["NBELOW"], "above", "below")
    found["schools"] = table.drop(columns=["NABOVE", "NBELOW"]).assign(y=above)
    for name, one in found.items():
        one.to_csv(Path(folder) / f"{name}.csv", index=False)
        print(json.dumps({"name": name}))


if __name__ == "__main__":
    {"tables": tables}[sys.argv[1]](**json.loads(sys.argv[2]))
