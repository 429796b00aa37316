#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records a program with a known tree of operations, and compares the two.

usage: test_tree.py UNWEAVE PROGRAM

The program says in a log of its own what began inside of what, how often it ran,
and how it ended. The tasks of the trace must be exactly these.
"""
import collections
import json
import os
import subprocess
import sys
import tempfile


class Node:
    def __init__(self, kind, function, parent):
        self.kind = kind
        self.function = function
        self.parent = parent
        self.runs = 0
        self.status = "live"


def read_log(path):
    """The operations, and the names of functions by their addresses."""
    nodes, names = {}, {}
    for line in open(path):
        word = line.split()
        number = int(word[1])
        if word[0] == "arm":
            nodes[number] = Node(word[2], word[3], int(word[5]))
            names[int(word[4], 0)] = word[3]
        elif word[0] == "run":
            nodes[number].runs += 1
        else:
            nodes[number].status = word[2]
    return nodes, names


def read_trace(unweave, trace, names):
    dump = subprocess.run([unweave, "dump", "--json", trace], check=True, stdout=subprocess.PIPE)
    nodes, events = {}, []
    for line in dump.stdout.splitlines():
        event = json.loads(line)
        events.append(event)
        task = event.get("task")
        if event["kind"] == "create":
            code = int(event["site"].get("code", "0"), 0)
            nodes[task] = Node(event["site"].get("kind", "?"), names.get(code, hex(code)),
                               event.get("parent", 0))
        elif event["kind"] == "resume":
            nodes[task].runs += 1
        elif event["kind"] == "complete":
            ended = nodes[task].status != "live"
            nodes[task].status = "twice" if ended else event["status"]
        elif event["kind"] == "lost":
            sys.exit("events were lost")
    return nodes, events


def canonical(nodes):
    """The roots, each with all below it, in an order that depends on nothing else."""
    children = collections.defaultdict(list)
    for number, node in nodes.items():
        children[node.parent].append(number)

    def of(number, depth):
        node = nodes[number]
        below = sorted(of(child, depth + 1) for child in children[number])
        line = f"{'  ' * depth}{node.kind} {node.function}: {node.runs} runs, {node.status}"
        return "\n".join([line] + below)

    return collections.Counter(of(root, 0) for root in children[0])


def compare(said, seen):
    missing, extra = said - seen, seen - said
    for tree in missing:
        print(f"# said {missing[tree]} times more often than seen:")
        print("\n".join("#   " + line for line in tree.splitlines()))
    for tree in extra:
        print(f"# seen {extra[tree]} times more often than said:")
        print("\n".join("#   " + line for line in tree.splitlines()))
    return not missing and not extra


def check(number, name, good):
    print(f"{'ok' if good else 'not ok'} {number} - {name}")
    return good


def main():
    unweave, program = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        log, trace = os.path.join(folder, "log"), os.path.join(folder, "trace.unw")
        subprocess.run([unweave, "record", "-q", "-o", trace, "--no-children", "--with", "glib",
                        "--", program, log], check=True, timeout=120)
        said, names = read_log(log)
        seen, events = read_trace(unweave, trace, names)

    print("1..4")
    # GIO makes a source for itself with its first task.
    own = {event["task"] for event in events
           if event["kind"] == "name" and event["name"] == "GTask thread pool manager"}
    loops = [number for number, node in seen.items() if node.kind == "loop"]
    ends = sorted(seen[loop].status for loop in loops)
    wakes = [event for event in events if event["kind"] == "wake" and event["task"] in loops]
    for number in [*own, *loops]:
        del seen[number]
    good = check(1, "the tasks are those that the program says",
                 compare(canonical(said), canonical(seen)))
    good &= check(2, "GIO has one source of its own", len(own) == 1)
    # All but the main one are freed.
    good &= check(3, "each context is a loop", ends == ["cancelled", "cancelled", "live"])
    good &= check(4, "a wake has its sender",
                  [seen.get(wake.get("waker")) and seen[wake["waker"]].function for wake in wakes]
                  == ["in_thread"])
    sys.exit(not good)


main()
