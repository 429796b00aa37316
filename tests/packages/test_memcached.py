#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""memcached: libevent, a loop in each of its threads, connections passed from one to the others."""
import harness
from programs import Memcached
from runs import Pair

REQUESTS, CONNECTIONS, THREADS = 20000, 16, 4


class Subject(Memcached):
    threads = THREADS


def drive(memcached, running):
    harness.wait_until("memcached", memcached.is_up)
    answers, _, _ = memcached.load(REQUESTS, connections=CONNECTIONS)
    statistics = memcached.statistics()
    running.end()
    return answers, statistics["cmd_get"], statistics["get_hits"], statistics["threads"]


def test(tools, tap):
    pair = Pair(tap, tools, Subject, drive, ["-F", "999"], preload=tools.counter)
    pair.check_behaviour("memcached")
    pair.check_trace("libevent")
    pair.check_loops(1 + THREADS)
    pair.check_samples()
    trace = pair.trace

    def calls():
        # Each request was one call of the connection's callback; libevent was told once for each.
        seen, ready = trace.calls("read"), pair.recorded.ready[0]
        assert seen >= REQUESTS, f"{seen} calls of {REQUESTS} requests"
        assert 0.999 * ready <= seen <= 1.001 * ready + 10, f"{seen} calls, ready {ready}"

    tap.check("every request's callback is seen, by an independent count", calls)
    tap.check("a connection's callback is known to be armed by the thread's that was handed it",
              lambda: trace.check_chain("read memcached+0x", "read memcached+0x"))


harness.main(test)
