// Any states the user picks, plotted together by unit. The scene's "watch" list is there to begin with.
import { Phase } from './phase.js';
import { Plot } from './plots.js';
import { allStates } from './data.js';
import { el, icon } from './format.js';
import { stateBand } from './verification.js';

export class Explore {
  constructor(data, player) {
    this.data = data;
    this.player = player;
    this.along = 'time';
    this.states = allStates(data);
    this.chosen = data.watch.filter((name) => this.states.has(name));
    this.plots = [];
    this.chips = el('div.chips');
    this.body = el('div.explore-plots');
    this.axis = el('select', { 'aria-label': 'x axis', title: 'plot over time, or over another state (phase portrait)', onchange: () => { this.along = this.axis.value; this.show(); } });
    const input = el('input', { list: 'all-states', placeholder: 'add a state: marble-0.z, hinge.angle …', 'aria-label': 'state to plot', autocomplete: 'off', spellcheck: 'false' });
    const list = el('datalist', { id: 'all-states' });
    // A list of ten thousand would make the page slow and help nobody: it is filled as one types.
    input.addEventListener('input', () => {
      const text = input.value.trim().toLowerCase();
      if (this.states.has(input.value.trim())) {
        this.add(input.value.trim());
        input.value = '';
        return;
      }
      const found = [];
      for (const name of this.states.keys()) {
        if (name.toLowerCase().includes(text)) found.push(name);
        if (found.length === 60) break;
      }
      list.replaceChildren(...found.map((name) => el('option', { value: name })));
    });
    input.addEventListener('focus', () => input.dispatchEvent(new Event('input')));
    this.card = el('section.card.plot-card.wide.explore', el('div.row', el('h3', 'Any state'), this.chips, input, list, el('label', 'over ', this.axis)), this.body);
    this.show();
  }

  add(name) {
    if (!this.chosen.includes(name)) this.chosen.push(name);
    this.show();
  }

  show() {
    for (const plot of this.plots) plot.destroy();
    this.plots = [];
    this.chips.replaceChildren(...this.chosen.map((name) => el('span.chip.state', name, el('button', { 'aria-label': `remove ${name}`, onclick: () => { this.chosen = this.chosen.filter((n) => n !== name); this.show(); } }, icon('close')))));
    if (!this.chosen.includes(this.along)) this.along = 'time';
    this.axis.replaceChildren(...['time', ...this.chosen].map((name) => el('option', { value: name, selected: name === this.along }, name)));
    const units = new Map();
    for (const name of this.chosen) {
      const { unit, values, band } = this.states.get(name);
      if (!units.has(unit)) units.set(unit, []);
      units.get(unit).push({ name, values: values(), band: stateBand(this.data, band) });
    }
    this.body.replaceChildren();
    if (units.size === 0) this.body.append(el('p.hint', 'Type a name: body.x, y, z, vx, vy, vz, speed, wx, wy, wz, contact force; joint.coordinate, rate, force, moment; motors, limits, frictions and couplings; of a circuit component.current, voltage and node.potential.'));
    if (this.along !== 'time') {
      const state = (name) => ({ name, unit: this.states.get(name).unit, values: this.states.get(name).values() });
      const others = this.chosen.filter((name) => name !== this.along);
      for (const name of others) this.plots.push(new Phase(this.body, { time: this.data.frames.time, x: state(this.along), y: state(name) }, this.player));
      if (others.length === 0) this.body.append(el('p.hint', 'Add a second state to draw over this one.'));
      return;
    }
    for (const [unit, series] of units) this.plots.push(new Plot(this.body, { time: this.data.frames.time, series, unit: `[${unit}]`, height: 200 }));
  }
}
