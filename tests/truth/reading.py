# SPDX-License-Identifier: Apache-2.0
"""What the tool makes of a trace, in the words of account.py."""
import json
import subprocess
from collections import Counter, namedtuple

import stats
from account import Sample

# Of all waits of a task or stack: how many, and ns.
Waits = namedtuple("Waits", "count pending queued")


class Trace:
    """Each sample and each wait, as the program `samples` prints them."""

    def __init__(self, samples, trace):
        alike, self.outcomes, waits = Counter(), Counter(), {}
        self.cpu = 0  # ns that the samples stand for
        self.cpu_of = Counter()  # the same, by stack
        out = subprocess.run([samples, trace], stdout=subprocess.PIPE, text=True, check=True, timeout=120)
        for line in out.stdout.splitlines():
            said = json.loads(line)
            stack = tuple(said["stack"])
            if said["kind"] == "sample":
                alike[said["task"], stack, said["outcome"] == "exact"] += 1
                self.outcomes[said["outcome"]] += 1
                self.cpu += said["weight"]
                self.cpu_of[stack] += said["weight"]
            else:
                for key in (said["task"], stack):
                    before = waits.get(key, Waits(0, 0, 0))
                    waits[key] = Waits(
                        before.count + 1,
                        before.pending + said["pending"],
                        before.queued + said["queued"],
                    )
        self.samples = [
            Sample(task, list(stack), exact, count) for (task, stack, exact), count in alike.items()
        ]
        # By the label of a task, and by stack, which is a tuple.
        self.waits = waits

    def in_tasks(self):
        return self.outcomes.total() - self.outcomes["no task"]

    def coverage(self):
        """The share of the samples in tasks that have an exact logical stack."""
        return self.outcomes["exact"] / max(self.in_tasks(), 1)

    def lacks(self, share, chance):
        """Whether the coverage is below the share, by more than the few samples explain."""
        if self.coverage() >= share:
            return False
        return stats.tail(self.in_tasks(), self.outcomes["exact"], share) < chance


def folded(unweave, trace, what):
    """What `export` sums up, in ns by stack, the innermost function first."""
    command = [unweave, "export", "--format", "folded", "--plain", what, trace]
    out = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=120)
    sums = Counter()
    for line in out.stdout.splitlines():
        names, us = line.rsplit(" ", 1)
        sums[tuple(reversed(names.split(";")))] += int(us) * 1000
    return sums


def folded_waits(unweave, trace):
    """The same of waits, in the form of Trace.waits, but without their number."""
    waits = {}
    for (what, *stack), ns in folded(unweave, trace, "--wall").items():
        before = waits.get(tuple(stack), Waits(None, 0, 0))
        if what == "[waiting]":
            waits[tuple(stack)] = before._replace(pending=before.pending + ns)
        elif what == "[queued]":
            waits[tuple(stack)] = before._replace(queued=before.queued + ns)
    return waits
