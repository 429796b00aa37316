# SPDX-License-Identifier: Apache-2.0
"""Checks a file for speedscope, strictly."""
import json

from wire import need


def read(path):
    with open(path, "rb") as file:
        found = json.loads(file.read().decode("utf-8"))
    need(found["$schema"] == "https://www.speedscope.app/file-format-schema.json", "the schema")
    frames = found["shared"]["frames"]
    for frame in frames:
        need(set(frame) <= {"name", "file", "line"} and frame["name"], f"a frame: {frame}")
    sums = {}
    for profile in found["profiles"]:
        need(profile["type"] == "sampled" and profile["unit"] == "nanoseconds", "a profile")
        need(len(profile["samples"]) == len(profile["weights"]), "samples without weights")
        need(len({tuple(stack) for stack in profile["samples"]}) == len(profile["samples"]),
             "a stack is there twice")
        for stack in profile["samples"]:
            need(stack and all(0 <= frame < len(frames) for frame in stack), "a stack")
        need(all(weight > 0 for weight in profile["weights"]), "a weight of nothing")
        total = sum(profile["weights"])
        need(profile["startValue"] == 0 and profile["endValue"] == total, "the end")
        sums[profile["name"].lower()] = total
    return sums
