#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asio programs that do not know unweave, recorded: test.py UNWEAVE SERVER... -- HANDLERS...

Servers say what CPU time each of their functions took; of the handlers the tree is known.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "truth"))
import stats  # noqa: E402

CONNECTIONS, REQUESTS = 4, 100
# A sampler without fault fails a check with less than this chance.
CHANCE = 1e-6
REQUEST = ["serve_connection", "handle_request"]
CHAINS = {
    "decode_row": [*REQUEST, "load_user", "db_read"],
    "parse_user": [*REQUEST, "load_user"],
    "render_page": REQUEST,
}
# Kind, function, how it ended, how often; and the function that started the operation.
HANDLERS = Counter(
    {
        ("post", "first", "ok", "-"): 1,
        ("async_wait", "after_timer", "ok", "first"): 1,
        ("strand", "on_strand", "ok", "after_timer"): 1,
        # What runs the strand.
        ("post", "strand_executor_service::invoker", "ok", "after_timer"): 1,
        ("async_receive", "received", "ok", "after_timer"): 1,
        ("async_wait", "cancelled", "cancelled", "after_timer"): 1,
        ("async_send", "written", "ok", "on_strand"): 1,
        ("thread pool", "in_pool", "ok", "received"): 1,
        ("post", "again", "ok", "in_pool"): 1,
        ("post", "again", "ok", "again"): 4,
        ("post", "dropped", "cancelled", "again"): 1,
        ("post", "dropped", "cancelled", "-"): 1,
    }
)

count = failed = 0


def check(sentence, wrong):
    global count, failed
    count += 1
    for line in wrong[:12]:
        print(f"# {line}")
    failed += bool(wrong)
    print(f"{'not ok' if wrong else 'ok'} {count} - {sentence}", flush=True)


def short(name):
    """A function without what it takes, where it is, and where it waits."""
    while "<" in name and name != (name := re.sub(r"<[^<>]*>", "", name)):
        pass
    name = re.sub(r" [^ ]+:\d+$", "", name)
    name = name.replace("[abi:cxx11]", "").replace("operator()", "").replace(" [clone .actor]", "").replace(" [clone .resume]", "")
    name = re.sub(r"\(.*", "", name).strip().removesuffix(" const").removesuffix("::")
    return name.split(" ")[-1].removeprefix("program::").split("asio::")[-1].split("detail::")[-1]


def record(unweave, trace, options, command):
    done = subprocess.run(
        [unweave, "record", "-q", "-o", trace, *options, "--", *command],
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.stdout, done.stderr.splitlines() if done.returncode else []


def rows(unweave, trace, *what):
    done = subprocess.run([unweave, "report", "--json", trace, *what], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def check_cpu(unweave, trace, title, account):
    """Every sample of a planted function has its chain, and there are as many as its share."""
    hits, wrong = Counter(), []
    for row in rows(unweave, trace, "stacks", "-n", "0")["rows"]:
        stack = [short(name) for name in row["stack"]]
        for name, chain in CHAINS.items():
            if name not in stack or not row["samples"]:
                continue
            hits[name] += row["samples"]
            found = stack[: stack.index(name)]
            if found != chain:
                wrong.append(f"{row['samples']} samples of {name} in {' > '.join(found)}")
    check(f"{title}: every sample of a function has its chain", wrong)
    total, cpu = sum(hits.values()), sum(account.values())
    check(
        f"{title}: shares are those that the program counted",
        [
            f"{name}: {hits[name]} of {total} samples, {ns / cpu:.1%} of the CPU time"
            for name, ns in account.items()
            if stats.two_sided(total, hits[name], ns / cpu) < CHANCE
        ]
        + ([] if total > 50 else [f"{total} samples"]),
    )


def check_waits(unweave, trace, title):
    for row in rows(unweave, trace, "stacks", "--wait", "-n", "0")["rows"]:
        stack = row["stack"]
        if [short(name) for name in stack[:-1]] == CHAINS["decode_row"]:
            where, waits = stack[-1], row["count"]
            break
    else:
        where, waits = "no such wait", 0
    check(
        f"{title}: requests wait in async_wait < db_read < load_user < handle_request",
        [] if "async_wait" in where and waits == CONNECTIONS * REQUESTS else [where, f"{waits} waits"],
    )


def check_server(unweave, server, threads, folder):
    title = f"{Path(server).name}, {threads} {'thread' if threads == 1 else 'threads'}"
    trace = folder / "server.unw"
    command = [server, "--connections", CONNECTIONS, "--requests", REQUESTS, "--threads", threads]
    said, wrong = record(unweave, trace, ["-F", "999", "--detail", "full"], [str(word) for word in command])
    check(f"{title}: it is recorded", wrong)
    if wrong:
        return
    account = {name: int(ns) for name, ns in (line.split() for line in said.splitlines())}
    samples = rows(unweave, trace)["samples"]
    check_cpu(unweave, trace, title, account)
    check_waits(unweave, trace, title)
    check(
        f"{title}: at least 99 % of the samples in tasks are spliced exactly",
        [] if samples["outcomes"]["exact"] >= 0.99 * samples["in_tasks"] - 1 else [str(samples)],
    )


def read_tasks(unweave, trace):
    """Each task as its kind, function, end, and the function of its parent."""
    done = subprocess.run([unweave, "dump", "--json", trace], capture_output=True, text=True, check=True)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    names = {
        event["task"]: short(event["label"].removeprefix(event["site"]["kind"] + " "))
        for event in events
        if event["kind"] == "create"
    }
    ends = {event["task"]: event["status"] for event in events if event["kind"] == "complete"}
    tasks = Counter(
        (event["site"]["kind"], names[event["task"]], ends.get(event["task"], "-"), names.get(event.get("parent"), "-"))
        for event in events
        if event["kind"] == "create"
    )
    wakes = {(names[event["task"]], event["tid"]) for event in events if event["kind"] == "wake"}
    runs = {(names[event["task"]], event["tid"]) for event in events if event["kind"] == "resume"}
    return tasks, wakes, runs


def check_handlers(unweave, program, folder):
    title, trace = Path(program).name, folder / "handlers.unw"
    _, wrong = record(unweave, trace, ["-F", "0", "--detail", "tasks"], [program])
    check(f"{title}: it is recorded", wrong)
    if wrong:
        return
    tasks, wakes, runs = read_tasks(unweave, trace)
    different = [f"not told: {task}, {times} x" for task, times in (HANDLERS - tasks).items()]
    different += [f"told: {task}, {times} x" for task, times in (tasks - HANDLERS).items()]
    check(f"{title}: each handler is a task, under the one that started it", different)
    other = {tid for name, tid in runs if name == "in_pool"}
    first = {tid for name, tid in runs if name == "again"}
    check(
        f"{title}: what a thread posts to another one it wakes there",
        [] if other and first and not other & first and ("again", *other) in wakes else [str(wakes), str(runs)],
    )


def main():
    unweave, *programs = sys.argv[1:]
    servers, handlers = programs[: programs.index("--")], programs[programs.index("--") + 1 :]
    for name in [name for name in os.environ if name.startswith("UNWEAVE_")]:
        del os.environ[name]
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    with tempfile.TemporaryDirectory(prefix="unweave-asio-", dir="/dev/shm") as shared:
        os.environ["UNWEAVE_DIR"] = shared
        with tempfile.TemporaryDirectory() as folder:
            for server in servers:
                for threads in 1, 4:
                    check_server(unweave, server, threads, Path(folder))
            for program in handlers:
                check_handlers(unweave, program, Path(folder))
    print(f"1..{count}")
    return 1 if failed else 0


sys.exit(main())
