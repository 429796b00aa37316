# SPDX-License-Identifier: Apache-2.0
"""What a sampler may do by chance, and what it may not.

A place that takes the share p of the CPU time is hit by each of n samples with
probability p, so the number of hits is binomial: |hits/n - p| is at most
z * sqrt(p * (1 - p) / n) with the chance that z stands for. Places have few hits
here, where the normal curve is a poor guide to the tails; so tails are summed
up exactly. A timer that goes on at equal steps, as samplers do, scatters less
than that, never more, as long as the program does not keep step with it.
"""
from math import exp, lgamma, log, log1p


def log_binomial(n, k, p):
    """Logarithm of the chance of k hits in n."""
    if p <= 0 or p >= 1:
        return 0.0 if k == (0 if p <= 0 else n) else float("-inf")
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(p) + (n - k) * log1p(-p)


def tail(n, k, p):
    """The chance of a number of hits as far from n * p as k, or farther, on the same side."""
    away = 1 if k >= n * p else -1
    total, term = 0.0, None
    while 0 <= k <= n:
        term = exp(log_binomial(n, k, p))
        total += term
        if term < total * 1e-12:
            break
        k += away
    return min(total, 1.0)


def two_sided(n, k, p):
    return min(1.0, 2 * tail(n, k, p))


def most_outside(places, share, chance):
    """So many of `places` independent checks, each with this share of failures by chance,
    fail at once only with less than the given chance."""
    failures = 0
    while sum(exp(log_binomial(places, k, share)) for k in range(failures, places + 1)) > chance:
        failures += 1
    return failures - 1
