#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fetches a package of npm or PyPI, once, by version and checksum.

usage: fetch.py NAME FOLDER

Prints where it is unpacked: FOLDER/NAME-VERSION. Exits with 77 if it cannot be had.
"""
import glob
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

NPM = ["npm", "pack", "--silent", "--pack-destination"]
PIP = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
       "--implementation", "py", "--abi", "none", "--platform", "any", "--dest"]
# Name: its version, who fetches it and by which words, the checksum of what comes.
PACKAGES = {
    "speedscope": (
        "1.25.0", NPM, "speedscope@1.25.0",
        "2831f1e0d26df914b477e522d78b8485511495a6af81a0b88158f8b48f9e0d03"),
    "profiler-cli": (
        "0.10.0", NPM, "@firefox-devtools/profiler-cli@0.10.0",
        "41a25d3ef0c1131f5286eb098489f2868d7b9a627424023fc6e7aff9a33f85e2"),
    "perfetto": (
        "0.59.1", PIP, "perfetto==0.59.1",
        "fde529ecdf28042112d452ed431d51b797b4eea1378c10d7d25af5d36db719a3"),
    "protobuf": (
        "7.36.2", PIP, "protobuf==7.36.2",
        "bdb3a345d48db958e6ce1f18e508beb0cc981d64f24088427549c866cd039f1e"),
}
TIMEOUT_S = 40


def download(client, what, checksum):
    """The bytes of the one file that the client fetches."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            subprocess.run(client + [folder, what], cwd=folder, timeout=TIMEOUT_S, check=True,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        except (OSError, subprocess.SubprocessError) as error:
            print(f"{what} cannot be had: {error}", file=sys.stderr)
            sys.exit(77)
        for path in glob.glob(os.path.join(folder, "*")):
            with open(path, "rb") as file:
                packed = file.read()
            if hashlib.sha256(packed).hexdigest() == checksum:
                return packed
    sys.exit(f"{what}: not the bytes that it should be")


def unpack(packed, folder):
    if packed[:2] == b"PK":
        zipfile.ZipFile(io.BytesIO(packed)).extractall(folder)
        return
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        for member in archive.getmembers():
            # The checksum says whose bytes these are; still, nothing but files goes there.
            path = os.path.normpath(member.name)
            if member.isfile() and not path.startswith(("/", "..")):
                archive.extract(member, folder)


def main():
    name, folder = sys.argv[1:]
    version, client, what, checksum = PACKAGES[name]
    where = os.path.join(folder, f"{name}-{version}")
    if not os.path.isdir(where):
        packed = download(client, what, checksum)
        os.makedirs(folder, exist_ok=True)
        partial = tempfile.mkdtemp(dir=folder)
        unpack(packed, partial)
        try:
            os.rename(partial, where)
        except OSError:  # somebody else was quicker
            shutil.rmtree(partial)
    print(where)


main()
