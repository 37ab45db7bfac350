// The picked body or joint: what it is, where it is now, and its state over time.
import { Plot } from './plots.js';
import { bodyQuantities, locate } from './data.js';
import { el, number } from './format.js';
import { stateBand } from './verification.js';

const groups = { body: ['position', 'velocity', 'angular velocity', 'contact force'], joint: ['coordinates', 'rates', 'force', 'moment'] };

function jointQuantities(data, joint) {
  const name = data.model.joints[joint].name;
  return data.series.filter((s) => s.group === 'joint' && s.item === name).map((s) => ({
    name: s.name, unit: s.unit, values: () => s.values, band: { of: 'coordinate', item: s.item, name: s.name },
    group: s.name.startsWith('force') ? 'force' : s.name.startsWith('moment') ? 'moment' : s.name.endsWith('rate') ? 'rates' : 'coordinates',
  }));
}

export class Inspector {
  constructor(data, player, onSelect) {
    this.data = data;
    this.player = player;
    this.onSelect = onSelect;
    this.tab = { body: 'position', joint: 'coordinates' };
    this.plots = [];
    this.choice = el('select', { 'aria-label': 'body or joint', onchange: () => this.choose() });
    this.fillChoice();
    this.body = el('div.inspector-body');
    this.card = el('aside.card.inspector', el('div.row', el('h2', 'Body or joint'), this.choice), this.body);
    player.onChange(() => this.refresh());
    this.show({ body: -1, joint: -1 });
  }

  fillChoice() {
    const { bodies, joints } = this.data.model;
    const option = (value, text) => el('option', { value }, text);
    this.choice.append(option('none', 'pick one …'));
    const moving = el('optgroup', { label: 'moving bodies' }), fixed = el('optgroup', { label: 'fixed bodies' }), held = el('optgroup', { label: 'joints' });
    bodies.forEach((b, k) => (b.kind === 'fixed' ? fixed : moving).append(option(`body ${k}`, b.name)));
    joints.forEach((j, k) => held.append(option(`joint ${k}`, j.name)));
    for (const group of [moving, held, fixed]) if (group.children.length) this.choice.append(group);
  }

  choose() {
    const [kind, index] = this.choice.value.split(' ');
    this.onSelect({ body: kind === 'body' ? +index : -1, joint: kind === 'joint' ? +index : -1 });
  }

  show(selected) {
    this.selected = selected;
    for (const plot of this.plots) plot.destroy();
    this.plots = [];
    this.now = [];
    this.body.replaceChildren();
    const kind = selected.body >= 0 ? 'body' : selected.joint >= 0 ? 'joint' : null;
    this.choice.value = kind ? `${kind} ${selected[kind]}` : 'none';
    if (!kind) {
      this.body.append(el('p.hint', 'Click a body or a joint in the picture, or choose one above, to see its state over time.'));
      return;
    }
    const { bodies, joints } = this.data.model;
    const item = kind === 'body' ? bodies[selected.body] : joints[selected.joint];
    const about = kind === 'body' ? `${item.kind} body${item.kind === 'dynamic' ? `, ${number(item.mass)} kg` : ''}`
      : `${item.kind} joint between ${item.body.map((b) => bodies[b].name).join(' and ')}`;
    this.body.append(el('div.who', el('h3.picked', item.name), el('p.note', about)));
    this.quantities = kind === 'body' ? bodyQuantities(this.data, selected.body) : jointQuantities(this.data, selected.joint);
    if (this.quantities.length === 0) {
      this.body.append(el('p.hint', kind === 'body' ? 'It does not move.' : 'Nothing is recorded of it.'));
      return;
    }
    const there = groups[kind].filter((g) => this.quantities.some((q) => q.group === g));
    if (!there.includes(this.tab[kind])) this.tab[kind] = there[0];
    this.body.append(el('div.tabs', { role: 'tablist' }, there.map((g) => el(`button${g === this.tab[kind] ? '.on' : ''}`, { role: 'tab', onclick: () => { this.tab[kind] = g; this.show(this.selected); } }, g))));
    const shown = this.quantities.filter((q) => q.group === this.tab[kind]).map((q) => ({ ...q, values: q.values(), band: stateBand(this.data, q.band) }));
    for (const unit of new Set(shown.map((q) => q.unit))) {
      const series = shown.filter((q) => q.unit === unit);
      this.plots.push(new Plot(this.body, { time: this.data.frames.time, series, unit: `${this.tab[kind]} [${unit}]`, height: 200 }));
    }
    this.now = this.quantities.map((q) => ({ values: q.values(), name: q.name, unit: q.unit, cell: el('span') }));
    this.body.append(el(`div.now${kind === 'joint' ? '.pairs' : ''}`, this.now.map((q) => el('div', el('span.name', q.name), q.cell, el('span.unit', q.unit)))));
    this.refresh();
  }

  refresh() {
    const [frame, part] = locate(this.data.frames.time, this.player.t);
    const next = Math.min(frame + 1, this.data.frames.count - 1);
    for (const { values, cell } of this.now) cell.textContent = number(values[frame] + (part > 0 ? part * (values[next] - values[frame]) : 0));
  }
}
