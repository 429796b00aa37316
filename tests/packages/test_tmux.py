#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tmux: libevent, a server that leaves its client behind, and shells that inherit what we preload."""
import os

import harness
from runs import Pair
from sessions import Tmux

COMMANDS = 3000
LINES = 3000
# A pane: shells in shells, programs of all sorts, much to print; then it waits.
PANE = f"sh -c 'ls / | wc -l; echo $(( 6 * 7 )) | cat'; seq {LINES}; " \
       "sh -c 'exit 7'; echo status $?; CLIENT wait-for -S printed; exec cat"


class Subject(Tmux):
    def __init__(self, tools, folder):
        super().__init__(tools, folder)
        pane = PANE.replace("CLIENT", f"{self.path} -S {self.socket}")
        self.arguments = ("new-session", "-d", "-x", "80", "-y", "24", pane)


def drive(tmux, running):
    harness.wait_until("tmux", tmux.is_up)
    tmux.run("wait-for", "printed")
    screen = tmux.run("capture-pane", "-p")
    commands, _, _ = tmux.load(COMMANDS, connections=1)
    tmux.run("kill-server")
    return commands, screen


def test(tools, tap):
    pair = Pair(tap, tools, Subject, drive, ["-F", "999"], preload=tools.counter)
    pair.check_behaviour("tmux with a shell in a pane")
    pair.check_trace("libevent")

    def screen():
        lines = pair.recorded.result[1].split()
        assert str(LINES) in lines and lines[-2:] == ["status", "7"], lines

    def server():
        # The client that started it, or another, is recorded too; the server did the work.
        return max(pair.recorded.traces, key=lambda trace: trace.info["events"])

    def server_calls():
        trace = server()
        assert trace.calls("read") >= COMMANDS, f"{trace.calls('read')} calls of {COMMANDS} commands"
        # All that is started there is counted too; the server was told of most.
        seen, ready = trace.calls("read", "write", "poll", "signal"), max(pair.recorded.ready)
        assert seen >= 0.99 * ready, f"{seen} calls, ready {ready}"

    def nobody_else():
        # The client that started the server, the server, and the client in the pane.
        names = [os.path.basename(trace.info["session"]["program"]) for trace in pair.recorded.traces]
        assert names == 3 * ["tmux"], names

    tap.check("what the shells in its pane printed is there", screen)
    tap.check("the server is recorded though it is a daemon: every command is seen", server_calls)
    tap.check("the shells and programs in the pane are not recorded", nobody_else)
    tap.check("a command is known to come by the connection of its client",
              lambda: server().check_chain("read tmux+0x", "read tmux+0x", "poll tmux+0x"))
    pair.trace = server()
    pair.check_loops(1)


harness.main(test)
