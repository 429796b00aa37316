# SPDX-License-Identifier: Apache-2.0
"""Programs of Debian packages, unmodified, started here and recorded."""
import glob
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager

SKIP = 77
SAID_MAX = 12  # lines of what went wrong
WAIT_S = 30  # for whatever should take no time at all


class Missing(Exception):
    """A program that is neither installed nor unpacked."""


class Tools:
    """What a test is given: ours, and where packages were unpacked."""

    def __init__(self, unweave, load, packages, counter):
        self.unweave, self.load, self.packages, self.counter = map(
            os.path.abspath, (unweave, load, packages, counter))

    def find(self, name):
        """The path of a program: the installed one, else the one that was unpacked."""
        folders = [prefix + folder for prefix in ("", self.packages)
                   for folder in ("/usr/sbin", "/usr/bin", "/usr/libexec")]
        path = shutil.which(name, path=":".join(folders))
        if not path:
            raise Missing(f"{name} is neither installed nor unpacked: tools/unpack-packages does that")
        return path

    def adapter(self, library):
        """The object that record preloads for this library."""
        build = os.path.dirname(os.path.dirname(os.path.dirname(self.counter)))
        return os.path.join(build, "adapters", library, f"libunweave-{library}.so")

    def environment(self, path):
        """For a program at this path: unpacked ones find their libraries beside them."""
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("LC_", "UNWEAVE", "LD_", "DBUS_", "TMUX", "XDG_"))}
        environment["LC_ALL"] = "C"
        if path.startswith(self.packages):
            found = (glob.glob(self.packages + "/usr/lib/*-linux-gnu") +
                     glob.glob(self.packages + "/lib/*-linux-gnu"))
            environment["LD_LIBRARY_PATH"] = ":".join(found)
        return environment


def free_port(kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_INET, kind) as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def wait_until(what, condition):
    """Waits for what `condition` returns to be true, and returns it."""
    end = time.monotonic() + WAIT_S
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not come about in {WAIT_S} s")
        time.sleep(0.01)


def descendants(pid):
    found = []
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        try:
            with open(path) as file:
                children = [int(word) for word in file.read().split()]
        except OSError:
            continue
        for child in children:
            found += [child] + descendants(child)
    return found


