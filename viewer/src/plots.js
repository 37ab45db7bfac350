// Plots over time with one playhead: a click on any of them moves the replay there.
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { css } from './colours.js';
import { locate } from './data.js';
import { el, number, power } from './format.js';

const plots = new Set();
let player = null;

export function bindPlayer(p) {
  player = p;
  player.onChange(() => { for (const plot of plots) plot.movePlayhead(); });
}

export function restylePlots() {
  for (const plot of plots) plot.rebuild();
}

const lineColour = (k) => css(`--line-${(k % 8) + 1}`);

/// Zeros have no place on a logarithmic axis, and not-a-number nowhere.
function clean(values, log) {
  return Array.from(values, (x) => (Number.isFinite(x) && !(log && x <= 0) ? x : null));
}

export class Plot {
  /// {time, series: [{name, values, band}], unit, log, level: {value, name}, height}; a band is half the width of what lies around the values
  constructor(parent, options) {
    this.parent = parent;
    this.options = { height: 210, ...options };
    this.host = el('div.plot');
    parent.append(this.host);
    this.data = [Array.from(options.time), ...options.series.map((s) => clean(s.values, options.log))];
    // A logarithmic axis of nothing but zeros cannot be drawn.
    this.empty = this.data.slice(1).every((values) => values.every((x) => x === null));
    plots.add(this);
    this.rebuild();
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.host);
  }

  destroy() {
    plots.delete(this);
    this.observer.disconnect();
    this.plot?.destroy();
    this.host.remove();
  }

  resize() {
    const width = this.host.clientWidth;
    if (this.plot && width > 0 && width !== this.plot.width) this.plot.setSize({ width, height: this.options.height });
    this.movePlayhead();
  }

  rebuild() {
    this.plot?.destroy();
    this.host.replaceChildren();
    if (this.empty) {
      this.host.append(el('p.nothing', this.options.log ? 'zero throughout' : 'nothing recorded'));
      return;
    }
    const { unit, log, series, height, level } = this.options;
    const grid = { stroke: css('--grid'), width: 1 };
    const axis = { stroke: css('--muted'), grid, ticks: { show: false }, font: '11px system-ui, sans-serif', labelFont: '11px system-ui, sans-serif', labelSize: 16 };
    this.plot = new uPlot({
      width: this.host.clientWidth || 400,
      height,
      padding: [8, 10, 0, 0],
      legend: { show: false },
      cursor: { points: { size: 6 }, drag: { x: true, y: false }, focus: { prox: 20 } },
      focus: { alpha: 0.35 },
      scales: { x: { time: false }, y: { distr: log ? 3 : 1, log: 10, range: log ? (_, low, high) => logRange(low, high, level?.value, this.options.decades) : (_, low, high) => linearRange(low, high) } },
      axes: [
        { ...axis, label: 'time [s]', size: 30, values: (_, ticks) => ticks.map((x) => number(x)) },
        { ...axis, label: unit, size: 58, space: 34, ...(log ? { splits: powers, filter: (_, ticks) => ticks } : {}), values: (_, ticks) => (log ? powerLabels(ticks) : ticks.map((x) => number(x))) },
      ],
      series: [
        {},
        ...series.map((s, k) => ({ stroke: lineColour(k), width: 1.6, pxAlign: 0, points: { show: this.data[0].length < 3, size: 5 } })),
      ],
      hooks: { drawAxes: [(u) => this.drawBands(u)], draw: [(u) => this.drawLevel(u)], setCursor: [() => this.showValues()] },
    }, this.data, this.host);
    this.playhead = el('div.playhead');
    this.plot.over.append(this.playhead);
    this.legend = el('div.plot-legend', series.map((s, k) => el('button', { title: 'show or hide', onclick: (e) => {
      this.plot.setSeries(k + 1, { show: !this.plot.series[k + 1].show });
      e.currentTarget.classList.toggle('off', !this.plot.series[k + 1].show);
    } }, el('i.dot', { style: `background:${lineColour(k)}` }), s.name, el('b'))));
    this.host.append(this.legend);
    let down = null;
    this.plot.over.addEventListener('mousedown', (e) => { down = e.clientX; });
    this.plot.over.addEventListener('click', (e) => {
      if (down !== null && Math.abs(e.clientX - down) > 3) return;
      const left = e.clientX - this.plot.over.getBoundingClientRect().left;
      player?.pause();
      player?.seek(this.plot.posToVal(left, 'x'));
    });
    this.movePlayhead();
  }

  movePlayhead() {
    if (!this.playhead || !player) return;
    const { min, max } = this.plot.scales.x;
    const visible = player.t >= min && player.t <= max;
    this.playhead.style.display = visible ? '' : 'none';
    if (visible) this.playhead.style.transform = `translateX(${this.plot.valToPos(player.t, 'x')}px)`;
    this.showValues();
  }

  /// Under the pointer, or else at the playhead.
  showValues() {
    const index = this.plot?.cursor.idx ?? (player ? locate(this.data[0], player.t)[0] : null);
    if (!this.legend || index === null) return;
    [...this.legend.children].forEach((item, k) => { item.lastChild.textContent = number(this.data[k + 1][index]); });
  }

  /// What is known of a curve only to within its error, behind the curves.
  drawBands(u) {
    const { left, top, width, height } = u.bbox;
    u.ctx.save();
    u.ctx.beginPath();
    u.ctx.rect(left, top, width, height);
    u.ctx.clip();
    this.options.series.forEach((s, k) => {
      if (s.band && u.series[k + 1].show) this.drawBand(u, this.data[k + 1], s.band, lineColour(k));
    });
    u.ctx.restore();
  }

  drawBand(u, values, band, colour) {
    const { ctx } = u;
    const edge = (k, sign) => [u.valToPos(this.data[0][k], 'x', true), u.valToPos(values[k] + sign * band[k], 'y', true)];
    const known = this.data[0].map((_, k) => k).filter((k) => values[k] !== null && Number.isFinite(band[k]));
    ctx.beginPath();
    for (const k of known) ctx.lineTo(...edge(k, 1));
    for (const k of known.reverse()) ctx.lineTo(...edge(k, -1));
    ctx.closePath();
    ctx.globalAlpha = 0.22;
    ctx.fillStyle = colour;
    ctx.fill();
    ctx.globalAlpha = 1;
  }

  /// A horizontal line such as the tolerance.
  drawLevel(u) {
    const { level } = this.options;
    if (!level) return;
    const y = u.valToPos(level.value, 'y', true);
    const { left, top, width, height } = u.bbox;
    if (!(y >= top && y <= top + height)) return;
    const { ctx } = u;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = css('--bad');
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio]);
    ctx.beginPath();
    ctx.moveTo(left, y);
    ctx.lineTo(left + width, y);
    ctx.stroke();
    ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
    ctx.textAlign = 'right';
    ctx.fillText(level.name, left + width - 4 * devicePixelRatio, y - 5 * devicePixelRatio);
    ctx.restore();
  }
}

