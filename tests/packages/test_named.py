#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""named: libuv, a loop in each of its threads; it becomes another user, and is told to reload."""
import signal

import harness
from programs import Named
from runs import Pair

REQUESTS, STREAMS = 20000, 10
UPS_MAX = 20  # more, to see whether it is up


def drive(named, running):
    harness.wait_until("named", named.is_up)
    answers, _, again = named.load(REQUESTS // 2)
    for _ in range(STREAMS):
        assert named.ask_stream(named.request) == named.answer
    running.send(signal.SIGHUP)
    harness.wait_until("reloading", lambda: "all zones loaded" in running.words.split("reloading", 1)[-1])
    more, _, more_again = named.load(REQUESTS // 2)
    running.end()
    return answers + more, again + more_again


def test(tools, tap):
    pair = Pair(tap, tools, Named, drive, ["-F", "999"])
    pair.check_behaviour("named")
    pair.check_trace("libuv")
    pair.check_loops(Named.threads)
    pair.check_samples()
    trace = pair.trace

    def answers():
        sent, heard = trace.calls("udp send"), trace.calls("udp recv")
        assert REQUESTS <= sent <= REQUESTS + UPS_MAX, f"{sent} answers sent of {REQUESTS}"
        assert heard >= sent, f"{heard} datagrams were heard, {sent} sent"

    def chains():
        trace.check_chain("udp send libisc", "udp recv libisc")
        trace.check_chain("read isc__nm_tcpdns_read_cb", "listen libisc")

    tap.check("every answer that was sent is seen", answers)
    tap.check("an answer is known to be for a question, and a connection to be accepted", chains)


harness.main(test)
