#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records sources that are destroyed at any moment: each one must end once.

usage: test_storm.py UNWEAVE PROGRAM
"""
import collections
import json
import os
import subprocess
import sys
import tempfile

unweave, program = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    trace = os.path.join(folder, "trace.unw")
    subprocess.run([unweave, "record", "-q", "-F", "0", "-o", trace, "--no-children", "--policy",
                    "block", "--with", "glib", "--", program], check=True, timeout=120)
    dump = subprocess.run([unweave, "dump", "--json", trace], check=True, stdout=subprocess.PIPE)

kinds, ends = {}, collections.Counter()
for line in dump.stdout.splitlines():
    event = json.loads(line)
    if event["kind"] == "create":
        # Of a call whose source another thread has just destroyed, the function is all that is known.
        kinds[event["task"]] = event["site"].get("kind")
    elif event["kind"] == "complete":
        ends[event["task"]] += 1
wrong = [task for task in kinds if ends[task] != 1]
print(f"1..2\n# {len(kinds)} tasks")
print("not ok" if len(kinds) < 6000 else "ok", "1 - all sources are seen")
print("not ok" if wrong else "ok", "2 - each source ends, and ends once")
for task in wrong[:20]:
    print(f"# {kinds[task]} {task}: {ends[task]} times")
sys.exit(bool(wrong) or len(kinds) < 6000)
