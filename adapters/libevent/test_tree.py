#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the tasks of a trace with what the program itself wrote down: tree.py WORDS TRACE UNWEAVE

Each task with its kind, function, status, runs and children; the order of siblings does not count.
Functions that the program does not name are libevent's own, and are as good as each other.
"""
import collections
import json
import subprocess
import sys


class Task:
    def __init__(self, parent, kind, code):
        self.parent, self.kind, self.code = parent, kind, code
        self.runs, self.status = 0, "live"


def read_words(path):
    tasks, late, woken, only = {}, {}, [], None
    for line in open(path):
        word, *rest = line.split()
        if word == "node":
            number, parent, kind, code = rest
            tasks[number] = Task(parent, kind, code)
        elif word == "run":
            tasks[rest[0]].runs += 1
        elif word == "end":
            tasks[rest[0]].status = rest[1]
        elif word == "late":
            late[rest[0]] = int(rest[1])
        elif word == "wake":
            woken.append(rest[0])
        elif word == "only":
            only = rest[0]
    return tasks, late, woken, only


def read_trace(path, unweave):
    """The tasks, how late each function was called, which were woken, and how often loops woke."""
    tasks, late, wakes, due, turns = {}, collections.Counter(), {}, {}, 0
    text = subprocess.run([unweave, "dump", "--json", path], check=True, capture_output=True, text=True).stdout
    for line in text.splitlines():
        event = json.loads(line)
        kind, thread, task = event["kind"], event.get("thread"), event.get("task")
        if kind == "create":
            site = event["site"]
            tasks[task] = Task(event.get("parent"), site["kind"], site["code"])
        elif kind == "resume" and task in tasks:
            tasks[task].runs += 1
            code = tasks[task].code
            late[code] = max(late[code], due.pop(thread, 0))
        elif kind == "complete" and task in tasks:
            tasks[task].status = event["status"]
        elif kind == "due":
            due[thread] = event["late_ns"]
        elif kind == "wake" and task in tasks:
            wakes[tasks[task].code] = thread
        elif kind == "woke" and task in tasks:
            turns += tasks[task].kind == "loop"
        elif kind == "lost":
            sys.exit(f"{path}: events were lost")
    return tasks, late, wakes, turns


def forest(tasks, codes):
    """The trees as texts, counted. Deep ones are few, so that texts will do."""
    children = collections.defaultdict(list)
    for number, task in tasks.items():
        children[task.parent if task.parent in tasks else None].append(number)

    def text(number):
        task = tasks[number]
        code = task.code if task.code in codes else "libevent's"
        inside = "".join(sorted(text(child) for child in children[number]))
        return f"{task.kind} {code} {task.status} {task.runs} runs ({inside})"

    return collections.Counter(text(root) for root in children[None])


def main():
    words, trace, unweave = sys.argv[1:]
    wanted, late, woken, only = read_words(words)
    found, found_late, found_wakes, turns = read_trace(trace, unweave)
    if only:
        found = {number: task for number, task in found.items() if task.kind == only}
    codes = {task.code for task in wanted.values()} - {"(nil)"}
    want, have = forest(wanted, codes), forest(found, codes)
    for tree, count in (want - have).items():
        print(f"# missing {count} x {tree}")
    for tree, count in (have - want).items():
        print(f"# unexpected {count} x {tree}")
    bad = want != have or not wanted
    for code, least in late.items():
        if found_late[code] < least:
            print(f"# {code} was called {found_late[code]} ns late, and not {least}")
            bad = True
    for code in woken:
        if code not in found_wakes:
            print(f"# nobody woke {code}")
            bad = True
    if turns < 1:
        print(f"# loops woke {turns} times only")
        bad = True
    print(f"# {len(wanted)} tasks")
    sys.exit(bad)


main()
