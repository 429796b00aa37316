#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records a program that finds GLib's functions by name: its calls are seen all the same.

usage: test_late.py UNWEAVE PROGRAM
"""
import json
import os
import subprocess
import sys
import tempfile

unweave, program = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    trace = os.path.join(folder, "trace.unw")
    record = subprocess.run([unweave, "record", "-q", "-o", trace, "--no-children", "--with",
                             "glib", "--", program], timeout=120)
    if record.returncode:
        print("1..0 # SKIP GLib cannot be loaded")
        sys.exit(0)
    dump = subprocess.run([unweave, "dump", "--json", trace], check=True, stdout=subprocess.PIPE)

tasks = {}
for line in dump.stdout.splitlines():
    event = json.loads(line)
    task = event.get("task")
    if event["kind"] == "create":
        tasks[task] = [event["site"]["kind"], 0, "live"]
    elif event["kind"] == "resume":
        tasks[task][1] += 1
    elif event["kind"] == "complete":
        tasks[task][2] = event["status"]
seen = sorted(tuple(task) for task in tasks.values())
expected = sorted([("idle", 1, "ok"), ("task", 1, "ok"), ("timer", 1, "ok"), ("timer", 1, "ok"),
                   ("timer", 1, "ok"), ("loop", 0, "live"), ("source", 0, "live")])
print("1..1")
print("ok" if seen == expected else "not ok", "1 - each call is a task")
if seen != expected:
    print(f"# seen {seen}, and not {expected}")
sys.exit(seen != expected)
