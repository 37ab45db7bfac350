// How far a verified run is from its limit: bands around what is plotted, and a card of its own.
import { locate } from './data.js';
import { plotCard } from './plots.js';
import { el } from './format.js';

/// Samples of the verification at other times.
function resampled(data, values, time) {
  const from = data.verification.time;
  if (from.length === 0) return null;
  return Array.from(time, (t) => {
    const [k, part] = locate(from, t);
    const next = Math.min(k + 1, from.length - 1);
    return values[k] + (part > 0 ? part * (values[next] - values[k]) : 0);
  });
}

/// Half the width of the band around a state, over the frames; `band` is what data.js says of it.
export function stateBand(data, band) {
  const v = data.verification;
  if (!v || !band) return undefined;
  if (band.of === 'position' && v.position) {
    const moving = data.frames.moving.length;
    return resampled(data, v.time.map((_, s) => v.position[3 * (s * moving + band.slot) + band.axis]), data.frames.time);
  }
  const found = band.of === 'coordinate' && v.coordinates?.find((c) => c.item === band.item && c.name === band.name);
  return found ? resampled(data, found.values, data.frames.time) : undefined;
}

/// Around an energy, over the steps: 'energy/kinetic' or 'total'.
export function energyBand(data, column) {
  const found = data.verification?.energy?.[column.replace('energy/', '')];
  return found && resampled(data, found, data.steps.time);
}

const titles = { position: 'positions', rotation: 'rotations', energy: 'energy', contact_impulse: 'contact impulses' };

/// What the summary says of it, and how the largest errors grow.
export function verificationSection(data) {
  const v = data.verification;
  if (!v) return null;
  const tones = { good: 'good', doubtful: 'warning', bad: 'failure' };
  const heading = { converges: 'Error of the run', exact: 'Error of the run', parts: 'No single motion', incomplete: 'Error unknown' }[v.state];
  const words = el('section.card.verification', el('h3', heading),
    el('p.note', 'From runs at half and a quarter of the step: the distance to the limit of ever smaller steps. Plots of positions, coordinates and energies carry it as a band.'),
    el('dl', v.lines.flatMap(({ name, value, tone }) => [el('dt', name), el(`dd${tones[tone] ? `.${tones[tone]}` : ''}`, value)])));
  const shown = v.largest.filter(({ values }) => values.some((x) => x > 0));
  const series = shown.map(({ name, unit, values }) => ({ name: `${titles[name]} [${unit}]`, values }));
  const plot = series.length > 0 && v.time.length > 1
    ? plotCard('Estimated error', v.state === 'parts' ? 'the largest of all bodies; where the runs have parted, how far apart they are' : 'the largest of all bodies', { time: v.time, series, unit: 'error', log: true, decades: 9 })
    : null;
  return el('section.plots', words, plot);
}
