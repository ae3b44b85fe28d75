"""SmartNoise's DP-CTGAN: rows drawn from a network trained with noise, for columns that are codes of public domains."""

import json
import sys
import time

import numpy as np
import pandas as pd
from snsynth import Synthesizer


def codes(file: str, out: str, epsilon: float, delta: float) -> None:
    """Draw as many rows as the table of codes has into OUT.npy, and print the processor seconds and the steps.

    Its own batch, noise and most epochs; it ends when epsilon is spent. Categories cost it no epsilon: they are public.
    """
    stored = np.load(file)
    names = [f"c{at}" for at in range(stored["codes"].shape[1])]
    table = pd.DataFrame(stored["codes"], columns=names)
    begun = time.process_time()
    model = Synthesizer.create("dpctgan", epsilon=epsilon, delta=delta, verbose=False, cuda=False)
    model.fit(table, categorical_columns=names, preprocessor_eps=0.0)
    drawn = model.sample(len(table))
    taken = time.process_time() - begun
    np.save(out, drawn[names].to_numpy(np.int64))
    print(json.dumps({"seconds": taken, "out": out, "epochs": len(getattr(model, "epsilon_list", []))}))


if __name__ == "__main__":
    {"codes": codes}[sys.argv[1]](**json.loads(sys.argv[2]))
