#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What recording takes from programs of Debian packages under load.

usage: measure.py UNWEAVE LOAD PACKAGES COUNTER [ROUNDS [SECONDS [PROGRAM...]]]

Each round starts each program in each way, in an order drawn anew, and loads it for so many
seconds. The program has one processor, the client and the recorder have the others. Prints
tables: answers a second, and time on the processor for each answer; best and median of the
rounds, the latter of the ratios within a round. Last, how many of
the callbacks are seen.
"""
import os
import random
import statistics
import sys
import time

import harness
from programs import Memcached, Named, Neovim
from runs import Run
from sessions import Dconf, Proxy, Tmux


class OneNamed(Named):
    threads = 1  # as there is one processor


class OneMemcached(Memcached):
    threads = 1


class Server(Tmux):
    arguments = ("-D",)  # no daemon


PROGRAMS = {"named": (OneNamed, "libuv"), "nvim": (Neovim, "libuv"), "memcached": (OneMemcached, "libevent"),
            "tmux": (Server, "libevent"), "dconf-service": (Dconf, "glib"), "xdg-dbus-proxy": (Proxy, "glib")}
# How it is run: by itself; with the adapter, which nobody listens to; recorded.
WAYS = {"plain": None, "again": None, "loaded": None, "samples": ["--detail", "samples"],
        "tasks": ["--detail", "tasks"], "full": ["--detail", "full"],
        "full, timers": ["--detail", "full", "--timers"]}
WARM_S = 0.2
# Else several messages would be one callback's.
ONE_AT_A_TIME = ("tmux", "xdg-dbus-proxy")
PROGRAM_CPU = 0


def pin(pid, processors):
    for thread in os.listdir(f"/proc/{pid}/task"):
        os.sched_setaffinity(int(thread), processors)


def prepare(subject):
    if isinstance(subject, Tmux):
        harness.wait_until("tmux", lambda: os.path.exists(subject.socket))
        subject.run("new-session", "-d", "exec cat")
    harness.wait_until(subject.program, subject.is_up)


def end(subject, program):
    if isinstance(subject, Neovim):
        subject.leave()
        program.wait()
    elif isinstance(subject, Tmux):
        subject.run("kill-server")
        program.wait()
    else:
        program.end()


def measure(tools, make, library, way, seconds):
    """Answers a second, and ns of the program's processor for each."""
    with harness.folder_of_our_own() as folder:
        subject = make(tools, folder)
        if way == "loaded":
            subject.preload = tools.adapter(library)
        with subject.start(record=WAYS[way]) as program:
            prepare(subject)
            pin(program.pid, {PROGRAM_CPU})
            subject.load(seconds=WARM_S)
            before = harness.cpu_ns(program.pid)
            answers, took, _ = subject.load(seconds=seconds)
            cost = (harness.cpu_ns(program.pid) - before) / answers
            end(subject, program)
            if WAYS[way]:
                check_nothing_lost(tools, program)
    return answers / took, cost


def check_nothing_lost(tools, program):
    lost = harness.Trace(tools, program.trace).info["lost"]
    if sum(lost.values()):
        print(f"# lost: {lost}", file=sys.stderr)


REQUESTS = 50000
STARTS = 300
# What is counted independently of us, and the callbacks that it should be: what the client
# asked for, or how often the kernel told the library that something is ready.
ASKED, READY = "asked for by the client", "ready, by the kernel"
SEEN = {
    "named": (ASKED, lambda trace: trace.calls("udp send")),
    "nvim": (READY, lambda trace: trace.calls("read", "listen", "async", "signal")),
    "memcached": (READY, lambda trace: trace.calls("read")),
    "tmux": (READY, lambda trace: trace.calls("read", "write", "poll", "signal")),
    "dconf-service": (ASKED, lambda trace: trace.named("[gio] D-Bus write message")),
    # Read and written, there and back.
    "xdg-dbus-proxy": (ASKED, lambda trace: trace.named("source xdg-dbus-proxy") / 4),
}


