#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same for samples that perf took, and `unweave splice` put into the trace.

usage: check_perf.py UNWEAVE SAMPLES SWITCHES PLANTED...

Skipped where there is no perf, or it may not sample.
"""
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import account
import reading
from check import CHANCE, FULL, Tap, describe

# Build, how perf gets at stacks, samples a second, threads, seconds of CPU time, least coverage.
RUNS = [
    ("planted_O2_pointers", ["-g"], 999, 2, 1.0, 0.99),
    ("planted_O2", ["--call-graph", "dwarf"], 999, 2, 1.0, 0.99),
    ("planted_stripped", ["--call-graph", "dwarf"], 999, 1, 0.7, 0.99),
]


def perf_command(capture, how, rate):
    clock = ["-e", "cpu-clock", "-k", "CLOCK_MONOTONIC_RAW", "-F", str(rate)]
    return ["perf", "record", "-q", *clock, *how, "-o", capture, "--"]


def can_sample(folder):
    """Whether perf is there and may do its work."""
    if not shutil.which("perf"):
        return False
    command = perf_command(folder / "try.data", ["-g"], 999) + ["true"]
    return subprocess.run(command, capture_output=True, timeout=60).returncode == 0


def run_all(commands):
    """Returns what went wrong, as lines."""
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        if done.returncode:
            return [f"{command[0]}: exit status {done.returncode}", *done.stderr.splitlines()]
    return []


def wrong_stacks(samples, places, pointers):
    """Of an exact sample every frame is the planted one; of a cut one, those of the chains are."""
    wrong = []
    for sample in samples:
        at = account.burning(sample)
        place = places[sample.stack[at]] if at is not None else None
        if not place or not place.task:
            continue
        between = () if sample.exact else ("turn", "run_inner", "step")
        planted = place.stack[:2] + [name for name in place.stack[2:] if name not in between]
        # A walk by frame pointers passes over who called a function that is just at its begin or end.
        entered = [planted[0]] + planted[2:] if pointers and at == 0 else planted
        if sample.stack[at:] not in (planted, entered):
            wrong.append(sample)
    return wrong


def check(tap, unweave, samples, program, run, chance, folder):
    name, how, rate, threads, cpu, coverage = run
    title = f"{name} with perf record {' '.join(how)}"
    trace, capture = folder / "planted.unw", folder / "perf.data"
    both, answer = folder / "both.unw", folder / "planted.json"
    record = [unweave, "record", "-q", "-F", "0", "-o", trace, "--"]
    planted = [program, "--threads", str(threads), "--cpu", str(cpu), answer]
    wrong = run_all(
        [
            perf_command(capture, how, rate) + record + planted,
            [unweave, "splice", "-q", trace, capture, "-o", both],
            [unweave, "verify", both],
        ]
    )
    tap.check(f"{title}: it is spliced", wrong)
    if wrong:
        return
    places = account.places(json.loads(answer.read_text()))
    found = reading.Trace(samples, both)
    hit = sum(account.hits(found.samples).values())
    tap.check(
        f"{title}: there are as many samples as the rate asks for",
        [f"{hit} samples in {cpu} s"] if hit < 0.5 * rate * cpu else [],
        f" ({account.count(found.samples)})",
    )
    tap.check(f"{title}: no sample has a wrong task", describe(account.wrong_tasks(found.samples, places)))
    tap.check(
        f"{title}: every stack is the planted one",
        describe(wrong_stacks(found.samples, places, how == ["-g"])),
    )
    tap.check(
        f"{title}: every chain ends where it should",
        describe(account.wrong_chains(found.samples, places)),
    )
    unlikely, outside = account.unlikely_shares(found.samples, places, chance)
    tap.check(
        f"{title}: shares are those that were planted",
        unlikely,
        f" ({outside} of {len(places)} places outside of their 95 %)",
    )
    tap.check(
        f"{title}: at least {coverage:.0%} of the samples in tasks are spliced exactly",
        [str(dict(found.outcomes))] if found.lacks(coverage, chance) else [],
        f" ({found.coverage():.2%})",
    )


def check_switches(tap, unweave, samples, program, how, folder):
    """A million turns a second: by its time and by its stack a sample must be of one task."""
    title = f"switches with perf record {' '.join(how)}"
    trace, capture, both = folder / "switches.unw", folder / "perf.data", folder / "both.unw"
    record = [unweave, "record", "-q", "-F", "0", "--buffer", "64M", "-o", trace, "--"]
    wrong = run_all(
        [
            perf_command(capture, how, 2999) + record + [program, "1" if not FULL else "10"],
            [unweave, "splice", "-q", trace, capture, "-o", both],
        ]
    )
    tap.check(f"{title}: it is spliced", wrong)
    if wrong:
        return
    read = reading.Trace(samples, both)
    found = read.samples
    in_tasks = [sample for sample in found if sample.task and sample.stack]
    working = [sample for sample in in_tasks if sample.stack[0].startswith("work_")]
    mixed = [sample for sample in working if sample.stack[0] != f"work_{sample.task[1:]}"]
    tap.check(
        f"{title}: no sample has a wrong task",
        describe(mixed) if working else ["no sample is in a task's function"],
        f" (of {account.count(working)})",
    )
    if how != ["-g"]:
        tap.check(
            f"{title}: at least 99% of the samples in tasks are spliced exactly",
            [str(dict(read.outcomes))] if read.lacks(0.99, CHANCE) else [],
            f" ({read.coverage():.2%})",
        )


def main():
    unweave, samples, switches = sys.argv[1:4]
    programs = {Path(path).name: path for path in sys.argv[4:]}
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        if not can_sample(folder):
            print("1..0 # SKIP perf is not there, or may not sample")
            return 0
        for run in RUNS:
            if FULL:
                run = (*run[:4], 10 * run[4], run[5])
            check(tap, unweave, samples, programs[run[0]], run, CHANCE / len(RUNS), folder)
        for how in (["-g"], ["--call-graph", "dwarf"]):
            check_switches(tap, unweave, samples, switches, how, folder)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
