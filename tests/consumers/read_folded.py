# SPDX-License-Identifier: Apache-2.0
"""Checks folded stacks, strictly."""
import re

from wire import need, text

LINE = re.compile(r"(?P<stack>[^;\x00-\x1f\x7f]+(;[^;\x00-\x1f\x7f]+)*) (?P<count>[1-9][0-9]*)")


def read(path):
    with open(path, "rb") as file:
        lines = text(file.read()).split("\n")
    need(lines.pop() == "", "the last line does not end")
    total = 0
    stacks = set()
    for line in lines:
        found = LINE.fullmatch(line)
        need(found, f"a line: {line!r}")
        stacks.add(found["stack"])
        total += int(found["count"])
    need(len(stacks) == len(lines), "a stack is there twice")
    return {"us": total}
