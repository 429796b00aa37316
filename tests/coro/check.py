#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the tool says of coroutines that use the processor, against their own account of it.
usage: check.py UNWEAVE PROGRAM..."""
import json
import math
import os
import re
import subprocess
import sys
import tempfile

SECONDS, HZ = 2, 997
FRAME = re.compile(r"^([^ (]+?)(?:\([^;]*\))?(?: [^ ;]+\.[ch]pp:(\d+))?(?:_\[[a-z]\])?$")
tests = failed = 0


def check(ok, what):
    global tests, failed
    tests += 1
    failed += not ok
    print(f"{'ok' if ok else 'not ok'} {tests} - {what}")


def run(*words):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def counts(lines):
    return {stack: int(count) for stack, count in (line.rsplit(" ", 1) for line in lines)}


def coroutines(stack):
    """A folded stack up to burn(), as the program writes it; None: it was not there."""
    frames = [FRAME.match(frame) for frame in stack.split(";")]
    names = [frame and frame[1] for frame in frames]
    if "burn" not in names:
        return None
    frames = frames[: names.index("burn")]
    if not all(frames) or not frames:
        return stack
    awaiting = [f"{frame[1]}:{frame[2] or 0}" for frame in frames[:-1]]
    return ";".join(awaiting + [frames[-1][1]])


def compare(title, planted, sampled, samples):
    """Shares within what so few samples allow: 5 standard deviations, and 2 % of all."""
    everything, seen = sum(planted.values()), sum(sampled.values())
    strange = sorted(set(sampled) - set(planted))
    if strange:
        print("#", "\n# ".join(strange))
    check(not strange, f"{title}: no stack but those of the program")
    wrong = []
    for stack, ns in planted.items():
        share, found = ns / everything, sampled.get(stack, 0) / seen
        if abs(share - found) > 5 * math.sqrt(share * (1 - share) / samples) + 0.02:
            wrong.append(f"{stack}: {share:.1%} of its account, {found:.1%} of the samples")
    if wrong:
        print("#", "\n# ".join(wrong))
    check(not wrong, f"{title}: each stack has its share of the processor")


def look_at(unweave, program, folder):
    title = os.path.basename(program)
    trace, folded = os.path.join(folder, "trace"), os.path.join(folder, "folded")
    planted = counts(run(unweave, "record", "-F", str(HZ), "-o", trace, "--", program, str(SECONDS), "2").splitlines())
    report = json.loads(run(unweave, "report", "--json", trace).splitlines()[0])
    run(unweave, "export", trace, "--format", "folded", "-o", folded)
    sampled = {}
    for stack, ns in counts(open(folded).read().splitlines()).items():
        name = coroutines(stack)
        if name:
            sampled[name] = sampled.get(name, 0) + ns
    return title, planted, sampled, report


def main():
    unweave, programs = sys.argv[1], sys.argv[2:]
    for program in programs:
        with tempfile.TemporaryDirectory() as folder:
            title, planted, sampled, report = look_at(unweave, program, folder)
        samples = sum(sampled.values()) * HZ / 1e6
        check(samples > 20, f"{title}: there are samples ({samples:.0f})")
        inside, exact = report["samples"]["in_tasks"], report["samples"]["outcomes"]["exact"]
        # One more, lest a busy machine with few samples makes a percent of it.
        check(inside - exact <= inside / 100 + 1, f"{title}: 99 % of the samples in tasks are exact ({exact} of {inside})")
        compare(title, planted, sampled, samples)
    print(f"1..{tests}")
    return 1 if failed else 0


sys.exit(main())
