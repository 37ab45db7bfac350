import './style.css';
import { Explore } from './explore.js';
import { Inspector } from './inspector.js';
import { Player } from './player.js';
import { Replay } from './replay.js';
import { bindPlayer, plotCard, restylePlots } from './plots.js';
import { details, header, remarks, sampling, tiles } from './summary.js';
import { el } from './format.js';
import { isDark, setTheme } from './colours.js';
import { readData } from './data.js';
import { transport, viewOptions, views } from './controls.js';
import { energyBand, verificationSection } from './verification.js';

const some = (values) => values && values.some((x) => x !== 0 && Number.isFinite(x));

/// Plots over steps, as the data says which columns go together; those of things the run did not have are left out.
function stepPlots(data) {
  const { time, columns, panels } = data.steps;
  if (time.length === 0) return [];
  return panels.map((panel) => {
    // Bodies have an energy, also where it is zero; equations have none.
    const total = panel.total && data.model.bodies.length > 0;
    const shown = panel.columns.filter(({ column }) => total || some(columns[column]));
    const series = shown.map(({ column, label }) => ({ name: label, band: panel.total ? energyBand(data, column) : undefined, values: panel.factor === 1 ? columns[column] : columns[column].map((x) => panel.factor * x) }));
    if (series.length === 0) return null;
    if (panel.total) series.push({ name: 'total', band: energyBand(data, 'total'), values: time.map((_, k) => series.reduce((sum, s) => sum + s.values[k], 0)) });
    const level = panel.tolerance ? { value: data.settings.tolerance, name: 'tolerance' } : undefined;
    return plotCard(panel.title, panel.note, { time, series, unit: panel.axis, log: panel.log, level, decades: panel.decades || undefined });
  }).filter(Boolean);
}

function bindKeys(player, replay, select, toggleTheme) {
  const actions = {
    ' ': () => player.toggle(), ArrowLeft: (e) => player.step(e.shiftKey ? -10 : -1), ArrowRight: (e) => player.step(e.shiftKey ? 10 : 1),
    Home: () => player.seek(player.start), End: () => player.seek(player.end), '-': () => player.faster(-1), '+': () => player.faster(1), '=': () => player.faster(1),
    f: () => replay?.fitNext(), 1: () => replay?.fit(views.front), 2: () => replay?.fit(views.side), 3: () => replay?.fit(views.top),
    Escape: () => select({ body: -1, joint: -1 }), t: toggleTheme,
  };
  addEventListener('keydown', (e) => {
    const typing = e.target.matches('input:not([type=range]):not([type=checkbox]), select, textarea');
    if (typing || e.ctrlKey || e.metaKey || e.altKey || !(e.key in actions)) return;
    if (e.key === ' ' && e.target.matches('button')) e.target.blur();
    e.preventDefault();
    actions[e.key](e);
  });
}

function bindPicking(replay, canvas, select) {
  let down = null;
  canvas.addEventListener('pointerdown', (e) => { down = [e.clientX, e.clientY]; });
  canvas.addEventListener('pointerup', (e) => {
    if (!down || Math.hypot(e.clientX - down[0], e.clientY - down[1]) > 4) return;
    select(replay.pick(e.clientX, e.clientY));
  });
}

async function start() {
  setTheme(matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
  const data = await readData();
  const player = new Player(data.frames.time, data.chapters);
  if (data.mode === 'statics') player.seek(player.end);
  bindPlayer(player);
  let replay = null, inspector = null;
  const select = (selected) => {
    replay?.select(selected);
    inspector?.show(selected);
  };
  const toggleTheme = () => {
    setTheme(isDark() ? 'light' : 'dark');
    replay?.setTheme();
    restylePlots();
  };
  const page = document.getElementById('page');
  const seen = data.frames.count > 0 && (data.model.shapes.length > 0 || data.flexible.length > 0);
  const canvas = el('canvas', { 'aria-label': 'replay', tabindex: 0 });
  const view = el('div.view', canvas);
  const stage = el('section.stage', el('div.card.replay', view, transport(player)));
  page.replaceChildren(...[header(data, toggleTheme), remarks(data), tiles(data), stage].filter(Boolean));
  inspector = new Inspector(data, player, select);
  stage.append(inspector.card);
  if (seen) {
    try {
      replay = new Replay(canvas, data, player);
      view.append(...viewOptions(replay, data));
      bindPicking(replay, canvas, select);
    } catch (error) {
      view.replaceChildren(el('p.hint', `The replay needs WebGL, which this browser does not give (${error.message}). The plots below are complete.`));
    }
  } else {
    stage.classList.add('unseen');
  }
  const states = data.frames.count > 1 && (data.mode === 'run' || data.mode === 'scene') ? [new Explore(data, player).card] : [];
  page.append(...[sampling(data), verificationSection(data), el('section.plots', stepPlots(data), states), details(data)].filter(Boolean));
  bindKeys(player, replay, select, toggleTheme);
  // For scripts that drive the page, such as its test.
  window.urto = { data, player, replay, select };
}

start();
