// The bar under the replay, and what may be shown in it.
import * as THREE from 'three';
import { el, icon, number } from './format.js';
import { scaleGradient } from './colours.js';

export const views = { front: new THREE.Vector3(0, -1, 0.0001), side: new THREE.Vector3(1, 0, 0.0001), top: new THREE.Vector3(0, -0.0001, 1) };

export function transport(player) {
  const play = el('button.play', { 'aria-label': 'play or pause', title: 'play, pause (space)', onclick: () => player.toggle() }, icon('play'));
  const scrub = el('input.scrub', { type: 'range', min: player.start, max: player.end, step: 'any', 'aria-label': 'time' });
  scrub.addEventListener('input', () => {
    player.playing = false;
    player.seek(+scrub.value);
  });
  const clock = el('output.clock');
  const speed = el('span.speed');
  const digits = Math.min(Math.max(3 - Math.floor(Math.log10(player.end - player.start || 1)), 0), 6);
  const refresh = () => {
    play.replaceChildren(icon(player.playing ? 'pause' : 'play'));
    scrub.min = player.start;
    scrub.max = player.end;
    scrub.value = player.t;
    scrub.style.setProperty('--done', `${(100 * (player.t - player.start)) / (player.end - player.start || 1)}%`);
    clock.textContent = player.loops ? `${Math.round((360 * (player.t - player.start)) / (player.end - player.start))}°` : `${player.t.toFixed(digits)} s`;
    speed.textContent = `× ${number(player.speed)}`;
  };
  player.onChange(refresh);
  refresh();
  const chapter = el('select.chapter', { 'aria-label': 'mode', onchange: () => player.choose(+chapter.value) }, player.chapters.map((c, k) => el('option', { value: k }, c.name)));
  const bar = el('div.transport',
    el('button.flat', { 'aria-label': 'first frame', title: 'first frame (home)', onclick: () => player.seek(player.start) }, icon('start')),
    el('button.flat', { 'aria-label': 'one frame back', title: 'one frame back (←)', onclick: () => player.step(-1) }, icon('back')),
    play,
    el('button.flat', { 'aria-label': 'one frame on', title: 'one frame on (→)', onclick: () => player.step(1) }, icon('next')),
    scrub, clock, player.loops ? chapter : null,
    el('div.speeds', el('button.flat', { 'aria-label': 'slower', title: 'slower (−)', onclick: () => player.faster(-1) }, '−'), speed,
      el('button.flat', { 'aria-label': 'faster', title: 'faster (+)', onclick: () => player.faster(1) }, '+')));
  bar.hidden = !player.canPlay;
  return bar;
}

export function viewOptions(replay, data) {
  const check = (option, label, there = true) => {
    if (!there) return null;
    const box = el('input', { type: 'checkbox', checked: replay.options[option], onchange: () => replay.set(option, box.checked) });
    return el('label.check', box, label);
  };
  const slider = (option, label, there = true) => {
    if (!there) return null;
    const range = el('input', { type: 'range', min: -2, max: 2, step: 0.05, value: Math.log2(replay.options[option]), oninput: () => replay.set(option, 2 ** +range.value) });
    return el('label.slide', label, range);
  };
  const contacts = data.contacts.gap.length > 0, joints = data.model.joints.length > 0;
  const legend = el('div.legend', { hidden: true }, el('span', '0'), el('i', { style: `background:${scaleGradient}` }), el('span', `${number(replay.topSpeed, 3)} m/s`));
  const colour = el('select', { 'aria-label': 'colours', onchange: () => { replay.set('colour', colour.value); legend.hidden = colour.value !== 'speed'; } }, el('option', { value: 'body' }, 'by body'), el('option', { value: 'speed' }, 'by speed'));
  const panel = el('div.view-options', { hidden: true },
    check('contacts', 'contact points', contacts), check('forces', 'contact forces', contacts), check('joints', 'joints', joints), check('reactions', 'joint forces', joints),
    check('frames', 'frames'), check('path', 'path of the picked body'), check('follow', 'follow the picked body'), check('shadows', 'shadows'),
    slider('forceScale', 'length of forces', contacts || joints), slider('glyphSize', 'size of symbols'), el('label.slide', 'colours', colour));
  const fields = data.flexible.filter((f) => f.field).map((f, k) => el('div.legend', el('span', `${f.field.name} ${number(replay.flexible[k].range[0], 3)}`), el('i', { style: `background:${scaleGradient}` }), el('span', `${number(replay.flexible[k].range[1], 3)} ${f.field.unit}`)));
  const buttons = el('div.view-buttons',
    el('button.round', { title: 'what is shown', 'aria-label': 'what is shown', onclick: () => { panel.hidden = !panel.hidden; } }, icon('sliders')),
    el('button.round', { title: replay.gone.length ? 'see the scene; again: see everything (f)' : 'see everything (f)', 'aria-label': 'see everything', onclick: () => replay.fitNext() }, icon('fit')),
    Object.entries(views).map(([name, direction]) => el('button.round.word', { title: `from the ${name}`, onclick: () => replay.fit(direction) }, name)),
    el('button.round', { title: 'save this picture', 'aria-label': 'save this picture', onclick: () => savePicture(replay) }, icon('camera')));
  const names = replay.gone.slice(0, 3).map((body) => data.model.bodies[body].name).join(', ');
  const left = replay.gone.length ? el('div.legend.gone', `${replay.gone.length === 1 ? 'one body leaves' : `${replay.gone.length} bodies leave`} this view: ${names}${replay.gone.length > 3 ? ', …' : ''}`) : null;
  return [buttons, panel, el('div.legends', legend, fields, left)];
}

function savePicture(replay) {
  replay.draw();
  replay.canvas.toBlob((blob) => {
    const link = el('a', { href: URL.createObjectURL(blob), download: `${document.title.replace(/[^\w]+/g, '-')}.png` });
    link.click();
    URL.revokeObjectURL(link.href);
  });
}
