#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What servers do that makes it hard: they become daemons and other users, run already, are killed."""
import os
import signal
import subprocess

import harness
from programs import Memcached, Named, Neovim

REQUESTS = 3000


class MemcachedDaemon(Memcached):
    daemon = True


class NamedDaemon(Named):
    daemon = True


def record_daemon(tools, make):
    """The command that starts it ends at once; the recording does not."""
    with harness.folder_of_our_own() as folder:
        server = make(tools, folder)
        with server.start(record=[]) as running:
            try:
                harness.wait_until(make.program, server.is_up)
                assert server.load(REQUESTS)[0] == REQUESTS
            finally:
                server.end_daemon()
            assert running.wait() == 0, running.words
            trace = harness.Trace(tools, running.trace)
            trace.check_whole()
            return trace


def memcached(tools):
    trace = record_daemon(tools, MemcachedDaemon)
    seen = trace.calls("read")
    assert seen >= REQUESTS, f"{seen} calls of {REQUESTS} requests"


def named(tools):
    trace = record_daemon(tools, NamedDaemon)
    seen = trace.calls("udp send")
    assert seen >= REQUESTS, f"{seen} answers of {REQUESTS} requests"


def attach(tools):
    """A server that has the adapter from its start is recorded while it runs, and let go again."""
    with harness.folder_of_our_own() as folder:
        server = Memcached(tools, folder)
        server.preload = tools.adapter("libevent")
        trace = os.path.join(folder, "late.unw")
        with server.start() as running:
            harness.wait_until("memcached", server.is_up)
            # Connected before anybody records.
            load = subprocess.Popen(server.load_command(0, 2.0, 4), stdout=subprocess.PIPE)
            recorder = subprocess.run([tools.unweave, "record", "-p", str(running.pid), "-o", trace,
                                       "--duration", "1"], capture_output=True, text=True,
                                      timeout=harness.WAIT_S, check=False)
            answers = int(load.communicate(timeout=harness.WAIT_S)[0].split()[0])
            assert recorder.returncode == 0 and "adapters: libevent" in recorder.stderr, recorder.stderr
            assert server.load(100)[0] == 100
            assert running.end() == 0, running.words
            late = harness.Trace(tools, trace)
    late.check_whole()
    seen = late.calls("read")
    assert 0 < seen <= answers + 10, f"{seen} calls of {answers}"
    assert late.info["kinds"]["task"] >= 4, late.info["kinds"]  # known from before


def kill(tools):
    """What it had done by then is there."""
    with harness.folder_of_our_own() as folder:
        server = Neovim(tools, folder)
        with server.start(record=[]) as running:
            harness.wait_until("nvim", server.is_up)
            assert server.load(REQUESTS)[0] == REQUESTS
            running.end(signal.SIGKILL)
            assert running.status == 128 + signal.SIGKILL, running.words
            trace = harness.Trace(tools, running.trace)
    assert trace.verified.returncode == 0, trace.verified.stderr
    assert sum(trace.info["lost"].values()) == 0, trace.info["lost"]
    seen = trace.calls("read")
    assert seen >= REQUESTS, f"{seen} calls of {REQUESTS} requests"


def test(tools, tap):
    for program in ("memcached", "named", "nvim"):
        tools.find(program)
    tap.check("memcached is recorded as a daemon of another user", memcached, tools)
    tap.check("named is recorded as a daemon of another user", named, tools)
    tap.check("memcached is recorded while it runs, and goes on without", attach, tools)
    tap.check("nvim is recorded until it is killed", kill, tools)


harness.main(test)
