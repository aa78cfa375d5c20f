"""A timeline as SVG that explains itself: every bar says what it is, the wheel zooms, a drag moves.

Without scripts, in a viewer that allows none, it is the same picture, standing still.
"""

from __future__ import annotations

import re
from html import escape

from spyrelab.timing import Estimate
from spyrelab.viz.events import Event, engine_events
from spyrelab.viz.timeline import ENGINE_COLOURS

__all__ = ["timeline_svg"]

WIDTH, LEFT, LANE, TOP = 900, 110, 22, 26
"""Of the drawing, in pixels: names stand left of ``LEFT``, a lane is ``LANE`` high."""

MOST = 4_000
"""Bars: beyond, loops are drawn as one bar each, since a notebook keeps the text."""

_FOLDERS = re.compile(r'(?<=")[^"]*[/\\](?=[^"/\\]*")')
"""Of a file in a location: where a program lies on this computer is nobody's business."""

SCRIPT = """
(function () {
  var svg = document.currentScript.parentNode.querySelector('svg');
  var bars = svg.querySelector('.bars'), axis = svg.querySelector('.axis'), LEFT = %d, WIDTH = %d;
  var whole = %r, from = 0, span = whole, held = null;
  function draw() {
    var scale = whole / span, shift = -from / whole * (WIDTH - LEFT) * scale;
    bars.setAttribute('transform',
      'translate(' + (LEFT + shift) + ' 0) scale(' + scale + ' 1)');
    axis.querySelectorAll('text').forEach(function (text, i, all) {
      text.textContent = (from + span * i / (all.length - 1)).toPrecision(4) + ' \\u00b5s';
    });
  }
  function keep() {
    span = Math.min(whole, Math.max(whole / 1e4, span));
    from = Math.min(whole - span, Math.max(0, from));
    draw();
  }
  function at(event) {
    var box = svg.getBoundingClientRect();
    return ((event.clientX - box.left) / box.width * WIDTH - LEFT) / (WIDTH - LEFT);
  }
  svg.addEventListener('wheel', function (event) {
    event.preventDefault();
    var place = from + span * at(event), factor = Math.exp(event.deltaY * 0.002);
    from = place - (place - from) * factor; span *= factor; keep();
  }, {passive: false});
  svg.addEventListener('pointerdown', function (event) { held = [at(event), from]; });
  window.addEventListener('pointerup', function () { held = null; });
  svg.addEventListener('pointermove', function (event) {
    if (held) { from = held[1] - (at(event) - held[0]) * span; keep(); }
  });
  svg.addEventListener('dblclick', function () { from = 0; span = whole; draw(); });
})();
"""


def timeline_svg(estimate: Estimate, cores: int = 2) -> str:
    """HTML of the first cores: no other file, no network.

    Parameters
    ----------
    cores : int
        Cores to draw, each with a lane for every engine that it uses.
    """
    events = engine_events(estimate, cores, MOST)
    lanes = list(dict.fromkeys((event.core, event.engine) for event in events))
    height = TOP + LANE * len(lanes) + 24
    whole = max(estimate.seconds * 1e6, 1e-9)
    name = escape(f"@{estimate.name}: {estimate.seconds * 1e6:,.1f} µs")
    bars = "".join(_bar(event, lanes.index((event.core, event.engine)), whole) for event in events)
    labels = "".join(
        f"<text x='{LEFT - 6}' y='{TOP + LANE * n + 15}' text-anchor='end'>"
        f"{core} {escape(engine.value)}</text>"
        for n, (core, engine) in enumerate(lanes)
    )
    ticks = "".join(
        f"<text x='{LEFT + (WIDTH - LEFT) * n / 4:.0f}' y='{height - 6}'"
        f" text-anchor='{'end' if n == 4 else 'middle' if n else 'start'}'>"
        f"{whole * n / 4:.4g} µs</text>"
        for n in range(5)
    )
    script = SCRIPT % (LEFT, WIDTH, whole)
    return (
        f"<div><svg viewBox='0 0 {WIDTH} {height}' width='100%' role='img' font-size='12'"
        f" font-family='sans-serif' fill='currentColor' style='max-width:{WIDTH}px'"
        f" aria-label='{name}'><text x='{LEFT}' y='16' font-weight='bold'>{name}</text>{labels}"
        f"<svg x='{LEFT}' width='{WIDTH - LEFT}' height='{height}' viewBox='{LEFT} 0"
        f" {WIDTH - LEFT} {height}'>"
        f"<g class='bars' transform='translate({LEFT} 0)'>{bars}</g></svg>"
        f"<g class='axis'>{ticks}</g></svg><script>{script}</script></div>"
    )


def _bar(event: Event, lane: int, whole: float) -> str:
    scale = (WIDTH - LEFT) / whole
    start, length = event.start * 1e6, (event.end - event.start) * 1e6
    words = f"{event.step.label}: {length:,.3f} µs from {start:,.3f} µs"
    if event.times > 1:
        words += f", {event.times:,} times"
    location = getattr(event.step.operation, "location", None)
    if location:
        words += f" ({_FOLDERS.sub('', str(location))})"
    faint = " opacity='.45'" if event.times > 1 else ""
    return (
        f"<rect x='{start * scale:.3f}' y='{TOP + LANE * lane + 2}' width='{length * scale:.3f}'"
        f" height='{LANE - 4}' fill='{ENGINE_COLOURS[event.engine]}'{faint}>"
        f"<title>{escape(words)}</title></rect>"
    )
