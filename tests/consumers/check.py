#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads an export strictly and compares its sums.

usage: check.py FORMAT FILE [NAME=NUMBER...]
"""
import importlib
import sys

from wire import Bad


def main():
    kind, path = sys.argv[1:3]
    try:
        sums = importlib.import_module("read_" + kind).read(path)
    except (Bad, ValueError, KeyError, TypeError, IndexError) as error:
        sys.exit(f"{path}: {type(error).__name__}: {error}")
    wrong = False
    for wanted in sys.argv[3:]:
        name, number = wanted.split("=")
        if sums[name] != int(number):
            print(f"{path}: {name} is {sums[name]}, not {number}")
            wrong = True
    sys.exit(wrong)


main()
