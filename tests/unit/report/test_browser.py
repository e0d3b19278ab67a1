"""The report in a real browser: a headless Chromium of the distribution, as `make test` installs it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hpcprov.report import render
from playwright.sync_api import Browser, Page, sync_playwright

from . import results_of_runs as runs

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
PHONE, DESK = (360, 740), (1280, 900)
# One worker for all of it: a browser is started once.
pytestmark = pytest.mark.xdist_group("browser")

# Each text that is seen: its colour against the first background behind it, by WCAG 2.
CONTRASTS = """() => {
  const rgb = text => (text.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number);
  const luminance = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const behind = element => {
    for (let at = element; at; at = at.parentElement) {
      const color = rgb(getComputedStyle(at).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.getClientRects().length) continue;
    if (['title', 'desc'].includes(element.tagName)) continue;
    const style = getComputedStyle(element);
    const color = rgb(element instanceof SVGElement ? style.fill : style.color);
    const [high, low] = [luminance(color), luminance(behind(element))].sort((a, b) => b - a);
    found.push([walker.currentNode.data.trim().slice(0, 40), (high + .05) / (low + .05)]);
  }
  return found;
}"""


@dataclass
class Shown:
    """A page in the browser, what it complained about, and what it asked the network for."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression there."""
        return self.page.evaluate(script)


Show = Callable[..., Shown]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    assert found, "no Chromium here: make browser"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def show(browser: Browser, tmp_path: Path) -> Iterator[Show]:
    pages: list[Page] = []

    def show(run: str, size: tuple[int, int] = DESK, scheme: Any = "light") -> Shown:
        file = tmp_path / f"{run}.html"
        file.write_text(render(runs.RUNS[run]()), encoding="utf-8")
        page = browser.new_page(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)
        pages.append(page)
        shown = Shown(page)
        page.on("console", lambda message: shown.complaints.append(message.text))
        page.on("pageerror", lambda error: shown.complaints.append(str(error)))
        page.on("dialog", lambda dialog: shown.complaints.append(dialog.message) or dialog.dismiss())
        page.on("request", lambda request: shown.requests.append(request.url))
        page.goto(file.as_uri())
        shown.requests = [url for url in shown.requests if url != file.as_uri() and not url.startswith("data:")]
        return shown

    yield show
    for page in pages:
        page.close()


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
@pytest.mark.parametrize("run", runs.RUNS)
def test_fits_and_asks_for_nothing(show: Show, run: str, size: tuple[int, int]) -> None:
    shown = show(run, size)
    assert shown.complaints == [] and shown.requests == []
    assert shown.run("document.documentElement.scrollWidth") <= size[0]
    beyond = "[...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1)"
    assert shown.run(f"{beyond}.map(e => e.outerHTML.slice(0, 100))") == []
    # The verdict is what is seen first, on a phone too.
    assert shown.page.locator("h1").bounding_box()["y"] < 80  # type: ignore[index]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "run", ["passed", "not_proven", "failed_verify", "failed_converge", "unfit", "large", "checked"]
)
def test_every_text_can_be_read(show: Show, run: str, scheme: str) -> None:
    contrasts = show(run, scheme=scheme).run(CONTRASTS)
    assert len(contrasts) > 50
    assert [item for item in contrasts if item[1] < 4.5] == []


def test_dark_is_dark(show: Show) -> None:
    background = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"
    assert min(show("passed").run(background)) > 200
    assert max(show("passed", scheme="dark").run(background)) < 60


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
def test_charts_are_drawn_and_have_words(show: Show, size: tuple[int, int]) -> None:
    shown = show("passed", size)
    boxes = "[...document.querySelectorAll('.phases rect, .curve polyline')].map(e => e.getBoundingClientRect())"
    drawn = shown.run(f"{boxes}.map(box => [box.width, box.height])")
    assert len(drawn) == 12 + 2  # smoke has two spans
    assert all(width >= 1 and height >= 8 for width, height in drawn)
    longest = max(drawn[:12])[0]
    assert longest > 0.35 * shown.run("document.querySelector('.phases tbody .bar').getBoundingClientRect().width")
    assert shown.page.get_by_role("img", name="base: 38.3 s").count() == 1
    assert shown.page.get_by_role("img", name="Training loss of each epoch").count() == 1
    labels = "[...document.querySelectorAll('.phases thead text')].map(e => e.getBoundingClientRect())"
    ends = shown.run(f"{labels}.map(box => [box.left, box.right])")
    assert all(left[1] < right[0] for left, right in pairwise(ends)), "labels run into each other"
    shown.page.get_by_text("Loss and accuracy as a table").click()
    assert shown.page.get_by_role("cell", name="0.9722").is_visible()


@pytest.mark.parametrize(
    ("run", "texts"),
    [
        ("failed_verify", ["Munge credentials are accepted both ways", "unmunge on head says: Invalid credential"]),
        ("failed_converge", ["slurmctld is not active: it ended with exit code 1", "journalctl -u slurmctld"]),
        ("unfit", ["its clock is 7.2 s behind the control host", "systemctl start chrony"]),
        ("unreachable", ["no route to host: 10.1.1.2 port 22", "ssh 10.1.1.2"]),
    ],
)
def test_what_is_wrong_is_seen(show: Show, run: str, texts: list[str]) -> None:
    shown = show(run, PHONE)
    for text in texts:
        assert shown.page.locator(".problem").get_by_text(text).first.is_visible()


def test_thousands_of_hosts_are_folded(show: Show) -> None:
    shown = show("large")
    assert shown.page.locator(".card").count() < 20
    assert shown.page.locator(".card h3").first.inner_text() == "node0003"
    assert not shown.page.get_by_role("cell", name="node3999").is_visible()
    shown.page.get_by_text("Each of the 4,004 hosts").click()
    assert shown.page.get_by_text("node3999", exact=True).is_visible()
    assert shown.run("document.documentElement.scrollWidth") <= DESK[0]


@pytest.mark.parametrize(("run", "verdict", "most"), [("passed", "Passed", 2), ("failed_verify", "Failed", 2),
                                                      ("large", "Failed", 3)])  # fmt: skip
def test_prints(show: Show, run: str, verdict: str, most: int) -> None:
    shown = show(run, scheme="dark")
    document = shown.page.pdf(prefer_css_page_size=True, print_background=True, tagged=True)
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b", document)) <= most
    shown.page.emulate_media(media="print")
    assert shown.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert shown.page.locator("h1").inner_text() == verdict and shown.page.locator("h1").is_visible()
    assert shown.page.locator(".command").is_visible()
    assert [item for item in shown.run(CONTRASTS) if item[1] < 4.5] == []
