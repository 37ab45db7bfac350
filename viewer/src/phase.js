// One state over another: a phase portrait, with a dot where the replay is.
import { css } from './colours.js';
import { locate } from './data.js';
import { el, number } from './format.js';

const left = 64, bottom = 34, top = 10, right = 12;

function range(values) {
  let low = Infinity, high = -Infinity;
  for (const x of values) {
    if (!Number.isFinite(x)) continue;
    low = Math.min(low, x);
    high = Math.max(high, x);
  }
  if (!(high >= low)) return [0, 1];
  const pad = high > low ? 0.05 * (high - low) : Math.abs(low) || 1;
  return [low - pad, high + pad];
}

/// Four to eight round numbers.
function ticks([low, high]) {
  const rough = (high - low) / 5, size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * size).find((s) => s >= rough);
  const out = [];
  for (let k = Math.ceil(low / step); k * step <= high; ++k) out.push(k * step);
  return out;
}

export class Phase {
  /// {time, x: {name, unit, values}, y: …}
  constructor(parent, options, player) {
    this.options = options;
    this.player = player;
    this.x = range(options.x.values);
    this.y = range(options.y.values);
    this.canvas = el('canvas', { 'aria-label': `${options.y.name} over ${options.x.name}` });
    this.host = el('div.plot.phase', this.canvas);
    parent.append(this.host);
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.host);
    this.redraw = () => this.draw();
    player?.onChange(this.redraw);
    this.draw();
  }

  destroy() {
    this.observer.disconnect();
    this.host.remove();
    this.gone = true;
  }

  draw() {
    if (this.gone) return;
    const width = this.host.clientWidth || 400, height = 300, scale = devicePixelRatio;
    this.canvas.width = width * scale;
    this.canvas.height = height * scale;
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    const g = this.canvas.getContext('2d');
    g.scale(scale, scale);
    const px = (x) => left + ((x - this.x[0]) / (this.x[1] - this.x[0])) * (width - left - right);
    const py = (y) => height - bottom - ((y - this.y[0]) / (this.y[1] - this.y[0])) * (height - bottom - top);
    g.font = '11px system-ui, sans-serif';
    g.strokeStyle = css('--grid');
    g.fillStyle = css('--muted');
    g.textAlign = 'center';
    for (const x of ticks(this.x)) {
      g.beginPath();
      g.moveTo(px(x), top);
      g.lineTo(px(x), height - bottom);
      g.stroke();
      g.fillText(number(x), px(x), height - bottom + 14);
    }
    g.textAlign = 'right';
    for (const y of ticks(this.y)) {
      g.beginPath();
      g.moveTo(left, py(y));
      g.lineTo(width - right, py(y));
      g.stroke();
      g.fillText(number(y), left - 6, py(y) + 4);
    }
    const { x, y, time } = this.options;
    g.textAlign = 'center';
    g.fillText(`${x.name} [${x.unit}]`, (left + width) / 2, height - 4);
    g.save();
    g.translate(12, (height - bottom) / 2);
    g.rotate(-Math.PI / 2);
    g.fillText(`${y.name} [${y.unit}]`, 0, 0);
    g.restore();
    g.strokeStyle = css('--line-1');
    g.lineWidth = 1.4;
    g.beginPath();
    for (let k = 0; k < x.values.length; ++k) g.lineTo(px(x.values[k]), py(y.values[k]));
    g.stroke();
    if (!this.player || time.length === 0) return;
    const [k] = locate(time, this.player.t);
    g.fillStyle = css('--bad');
    g.beginPath();
    g.arc(px(x.values[k]), py(y.values[k]), 4, 0, 2 * Math.PI);
    g.fill();
  }
}
