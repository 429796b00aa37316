# SPDX-License-Identifier: Apache-2.0
"""Checks a profile.proto, strictly."""
from wire import message, need, one, packed, text


def numbered(found, field, what):
    entries = {}
    for data in found.get(field, []):
        entry = message(data)
        number = one(entry, 1, 0)
        need(number and number not in entries, f"{what} {number} is there twice")
        entries[number] = entry
    return entries


def read(path):
    with open(path, "rb") as file:
        found = message(file.read())
    need(set(found) <= set(range(1, 15)), "unknown fields")
    strings = [text(data) for data in found[6]]
    need(strings[0] == "" and len(set(strings)) == len(strings), "the string table")

    def name(number):
        need(number < len(strings), f"there is no string {number}")
        return strings[number]

    types = [message(data) for data in found[1]]
    names = [name(one(kind, 1)) for kind in types]
    units = [name(one(kind, 2)) for kind in types]
    need(units == ["count", "nanoseconds", "count", "nanoseconds", "nanoseconds", "nanoseconds"],
         f"units are {units}")
    need(name(one(found, 14)) in names, "the default type is none")
    mappings = numbered(found, 3, "mapping")
    locations = numbered(found, 4, "location")
    functions = numbered(found, 5, "function")
    for mapping in mappings.values():
        need(one(mapping, 2) < one(mapping, 3), "a mapping without a length")
        name(one(mapping, 5))
        name(one(mapping, 6))
    for function in functions.values():
        need(name(one(function, 2)), "a function without a name")
        name(one(function, 4))
    for location in locations.values():
        need(2 not in location or one(location, 2) in mappings, "a location of no mapping")
        for line in location[4]:
            need(one(message(line), 1) in functions, "a line of no function")
    sums = [0] * len(types)
    for data in found.get(2, []):
        sample = message(data)
        need(packed(one(sample, 1)), "a sample without a stack")
        for location in packed(one(sample, 1)):
            need(location in locations, f"there is no location {location}")
        values = packed(one(sample, 2))
        need(len(values) == len(types), "a sample has too few values")
        sums = [total + value for total, value in zip(sums, values)]
        for label in sample.get(3, []):
            need(name(one(message(label), 1)) in ("task", "site", "thread"), "a label")
            need(name(one(message(label), 2)), "a label of no value")
    return dict(zip(names, sums))
