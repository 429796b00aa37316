#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records programs with known answers, and compares what the tool says with these.

usage: check.py UNWEAVE SAMPLES WAITS PLANTED...

UNWEAVE_TRUTH=full in the environment: every build, rate and number of threads.
UNWEAVE_TRUTH_KEEP=DIRECTORY: traces and accounts stay there.
"""
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import namedtuple
from pathlib import Path

import account
import reading

Tools = namedtuple("Tools", "unweave samples waits")

# A sampler without fault fails one of all the checks together with less than this chance.
CHANCE = 0.001
FULL = os.environ.get("UNWEAVE_TRUTH") == "full"

# Build, threads, seconds of CPU time, how it is recorded.
SHORT_RUNS = [
    ("planted_O0", 4, 1.0, "-F 999"),
    ("planted_O0_pointers", 1, 1.0, "-F 999 --detail tasks"),
    ("planted_O2", 1, 1.0, "-F 999"),
    ("planted_O2", 4, 1.5, "-F 99"),
    ("planted_O2", 4, 0.7, "-F 999 --timers"),
    ("planted_O2_pointers", 4, 1.0, "-F 4999"),
    ("planted_static", 2, 0.7, "-F 999"),
    ("planted_stripped", 1, 1.0, "-F 4999"),
]


class Tap:
    """Counts what held, and says so."""

    def __init__(self):
        self.count = self.failed = 0

    def check(self, sentence, wrong, note=""):
        self.count += 1
        for line in list(wrong)[:12]:
            print(f"# {line}")
        if len(wrong) > 12:
            print(f"# … and {len(wrong) - 12} more")
        if wrong:
            self.failed += 1
        print(f"{'not ok' if wrong else 'ok'} {self.count} - {sentence}{note}", flush=True)

    def end(self):
        print(f"1..{self.count}")
        return 1 if self.failed else 0


def record(unweave, trace, options, command):
    """Returns what went wrong, as lines."""
    done = subprocess.run(
        [unweave, "record", "-q", "-o", trace, *options, *(["--", *command] if command else [])],
        capture_output=True,
        text=True,
        timeout=120,
    )
    said = done.stderr.splitlines()
    return [f"exit status {done.returncode}", *said] if done.returncode else []


def describe(samples):
    return [
        f"{sample.count} x task {sample.task}: {' < '.join(sample.stack[:12])}"
        f"{' …' if len(sample.stack) > 12 else ''}"
        for sample in sorted(samples, key=lambda sample: -sample.count)
    ]


def compare_cpu(cpu, other):
    """Both in ns by stack, or by label; an export has whole microseconds."""
    return [
        f"{key if isinstance(key, str) else ' < '.join(key[:12])}: {cpu[key]} ns, not {other[key]}"
        for key in cpu.keys() | other.keys()
        if abs(cpu[key] - other[key]) > 1000
    ]


def check_samples(tap, title, found, planted, chance):
    """What must hold for each sample, however many there are."""
    tap.check(f"{title}: no sample has a wrong task", describe(account.wrong_tasks(found.samples, planted)))
    tap.check(f"{title}: every stack is the planted one", describe(account.wrong_stacks(found.samples, planted)))
    tap.check(f"{title}: every chain ends where it should", describe(account.wrong_chains(found.samples, planted)))
    tap.check(
        f"{title}: at least 99 % of the samples in tasks are spliced exactly",
        [str(dict(found.outcomes))] if found.lacks(0.99, chance) else [],
        f" ({found.coverage():.2%})",
    )


def check_planted(tap, tools, program, run, chance, folder):
    name, threads, cpu, how = run
    title = f"{name} on {threads} {'thread' if threads == 1 else 'threads'}, {how}"
    trace, answer = folder / "planted.unw", folder / "planted.json"
    if os.environ.get("UNWEAVE_TRUTH_KEEP"):
        trace = folder / f"{name}_{threads}_{how.replace(' ', '')}.unw"
        answer = trace.with_suffix(".json")
    command = [program, "--threads", str(threads), "--cpu", str(cpu), answer]
    wrong = record(tools.unweave, trace, how.split(), command)
    tap.check(f"{title}: it is recorded", wrong)
    if wrong:
        return
    truth = json.loads(answer.read_text())
    planted = account.places(truth)
    found = reading.Trace(tools.samples, trace)
    samples = found.samples
    cpu = sum(found.cpu_of_stacks().values())
    burnt = sum(place["ns"] for place in truth["places"])
    # What comes before the sampler knows of a thread is missing, up to 50 ms on a busy machine.
    least = 0.8 * burnt - threads * 50e6
    tap.check(
        f"{title}: the samples stand for the CPU time that was used",
        [] if least < cpu < 1.05 * truth["cpu_ns"] else [f"{cpu} ns of {truth['cpu_ns']}"],
        f" ({account.count(samples)} samples, {cpu / burnt:.1%})",
    )
    check_samples(tap, title, found, planted, chance)
    unlikely, outside = account.unlikely_shares(samples, planted, chance)
    tap.check(
        f"{title}: shares are those that were planted",
        unlikely,
        f" ({outside} of {len(planted)} places outside of their 95 %)",
    )
    report = reading.Report(tools.unweave, trace)
    wrong = compare_cpu(found.cpu, report.cpu)
    if abs(report.coverage - found.coverage()) > 0.0001:
        wrong.append(f"coverage is {report.coverage:.2%}")
    tap.check(f"{title}: the report says the same, of stacks and of tasks", wrong)
    exported = reading.folded(tools.unweave, trace, "--cpu")
    tap.check(f"{title}: so does an export", compare_cpu(found.cpu_of_stacks(), exported))


def off(measured, least, most):
    """Whether it is more than 1 % outside."""
    return not 0.99 * least <= measured <= 1.01 * most


def compare_waits(waiters, found, key):
    wrong = []
    for waiter in waiters:
        name = key(waiter)
        waits = found.get(name)
        if not waits:
            wrong.append(f"{name} never waits")
            continue
        if waits.count not in (None, waiter["waits"]):
            wrong.append(f"{name}: {waits.count} waits; {waiter['waits']} in the log")
        for what in ("pending", "queued"):
            measured, (least, most) = getattr(waits, what), waiter[what]
            if off(measured, least, most):
                wrong.append(f"{name} is {what} for {measured} ns; {least} to {most} in the log")
    return wrong


def check_waits(tap, tools, threads, seconds, folder):
    title = f"waits on {threads} {'thread' if threads == 1 else 'threads'}"
    trace, answer = folder / f"waits{threads}.unw", folder / f"waits{threads}.json"
    command = [tools.waits, "--threads", str(threads), "--seconds", str(seconds), answer]
    wrong = record(tools.unweave, trace, [], command)
    tap.check(f"{title}: it is recorded", wrong)
    if wrong:
        return
    waiters = json.loads(answer.read_text())["waiters"]
    waits = reading.Report(tools.unweave, trace).waits
    exported = reading.folded_waits(tools.unweave, trace)
    tap.check(
        f"{title}: times of tasks are those of the log, within 1 %",
        compare_waits(waiters, waits, lambda waiter: waiter["task"]),
    )
    tap.check(
        f"{title}: times of stacks are those of the log, within 1 %",
        compare_waits(waiters, waits, lambda waiter: tuple(waiter["stack"])),
    )
    tap.check(
        f"{title}: so are those of an export",
        compare_waits(waiters, exported, lambda waiter: tuple(waiter["stack"])),
    )


def check_attached(tap, tools, program, chance, folder):
    """Recorded from somewhere in the middle on: it is not known how much was burnt until then."""
    title = "planted_O2 when it runs already"
    trace, answer = folder / "attached.unw", folder / "attached.json"
    process = subprocess.Popen([program, "--threads", "2", "--cpu", "1.5", answer])
    time.sleep(0.2)
    wrong = record(tools.unweave, trace, ["-F", "999", "-p", str(process.pid)], [])
    process.wait(timeout=120)
    tap.check(f"{title}: it is recorded", wrong)
    if not wrong:
        planted = account.places(json.loads(answer.read_text()))
        check_samples(tap, title, reading.Trace(tools.samples, trace), planted, chance)


def runs(programs):
    if not FULL:
        return SHORT_RUNS
    return [
        (name, threads, 5.0, how)
        for name in programs
        for threads in (1, 4)
        for how in ("-F 99", "-F 999", "-F 999 --detail tasks", "-F 999 --timers", "-F 4999")
    ]


def main():
    tools = Tools(*sys.argv[1:4])
    programs = {Path(path).name: path for path in sys.argv[4:]}
    keep = os.environ.get("UNWEAVE_TRUTH_KEEP")
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(keep or folder)
        folder.mkdir(exist_ok=True)
        os.environ["XDG_CACHE_HOME"] = str(folder)
        all_runs = runs(programs)
        for run in all_runs:
            check_planted(tap, tools, programs[run[0]], run, CHANCE / len(all_runs), folder)
        check_attached(tap, tools, programs["planted_O2"], CHANCE, folder)
        for threads in (1, 2):
            check_waits(tap, tools, threads, 5 if FULL else 1, folder)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
