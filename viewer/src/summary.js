// The head of the page: what went wrong first, then the numbers, and at its end the settings.
import { el, icon, integer, number, seconds } from './format.js';

const words = { failure: 'Failure', remark: 'Remark' };
const looks = { failure: 'failure', remark: 'warning', note: 'note' };

/// The verdict, as `urto run` says it.
function verdictChip(status, verdict) {
  const tone = { good: 'good', remark: 'warn', failure: 'bad' }[verdict.level];
  return [tone, `${status}: ${verdict.short}`];
}

export function header(data, onTheme) {
  const { status } = data.summary;
  const chip = data.mode === 'scene' ? ['scene', 'not run']
    : data.mode === 'modes' ? ['scene', 'small oscillations'] : data.mode === 'statics' ? (status === 'failed' ? ['bad', 'no equilibrium'] : ['scene', 'at rest'])
    : verdictChip(status, data.verdict);
  return el('header.top',
    el('div.heading', el('h1', data.title || 'Result', el(`span.chip.${chip[0]}`, chip[1])), data.description ? el('p.description', data.description) : null),
    el('button.round', { title: 'light or dark (t)', 'aria-label': 'light or dark', onclick: onTheme }, icon('theme')));
}

export function remarks(data) {
  const list = data.remarks;
  if (list.length === 0) return null;
  return el('section.remarks', { 'aria-label': 'what to know first' },
    list.map((r) => el(`p.remark.${looks[r.level]}`, { role: r.level === 'failure' ? 'alert' : 'note' }, el('b', words[r.level] ?? ''), ' ', r.text)));
}

/// What was left out to keep the page small.
export function sampling(data) {
  const list = [];
  const { frames, steps } = data;
  if (frames.stride > 1) {
    list.push(`The replay and the plots of states show ${integer(frames.count)} of ${integer(frames.recorded)} recorded frames (every ${frames.stride}th); the result file has them all.`);
  }
  if (steps.stretch > 1) {
    list.push(`Plots over steps show the lowest and the highest value of every ${integer(steps.stretch)} of the ${integer(steps.recorded)} steps.`);
  }
  return list.length ? el('p.note.sampling', list.join(' ')) : null;
}

function tile(name, value, detail, tone) {
  return el(`div.tile${tone ? `.${tone}` : ''}`, el('span.name', name), el('span.value', value), el('span.detail', detail ?? '\u00a0'));
}

function phaseBar(data) {
  const phases = data.summary.seconds;
  const total = phases.reduce((sum, p) => sum + p.value, 0);
  if (!(total > 0)) return null;
  return el('div.tile.phases', el('span.name', 'Time by phase'),
    el('div.bar', phases.map((p, k) => el('i', { style: `flex-grow:${p.value / total};background:var(--line-${k + 1})`, title: `${p.phase}: ${seconds(p.value)}` }))),
    el('span.detail', phases.map((p, k) => el('span', el('i.dot', { style: `background:var(--line-${k + 1})` }), `${p.phase} ${Math.round((100 * p.value) / total)} %`))));
}

