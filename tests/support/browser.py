"""A headless Chromium, steered by its DevTools pipe: pages of any width, keys, the console."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")

#: The descriptors on which Chromium reads requests and writes responses.
_REQUESTS, _RESPONSES = 3, 4
_QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run", "--hide-scrollbars"),
    "--remote-debugging-pipe",
)
_CONSOLE = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
#: A page that does not respond for so long is broken.
_PATIENCE_S = 60


#: Pairs of texts of which one covers a part of the other, as far as they can be seen.
_OVERLAPS = """(() => {
  const seen = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, around = node.parentElement, text = node.data.trim();
    if (!text || around.closest("script, style, noscript, option, .skip")) continue;
    if (getComputedStyle(around).opacity === "0") continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const isDrawn = around.closest("svg") !== null;
    for (const line of isDrawn ? [around.getBoundingClientRect()] : range.getClientRects()) {
      let { left, right, top, bottom } = line;
      // What is scrolled out of sight within an element is in nobody's way.
      for (let each = around; each !== document.documentElement; each = each.parentElement) {
        if (getComputedStyle(each).overflow === "visible") continue;
        const clip = each.getBoundingClientRect();
        left = Math.max(left, clip.left); right = Math.min(right, clip.right);
        top = Math.max(top, clip.top); bottom = Math.min(bottom, clip.bottom);
      }
      if (right - left > 1 && bottom - top > 1 && right > 0)
        seen.push({ node, text, left, right, top, bottom });
    }
  }
  seen.sort((one, other) => one.top - other.top);
  const overlaps = [];
  seen.forEach((one, at) => {
    for (let next = at + 1; next < seen.length && seen[next].top < one.bottom; next++) {
      const other = seen[next];
      const wide = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const high = Math.min(one.bottom, other.bottom) - other.top;
      // The box of a line is higher than its letters: a third of it may be shared.
      const slack = Math.min(one.bottom - one.top, other.bottom - other.top) / 3;
      if (one.node !== other.node && wide > 1 && high > slack)
        overlaps.push([one.text, other.text].sort());
    }
  });
  return overlaps;
})()"""


class Page:
    """A page of the browser."""

    def __init__(self, requests: int, responses: int) -> None:
        self._requests, self._responses = requests, responses
        self._received = b""
        self._number = 0
        self._session: str | None = None
        #: All that the console said since the page was opened.
        self.said: list[str] = []
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._ask("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log"):
            self._ask(f"{domain}.enable")

    def open(
        self,
        file: Path,
        fragment: str = "",
        *,
        width: int = 1280,
        height: int = 800,
        theme: str = "light",
        is_calm: bool = False,
    ) -> None:
        """Load a file, in a window of this size in CSS pixels."""
        self._ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        motion = "reduce" if is_calm else "no-preference"
        self._ask(
            "Emulation.setEmulatedMedia",
            features=[
                {"name": "prefers-color-scheme", "value": theme},
                {"name": "prefers-reduced-motion", "value": motion},
            ],
        )
        self._ask("Page.navigate", url="about:blank")
        self.said.clear()
        self._ask("Page.navigate", url=f"{file.resolve().as_uri()}{fragment}")
        self.wait_for("document.readyState === 'complete'")

    def value(self, expression: str) -> Any:
        """The value of an expression of JavaScript; of a promise what comes of it."""
        done = self._ask(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def wait_for(self, condition: str) -> None:
        """Wait until an expression of JavaScript is true."""
        until = time.monotonic() + _PATIENCE_S
        while not self.value(condition):
            assert time.monotonic() < until, f"{condition}: never; the console said {self.said}"
            time.sleep(0.02)

    def press(self, key: str, *, shift: bool = False) -> None:
        """Press a key, as the keyboard does: ``ArrowLeft``, `` ``."""
        code = "Space" if key == " " else key
        text = {"text": key} if len(key) == 1 else {}
        modifiers = 8 if shift else 0
        for event in ("keyDown", "keyUp"):
            self._ask(
                "Input.dispatchKeyEvent",
                type=event,
                key=key,
                code=code,
                modifiers=modifiers,
                **(text if event == "keyDown" else {}),
            )

    def click(self, x: float, y: float) -> None:
        """Click at a place of the window."""
        for event in ("mouseMoved", "mousePressed", "mouseReleased"):
            self._ask(
                "Input.dispatchMouseEvent",
                type=event,
                x=x,
                y=y,
                button="left",
                clickCount=1,
            )

    def picture(self, file: Path, *, whole: bool = True) -> None:
        """Write what the page looks like, as PNG."""
        done = self._ask("Page.captureScreenshot", captureBeyondViewport=whole)
        file.write_bytes(base64.b64decode(done["data"]))

    def printed(self) -> bytes:
        """What it is on paper, as PDF."""
        return base64.b64decode(self._ask("Page.printToPDF")["data"])

    def overlaps(self) -> list[tuple[str, str]]:
        """Pairs of texts of which one covers a part of the other."""
        return [(one, other) for one, other in self.value(_OVERLAPS)]

    def _ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        request: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            request["sessionId"] = self._session
        os.write(self._requests, json.dumps(request).encode() + b"\0")
        while True:
            response = self._next()
            if response.get("id") == self._number:
                assert "error" not in response, response["error"]
                done: dict[str, Any] = response["result"]
                return done
            if response.get("method") in _CONSOLE:
                self.said.append(_text(response["params"]))

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._received:
            ready, _, _ = select.select([self._responses], [], [], _PATIENCE_S)
            part = os.read(self._responses, 1 << 20) if ready else b""
            assert part, "the browser does not respond"
            self._received += part
        line, _, self._received = self._received.partition(b"\0")
        response: dict[str, Any] = json.loads(line)
        return response


def _text(event: Mapping[str, Any]) -> str:
    if "entry" in event:
        return str(event["entry"]["text"])
    if "exceptionDetails" in event:
        return json.dumps(event["exceptionDetails"].get("exception", event["exceptionDetails"]))
    return " ".join(str(each.get("value", each)) for each in event["args"])


@contextmanager
def opened_browser(folder: Path) -> Iterator[Page]:
    """A browser with one page; its profile is written to the folder."""
    assert BROWSER is not None
    to_browser, from_browser = os.pipe(), os.pipe()
    # The shell puts the pipes where Chromium expects them.
    command = f'exec "$0" "$@" {_REQUESTS}<&{to_browser[0]} {_RESPONSES}>&{from_browser[1]}'
    browser = subprocess.Popen(
        ["bash", "-c", command, BROWSER, *_QUIET, f"--user-data-dir={folder / 'browser'}"],
        pass_fds=(to_browser[0], from_browser[1]),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(to_browser[0])
    os.close(from_browser[1])
    try:
        yield Page(to_browser[1], from_browser[0])
    finally:
        browser.terminate()
        browser.wait()
        os.close(to_browser[1])
        os.close(from_browser[0])
