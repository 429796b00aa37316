# SPDX-License-Identifier: Apache-2.0
"""Programs that live in a session: on a message bus, or with a terminal."""
import os
import subprocess
import time
from contextlib import contextmanager

import bus
import harness

BUS_CONFIG = """<busconfig>
  <type>session</type><listen>unix:path={folder}/bus</listen><auth>EXTERNAL</auth>
  <policy context="default"><allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy>
</busconfig>
"""


class OnABus:
    """A program on a bus of its own; `call` is what loads it."""
    window = 8
    preload = None
    sometimes = ()

    def __init__(self, tools, folder):
        self.tools, self.folder = tools, folder
        self.path = tools.find(self.program)
        self.daemon = tools.find("dbus-daemon")
        self.bus = os.path.join(folder, "bus")
        with open(os.path.join(folder, "bus.conf"), "w") as file:
            file.write(BUS_CONFIG.format(folder=folder))
        self.environment = {"DBUS_SESSION_BUS_ADDRESS": "unix:path=" + self.bus, "HOME": folder,
                            "XDG_CONFIG_HOME": folder + "/config", "XDG_RUNTIME_DIR": folder}

    @contextmanager
    def start(self, **options):
        """The program, with its bus, which is not recorded."""
        daemon = subprocess.Popen([self.daemon, "--config-file=" + self.folder + "/bus.conf", "--nofork"],
                                  env={**self.tools.environment(self.daemon), **self.environment},
                                  stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            harness.wait_until("the bus", lambda: os.path.exists(self.bus))
            with harness.started(self.tools, self.folder, self.command(), environment=self.environment,
                                 preload=self.preload, **options) as program:
                yield program
        finally:
            daemon.kill()
            daemon.wait()

    def client(self):
        return bus.Client(self.bus)

    def load(self, requests=0, seconds=0.0, connections=None):
        with self.client() as client:
            done, took, seen = client.load(requests, seconds, connections or self.window, *self.call)
        assert all(map(self.is_right, seen)), seen
        return done, took, 0


class Dconf(OnABus):
    """Each call is a change to the database, which it writes, and says so to all."""
    program = "dconf-service"
    NAME = "ca.desrt.dconf"
    # As GVariant has it, an a{smv} of one entry: that the key /t/x is 7.
    CHANGE = b"/t/x\0\0\0\0" + b"\7\0\0\0\0i" + b"\0" + b"\5" + b"\x10"
    call = (NAME, "/ca/desrt/dconf/Writer/user", "ca.desrt.dconf.Writer", "Change", bus.body_of_bytes(CHANGE))

    def command(self):
        return [self.path]

    def is_up(self):
        try:
            with self.client() as client:
                return client.call(bus.BUS, "/", bus.BUS, "NameHasOwner",
                                   bus.body_of_string(self.NAME)) == b"\1\0\0\0"
        except (OSError, bus.Refused):
            return False

    @staticmethod
    def is_right(body):
        return len(body) > 4


class Proxy(OnABus):
    """Each call goes to the bus through it, and the answer back."""
    program = "xdg-dbus-proxy"
    call = (bus.BUS, "/", bus.BUS, "NameHasOwner", bus.body_of_string(bus.BUS))

    def command(self):
        self.socket = os.path.join(self.folder, "proxy")
        return [self.path, self.environment["DBUS_SESSION_BUS_ADDRESS"], self.socket]

    def client(self):
        return bus.Client(self.socket)

    def is_up(self):
        try:
            with self.client() as client:
                return self.is_right(client.call(*self.call))
        except (OSError, bus.Refused):
            return False

    @staticmethod
    def is_right(body):
        return body == b"\1\0\0\0"


class Tmux:
    """Commands of a client in control mode; each is answered by a block."""
    program = "tmux"
    window = 8
    preload = None
    sometimes = ()
    # How it is started: a server, and the client that starts it.
    arguments = ("new-session", "-d", "-x", "80", "-y", "24", "exec cat")

    def __init__(self, tools, folder):
        self.tools, self.folder = tools, folder
        self.path = tools.find(self.program)
        self.socket = os.path.join(folder, "tmux.sock")
        self.environment = {"HOME": folder, "SHELL": "/bin/sh", "TERM": "screen", "ENV": ""}

    def command(self, *arguments):
        return [self.path, "-S", self.socket, "-f", "/dev/null", *arguments]

    @contextmanager
    def start(self, **options):
        try:
            with harness.started(self.tools, self.folder, self.command(*self.arguments),
                                 environment=self.environment, preload=self.preload,
                                 **options) as program:
                yield program
        finally:
            # A server that is a daemon is nobody's child.
            if os.path.exists(self.socket):
                self.client("kill-server")

    def client(self, *arguments):
        return subprocess.run(self.command(*arguments), capture_output=True, text=True,
                              timeout=harness.WAIT_S, stdin=subprocess.DEVNULL, check=False,
                              env={**self.tools.environment(self.path), **self.environment})

    def run(self, *arguments):
        """What a client said that must not fail."""
        said = self.client(*arguments)
        assert said.returncode == 0, said.stderr
        return said.stdout

    def is_up(self):
        return self.client("has-session").returncode == 0

    @contextmanager
    def control(self):
        """A client whose commands are lines that it is given."""
        client = subprocess.Popen(self.command("-C", "attach"), stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0,
                                  env={**self.tools.environment(self.path), **self.environment})
        try:
            yield client
        finally:
            client.kill()
            client.wait()

    def load(self, requests=0, seconds=0.0, connections=None):
        with self.control() as client:
            next(blocks := self.blocks(client))  # of the command that attached it
            return self.drive(client, blocks, requests, seconds, connections or self.window)

    @staticmethod
    def drive(client, blocks, requests, seconds, window):
        start = time.monotonic()
        sent = done = 0
        while True:
            while sent - done < window and (sent < requests if requests else time.monotonic() - start < seconds):
                client.stdin.write(b"display-message -p hello\n")
                sent += 1
            if done == sent:
                return done, time.monotonic() - start, 0
            assert next(blocks) == [b"hello"]
            done += 1

    @staticmethod
    def blocks(client):
        """What each command said; notes between them are passed over."""
        block, rest = None, b""
        while True:
            more = os.read(client.stdout.fileno(), 65536)
            assert more, "the server hung up"
            *lines, rest = (rest + more).split(b"\n")
            for line in lines:
                if line.startswith(b"%begin "):
                    block = []
                elif line.startswith((b"%end ", b"%error ")):
                    assert line.startswith(b"%end "), block
                    yield block
                    block = None
                elif block is not None:
                    block.append(line)