export function tiles(data) {
  const s = data.summary, o = data.settings;
  const bodies = data.model.bodies.filter((b) => b.kind !== 'fixed').length;
  const equations = data.model.bodies.length === 0;
  const model = equations ? tile('Equations', `${integer(s.dofs)} ${s.dofs === 1 ? 'state' : 'states'}`, `${integer(s.equality_rows)} rows`)
    : tile('Model', `${integer(bodies)} ${bodies === 1 ? 'body' : 'bodies'}`, `${integer(data.model.joints.length)} joints, ${integer(s.dofs)} dofs, mobility ${integer(s.mobility)}`);
  if (data.mode === 'scene') {
    const count = data.contacts.gap.length;
    let deepest = 0;
    for (const gap of data.contacts.gap) deepest = Math.min(deepest, gap);
    return el('section.tiles', model, tile('Contacts within reach', integer(count), deepest < -1e-9 ? `deepest overlap ${number(-deepest, 2)} m` : 'no overlap', deepest < -1e-9 ? 'warn' : ''),
      tile('Would run', `${number(o.duration)} s`, `in steps of ${number(o.step)} s`), equations ? tile('Tolerance', number(o.tolerance)) : tile('Solver', o.solver, `${o.friction} friction to ${number(o.tolerance)}`));
  }
  if (data.mode === 'modes') return el('section.tiles', model, tile('Modes', integer(data.chapters.length), 'one period each, drawn much larger than small'));
  if (data.mode === 'statics') return el('section.tiles', model, tile('Contacts', integer(data.contacts.gap.length), 'that press'));
  const energy = s.energy;
  const tone = (what) => ({ good: 'good', remark: 'warn', failure: 'bad' })[data.verdict.findings.find((f) => f.what === what)?.level] ?? '';
  return el('section.tiles',
    model,
    tile('Simulated', `${number(s.time)} s`, `of ${number(o.duration)} s in ${integer(s.steps)} ${s.steps === 1 ? 'step' : 'steps'}${s.rejected > 0 ? `, ${integer(s.rejected)} rejected` : ''}`, tone('end') === 'bad' ? 'bad' : ''),
    tile('Wall time', seconds(s.wall_seconds), s.wall_seconds > 0 ? `${number(s.time / s.wall_seconds, 3)} × real time, ${seconds(s.wall_seconds / Math.max(s.steps, 1))} a step` : null),
    tile('Worst residual', number(s.worst_residual, 4), `${s.missed > 0 ? `${integer(s.missed)} of ${integer(s.steps)} missed` : 'tolerance'} ${number(o.tolerance, 2)}`, tone('certificates')),
    s.most_contacts > 0 ? tile('Contacts', `≤ ${integer(s.most_contacts)}`, `deepest penetration ${number(s.worst_penetration, 3)} m`, tone('penetration')) : null,
    data.model.joints.length ? tile('Joint error', number(s.worst_joint_error, 3), 'm, rad; the worst of all steps', tone('joint error')) : null,
    energy && !equations ? tile('Energy', `${number(energy.kinetic + energy.potential)} J`, `${number(s.start_energy)} J at the start, numerical ${number(energy.numerical, 3)} J`, tone('numerical energy')) : null,
    phaseBar(data));
}

export function details(data) {
  const s = data.summary, o = data.settings;
  const rows = (list) => el('dl', list.flatMap(([name, value]) => [el('dt', name), el('dd', value)]));
  return el('section.card.details',
    el('div', el('h3', 'Settings'), rows([
      ...(data.model.bodies.length === 0 ? [] : [['stepper', o.stepper]]), ['step', `${number(o.step)} s${o.adaptive ? ', adaptive' : ''}`], ['duration', `${number(o.duration)} s`],
      ['frames every', o.output_step > 0 ? `${number(o.output_step)} s` : 'step'], ['tolerance', number(o.tolerance)],
      ...(data.model.bodies.length === 0 ? [] : [['solver', o.solver], ['friction', o.friction], ['threads', number(o.threads)]])])),
    el('div', el('h3', 'Model'), rows(data.model.bodies.length === 0 ? [['states', integer(s.dofs)], ['rows', integer(s.equality_rows)]] : [
      ['bodies', `${integer(data.model.bodies.length)}, ${integer(data.frames.moving.length)} of them moving`], ['joints', integer(data.model.joints.length)],
      ['shapes', integer(data.model.shapes.filter((x) => !x.glyph).length)], ['dofs', integer(s.dofs)], ['equality rows', `${integer(s.equality_rows)} of rank ${integer(s.rank)}`], ['mobility', integer(s.mobility)]])),
    el('div', el('h3', 'Versions'), rows([
      ['run by', `urto ${data.urto.run}`], ['page by', `urto ${data.urto.page}`], ...Object.entries(VERSIONS).map(([name, version]) => [name, version]),
      ['frames', `${integer(data.frames.count)} of ${integer(data.frames.recorded)}`]])),
    el('div', el('h3', 'Keys'), rows([
      ['space', 'play, pause'], ['← →', 'one frame; with shift ten'], ['home end', 'first, last frame'], ['− +', 'slower, faster'], ['f', 'see everything'], ['1 2 3', 'front, side, top'],
      ['esc', 'pick nothing'], ['t', 'light, dark']])));
}
