# SPDX-License-Identifier: Apache-2.0
"""Reads protocol buffers without their schema, strictly."""


class Bad(Exception):
    """The export is not what it should be."""


def need(condition, what):
    if not condition:
        raise Bad(what)


def varint(data, at):
    value = shift = 0
    while True:
        need(at < len(data) and shift < 70, "a varint is cut short or too long")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            need(byte or shift == 0, "a varint is longer than it need be")
            return value, at
        shift += 7


def fields(data):
    """Yields (number, value): an int, or bytes."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        number, kind = tag >> 3, tag & 7
        need(number > 0, "a field has the number 0")
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            need(at + 8 <= len(data), "a fixed64 is cut short")
            value, at = int.from_bytes(data[at:at + 8], "little"), at + 8
        else:
            need(kind == 2, f"wire type {kind}")
            length, at = varint(data, at)
            need(at + length <= len(data), "a message is cut short")
            value, at = data[at:at + length], at + length
        yield number, value


def message(data):
    """A dict from field numbers to the list of their values."""
    found = {}
    for number, value in fields(data):
        found.setdefault(number, []).append(value)
    return found


def one(found, number, default=None):
    values = found.get(number, [])
    need(len(values) <= 1, f"field {number} is there {len(values)} times")
    return values[0] if values else default


def packed(data):
    values, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


def text(data):
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Bad(f"text is not UTF-8: {data!r}") from error