def executable(pid):
    try:
        return os.path.realpath(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return ""


def cpu_ns(pid):
    """Time that a process's threads have had a processor, of those that still live."""
    total = 0
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        try:
            with open(path) as file:
                total += int(file.read().split()[0])
        except OSError:
            pass
    return total


class Started:
    """A program that runs, by itself or recorded. `words` is what both said to stderr."""

    def __init__(self, tools, folder, command, environment=None, record=None, preload=None,
                 stdin=subprocess.DEVNULL):
        self.tools, self.folder, self.path = tools, folder, os.path.realpath(command[0])
        self.trace = os.path.join(folder, "t.unw") if record is not None else None
        environment = {**tools.environment(command[0]), **(environment or {})}
        if preload:
            environment["LD_PRELOAD"] = preload
        if record is not None:
            command = [tools.unweave, "record", "-o", self.trace, *record, "--", *command]
        self._stderr = open(os.path.join(folder, "stderr"), "w+b")
        self._stdout = open(os.path.join(folder, "stdout"), "w+b")
        self.process = subprocess.Popen(command, cwd=folder, env=environment, stdin=stdin,
                                        stdout=self._stdout, stderr=self._stderr)
        self.pid = self.process.pid if record is None else self._program()
        self.status = None

    def _program(self):
        """Our child is `unweave`; the program is its."""
        def find():
            if self.process.poll() is not None:
                raise AssertionError("it ended at once: " + self.words)
            return [pid for pid in descendants(self.process.pid) if executable(pid) == self.path]
        return wait_until(f"{self.path} starting", find)[0]

    @property
    def words(self):
        self._stderr.flush()
        with open(self._stderr.name, errors="replace") as file:
            return file.read()

    @property
    def output(self):
        with open(self._stdout.name, errors="replace") as file:
            return file.read()

    @property
    def own_words(self):
        """What the program said, without the recorder's."""
        return [line for line in self.words.splitlines()
                if not line.startswith(("unweave: ", "hint: "))]

    def send(self, number):
        os.kill(self.pid, number)

    def wait(self):
        self.status = self.process.wait(WAIT_S)
        return self.status

    def end(self, number=signal.SIGTERM):
        if self.status is None:
            self.send(number)
            self.wait()
        return self.status

    def abandon(self):
        """However a test ends, nothing of it keeps running."""
        if self.process.poll() is None:
            for pid in descendants(self.process.pid) + [self.process.pid]:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            self.process.wait(WAIT_S)


@contextmanager
def started(*arguments, **options):
    one = Started(*arguments, **options)
    try:
        yield one
    finally:
        one.abandon()


@contextmanager
def folder_of_our_own():
    """Anybody may write there: programs of root's become others."""
    with tempfile.TemporaryDirectory(prefix="unweave-packages-") as folder:
        os.chmod(folder, 0o777)
        yield folder


class Trace:
    """What the tool says of a recording."""

    def __init__(self, tools, path):
        self.tools, self.path = tools, path
        self.info = self.ask("info")
        self.report = self.ask("report")
        self.activities = self.ask("report", "-n", "0", "activities")["rows"]
        self.verified = subprocess.run([tools.unweave, "verify", path], capture_output=True, text=True,
                                       timeout=120, check=False)

    def ask(self, command, *arguments):
        said = subprocess.run([self.tools.unweave, command, "--json", *arguments[:-1], self.path,
                               *arguments[-1:]], capture_output=True, text=True, timeout=120, check=False)
        assert said.returncode == 0, f"{command} of {self.path}: {said.stderr}"
        return json.loads(said.stdout)

    def calls(self, *kinds):
        """How many callbacks of these kinds were called, or are to be."""
        return sum(row["tasks"] for row in self.activities
                   if row["kind"] in kinds and row["role"] is None)

    def named(self, name):
        """The same for callbacks whose names begin so."""
        return sum(row["tasks"] for row in self.activities
                   if row["activity"].startswith(name) and row["role"] is None)

    def chains(self):
        """For each activity, what it is and which calls it came about by, innermost first."""
        by_number = {row["row"]: row for row in self.activities}
        for row in self.activities:
            chain = []
            while row:
                if row["role"] is None or not chain:
                    chain.append(row["activity"])
                row = by_number.get(row["parent"])
            yield chain

    def check_chain(self, *names):
        """Some activity has a chain that begins with these: each is a part of the name there."""
        def fits(chain):
            return len(chain) >= len(names) and all(name in link for name, link in zip(names, chain))
        assert any(map(fits, self.chains())), "\n".join(" < ".join(chain) for chain in self.chains())

    def check_whole(self):
        assert self.verified.returncode == 0, self.verified.stderr
        assert self.info["closed"] and self.info["faults"] == 0, self.info
        assert sum(self.info["lost"].values()) == 0, self.info["lost"]
        # A recorder that gets no processor for some 50 ms may find their ring full, which it counts.
        samples = self.info["samples"]
        assert samples.get("lost", 0) <= samples.get("count", 0) // 20, samples


class Tap:
    def __init__(self):
        self.tests = self.failed = 0

    def check(self, sentence, test, *arguments):
        """One test, which holds unless it asserts otherwise. Returns what it returns."""
        self.tests += 1
        try:
            result = test(*arguments)
        except (AssertionError, AttributeError, OSError, LookupError, subprocess.SubprocessError) as error:
            self.failed += 1
            for line in f"{type(error).__name__}: {error}".splitlines()[-SAID_MAX:]:
                print("#", line[:400])
            print(f"not ok {self.tests} - {sentence}", flush=True)
            return None
        print(f"ok {self.tests} - {sentence}", flush=True)
        return result

    def finish(self):
        print(f"1..{self.tests}")
        sys.exit(1 if self.failed else 0)


def skip_all(why):
    print(f"1..0 # SKIP {why}")
    sys.exit(0)


def main(test):
    """Runs `test(tools, tap)` of a file that is called with UNWEAVE LOAD PACKAGES COUNTER."""
    tools, tap = Tools(*sys.argv[1:5]), Tap()
    try:
        test(tools, tap)
    except Missing as missing:
        skip_all(missing)
    tap.finish()