function linearRange(low, high) {
  if (low === null || low === undefined) return [0, 1];
  const span = high - low;
  // Rounding noise about a constant is no curve.
  if (span <= 1e-6 * Math.max(Math.abs(low), Math.abs(high)) || span === 0) {
    const pad = Math.abs(low) > 0 ? 0.1 * Math.abs(low) : 1;
    return [low - pad, high + pad];
  }
  return [low - 0.06 * span, high + 0.06 * span];
}

/// At least two decades, at most `decades`: what lies below those is rounding.
function logRange(low, high, level, decades = 16) {
  if (!(high > 0)) return [0.1, 1];
  let bottom = Math.floor(Math.log10(Math.max(low, high * 10 ** -decades)) + 1e-9);
  let top = Math.ceil(Math.log10(high) - 1e-9);
  if (level) top = Math.max(top, Math.ceil(Math.log10(level) + 0.3));  // room for its name
  if (top - bottom < 2) bottom = top - 2;
  return [10 ** bottom, 10 ** top];
}

/// Plain numbers, unless some of them need powers.
function powerLabels(ticks) {
  const plain = ticks.every((x) => x >= 1e-3 && x <= 1e4);
  return ticks.map((x) => (plain ? String(+x.toPrecision(1)) : power(Math.round(Math.log10(x)))));
}

/// Whole powers of ten, five to eight of them.
function powers(u, axis, low, high) {
  const [first, last] = [Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9)];
  const every = Math.max(1, Math.ceil((last - first) / 7));
  const ticks = [];
  for (let k = last; k >= first; k -= every) ticks.unshift(10 ** k);
  return ticks;
}

/// A card with a title, what it shows, and its plot.
export function plotCard(title, note, options) {
  const card = el('section.card.plot-card', el('h3', title), note ? el('p.note', note) : null);
  new Plot(card, options);
  return card;
}
