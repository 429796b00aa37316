# SPDX-License-Identifier: Apache-2.0
"""Compares samples with what the program itself says that it did."""
import re
from collections import Counter, namedtuple

import stats

# Some samples that are alike: the label of the task or None, function names from the innermost
# outwards, whether the tool says that this is exact, and how many.
Sample = namedtuple("Sample", "task stack exact count")
Place = namedtuple("Place", "task stack share")

# A thread of its own, which a sampler knows of later than of the others: it has no share that it
# must have, but samples.
ALONE = "burn_alone"
BURN = re.compile(r"burn_(T\d+)_L\d+$|burn_(in_loop|alone)$")
# Functions of which every one in a stack was planted there.
PLANTED = re.compile(r"burn_|f_[0-9a-f]{2}$|(walk|step|turn|run_inner)$")


def places(account):
    """The account of tests/truth/planted.c, as shares of what was burnt in all places."""
    shared = [place for place in account["places"] if place["stack"][0] != ALONE]
    total = sum(place["ns"] for place in shared)
    found = {
        place["stack"][0]: Place(place["task"], place["stack"], place["ns"] / total)
        for place in shared
    }
    if len(shared) < len(account["places"]):
        found[ALONE] = Place(None, [ALONE], None)
    return found


def burning(sample):
    """The index of the frame that burns, or None."""
    for index, function in enumerate(sample.stack):
        if BURN.match(function):
            return index
    return None


def wrong_tasks(samples, planted):
    """Samples that are on a task that did not run. None may be."""
    wrong = []
    for sample in samples:
        at = burning(sample)
        if at is not None and planted[sample.stack[at]].task != sample.task:
            wrong.append(sample)
    return wrong


def chains(planted):
    """The whole chain of each task: the longest stack that it burns in, without what burns."""
    found = {}
    for place in planted.values():
        if place.task and len(place.stack) > len(found.get(place.task, [])):
            found[place.task] = place.stack[2:]
    return found


def wrong_chains(samples, planted):
    """Samples that are said to be exact, but end otherwise than the chain of their task. Those
    that burn nowhere too: a signal comes in hooks, and between two functions."""
    whole = chains(planted)
    wrong = []
    for sample in samples:
        seen = [function for function in sample.stack if PLANTED.match(function)]
        awaits = seen[-1:] if sample.task in whole else []
        if sample.exact and awaits and awaits[0] != whole[sample.task][-1]:
            wrong.append(sample)
    return wrong


def wrong_stacks(samples, planted):
    """Samples that burn, but not in the logical stack where that was planted."""
    wrong = []
    for sample in samples:
        at = burning(sample)
        if at is None:
            continue
        place = planted[sample.stack[at]]
        # Outside of tasks the native stack goes on, down to the thread's first function.
        if place.task and sample.stack[at:] != place.stack:
            wrong.append(sample)
    return wrong


def count(samples):
    return sum(sample.count for sample in samples)


def hits(samples):
    """How many samples there are in each place."""
    counts = Counter()
    for sample in samples:
        at = burning(sample)
        if at is not None:
            counts[sample.stack[at]] += sample.count
    return counts


def unlikely_shares(samples, planted, chance):
    """Places whose share is off by more than sampling explains. All of them together fail
    by chance at most with the given one (Bonferroni: each gets its part of it)."""
    counts = hits(samples)
    wrong, outside = [], 0
    if ALONE in planted and not counts.pop(ALONE, 0):
        wrong.append(f"{ALONE}: never sampled")
    planted = {name: place for name, place in planted.items() if name != ALONE}
    total = sum(counts.values())
    each = chance / 2 / len(planted)
    for name, place in planted.items():
        likely = stats.two_sided(total, counts[name], place.share)
        outside += likely < 0.05
        if likely < each:
            wrong.append(
                f"{name}: planted {place.share:.4%}, measured {counts[name] / max(total, 1):.4%}"
                f" of {total}, chance {likely:.1e}"
            )
    # One in twenty may be outside of its interval of 95 %; of many, hardly more than that.
    allowed = stats.most_outside(len(planted), 0.05, chance / 2)
    if outside > allowed:
        wrong.append(f"{outside} of {len(planted)} outside of their 95 %; {allowed} may be")
    return wrong, outside
