# SPDX-License-Identifier: Apache-2.0
"""What the tool makes of a trace, in the words of account.py."""
import json
import subprocess
from collections import Counter, namedtuple

import stats
from account import Sample

# Of all waits of a task or stack: how many, or None where nobody says, and ns.
Waits = namedtuple("Waits", "count pending queued")


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=120).stdout


class Trace:
    """Each sample, as the program `samples` prints them: what all else is sums of."""

    def __init__(self, samples, trace):
        alike, self.outcomes = Counter(), Counter()
        self.cpu = Counter()  # ns that the samples stand for, by label of the task and by stack
        for line in run(samples, trace).splitlines():
            said = json.loads(line)
            stack = tuple(said["stack"])
            alike[said["task"], stack, said["outcome"] == "exact"] += 1
            self.outcomes[said["outcome"]] += 1
            self.cpu[stack] += said["weight"]
            if said["task"]:
                self.cpu[said["task"]] += said["weight"]
        self.samples = [
            Sample(task, list(stack), exact, count) for (task, stack, exact), count in alike.items()
        ]

    def cpu_of_stacks(self):
        return Counter({key: ns for key, ns in self.cpu.items() if isinstance(key, tuple)})

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


def rows(unweave, trace, *options):
    return json.loads(run(unweave, "report", "--json", "-n", "0", trace, *options))["rows"]


def innermost_first(row):
    return tuple(reversed(row["stack"]))


class Report:
    """What `report` sums up, by label and by stack."""

    def __init__(self, unweave, trace):
        summary = json.loads(run(unweave, "report", "--json", trace))
        percent = summary["samples"]["exact_percent"]
        self.coverage = percent / 100 if percent is not None else None
        self.cpu, self.waits = Counter(), {}
        for row in rows(unweave, trace, "stacks"):
            self.cpu[innermost_first(row)] += row["exclusive_ns"]
        for row in rows(unweave, trace, "activities"):
            self.cpu[row["activity"]] += row["cpu_ns"]
            self.add_waits(row["activity"], None, row["waiting_ns"], row["queued_ns"])
        for row in rows(unweave, trace, "stacks", "--wait"):
            self.add_waits(innermost_first(row), row["count"], row["pending_ns"], row["queued_ns"])

    def add_waits(self, key, count, pending, queued):
        """A label has a row for each parent; a stack has one."""
        before = self.waits.get(key, Waits(None, 0, 0))
        self.waits[key] = Waits(count, before.pending + pending, before.queued + queued)


def folded(unweave, trace, what):
    """What `export` sums up, in ns by stack, the innermost function first."""
    sums = Counter()
    for line in run(unweave, "export", "--format", "folded", "--plain", what, trace).splitlines():
        names, us = line.rsplit(" ", 1)
        sums[tuple(reversed(names.split(";")))] += int(us) * 1000
    return sums


def folded_waits(unweave, trace):
    """The same of waits, as Report has them."""
    waits = {}
    for (what, *stack), ns in folded(unweave, trace, "--wall").items():
        before = waits.get(tuple(stack), Waits(None, 0, 0))
        if what == "[waiting]":
            waits[tuple(stack)] = before._replace(pending=before.pending + ns)
        elif what == "[queued]":
            waits[tuple(stack)] = before._replace(queued=before.queued + ns)
    return waits
