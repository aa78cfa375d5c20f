"""The system's Chromium, headless: what a page asks for, complains of and looks like."""

from __future__ import annotations

import base64
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
INSTALL = "apt-get install chromium chromium-driver"

LOOK = """
const boxes = [...document.querySelectorAll('math')].map(m => m.getBoundingClientRect());
const raw = [...document.querySelectorAll('.bd-article p, .bd-article li, .bd-article td')]
    .filter(e => { const c = e.cloneNode(true);
                   c.querySelectorAll('code, pre, math').forEach(x => x.remove());
                   return /\\$\\$|\\\\(frac|sum|cdot|mathrm|text)\\b/.test(c.textContent); });
return {
  images: document.images.length,
  empty: [...document.images].filter(i => !i.complete || !i.naturalWidth).map(i => i.src),
  mute: [...document.images].filter(i => !i.alt.trim()).map(i => i.src.slice(0, 100)),
  formulas: boxes.length,
  invisible: boxes.filter(b => b.width < 2 || b.height < 4).length
             + document.querySelectorAll('merror').length,
  raw: raw.map(e => e.textContent.slice(0, 100)),
  wide: Math.max(document.documentElement.scrollWidth, document.body.scrollWidth),
  links: [...document.querySelectorAll('nav a[href]')].map(a => a.href.split('#')[0]),
  next: document.querySelector('a.right-next')?.href ?? '',
  text: document.querySelector('.bd-article')?.innerText.length ?? 0,
}
"""


@dataclass(frozen=True)
class Sight:
    """What a page showed, and all that was wrong with how it came."""

    page: dict[str, Any]
    problems: list[str]


def missing() -> str:
    """What keeps the browser from running, or nothing."""
    if not shutil.which("chromedriver") or not any(map(shutil.which, BROWSERS)):
        return f"no Chromium with its driver: {INSTALL}"
    return ""


def require() -> None:
    """Fail in CI, skip elsewhere, when there is no browser."""
    if why := missing():
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why)


class Browser:
    """A headless browser that visits pages of one server."""

    def __init__(self, driver: Any, base: str) -> None:
        self.driver, self.base, self.width = driver, base, 0

    def resize(self, width: int, height: int = 900) -> None:
        """Set the size of the window in CSS pixels; below 500 a window itself cannot go."""
        self.width = width
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def visit(self, name: str) -> Sight:
        """Load a page and look at it."""
        self.driver.get(f"{self.base}/{name}")
        page = self.driver.execute_script(LOOK)
        return Sight(page, [*self._complaints(), *self._requests()])

    def screenshot(self, file: Path, limit: int = 6000) -> None:
        """Save the page from its top, at most ``limit`` pixels of it."""
        width = self.width
        extent = self.driver.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
        # A window as tall as the page: what lies beyond a window is not always laid out for it.
        self.resize(width, min(int(extent["height"]), limit))
        shot = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
        file.write_bytes(base64.b64decode(shot["data"]))
        self.resize(width)

    def _complaints(self) -> Iterator[str]:
        for entry in self.driver.get_log("browser"):
            if entry["level"] in ("SEVERE", "WARNING"):
                yield f"console: {entry['message']}"

    def _requests(self) -> Iterator[str]:
        for entry in self.driver.get_log("performance"):
            event = json.loads(entry["message"])["message"]
            about = event["params"]
            if event["method"] == "Network.requestWillBeSent":
                url = about["request"]["url"]
                if not url.startswith((f"{self.base}/", "data:", "blob:")):
                    yield f"asks for {url[:200]}"
            elif event["method"] == "Network.responseReceived":
                if about["response"]["status"] >= 400:
                    yield f"{about['response']['status']}: {about['response']['url']}"
            elif event["method"] == "Network.loadingFailed" and not about.get("canceled"):
                yield f"a request failed: {about['errorText']}"


@contextmanager
def opened(base: str, profile: Path) -> Iterator[Browser]:
    """A browser with an empty profile; it ends with the block."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = next(filter(None, map(shutil.which, BROWSERS)))
    arguments = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage"]
    arguments += ["--hide-scrollbars", "--no-first-run", f"--user-data-dir={profile}"]
    if os.geteuid() == 0:  # Chromium refuses its sandbox to root
        arguments.append("--no-sandbox")
    for argument in arguments:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    try:
        # What the browser's own first page asks for is nobody's fault.
        driver.get("about:blank")
        for kind in ("browser", "performance"):
            driver.get_log(kind)
        yield Browser(driver, base)
    finally:
        driver.quit()
