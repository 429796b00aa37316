#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The flame graph's page in Chromium: opens it, hovers, clicks, types, and looks at what it shows.

usage: test_flame.py PAGES UNWEAVE TRACE [PICTURES]
PAGES is the program that writes the pages, but for that of the command, which is of TRACE.
Pictures of them are left in the folder PICTURES.
"""
import os
import re
import subprocess
import sys
import tempfile
import traceback

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from browser import Browser, missing  # noqa: E402

PAD = 10  # as in src/view/flame/draw.js
CPU = 5100  # ms of samples in server.html
LOAD_MS = 2000  # a page with more than 100,000 stacks is there by then
RESPONSE_MS = 1000  # and answers by then


class Test:
    def __init__(self, browser, folder, tool, trace, pictures):
        self.browser, self.folder, self.tool, self.trace, self.pictures = browser, folder, tool, trace, pictures
        self.complaints = []  # of the browser about our pages

    def open(self, name):
        self.browser.open("about:blank")
        self.browser.open(os.path.join(self.folder, name))

    def point(self, depth, fraction, icicle=False):
        """Where a frame is in the window: so deep, and so far from the left of all."""
        box = self.browser.run("const b = document.getElementById('canvas').getBoundingClientRect(); return [b.x, b.y, b.width, b.height, Number(document.getElementById('canvas').dataset.row)]")
        x = box[0] + PAD + fraction * (box[2] - 2 * PAD)
        y = box[1] + PAD + (depth + 0.5) * box[4] if icicle else box[1] + box[3] - PAD - (depth + 0.5) * box[4]
        return x, y

    def hover(self, depth, fraction, icicle=False):
        self.browser.move_to(*self.point(depth, fraction, icicle))
        return self.browser.text("#tip")

    def click(self, depth, fraction):
        self.browser.click_at(*self.point(depth, fraction))

    def type(self, text):
        self.browser.run("const s = document.getElementById('search'); s.focus(); s.select()")
        self.browser.press(*text)
        return self.browser.text("#matched")

    def picture(self, name):
        if self.pictures:
            self.browser.screenshot(os.path.join(self.pictures, name + ".png"))


def expect(got, *wanted):
    for part in wanted:
        if got is None or part not in got:
            raise AssertionError(f"expected {part!r} in {got!r}")


def same(got, wanted):
    if got != wanted:
        raise AssertionError(f"expected {wanted!r}, got {got!r}")


def the_header_says_what_was_recorded_and_lost(t):
    t.open("server.html")
    same(t.browser.run("return document.title"), "server.unw: ./server --port 8080")
    expect(t.browser.text("#facts"), "12.3 s", "18,342 tasks", "5,100 samples", "99.6 % splice coverage", "12 events lost")
    t.picture("flame-light")


def hovering_says_function_module_place_and_times(t):
    expect(t.hover(6, 1200 / CPU), "sha256_block", "libcrypto.so.3", "native", "2.40 s", "47.1 %", "2,400")
    expect(t.hover(3, 1000 / CPU), "load_user", "server · src/server.c:63", "running task", "total", "2.98 s", "58.4 %", "0 ns")
    expect(t.hover(1, 1000 / CPU), "serve_connection", "awaits")
    t.picture("flame-tooltip")


def clicking_a_frame_zooms_and_back_shows_all_again(t):
    t.click(4, 1000 / CPU)
    expect(t.browser.text("#path"), "check_password")
    # It fills the width now, and so do those that it is called from.
    expect(t.hover(4, 0.999), "check_password", "2.64 s")
    expect(t.hover(6, 0.9), "sha256_block", "of the zoomed frame", "90.9 %")
    t.picture("flame-zoomed")
    t.browser.run("history.back()")
    t.browser.run("return new Promise((done) => setTimeout(done, 100))")
    same(t.browser.text("#path"), None)
    expect(t.hover(1, 0.99), "accept_loop")


def escape_shows_all_again(t):
    t.click(3, 3500 / CPU)
    expect(t.browser.text("#path"), "render_page")
    t.browser.press("Escape")
    same(t.browser.text("#path"), None)
    expect(t.hover(0, 0.5), "all", "5.10 s")


def keys_move_and_zoom(t):
    t.browser.run("document.getElementById('canvas').focus()")
    t.browser.press("Up", "Up", "Up", "Right")
    expect(t.browser.run("return document.getElementById('said').textContent"), "render_page", "24.3 %")
    t.browser.press("Enter")
    expect(t.browser.text("#path"), "render_page")
    t.browser.press("Escape")
    same(t.browser.text("#path"), None)


def a_search_counts_what_is_inside_of_a_match_once(t):
    expect(t.type("json_encode_value"), "20.6 % matched", "1.05 s")
    t.picture("flame-search")
    t.browser.press("Escape")
    same(t.browser.text("#matched"), "")


def a_search_may_be_a_regular_expression(t):
    expect(t.type("^(sha256_|memc)"), "nothing found")
    t.browser.click("#regex")
    expect(t.browser.text("#matched"), "54.3 % matched")  # 2400 + 180 + 190
    expect(t.type("("), "no regular expression")
    t.browser.click("#regex")
    t.browser.press("Escape")


def the_widths_can_be_cpu_wait_and_wall(t):
    t.browser.click("#metric [data-value=wait]")
    expect(t.hover(0, 0.5), "all", "10.0 s", "of it queued", "1.00 s")
    expect(t.hover(4, 0.1), "wait_for_reply", "6.00 s", "800 ms", "5,200")
    t.picture("flame-wait")
    t.browser.press("3")
    expect(t.hover(0, 0.5), "14.6 s")
    t.picture("flame-wall")
    t.browser.click("#metric [data-value=cpu]")
    expect(t.hover(0, 0.5), "5.10 s")


def a_frame_leads_to_the_tasks_behind_it(t):
    t.click(4, 1000 / CPU)
    if t.browser.run("return document.getElementById('panel').hidden"):
        t.browser.click("#panel-toggle")
    expect(t.browser.text("#tasks"), "GET /user/1", "33554456", "≥ 660 ms", "GET /user/4")
    t.browser.click("#tasks tbody button")
    expect(t.browser.text("#matched"), "25.0 % matched", "660 ms")
    t.picture("flame-tasks")
    t.browser.press("Escape", "Escape")
    t.browser.press("t")
    same(t.browser.run("return document.getElementById('panel').hidden"), True)
    t.browser.press("t")
    expect(t.browser.text("#functions"), "sha256_block", "47.1 %")


def the_root_can_be_at_the_top(t):
    t.browser.click("#orientation [data-value=icicle]")
    expect(t.hover(0, 0.5, icicle=True), "all")
    expect(t.hover(6, 1200 / CPU, icicle=True), "sha256_block")
    t.picture("flame-icicle")
    t.browser.press("i")
    expect(t.hover(6, 1200 / CPU), "sha256_block")


def it_is_dark_where_that_is_preferred_and_by_a_button(t):
    paper = "return getComputedStyle(document.body).backgroundColor"
    light = t.browser.run(paper)
    t.browser.click("#theme")
    dark = t.browser.run(paper)
    if light == dark:
        raise AssertionError(f"{light} is light and dark")
    t.browser.prefer("dark")
    t.open("server.html")
    same(t.browser.run(paper), dark)
    t.picture("flame-dark")
    t.browser.click("#colours [data-value=module]")
    expect(t.browser.text("#legend"), "libcrypto.so.3", "server")
    t.picture("flame-dark-module")
    t.browser.prefer("light")


def a_comparison_shows_both_figures(t):
    t.open("compared.html")
    expect(t.browser.text("#facts"), "against yesterday.unw")
    expect(t.hover(6, 1200 / CPU), "in this trace", "2.40 s", "in the other", "1.10 s", "26.4 %", "+78.0 %")
    expect(t.browser.text("#legend"), "or gone", "or new")
    t.picture("flame-compared")
    t.browser.click("#side [data-value='1']")
    expect(t.hover(0, 0.5), "4.16 s")


def hostile_names_are_only_text(t):
    t.open("hostile.html")
    expect(t.browser.run("return document.title"), "</title><script>")
    same(t.browser.run("return document.querySelectorAll('main script, main img').length"), 0)
    expect(t.browser.text("#functions"), "</script><script>document.title='owned'</script>", "__proto__", "\ufffd")
    expect(t.browser.text("#tasks"), "<img src=x", "18446744073709551615")
    t.open("hostile.svg")
    same(t.browser.run("return document.querySelectorAll('script, img').length"), 0)


def a_trace_without_samples_says_so(t):
    t.open("empty.html")
    expect(t.browser.text("#empty"), "There are no CPU samples in this trace.")
    t.browser.press("2")
    expect(t.browser.text("#empty"), "No task waited")


def a_picture_needs_no_script(t):
    t.open("server.svg")
    expect(t.browser.run("return document.documentElement.textContent"), "sha256_block", "12 events lost")
    same(t.browser.run("return document.querySelectorAll('g > title').length === document.querySelectorAll('g > rect:first-of-type').length"), True)
    t.picture("flame-svg")


def what_the_command_writes_is_such_a_page(t):
    page = os.path.join(t.folder, "command.html")
    subprocess.run([t.tool, "flame", "--no-files", "--wall", "--by-task", "-o", page, t.trace], check=True)
    t.open("command.html")
    expect(t.browser.run("return document.title"), os.path.basename(t.trace))
    expect(t.hover(0, 0.5), "all", "100.0 %")
    same(t.browser.run("return document.querySelectorAll('#tasks tbody tr').length > 0"), True)
    t.picture("flame-command")


def a_hundred_thousand_stacks_load_in_two_seconds(t):
    times = []
    for _ in range(3):
        t.open("big.html")
        times.append(int(t.browser.run("return document.body.dataset.ready")))
    print(f"# loaded in {min(times)} ms")
    if min(times) > LOAD_MS:
        raise AssertionError(f"loaded in {times} ms")
    t.picture("flame-big")


def a_hundred_thousand_stacks_stay_interactive(t):
    timed = "const start = performance.now(); %s; return performance.now() - start"
    actions = {
        "search": timed % "const s = document.getElementById('search'); s.value = 'step_37'; s.dispatchEvent(new Event('input'))",
        "wait": timed % "document.querySelector('[data-value=wait]').click()",
        "icicle": timed % "document.querySelector('[data-value=icicle]').click()",
    }
    # A page that was just opened has nothing ready from the time before.
    times = {what: [] for what in actions}
    for _ in range(3):
        t.open("big.html")
        for what, script in actions.items():
            times[what].append(t.browser.run(script))
    print("# " + ", ".join(f"{what} {min(took):.0f} ms" for what, took in times.items()))
    if max(min(took) for took in times.values()) > RESPONSE_MS:
        raise AssertionError(f"slow: {times}")
    expect(t.browser.text("#matched"), "matched")
    t.browser.press("Escape")
    expect(t.hover(2, 0.1, icicle=True), "step_")


def nothing_was_complained_of_or_fetched(t):
    same(t.complaints, [])
    t.open("server.html")
    same(t.browser.run("return performance.getEntriesByType('resource').map((entry) => entry.name)"), [])


TESTS = [value for value in list(globals().values())
         if callable(value) and getattr(value, "__code__", None) and value.__code__.co_varnames[:1] == ("t",)
         and value.__code__.co_argcount == 1]


def run_all(folder, tool, trace, pictures):
    failed = 0
    with Browser() as browser:
        t = Test(browser, folder, tool, trace, pictures)
        for number, test in enumerate(TESTS, 1):
            try:
                test(t)
                verdict = "ok"
            except (AssertionError, RuntimeError) as error:
                for line in "".join(traceback.format_exception(error)).splitlines():
                    print("# " + line)
                verdict = "not ok"
                failed += 1
                t.picture(f"failed-{number}")
            t.complaints += browser.console()
            print(f"{verdict} {number} - {re.sub('_', ' ', test.__name__)}", flush=True)
    print(f"1..{len(TESTS)}")
    return failed


def main():
    if missing():
        print(f"1..0 # SKIP {missing()} is not installed")
        return 0
    pages, tool, trace = sys.argv[1:4]
    pictures = sys.argv[4] if len(sys.argv) > 4 else None
    if pictures:
        os.makedirs(pictures, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="unweave-pages.") as folder:
        subprocess.run([pages, folder], check=True)
        return 1 if run_all(folder, tool, trace, pictures) else 0


sys.exit(main())
