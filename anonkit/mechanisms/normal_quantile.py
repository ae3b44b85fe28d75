# SPDX-License-Identifier: Apache-2.0
"""The quantile function of the normal distribution on arrays, which turns uniform variates into normal ones.

Wichura, Algorithm AS 241 (PPND16), Applied Statistics 37(3), 1988: three quotients of polynomials, to 16 digits.
Importing scipy for this one function takes longer than releasing a small table.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anonkit.domains.array_types import FloatArray

# each: numerator, denominator, highest power first
_MIDDLE = (
    (2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4, 4.5921953931549871457e4,
     1.3731693765509461125e4, 1.9715909503065514427e3, 1.3314166789178437745e2, 3.3871328727963666080e0),
    (5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4, 2.1213794301586595867e4,
     5.3941960214247511077e3, 6.8718700749205790830e2, 4.2313330701600911252e1, 1.0),
)  # fmt: skip
_OUTER = (
    (7.7454501427834140764e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1, 1.27045825245236838258e0,
     3.64784832476320460504e0, 5.76949722146069140550e0, 4.63033784615654529590e0, 1.42343711074968357734e0),
    (1.05075007164441684324e-9, 5.4759380849953449460e-4, 1.51986665636164571966e-2, 1.48103976427480074590e-1,
     6.89767334985100004550e-1, 1.67638483018380384940e0, 2.05319162663775882187e0, 1.0),
)  # fmt: skip
_FAR = (
    (2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3, 2.65321895265761230930e-2,
     2.96560571828504891230e-1, 1.78482653991729133580e0, 5.46378491116411436990e0, 6.65790464350110377720e0),
    (2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5, 7.86869131145613259100e-4,
     1.48753612908506148525e-2, 1.36929880922735805310e-1, 5.99832206555887937690e-1, 1.0),
)  # fmt: skip


def normal_quantile(uniform: FloatArray) -> FloatArray:
    """Return the standard normal numbers below which a share of the distribution lies, shape (n,).

    Parameters
    ----------
    uniform : array of float, shape (n,)
        Shares, each in (0, 1).

    Returns
    -------
    array of float, shape (n,)
        Within a relative error of about 1e-16.
    """
    around = uniform - 0.5
    square = around * around
    np.subtract(0.180625, square, out=square)
    out = _quotient(square, _MIDDLE)
    out *= around
    ends = np.flatnonzero(square < 0)  # farther than 0.425 from the middle: 15 in 100
    out[ends] = np.copysign(_tail(np.minimum(uniform[ends], 1 - uniform[ends])), around[ends])
    return out


def _tail(share: FloatArray) -> FloatArray:
    """Return the distance from 0 beyond which a share below 0.075 lies."""
    root = np.sqrt(-np.log(share))
    out = _quotient(root - 1.6, _OUTER)
    far = np.flatnonzero(root > 5)
    out[far] = _quotient(root[far] - 5, _FAR)
    return out


def _quotient(at: FloatArray, polynomials: tuple[Sequence[float], Sequence[float]]) -> FloatArray:
    above, below = (_polynomial(at, coefficients) for coefficients in polynomials)
    above /= below
    return above


def _polynomial(at: FloatArray, coefficients: Sequence[float]) -> FloatArray:
    """Return a polynomial's values by Horner's rule, in place."""
    out = at * coefficients[0]
    out += coefficients[1]
    for coefficient in coefficients[2:]:
        out *= at
        out += coefficient
    return out
