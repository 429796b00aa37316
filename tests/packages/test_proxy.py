#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""xdg-dbus-proxy: GLib, with sources on the sockets of its clients and of the bus."""
import signal

import harness
from runs import Pair
from sessions import Proxy

CALLS = 5000
OTHERS_MAX = 200  # to connect, and to see whether it is up


def drive(proxy, running):
    harness.wait_until("xdg-dbus-proxy", proxy.is_up)
    calls, _, _ = proxy.load(CALLS, connections=1)
    running.end()
    return calls


def test(tools, tap):
    pair = Pair(tap, tools, Proxy, drive, ["-F", "999"])
    # It has no other end than by a signal, which record passes on as its own status.
    pair.check_behaviour("xdg-dbus-proxy", status=(-signal.SIGTERM, 128 + signal.SIGTERM))
    pair.check_trace("glib")
    pair.check_loops(1)
    pair.check_samples()
    trace = pair.trace

    def calls():
        # One at a time, so each call and each answer is read by a callback and written by another.
        seen = trace.named("source xdg-dbus-proxy+0x")
        assert 4 * CALLS <= seen <= 4 * CALLS + OTHERS_MAX, f"{seen} calls of {CALLS}"

    tap.check("every message either way is seen", calls)
    tap.check("a message is known to come by a connection that was accepted",
              lambda: trace.check_chain("source xdg-dbus-proxy+0x", "g_dbus_address_get_stream",
                                        "g_socket_listener_accept"))


harness.main(test)
