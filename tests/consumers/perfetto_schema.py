#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads a trace with the messages that Perfetto publishes.

usage: perfetto_schema.py PERFETTO PROTOBUF FILE

The first two are unpacked packages of PyPI. Prints packets, events and samples.
"""
import sys

sys.path[:0] = sys.argv[1:3]
# pylint: disable=wrong-import-position
from google.protobuf import unknown_fields  # noqa: E402
from google.protobuf.message import Message  # noqa: E402
from perfetto.protos.perfetto.trace import perfetto_trace_pb2  # noqa: E402


def check_known(message):
    """No field of it, or of what is inside of it, is without a meaning."""
    if len(unknown_fields.UnknownFieldSet(message)):
        sys.exit(f"unknown fields in {message.DESCRIPTOR.full_name}: {message}")
    for _, value in message.ListFields():
        for part in [value] if isinstance(value, Message) else value if hasattr(
                value, "__iter__") and not isinstance(value, (str, bytes)) else []:
            if isinstance(part, Message):
                check_known(part)


def main():
    trace = perfetto_trace_pb2.Trace()
    with open(sys.argv[3], "rb") as file:
        trace.ParseFromString(file.read())
    check_known(trace)
    print(len(trace.packet), sum(packet.HasField("track_event") for packet in trace.packet),
          sum(packet.HasField("stack_sample") for packet in trace.packet))


main()
