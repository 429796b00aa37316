#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""dconf-service: GLib, a service on a bus whose calls come through GDBus's own thread."""
import os

import harness
from runs import Pair
from sessions import Dconf

CALLS = 5000
OTHERS_MAX = 30  # messages: its own calls, and its signals


def drive(dconf, running):
    harness.wait_until("dconf-service", dconf.is_up)
    calls, _, _ = dconf.load(CALLS)
    with open(os.path.join(dconf.folder, "config", "dconf", "user"), "rb") as file:
        database = file.read()
    running.end()
    return calls, b"x" in database, len(database)


def test(tools, tap):
    pair = Pair(tap, tools, Dconf, drive, ["-F", "999"])
    pair.check_behaviour("dconf-service")
    pair.check_trace("glib")
    pair.check_loops(2)
    pair.check_samples()
    trace = pair.trace

    def calls():
        # GDBus reads in a thread of its own, calls the method in the main loop, and writes there.
        seen, written = trace.calls("idle"), trace.named("[gio] D-Bus write message")
        assert seen >= CALLS, f"{seen} calls of {CALLS}"
        assert CALLS <= written <= CALLS + OTHERS_MAX, f"{written} messages written for {CALLS} calls"

    tap.check("every call of a method, and every answer, is seen", calls)
    tap.check("an answer is known to come by a message that was read, through GTasks and two loops",
              lambda: trace.check_chain("[gio] D-Bus write message", "idle libgio", "idle libgio",
                                        "[gio] D-Bus read"))


harness.main(test)
