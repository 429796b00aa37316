# SPDX-License-Identifier: Apache-2.0
"""Each program: how it is started on loopback or a private socket, driven, and ended."""
import os
import signal
import socket
import struct
import subprocess

import harness


class Server:
    """A program that answers requests, the same request each time."""
    connections = 16
    preload = None
    sometimes = ()  # what it says in some runs only, by itself too

    def __init__(self, tools, folder):
        self.tools, self.folder = tools, folder
        self.path = tools.find(self.program)
        self.environment = {}
        self.pid_file = os.path.join(folder, "pid")

    def file(self, name, content):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return path

    def load_command(self, requests, seconds, connections):
        return [self.tools.load, str(connections), str(requests), str(seconds),
                self.file("request", self.request), self.file("answer", self.answer), *self.address]

    def load(self, requests=0, seconds=0.0, connections=None):
        """Answers, seconds that they took, and how many had to be asked for twice."""
        said = subprocess.run(self.load_command(requests, seconds, connections or self.connections),
                              capture_output=True, text=True, timeout=120, check=False)
        assert said.returncode == 0, said.stderr
        answers, took, again = said.stdout.split()
        return int(answers), float(took), int(again)

    def is_up(self):
        try:
            return self.ask(self.request) == self.answer
        except OSError:
            return False

    def end_daemon(self):
        with open(self.pid_file) as file:
            os.kill(int(file.read()), signal.SIGTERM)

    def ask(self, request):
        """One answer, over a connection of its own."""
        with socket.create_connection(("127.0.0.1", self.port), 2) as one:
            one.sendall(request)
            return one.recv(65536)

    def start(self, **options):
        return harness.started(self.tools, self.folder, self.command(), environment=self.environment,
                               preload=self.preload, **options)


class Memcached(Server):
    program = "memcached"
    daemon = False
    request = b"get greeting\r\n"
    answer = b"VALUE greeting 0 5\r\nhello\r\nEND\r\n"
    threads = 2

    def __init__(self, tools, folder):
        super().__init__(tools, folder)
        self.port = harness.free_port()
        self.address = ["tcp", str(self.port)]

    def command(self):
        command = [self.path, "-l", "127.0.0.1", "-p", str(self.port), "-U", "0", "-t", str(self.threads),
                   "-m", "16"]
        if self.daemon:
            command += ["-d", "-P", self.pid_file]
        return command + (["-u", "nobody"] if os.getuid() == 0 else [])

    def is_up(self):
        try:
            return self.ask(b"set greeting 0 0 5\r\nhello\r\n") == b"STORED\r\n"
        except OSError:
            return False

    def statistics(self):
        lines = self.ask(b"stats\r\n").decode().splitlines()
        return {words[1]: words[2] for words in (line.split() for line in lines) if len(words) == 3}


class Named(Server):
    program = "named"
    threads = 2
    connections = 32
    ZONE = "$TTL 60\n@ SOA ns hostmaster 1 60 60 60 60\n@ NS ns\nns A 192.0.2.1\nwww A 192.0.2.80\n"
    CONFIG = """
options {{
	directory "{folder}"; pid-file "{folder}/pid"; session-keyfile "{folder}/session.key";
	listen-on port {port} {{ 127.0.0.1; }}; listen-on-v6 {{ none; }};
	recursion no; dnssec-validation no; notify no; minimal-responses yes;
	managed-keys-directory "{folder}";
}};
controls {{ }};
zone "example" {{ type primary; file "{folder}/zone"; }};
"""
    NUMBER = 0x1234
    sometimes = ("automatic interface scanning terminated",)
    daemon = False

    def __init__(self, tools, folder):
        super().__init__(tools, folder)
        self.port = harness.free_port(socket.SOCK_DGRAM)
        self.address = ["udp", str(self.port)]
        self.file("zone", self.ZONE)
        self.config = self.file("named.conf", self.CONFIG.format(folder=folder, port=self.port))
        question = b"\3www\7example\0" + struct.pack(">HH", 1, 1)
        self.request = struct.pack(">6H", self.NUMBER, 0, 1, 0, 0, 0) + question
        # An answer with authority: the question, and the address under a name that points to it.
        self.answer = (struct.pack(">6H", self.NUMBER, 0x8400, 1, 1, 0, 0) + question +
                       struct.pack(">HHHIH4B", 0xc00c, 1, 1, 60, 4, 192, 0, 2, 80))

    def command(self):
        command = [self.path, *([] if self.daemon else ["-g"]), "-c", self.config, "-n", str(self.threads)]
        if os.getuid() == 0:
            command += ["-u", "nobody"]
        return command

    def ask(self, request):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            one.settimeout(1)
            one.connect(("127.0.0.1", self.port))
            one.send(request)
            return one.recv(65536)

    def ask_stream(self, request):
        """Over TCP, where each message has its length before it."""
        answer = super().ask(struct.pack(">H", len(request)) + request)
        assert struct.unpack(">H", answer[:2])[0] == len(answer) - 2, answer
        return answer[2:]


class Neovim(Server):
    """Calls over its socket: [request, number, method, arguments] and [answer, number, error, result]."""
    program = "nvim"
    connections = 4
    request = b"\x94\x00\x01\xa9nvim_eval\x91\xa36*7"
    answer = b"\x94\x01\x01\xc0\x2a"

    def __init__(self, tools, folder):
        super().__init__(tools, folder)
        self.socket = os.path.join(folder, "nvim.sock")
        self.address = ["unix", self.socket]
        self.environment = {"HOME": folder}
        if self.path.startswith(tools.packages):
            self.environment["VIMRUNTIME"] = tools.packages + "/usr/share/nvim/runtime"

    def command(self, *arguments):
        return [self.path, "--headless", "-u", "NONE", "-i", "NONE", "-n",
                *(arguments or ("--listen", self.socket))]

    def ask(self, request):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as one:
            one.settimeout(2)
            one.connect(self.socket)
            one.sendall(request)
            return one.recv(65536)

    def leave(self):
        """Its own command for that: a signal would be a failure."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as one:
            one.connect(self.socket)
            one.sendall(b"\x94\x00\x02\xacnvim_command\x91\xa3qa!")
            one.recv(100)
