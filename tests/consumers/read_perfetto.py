# SPDX-License-Identifier: Apache-2.0
"""Checks a Perfetto trace as trace_processor would complain about it, and more strictly."""
from collections import Counter

from wire import fields, message, need, one, text

PACKET_CLOCKS, PACKET_TIME, PACKET_SEQUENCE, PACKET_EVENT = 6, 8, 10, 11
PACKET_INTERNED, PACKET_FLAGS, PACKET_DEFAULTS, PACKET_TRACK = 12, 13, 59, 60
PACKET_FIRST, PACKET_SAMPLE = 87, 135
BEGIN, END, INSTANT = 1, 2, 3
NAMES, FUNCTIONS, FRAMES, STACKS = 2, 5, 6, 7
BUILD_IDS, PATHS, SOURCES, MAPPINGS, CONTEXTS = 16, 17, 18, 19, 51
TEXTS = {NAMES, FUNCTIONS, PATHS, SOURCES}


class Trace:
    def __init__(self):
        self.interned = {}  # by table, then iid
        self.tracks = {}  # uuid to name
        self.events = {}  # uuid to a list of events
        self.flows = {}
        self.weight = self.samples = 0
        self.waiting_stacks = 0

    def use(self, table, iid):
        need(iid in self.interned.get(table, {}), f"iid {iid} of table {table} is not defined")
        return self.interned[table][iid]

    def intern(self, data):
        for table, entry in fields(data):
            found = message(entry)
            known = self.interned.setdefault(table, {})
            iid = one(found, 1, 0)
            need(iid > 0, f"an iid of table {table} is 0")
            need(iid not in known, f"iid {iid} of table {table} is defined twice")
            known[iid] = found
            if table in TEXTS:
                text(one(found, 2))
        # What entries refer to may stand anywhere in the same packet.
        for table, entry in fields(data):
            self.check_entry(table, message(entry))

    def check_entry(self, table, found):
        if table == FRAMES:
            self.use(FUNCTIONS, one(found, 2))
            if 3 in found:
                self.use(MAPPINGS, one(found, 3))
            if 5 in found:
                self.use(SOURCES, one(found, 5))
            need(text(one(found, 8)) in ("await", "native"), "a frame of no kind")
        elif table == STACKS:
            need(found.get(2), "a stack is empty")
            for frame in found[2]:
                self.use(FRAMES, frame)
        elif table == MAPPINGS:
            if 2 in found:
                self.use(BUILD_IDS, one(found, 2))
            for path in found[7]:
                self.use(PATHS, path)
            need(one(found, 4) < one(found, 5), "a mapping without a length")

    def track(self, data):
        found = message(data)
        uuid, parent = one(found, 1, 0), one(found, 5)
        need(uuid and uuid not in self.tracks, f"track {uuid} is described twice")
        need(parent is None or parent in self.tracks, f"track {uuid} has an unknown parent")
        need(parent is not None or 3 in found, "a track without a parent is no process")
        self.tracks[uuid] = text(one(found, 2, b""))

    def event(self, time, data):
        found = message(data)
        uuid, kind = one(found, 11), one(found, 9)
        need(uuid in self.tracks, f"an event is on track {uuid}, which is not described")
        need(kind in (BEGIN, END, INSTANT), f"an event has the type {kind}")
        name = None
        if kind != END:
            need((10 in found) != (23 in found), "an event has no name, or two")
            name = text(one(self.use(NAMES, one(found, 10)), 2) if 10 in found
                        else one(found, 23))
        if 56 in found:
            self.use(STACKS, one(found, 56))
            self.waiting_stacks += 1
        self.events.setdefault(uuid, []).append((time, kind, name))
        for flow in found.get(47, []):
            need(flow not in self.flows, f"flow {flow} begins twice")
            self.flows[flow] = [time, None]
        for flow in found.get(48, []):
            need(flow in self.flows and self.flows[flow][1] is None,
                 f"flow {flow} ends twice, or before it began")
            self.flows[flow][1] = time

    def sample(self, data):
        found = message(data)
        context = message(one(found, 1))
        need(one(context, 2) and one(context, 3), "a sample is of no thread")
        if 4 in context:
            text(one(self.use(CONTEXTS, one(context, 4)), 2))
        if 6 in found:
            self.use(STACKS, one(found, 6))
        self.weight += one(found, 11)
        self.samples += 1


def read_packets(data):
    trace = Trace()
    for index, (number, packet) in enumerate(fields(data)):
        need(number == 1, f"field {number} of the trace")
        found = message(packet)
        need(one(found, PACKET_SEQUENCE) == 1, "a packet is on no sequence")
        need((index == 0) == (PACKET_FIRST in found), "first_packet_on_sequence is elsewhere")
        if index == 0:
            need(one(found, PACKET_FLAGS) == 1 and PACKET_DEFAULTS in found, "no clean state")
        if PACKET_INTERNED in found:
            trace.intern(one(found, PACKET_INTERNED))
        if PACKET_TRACK in found:
            trace.track(one(found, PACKET_TRACK))
        if PACKET_EVENT in found or PACKET_SAMPLE in found:
            need(one(found, PACKET_FLAGS) == 2, "a packet does not say that it needs state")
            need(PACKET_TIME in found, "a packet without a time")
        if PACKET_EVENT in found:
            trace.event(one(found, PACKET_TIME), one(found, PACKET_EVENT))
        if PACKET_SAMPLE in found:
            trace.sample(one(found, PACKET_SAMPLE))
    return trace


def check_track(events, sums, counts):
    slices = [event for event in events if event[1] != INSTANT]
    for before, after in zip(slices, slices[1:]):
        need(before[0] <= after[0], f"slices are not in order: {before}, {after}")
    stack = []
    for time, kind, name in slices:
        if kind == BEGIN:
            stack.append((time, name))
        else:
            need(stack, "a slice ends that never began")
            began, name = stack.pop()
            sums[name] += time - began
            counts[name] += 1
    need(not stack, f"slices never end: {stack}")


def read(path):
    with open(path, "rb") as file:
        trace = read_packets(file.read())
    sums, counts = Counter(), Counter()
    for events in trace.events.values():
        check_track(events, sums, counts)
    for flow, (start, end) in trace.flows.items():
        need(end is None or start <= end, f"flow {flow} goes back in time")
    return {
        "cpu": trace.weight,
        "samples": trace.samples,
        "wait": sums["pending"],
        "queued": sums["queued"],
        "running": sums["running"],
        "runs": counts["running"],
        "wakes": sum(end is not None for _, end in trace.flows.values()),
    }
