# SPDX-License-Identifier: Apache-2.0
"""Chromium without a window, through chromedriver's HTTP interface; standard library only."""
import base64
import http.client
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"Escape": "\ue00c", "Enter": "\ue007", "Left": "\ue012", "Up": "\ue013", "Right": "\ue014", "Down": "\ue015"}
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-extensions", "--disable-dev-shm-usage", "--disable-default-apps", "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND", "--proxy-server=127.0.0.1:9",
]


def missing():
    """What is not installed, or None."""
    for program in ("chromium", "chromedriver"):
        if not shutil.which(program):
            return program
    return None


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Browser:
    def __init__(self, width=1440, height=900, scale=1, dark=False):
        self.home = tempfile.mkdtemp(prefix="unweave-browser.")
        self.port = free_port()
        environment = dict(os.environ, HOME=self.home)
        self.driver = subprocess.Popen(
            ["chromedriver", f"--port={self.port}"], env=environment,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.session = self.begin(width, height, scale, dark)
        except BaseException:
            self.close()
            raise

    def begin(self, width, height, scale, dark):
        arguments = FLAGS + [f"--user-data-dir={self.home}/profile", f"--window-size={width},{height}",
                             f"--force-device-scale-factor={scale}"]
        self.wait_for_driver()
        self.session = None
        reply = self.request("POST", "/session", {"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": {"args": arguments, "binary": shutil.which("chromium")},
            "goog:loggingPrefs": {"browser": "ALL"},
        }}})
        self.session = reply["sessionId"]
        self.call("POST", "/goog/cdp/execute", {"cmd": "Emulation.setDeviceMetricsOverride", "params": {
            "width": width, "height": height, "deviceScaleFactor": scale, "mobile": False}})
        self.prefer("dark" if dark else "light")
        return self.session

    def wait_for_driver(self):
        end = time.monotonic() + 30
        while time.monotonic() < end:
            try:
                if self.request("GET", "/status")["ready"]:
                    return
            except OSError:
                time.sleep(0.05)
        raise TimeoutError("chromedriver does not answer")

    def request(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
            value = json.loads(connection.getresponse().read())["value"]
        finally:
            connection.close()
        if isinstance(value, dict) and "error" in value:
            raise RuntimeError(f"{path}: {value['error']}: {value.get('message', '')}")
        return value

    def call(self, method, path, body=None):
        return self.request(method, f"/session/{self.session}{path}", body)

    def prefer(self, scheme):
        self.call("POST", "/goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": {
            "features": [{"name": "prefers-color-scheme", "value": scheme},
                         {"name": "prefers-reduced-motion", "value": "reduce"}]}})

    def open(self, path):
        self.call("POST", "/url", {"url": "file://" + os.path.abspath(path)})

    def run(self, script, *arguments):
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def text(self, selector):
        return self.run("const e = document.querySelector(arguments[0]); return e && !e.hidden ? e.innerText : null", selector)

    def click(self, selector):
        found = self.call("POST", "/element", {"using": "css selector", "value": selector})
        self.call("POST", f"/element/{found[ELEMENT]}/click", {})

    def pointer(self, actions):
        self.call("POST", "/actions", {"actions": [
            {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": actions}]})

    def move_to(self, x, y):
        self.pointer([{"type": "pointerMove", "duration": 0, "x": int(x), "y": int(y)}])

    def click_at(self, x, y):
        self.pointer([{"type": "pointerMove", "duration": 0, "x": int(x), "y": int(y)},
                      {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}])

    def press(self, *keys):
        actions = []
        for key in keys:
            value = KEYS.get(key, key)
            actions += [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def console(self):
        """What the page said since the last call: errors, warnings, anything."""
        return [entry["message"] for entry in self.call("POST", "/se/log", {"type": "browser"})]

    def screenshot(self, path):
        with open(path, "wb") as to:
            to.write(base64.b64decode(self.call("GET", "/screenshot")))

    def close(self):
        try:
            if getattr(self, "session", None):
                self.call("DELETE", "")
        except (OSError, RuntimeError):
            pass
        self.driver.terminate()
        try:
            self.driver.wait(10)
        except subprocess.TimeoutExpired:
            self.driver.kill()
            self.driver.wait()
        shutil.rmtree(self.home, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
