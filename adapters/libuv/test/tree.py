#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the tasks of a trace with what the program itself said: tree.py LOG TRACE UNWEAVE

Each with its kind, function, runs, threads, how it ended, who woke it, and what is
under it, which must be the same; the order of siblings does not count.
"""
import collections
import json
import subprocess
import sys


class Task:
    def __init__(self, parent, kind, code):
        self.parent, self.kind, self.code = parent, kind, "-" if kind == "loop" else code
        self.runs, self.threads, self.status, self.wakers, self.late = 0, set(), "live", [], 0

    def describe(self, tasks):
        wakers = sorted(tasks[waker].code if waker in tasks else "nobody" for waker in self.wakers)
        return (f"{self.kind} {self.code}: {self.runs} runs on {len(self.threads)} threads, {self.status}, "
                f"woken by {' '.join(wakers) or '-'}")


def read_log(path):
    tasks = {}
    for line in open(path):
        word, number, *rest = line.rstrip("\n").split(" ", 4)
        if word == "arm":
            parent, code, kind = rest
            tasks[number] = Task(parent, kind, code)
        elif word == "run":
            tasks[number].runs += 1
            tasks[number].threads.add(rest[0])
        elif word == "end":
            assert tasks[number].status == "live", f"{line}: twice"
            tasks[number].status = rest[0]
        elif word == "wake":
            tasks[number].wakers.append(rest[0])
        elif word == "late":
            tasks[number].late = int(rest[0])
    return tasks


def read_trace(path, unweave):
    tasks, due = {}, {}
    text = subprocess.run([unweave, "dump", "--json", path], check=True, capture_output=True, text=True).stdout
    for line in text.splitlines():
        event = json.loads(line)
        kind, task = event["kind"], event.get("task")
        if kind == "lost":
            sys.exit(f"{path}: events were lost")
        if kind == "create":
            tasks[task] = Task(event.get("parent"), event["site"].get("kind"), event["site"].get("code"))
        elif kind == "due":
            due[event["thread"]] = event["late_ns"]
        elif task not in tasks:
            continue
        elif kind == "resume":
            tasks[task].runs += 1
            tasks[task].threads.add(event["thread"])
            tasks[task].late = max(tasks[task].late, due.pop(event["thread"], 0))
        elif kind == "complete":
            assert tasks[task].status == "live", f"{line}: completed twice"
            tasks[task].status = event["status"]
        elif kind == "wake":
            tasks[task].wakers.append(event.get("waker"))
    return tasks


def forest(tasks):
    """The trees as texts, counted."""
    children = collections.defaultdict(list)
    for number, task in tasks.items():
        children[task.parent if task.parent in tasks else None].append(number)

    def text(number, depth):
        inside = "".join(sorted(text(child, depth + 1) for child in children[number]))
        return f"#   {'  ' * depth}{tasks[number].describe(tasks)}\n{inside}"

    return collections.Counter(text(root, 0) for root in children[None])


def too_early(said, seen):
    """Whether something that was said to come late was not seen to."""
    bad = False
    for task in said.values():
        found = max((other.late for other in seen.values() if other.code == task.code), default=0)
        if found < task.late:
            print(f"# {task.kind} {task.code} came {found} ns late, and not {task.late}")
            bad = True
    return bad


def main():
    log, trace, unweave = sys.argv[1:]
    said, seen = read_log(log), read_trace(trace, unweave)
    # A child of fork() is called for what its parent armed: of that, it has nothing to say.
    seen = {number: task for number, task in seen.items() if task.kind}
    want, have = forest(said), forest(seen)
    for tree, count in (want - have).items():
        print(f"# missing, {count} times:\n{tree}", end="")
    for tree, count in (have - want).items():
        print(f"# unexpected, {count} times:\n{tree}", end="")
    print(f"# {len(said)} tasks")
    early = too_early(said, seen)
    sys.exit(want != have or not said or early)


main()
