# SPDX-License-Identifier: Apache-2.0
"""Has a program with a fault recorded, and says whether the report warns of that, and of nothing else.

usage: recorded.py UNWEAVE [--record OPTION]... [--warn LIMITS] [KIND FUNCTION] -- PROGRAM WORD...

FUNCTION must be in the stack that the warning shows, or the place that it names. Without a KIND
there must be no warning.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

SECONDS = 60


def report(options, program):
    with tempfile.TemporaryDirectory() as work:
        trace = os.path.join(work, "t.unw")
        subprocess.run([options.unweave, "record", "-q", "-o", trace, *options.record, "--", *program],
                       check=True, timeout=SECONDS, stdout=subprocess.DEVNULL)
        words = ["--warn", options.warn] if options.warn else []
        said = subprocess.run([options.unweave, "report", "--json", *words, trace],
                              check=True, timeout=SECONDS, stdout=subprocess.PIPE).stdout
        return json.loads(said)


def places(warning):
    return {warning["function"], warning["caller"], *warning["stack"]}


def check(warnings, kind, function):
    """Returns what is wrong, or None."""
    if not kind:
        return "none was to be told" if warnings else None
    right = [one for one in warnings if one["kind"] == kind and function in places(one)]
    if not right:
        return f"no '{kind}' that names {function}"
    others = sorted({one["kind"] for one in warnings} - {kind})
    if others:
        return f"also {', '.join(others)}"
    one = right[0]
    if not one["text"] or not one["meaning"] or not one["tasks"] or not one["file"]:
        return "something is missing in it"
    return None


def main():
    before, program = sys.argv[1:], []
    if "--" in before:
        at = before.index("--")
        before, program = before[:at], before[at + 1:]
    parser = argparse.ArgumentParser()
    parser.add_argument("unweave")
    parser.add_argument("--record", action="append", default=[])
    parser.add_argument("--warn")
    parser.add_argument("kind", nargs="?")
    parser.add_argument("function", nargs="?")
    options = parser.parse_intermixed_args(before)
    told = report(options, program)
    wrong = check(told["warnings"], options.kind, options.function)
    if wrong:
        print(f"{wrong}; told: {json.dumps(told['warnings'], indent=1)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
