"""OpenDP's MST: rows drawn from its model of marginals, for columns that are codes of public domains."""

import json
import math
import sys
import time
from fractions import Fraction

import numpy as np
import opendp.prelude as dp
import polars as pl

dp.enable_features("contrib")


def rho_of(epsilon: float, delta: float) -> float:
    """Return the largest rho of zCDP that is within (epsilon, delta), by the bound of Canonne, Kamath, Steinke."""
    orders = 1 + np.geomspace(1e-3, 1e6, 4000)
    gone = np.log1p(-1 / orders) - (math.log(delta) + np.log(orders)) / (orders - 1)
    low, high = 0.0, epsilon
    for _ in range(80):
        rho = (low + high) / 2
        low, high = (rho, high) if (rho * orders + gone).min() <= epsilon else (low, rho)
    return low


def divisible(rho: float, columns: int) -> float:
    """Return a rho, a billionth or so less, whose parts MST can spend.

    It gives half to the columns and a tenth of the rest to the choice of pairs, divides that evenly, and adds the parts
    up again, each sum rounded up: of most values they come to more than there is, by the last digit, and it refuses.
    """

    def below(number: float) -> float:
        return math.nextafter(math.nextafter(number, 0.0), 0.0)

    def holds(whole: float) -> bool:
        pairs = below(whole - whole / 2)
        choice = below(pairs - pairs * 0.9)
        part, spent = math.nextafter(choice / (columns - 1), 0.0), 0.0
        for _ in range(columns - 1):
            exact = Fraction(spent) + Fraction(part)
            spent = float(exact)
            spent = math.nextafter(spent, math.inf) if Fraction(spent) < exact else spent
        return spent <= choice

    return next(found for found in (rho * (1 - step * 1e-9) for step in range(1, 10_000)) if holds(found))


def modelled(frame: pl.LazyFrame, names: list[str], sizes: list[int], rho: float) -> object:
    """Return OpenDP's model of marginals."""
    context = dp.Context.compositor(
        data=frame, privacy_unit=dp.unit_of(contributions=1), privacy_loss=dp.loss_of(rho=rho)
    )
    known = {name: list(range(size)) for name, size in zip(names, sizes, strict=True)}
    query = context.query(rho=divisible(rho, len(names))).select(*names)
    return query.contingency_table(keys=known, algorithm=dp.mbi.MST()).release()


def rows(file: str, out: str, epsilon: float, delta: float) -> None:
    """Draw as many rows as the table has into OUT, and print the processor seconds."""
    stored = np.load(file)
    codes, sizes = stored["codes"], [int(size) for size in stored["sizes"]]
    names = [f"c{at}" for at in range(len(sizes))]
    frame = pl.LazyFrame({name: pl.Series(codes[:, at], dtype=pl.Int64) for at, name in enumerate(names)})
    begun = time.process_time()
    table = modelled(frame, names, sizes, rho_of(epsilon, delta))
    # the other way to draw, its default, makes children of one parent rise and fall together
    drawn = table.synthesize(rows=len(codes), method="sample")
    taken = time.process_time() - begun
    # every column has one more value, for cells outside the declared ones; there are none, noise may say otherwise
    cells = [drawn[name].fill_null(0).to_numpy().astype(np.int64) for name in names]
    np.save(out, np.column_stack(cells))
    print(json.dumps({"seconds": taken, "out": out}))


if __name__ == "__main__":
    {"rows": rows}[sys.argv[1]](**json.loads(sys.argv[2]))
