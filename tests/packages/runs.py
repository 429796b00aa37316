# SPDX-License-Identifier: Apache-2.0
"""One program run twice, by itself and recorded, and what both must have in common."""
import difflib
import os
import re
import shutil

import harness

# UNWEAVE_KEEP names a folder where recordings stay, for somebody who looks into them.


class Run:
    """What is left of a program that was driven and has ended."""

    def __init__(self, drive, make, tools, record=None, preload=None):
        with harness.folder_of_our_own() as folder:
            program = make(tools, folder)
            if preload:
                program.preload = preload
                program.environment["COUNT_FILE"] = os.path.join(folder, "count")
            self.folder, self.program = folder, program
            with program.start(record=record) as running:
                self.running = running
                self.result = drive(program, running)
                self.status = running.wait()
            self.words, self.own_words, self.output = running.words, running.own_words, running.output
            self.ready = self._ready()
            self.traces = self._traces() if record is not None else []
            self.trace = self.traces[0] if self.traces else None
            if os.environ.get("UNWEAVE_KEEP") and self.traces:
                shutil.copytree(folder, os.environ["UNWEAVE_KEEP"], dirs_exist_ok=True,
                                ignore=shutil.ignore_patterns("*.sock", "bus", "proxy"))

    def _ready(self):
        """What the independent counter says: how often a library was told that something is ready."""
        try:
            with open(os.path.join(self.folder, "count")) as file:
                return [int(line) for line in file]
        except OSError:
            return []

    def _traces(self):
        names = sorted(name for name in os.listdir(self.folder) if name.endswith(".unw"))
        return [harness.Trace(self.running.tools, os.path.join(self.folder, name)) for name in names]

    def normal_words(self):
        """Its words without what differs from run to run: times, ports, folders, pids."""
        lines = [line for line in self.own_words if not any(some in line for some in self.program.sometimes)]
        text = "\n".join(lines).replace(self.folder, "FOLDER")
        text = re.sub(r"\d\d-\w{3}-\d{4} [\d:.]+ ", "", text)
        # Threads may come to word in another order.
        return sorted(re.sub(r"\d{3,}", "N", text).splitlines())


class Pair:
    """Both runs; the checks that all programs share."""

    def __init__(self, tap, tools, make, drive, record=(), preload=None):
        self.tap = tap
        self.plain = Run(drive, make, tools)
        self.recorded = Run(drive, make, tools, record=list(record), preload=preload)
        self.trace = self.recorded.trace

    def check_behaviour(self, name, status=(0, 0)):
        """`status` is how it ends by itself, and recorded."""
        tap, plain, recorded = self.tap, self.plain, self.recorded

        def same():
            assert recorded.result == plain.result, f"{recorded.result}\nnot {plain.result}"
            assert recorded.output == plain.output, f"{recorded.output}\nnot {plain.output}"

        def same_end():
            assert plain.status == status[0], plain.words
            assert recorded.status == status[1], recorded.words
            other = difflib.unified_diff(plain.normal_words(), recorded.normal_words(), n=0, lineterm="")
            assert recorded.normal_words() == plain.normal_words(), "\n".join(other)

        tap.check(f"{name} does under record what it does without", same)
        tap.check("it ends as without, and says the same", same_end)

    def check_trace(self, library):
        tap, recorded = self.tap, self.recorded

        def took_hold():
            assert re.search(rf"^unweave: adapters: {library} [\d.]+\S*$", recorded.words, re.M), recorded.words
            assert [(one["library"], one["took_hold"]) for one in self.trace.info["adapters"]
                    if one["library"] == library] == [(library, True)], self.trace.info["adapters"]

        def whole():
            assert recorded.traces, recorded.words
            for trace in recorded.traces:
                trace.check_whole()

        def quiet():
            # A machine that stops for a while makes for long runs and late tasks, which is true.
            told = [one["text"] for trace in recorded.traces for one in trace.report["warnings"]
                    if one["kind"] not in ("run", "queue")]
            assert not told, told

        tap.check(f"record says that its adapter for {library} took hold", took_hold)
        tap.check("the trace is whole, and no event was lost", whole)
        tap.check("nothing is warned of", quiet)

    def check_loops(self, least):
        def loops():
            found = [loop for loop in self.trace.report["loops"] if loop["iterations"] > 0]
            assert len(found) >= least, f"{len(found)} loops"
            for loop in found:
                assert 0 <= loop["idle_percent"] <= 100 and loop["lag_max_ns"] >= loop["lag_median_ns"], loop
            assert sum(loop["runs"] for loop in found) > 0, found

        self.tap.check("its loops are seen", loops)

    def check_samples(self, some=True):
        """`some`: its callbacks are long enough to be hit for sure."""
        def splices():
            samples = self.trace.report["samples"]
            # Many more, unless the recorder hardly gets a processor.
            assert samples["taken"] >= 5, samples
            outcomes = samples["outcomes"]
            inside = samples["taken"] - outcomes["no_task"]
            assert inside > 0 or not some, samples
            assert outcomes["mismatch"] == 0, samples
            # One in a hundred is cut where nothing says how to go on; of few samples it may be more.
            assert inside - outcomes["exact"] <= 3 + 0.03 * inside, samples

        self.tap.check("samples in callbacks have the callback's chain", splices)
