# SPDX-License-Identifier: Apache-2.0
"""Checks a Chrome trace, strictly."""
import bisect
import json
from collections import Counter
from decimal import Decimal

from wire import need

NEEDED = {
    "M": {"args"}, "B": {"ts", "cat"}, "E": {"ts", "cat"}, "b": {"ts", "cat", "id"}, "e": {"ts", "cat", "id"},
    "s": {"ts", "cat", "id"}, "f": {"ts", "cat", "id", "bp"}, "P": {"ts", "cat", "args"},
}


def no_twins(pairs):
    need(len(pairs) == len(dict(pairs)), f"keys are there twice: {pairs}")
    return dict(pairs)


def ns(us):
    value = us * 1000
    need(value == int(value), f"{us} us is no whole number of ns")
    return int(value)


def read_rows(events):
    """The slices of each row, which has one at a time, in order."""
    rows, open_ones = {}, {}
    for event in events:
        row, time = rows.setdefault(event["tid"], []), ns(event["ts"])
        need(not row or row[-1][1] <= time, f"a slice begins before the last one ended: {event}")
        if event["ph"] == "B":
            need(event["tid"] not in open_ones, f"a slice begins inside of another: {event}")
            open_ones[event["tid"]] = event
            continue
        begin = open_ones.pop(event["tid"], None)
        need(begin and begin["name"] == event["name"], f"a slice ends that is not open: {event}")
        row.append((ns(begin["ts"]), time))
    need(not open_ones, f"slices never end: {open_ones}")
    return rows


def check_async(events, sums, counts):
    open_ones = {}
    for event in events:
        stack = open_ones.setdefault((event["cat"], event["id"]), [])
        time = ns(event["ts"])
        if event["ph"] == "b":
            need(not stack or stack[-1][1] <= time, f"an event begins before its parent: {event}")
            stack.append([event["name"], time, time])
            continue
        need(stack and stack[-1][0] == event["name"], f"an event ends that is not open: {event}")
        name, start, last = stack.pop()
        need(time >= last, f"an event ends before what is inside of it: {event}")
        sums[name] += time - start
        counts[name] += 1
        if stack:
            stack[-1][2] = time
    for key, stack in open_ones.items():
        need(not stack, f"{key} never ends: {stack}")


def encloses(rows, event):
    slices, time = rows.get(event["tid"], []), ns(event["ts"])
    at = bisect.bisect_right(slices, (time, float("inf")))
    return any(start <= time <= end for start, end in slices[max(0, at - 2):at + 1])


def check_flows(events, rows):
    starts = {}
    ends = set()
    for event in events:
        need(encloses(rows, event), f"a flow is in no slice: {event}")
        if event["ph"] == "s":
            need(event["id"] not in starts, f"flow {event['id']} begins twice")
            starts[event["id"]] = event["ts"]
        else:
            need(event["id"] in starts and event["id"] not in ends, f"a flow ends: {event}")
            need(starts[event["id"]] <= event["ts"], f"a flow goes back in time: {event}")
            ends.add(event["id"])
    need(len(starts) == len(ends), "flows never end")
    return len(ends)


def check_frames(frames, samples):
    for key, frame in frames.items():
        need(frame["category"] in ("await", "native") and frame["name"], f"frame {key}: {frame}")
        seen = set()
        while "parent" in frame:
            need(frame["parent"] in frames, f"frame {key} has no parent")
            need(frame["parent"] not in seen, f"frame {key} is above itself")
            seen.add(frame["parent"])
            frame = frames[frame["parent"]]
    for sample in samples:
        need("sf" not in sample or str(sample["sf"]) in frames, f"no such frame: {sample}")


def read(path):
    with open(path, "rb") as file:
        trace = json.loads(file.read().decode("utf-8"), object_pairs_hook=no_twins,
                           parse_float=Decimal)
    events = trace["traceEvents"]
    by_phase = {phase: [] for phase in NEEDED}
    for event in events:
        need(event["ph"] in NEEDED, f"a phase: {event}")
        need(NEEDED[event["ph"]] | {"name", "pid", "tid"} <= set(event), f"too little: {event}")
        need(event.get("ts", 0) >= 0, f"before the first event: {event}")
        by_phase[event["ph"]].append(event)
    rows = read_rows([e for e in events if e["ph"] in "BE"])
    sums, counts = Counter(), Counter()
    check_async([e for e in events if e["ph"] in "be"], sums, counts)
    wakes = check_flows([e for e in events if e["ph"] in "sf"], rows)
    check_frames(trace["stackFrames"], by_phase["P"])
    named = {e["tid"] for e in by_phase["M"] if e["name"] == "thread_name"}
    need(set(rows) <= named, "a row has no name")
    return {
        "cpu": sum(e["args"]["weight_ns"] for e in by_phase["P"]),
        "samples": len(by_phase["P"]),
        "wait": sums["pending"],
        "queued": sums["queued"],
        "running": sums["running"],
        "runs": counts["running"],
        "task_wakes": wakes,
    }