def share(tools, name):
    """A row: what the oracle counted, and what the trace has of it."""
    oracle, count = SEEN[name]

    def drive(subject, program):
        prepare(subject)
        asked, _, _ = subject.load(REQUESTS, connections=1 if name in ONE_AT_A_TIME else None)
        end(subject, program)
        return asked

    run = Run(drive, PROGRAMS[name][0], tools, record=[], preload=tools.counter)
    wanted = run.ready[0] if oracle == READY else run.result
    seen = count(run.trace)
    return f"| `{name}` | {oracle} | {wanted:,} | {seen:,.0f} | {100 * seen / wanted:.2f} |"


def starts(tools):
    """What is preloaded is loaded by all that a program starts: a sentence about a small one."""
    preload = ":".join(tools.adapter(library) for library in ("libuv", "libevent", "glib"))
    took = {"": [], preload: []}
    for _ in range(STARTS):
        for objects, times in random.sample(list(took.items()), 2):
            start = time.monotonic()
            os.waitpid(os.posix_spawn("/bin/true", ["true"], {"LD_PRELOAD": objects}), 0)
            times.append(time.monotonic() - start)
    plain, loaded = ((1e6 * min(times), 1e6 * statistics.median(times)) for times in took.values())
    return (f"Starting /bin/true takes {plain[0]:.0f} us at best, {plain[1]:.0f} in the median; "
            f"with the adapters {loaded[0]:.0f} and {loaded[1]:.0f}.")


def row(name, found, index, more_is_better):
    """A row of a table: the plain figure, then by how much each other way is worse, in percent."""
    best = max if more_is_better else min
    plain = [figures[index] for figures in found["plain"]]
    cells = [f"{best(plain):,.0f}, {statistics.median(plain):,.0f}"]
    for way in list(WAYS)[1:]:
        other = [figures[index] for figures in found[way]]
        if more_is_better:
            worse = [100 * (1 - b / a) for a, b in zip(plain, other)]
            top = 100 * (1 - best(other) / best(plain))
        else:
            worse = [100 * (b / a - 1) for a, b in zip(plain, other)]
            top = 100 * (best(other) / best(plain) - 1)
        cells.append(f"{top:+.1f}, {statistics.median(worse):+.1f}")
    return f"| `{name}` | {' | '.join(cells)} |"


def table(title, found, index, more_is_better):
    print(f"\n{title}\n\n| program | {' | '.join(WAYS)} |\n|---|{'---:|' * len(WAYS)}")
    for name, figures in found.items():
        print(row(name, figures, index, more_is_better))


def main():
    tools = harness.Tools(*sys.argv[1:5])
    rounds = int(sys.argv[5]) if len(sys.argv) > 5 else 5
    seconds = float(sys.argv[6]) if len(sys.argv) > 6 else 1.0
    names = sys.argv[7:] or list(PROGRAMS)
    found = {name: {way: [] for way in WAYS} for name in names}
    os.sched_setaffinity(0, os.sched_getaffinity(0) - {PROGRAM_CPU} or {PROGRAM_CPU})
    for turn in range(rounds):
        for name in names:
            if sys.stderr.isatty():
                print(f"\r{turn + 1}/{rounds} {name:20}", end="", file=sys.stderr)
            make, library = PROGRAMS[name]
            for way in random.sample(list(WAYS), len(WAYS)):
                found[name][way].append(measure(tools, make, library, way, seconds))
    table("Answers a second, best and median; then how many percent fewer.", found, 0, True)
    table("Time on the processor for an answer, ns; then how many percent more.", found, 1, False)
    print("\nCallbacks\n\n| program | counted | callbacks | seen | % |\n|---|---|---:|---:|---:|")
    for name in names:
        print(share(tools, name))
    print("\n" + starts(tools))


main()
