# SPDX-License-Identifier: Apache-2.0
"""A D-Bus client, as small as it gets: calls over a socket, and their answers."""
import os
import socket
import struct
import time

CALL, ANSWER, ERROR = 1, 2, 3
PATH, INTERFACE, MEMBER, DESTINATION, SIGNATURE = 1, 2, 3, 6, 8
TYPES = {PATH: "o", INTERFACE: "s", MEMBER: "s", DESTINATION: "s", SIGNATURE: "g"}
BUS = "org.freedesktop.DBus"


class Refused(Exception):
    pass


def pad(data, size):
    return data + bytes(-len(data) % size)


def string(text):
    return struct.pack("<I", len(text)) + text.encode() + b"\0"


def body_of_string(text):
    return "s", string(text)


def body_of_bytes(data):
    return "ay", struct.pack("<I", len(data)) + data


def header(fields):
    """The array of fields, each a number, a type, and a text of that type."""
    data = b""
    for code, text in fields.items():
        data = pad(data, 8) + bytes([code, 1]) + TYPES[code].encode() + b"\0"
        if code == SIGNATURE:
            data += bytes([len(text)]) + text.encode() + b"\0"
        else:
            data = pad(data, 4) + string(text)
    return struct.pack("<I", len(data)) + pad(data, 8)


def call_message(serial, destination, path, interface, member, body=("", b"")):
    fields = {PATH: path, INTERFACE: interface, MEMBER: member, DESTINATION: destination}
    if body[0]:
        fields[SIGNATURE] = body[0]
    return struct.pack("<4BII", ord("l"), CALL, 0, 1, len(body[1]), serial) + header(fields) + body[1]


class Client:
    """Connected, greeted and with a name."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(30)
        self.socket.connect(path)
        self.read = b""
        self.serial = 0
        name = str(os.getuid()).encode().hex()
        self.socket.sendall(b"\0AUTH EXTERNAL " + name.encode() + b"\r\n")
        said = self.socket.recv(4096)
        if not said.startswith(b"OK "):
            raise Refused(said)
        self.socket.sendall(b"BEGIN\r\n")
        self.name = self.call(BUS, "/", BUS, "Hello")[5:-1].decode()[:-1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, *call):
        self.serial += 1
        self.socket.sendall(call_message(self.serial, *call))
        return self.serial

    def receive(self):
        """The next message that is an answer or an error: its kind and body; signals are passed over."""
        while True:
            while len(self.read) < 16 or len(self.read) < self._length():
                more = self.socket.recv(65536)
                if not more:
                    raise Refused("the bus hung up")
                self.read += more
            length, kind = self._length(), self.read[1]
            body = struct.unpack_from("<I", self.read, 4)[0]
            message, self.read = self.read[:length], self.read[length:]
            if kind in (ANSWER, ERROR):
                return kind, message[length - body:]

    def _length(self):
        body, _, fields = struct.unpack_from("<III", self.read, 4)
        return 16 + fields + -fields % 8 + body

    def call(self, *call):
        self.send(*call)
        kind, body = self.receive()
        if kind == ERROR:
            raise Refused(body)
        return body

    def load(self, calls, seconds, window, *call):
        """So many calls, or for so long, some under way at a time; returns calls, seconds, bodies seen."""
        start = time.monotonic()
        sent = done = 0
        seen = set()
        while True:
            while sent - done < window and (sent < calls if calls else time.monotonic() - start < seconds):
                self.send(*call)
                sent += 1
            if done == sent:
                return done, time.monotonic() - start, seen
            kind, body = self.receive()
            if kind == ERROR:
                raise Refused(body)
            seen.add(body)
            done += 1
