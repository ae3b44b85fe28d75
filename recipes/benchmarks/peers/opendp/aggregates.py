"""Counts, sums, means and quantiles of OpenDP: mean absolute errors over groups and runs, one JSON object."""

import json
import sys

import numpy as np
import opendp.prelude as dp

dp.enable_features("contrib")


def scale_for(make, epsilon):
    """Return the smallest scale at which a measurement of this input distance 1 loses no more than epsilon."""
    return dp.binary_search_param(make, d_in=1, d_out=epsilon)


def errors(file: str, epsilon: float, runs: int, quantiles: dict[str, list[float]]) -> dict[str, float]:
    """Return the error of each statistic at this epsilon, numbers by group in an npz file."""
    held = np.load(file, allow_pickle=False)
    numbers, groups, (low, high) = held["numbers"].astype(int), held["groups"], [int(end) for end in held["bounds"]]
    names = sorted(set(groups.tolist()))
    parts = [numbers[groups == name].tolist() for name in names]
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    bounded = dp.vector_domain(dp.atom_domain(bounds=(low, high))), dp.symmetric_distance()

    def counted(scale):
        return space >> dp.t.then_count() >> dp.m.then_laplace(scale)

    def summed(scale):
        return space >> dp.t.then_clamp((low, high)) >> dp.t.then_sum() >> dp.m.then_laplace(scale)

    count, total = (make(scale_for(make, epsilon)) for make in (counted, summed))
    half_count, half_total = (make(scale_for(make, epsilon / 2)) for make in (counted, summed))
    out = {
        "count": np.mean([abs(count(own) - len(own)) for own in parts for _ in range(runs)]),
        "sum": np.mean([abs(total(own) - sum(own)) for own in parts for _ in range(runs)]),
        "mean": np.mean(
            [
                abs(min(max(half_total(own) / max(half_count(own), 1), low), high) - np.mean(own))
                for own in parts
                for _ in range(runs)
            ]
        ),
    }
    for name, levels in quantiles.items():
        found = []
        for level in levels:

            def chosen(scale, level=level):
                return bounded >> dp.m.then_private_quantile(
                    dp.max_divergence(), candidates=list(range(low, high + 1)), alpha=level, scale=scale
                )

            measure = chosen(scale_for(chosen, epsilon / len(levels)))
            true = [np.quantile(own, level, method="inverted_cdf") for own in parts]
            found += [abs(measure(own) - at) for own, at in zip(parts, true, strict=True) for _ in range(runs)]
        out[name] = np.mean(found)
    return {name: float(value) for name, value in out.items()}


if __name__ == "__main__":
    print(json.dumps(errors(**json.loads(sys.argv[1]))))
