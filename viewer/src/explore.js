// Any states the user picks, plotted together by unit. The scene's "watch" list is there to begin with.
import { Plot } from './plots.js';
import { allStates } from './data.js';
import { el, icon } from './format.js';
import { stateBand } from './verification.js';

export class Explore {
  constructor(data) {
    this.data = data;
    this.states = allStates(data);
    this.chosen = data.watch.filter((name) => this.states.has(name));
    this.plots = [];
    this.chips = el('div.chips');
    this.body = el('div.explore-plots');
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
    this.card = el('section.card.plot-card.wide.explore', el('div.row', el('h3', 'Any state'), this.chips, input, list), this.body);
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
    const units = new Map();
    for (const name of this.chosen) {
      const { unit, values, band } = this.states.get(name);
      if (!units.has(unit)) units.set(unit, []);
      units.get(unit).push({ name, values: values(), band: stateBand(this.data, band) });
    }
    this.body.replaceChildren();
    if (units.size === 0) this.body.append(el('p.hint', 'Type a name: body.x, y, z, vx, vy, vz, speed, wx, wy, wz, contact force; joint.coordinate, rate, force, moment; motors, limits, frictions and couplings.'));
    for (const [unit, series] of units) this.plots.push(new Plot(this.body, { time: this.data.frames.time, series, unit: `[${unit}]`, height: 200 }));
  }
}
