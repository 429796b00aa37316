#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""nvim: libuv, by itself and through Lua: calls over a socket; and timers, files, jobs, a terminal."""
import os

import harness
from programs import Neovim
from runs import Pair

REQUESTS = 20000


class Editor(Neovim):
    def command(self, *arguments):
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "errands.lua")
        return super().command("-c", "luafile " + script)


def serve(nvim, running):
    harness.wait_until("nvim", nvim.is_up)
    answers, _, _ = nvim.load(REQUESTS)
    nvim.leave()
    return answers


def run_errands(_, running):
    running.wait()
    return None


def test(tools, tap):
    pair = Pair(tap, tools, Neovim, serve, ["-F", "999"], preload=tools.counter)
    pair.check_behaviour("nvim as a server")
    pair.check_trace("libuv")
    pair.check_loops(1)
    # They only take bytes in: what a request asks for is done outside of them.
    pair.check_samples(some=False)
    trace = pair.trace

    def calls():
        seen, ready = trace.calls("read"), pair.recorded.ready[0]
        assert seen >= REQUESTS, f"{seen} calls of {REQUESTS} requests"
        assert seen >= 0.99 * ready, f"{seen} calls, ready {ready}"

    tap.check("every request's callback is seen, by an independent count", calls)
    tap.check("a request is known to come by a connection that was accepted",
              lambda: trace.check_chain("read nvim+0x", "listen nvim+0x"))

    errands = Pair(tap, tools, Editor, run_errands)
    errands.check_behaviour("nvim with timers, files, work, jobs and a terminal", status=(5, 5))
    errands.check_trace("libuv")

    def kinds():
        trace = errands.trace
        assert trace.calls("fs") == 4 and trace.calls("work") == 1 and trace.calls("process") == 3
        for kind in ("timer", "async", "read", "write", "signal", "close"):
            assert trace.calls(kind), f"no {kind}: {trace.activities}"
        trace.check_chain("close liblua", "timer liblua")

    tap.check("what it did is there by its kinds", kinds)


harness.main(test)
