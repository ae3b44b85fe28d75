"""anonymeter's three attacks on released rows, with a control."""

import json
import sys
import time

import pandas as pd
from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator


def attacks(source: str, control: str, released: str, attempts: int) -> None:
    """Print the risk of each attack and its processor seconds."""
    ori, other, syn = (pd.read_csv(path) for path in (source, control, released))
    for name in ori.columns:
        for table in (ori, other, syn):
            if ori[name].dtype.kind in "if":
                table[name] = table[name].astype(float).fillna(-1.0)
            else:
                table[name] = table[name].astype(object).fillna("missing").astype(str)
    names = list(ori.columns)
    known = (names[: len(names) // 2], names[len(names) // 2 :])
    made = {
        "singling_out": lambda: SinglingOutEvaluator(ori=ori, syn=syn, control=other, n_attacks=attempts).evaluate(
            mode="multivariate"
        ),
        "linkability": lambda: LinkabilityEvaluator(
            ori=ori, syn=syn, control=other, n_attacks=attempts, aux_cols=known, n_neighbors=1
        ).evaluate(n_jobs=1),
        "inference": lambda: InferenceEvaluator(
            ori=ori, syn=syn, control=other, n_attacks=attempts, aux_cols=names[:-1], secret=names[-1]
        ).evaluate(n_jobs=1),
    }
    for name, attack in made.items():
        begun = time.process_time()
        risk = attack().risk()
        print(json.dumps({"attack": name, "risk": float(risk.value), "seconds": time.process_time() - begun}))


if __name__ == "__main__":
    {"attacks": attacks}[sys.argv[1]](**json.loads(sys.argv[2]))
