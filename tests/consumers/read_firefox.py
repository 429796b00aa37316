# SPDX-License-Identifier: Apache-2.0
"""Checks a processed profile of version 66, strictly, by what the profiler's types say."""
import json
from decimal import Decimal

from wire import need

COLUMNS = {
    "stackTable": {"frame", "prefixOffset"},
    "frameTable": {"address", "inlineDepth", "category", "subcategory", "func", "nativeSymbol",
                   "innerWindowID", "line", "column", "originalLocation"},
    "funcTable": {"name", "isJS", "relevantForJS", "resource", "source", "lineNumber",
                  "columnNumber", "originalLocation"},
    "resourceTable": {"lib", "name", "host", "type"},
    "nativeSymbols": {"libIndex", "address", "name", "functionSize"},
    "sources": {"id", "filename", "startLine", "startColumn", "sourceMapURL", "content"},
    "sourceLocationTable": {"source", "line", "column"},
}
COLORS = {"grey", "blue", "orange", "green", "purple", "red"}
META = {"interval", "startTime", "processType", "product", "stackwalk", "debug", "version",
        "extensions", "categories", "markerSchema"}


def ns(ms):
    value = ms * 1000000
    need(value == int(value), f"{ms} ms is no whole number of ns")
    return int(value)


def table(name, found, columns):
    need(set(found) - {"weightType"} == columns | {"length"}, f"{name} has {sorted(found)}")
    for column in columns:
        need(len(found[column]) == found["length"], f"{name}.{column} has another length")
    return found


def within(name, column, length, none=()):
    for value in column:
        need(value in none or 0 <= value < length, f"{name}: there is no row {value}")


def check_shared(profile):
    shared = profile["shared"]
    for name, columns in COLUMNS.items():
        table(name, shared[name], columns)
    strings = len(shared["stringArray"])
    need(all(isinstance(text, str) for text in shared["stringArray"]), "a string is none")
    stacks, frames, functions = (shared[n] for n in ("stackTable", "frameTable", "funcTable"))
    for row, offset in enumerate(stacks["prefixOffset"]):
        need(0 <= offset <= row, f"stack {row} has a parent {offset} rows before")
    within("stackTable.frame", stacks["frame"], frames["length"])
    within("frameTable.func", frames["func"], functions["length"])
    within("frameTable.category", frames["category"], len(profile["meta"]["categories"]))
    within("funcTable.name", functions["name"], strings)
    within("funcTable.resource", functions["resource"], shared["resourceTable"]["length"], (-1,))
    within("funcTable.source", functions["source"], shared["sources"]["length"], (None,))
    within("resourceTable.lib", shared["resourceTable"]["lib"], len(profile["libs"]))
    within("resourceTable.name", shared["resourceTable"]["name"], strings)
    within("sources.filename", shared["sources"]["filename"], strings)
    for lib in profile["libs"]:
        need(len(lib["breakpadId"]) == 33 and int(lib["breakpadId"], 16) >= 0, f"{lib}")


def check_meta(meta):
    need(meta["preprocessedProfileVersion"] == 66, "another version")
    need(META <= set(meta), f"meta lacks {META - set(meta)}")
    for category in meta["categories"]:
        need(category["color"] in COLORS and category["subcategories"] == ["Other"],
             f"a category: {category}")
    return {schema["name"]: {field["key"] for field in schema["fields"]}
            for schema in meta["markerSchema"]}


def check_markers(thread, schemas, profile):
    markers = table("markers", thread["markers"],
                    {"name", "startTime", "endTime", "phase", "category", "data"})
    within("markers.name", markers["name"], len(profile["shared"]["stringArray"]))
    within("markers.category", markers["category"], len(profile["meta"]["categories"]))
    need(set(markers["phase"]) <= {1}, "a marker is no stretch")
    lengths = {}
    for start, end, data, category in zip(markers["startTime"], markers["endTime"],
                                          markers["data"], markers["category"]):
        need(start <= end, "a marker ends before it begins")
        need(set(data) == schemas[data["type"]] | {"type"}, f"a marker has {data}")
        name = profile["meta"]["categories"][category]["name"]
        total, count = lengths.get(name, (0, 0))
        lengths[name] = total + ns(end) - ns(start), count + 1
    return lengths


def read(path):
    with open(path, "rb") as file:
        profile = json.loads(file.read().decode("utf-8"), parse_float=Decimal)
    schemas = check_meta(profile["meta"])
    check_shared(profile)
    found = {"cpu": 0, "samples": 0, "wait": 0, "queued": 0, "running": 0, "runs": 0}
    threads = profile["threads"]
    need(len({(t["pid"], t["tid"]) for t in threads}) == len(threads), "a thread is there twice")
    need(sum(t["isMainThread"] for t in threads) == (len(threads) > 0), "which thread is main?")
    for thread in threads:
        samples = table("samples", thread["samples"], {"stack", "time", "weight", "threadCPUDelta"})
        need(samples["weightType"] == "tracing-ms", "weights of another kind")
        within("samples.stack", samples["stack"], profile["shared"]["stackTable"]["length"], (None,))
        need(sorted(samples["time"]) == samples["time"], "samples are not in order")
        if thread["tid"] != "waits":
            found["cpu"] += sum(ns(weight) for weight in samples["weight"])
            found["samples"] += samples["length"]
        lengths = check_markers(thread, schemas, profile)
        found["wait"] += lengths.get("Pending", (0, 0))[0]
        found["queued"] += lengths.get("Queued", (0, 0))[0]
        found["running"] += lengths.get("Run", (0, 0))[0]
        found["runs"] += lengths.get("Run", (0, 0))[1]
    return found
