// The page in a real browser, from file://, without a network: node test/page.mjs URTO SCENES WORK [PICTURES]
// With PICTURES (a folder) it runs the larger scene whole and leaves the documentation's screenshots there.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { strict as assert } from 'node:assert';
import { clock, large, launch, open, picture, until } from './browser.mjs';
import { writeFlexible, writeStates } from './samples.mjs';

const [urto, scenes, work, pictures] = process.argv.slice(2);
mkdirSync(work, { recursive: true });
const run = (scene, name, ...more) => spawnSync(urto, ['run', join(scenes, scene), '-q', '-o', join(work, name), ...more]).status;
const report = (name) => join(work, name, 'report.html');
const shot = async (page, name, options = {}) => {
  // After the frame that is on its way.
  await picture(page).catch(() => null);
  await page.screenshot({ path: join(pictures ?? work, `${name}.png`), ...options });
};

const tests = [];
const test = (name, body) => tests.push([name, body]);

test('the replay draws, scrubs and plays', async (browser) => {
  const { page, complaints, context } = await open(browser, report('marbles'));
  const first = await picture(page);
  assert(first.drawn > 0.05 && first.colours > 50, `blank: ${JSON.stringify(first)}`);
  await page.locator('.scrub').evaluate((scrub) => {
    scrub.value = +scrub.max / 2;
    scrub.dispatchEvent(new Event('input', { bubbles: true }));
  });
  const half = await picture(page);
  assert.notEqual(half.hash, first.hash, 'scrubbing does not change the picture');
  assert.match(await page.locator('.clock').textContent(), /^\d\.\d+ s$/);
  const before = await clock(page);
  await page.getByRole('button', { name: 'play or pause' }).click();
  await until(page, (t) => window.urto.player.t > t, before);
  await page.keyboard.press('Escape');
  await page.keyboard.press(' ');
  assert.equal(await page.evaluate(() => window.urto.player.playing), false, 'space does not pause');
  assert.notEqual((await picture(page)).hash, half.hash, 'playing does not change the picture');
  await page.keyboard.press('Home');
  assert.equal(await clock(page), 0);
  await page.keyboard.press('ArrowRight');
  assert.equal(await clock(page), await page.evaluate(() => window.urto.data.frames.time[1]));
  assert.deepEqual(complaints, []);
  await context.close();
});

test('a click picks a body and shows its state', async (browser) => {
  const { page, complaints, context } = await open(browser, report('marbles'));
  await page.evaluate(() => window.urto.player.seek(0));
  await picture(page);
  // The uppermost at the start: nothing hides it.
  const [body, x, y] = await page.evaluate(() => {
    const { data, replay } = window.urto;
    const { position, moving } = data.frames;
    const k = moving.map((_, i) => i).reduce((best, i) => (position[3 * i + 2] > position[3 * best + 2] ? i : best), 0);
    return [moving[k], ...replay.whereIs(moving[k])];
  });
  const before = await picture(page);
  await page.mouse.click(x, y);
  const name = await page.evaluate((b) => window.urto.data.model.bodies[b].name, body);
  assert.equal(await page.locator('.picked').textContent(), name);
  const plot = await picture(page, '.inspector .plot canvas');
  assert(plot.drawn > 0.005 && plot.colours > 5, `the body's plot is blank: ${JSON.stringify(plot)}`);
  assert.notEqual((await picture(page)).hash, before.hash, 'the picked body is not marked');
  await page.getByRole('tab', { name: 'angular velocity' }).click();
  assert.match(await page.locator('.inspector .plot-legend').textContent(), /wx.*wy.*wz/);
  assert.equal(await page.locator('.now div').count(), 11);
  await page.keyboard.press('Escape');
  assert.equal(await page.locator('.picked').count(), 0);
  await page.locator('.inspector select').selectOption({ label: name });
  assert.equal(await page.locator('.picked').textContent(), name);
  assert.deepEqual(complaints, []);
  await context.close();
});

test('plots show the run, move the replay, and take any state', async (browser) => {
  const { page, complaints, context } = await open(browser, report('cradle'));
  assert.equal(await page.locator('h1 .chip.good').textContent(), 'finished: good');
  const titles = await page.locator('.plots h3').allTextContents();
  assert.deepEqual(titles, ['Energy', 'Energy balance', 'Certificates', 'Contacts', 'Iterations', 'Time by phase', 'Joint error', 'Errors beside sizes', 'Any state']);
  const blank = await page.evaluate(() => [...document.querySelectorAll('.plots .plot canvas')].filter((canvas) => !canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some((x) => x > 0)).length);
  assert.equal(blank, 0, 'plots that are blank');
  for (const label of await page.evaluate(() => window.urto.data.series.map((s) => `${s.item}.${s.name}`).slice(0, 1))) {
    await page.locator('.explore input').fill(label);
    await until(page, (l) => document.querySelector('.explore .chips').textContent.includes(l), label);
  }
  const over = page.locator('.plot-card .u-over').first();
  await over.scrollIntoViewIfNeeded();
  const box = await over.boundingBox();
  await page.mouse.click(box.x + 0.75 * box.width, box.y + 0.5 * box.height);
  const end = await page.evaluate(() => window.urto.player.end);
  assert(Math.abs((await clock(page)) - 0.75 * end) < 0.03 * end, `a click on a plot went to ${await clock(page)}`);
  assert.match(await page.locator('.sampling').textContent(), /lowest and the highest value of every 10/);
  await page.evaluate(() => window.urto.select({ body: -1, joint: 0 }));
  assert.match(await page.locator('.inspector .note').first().textContent(), /revolute joint/);
  const light = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await page.keyboard.press('t');
  assert.notEqual(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), light);
  await page.setViewportSize(large);
  await page.evaluate(() => { window.urto.player.seek(0.08 * window.urto.player.end); window.scrollTo(0, 0); });
  await shot(page, 'report-dark');
  assert.deepEqual(complaints, []);
  await context.close();
});

test('a verified run shows its error, and bands around its curves', async (browser) => {
  assert.equal(run('double-pendulum.json', 'verified', '--verify', '--step', '0.02', '--duration', '3'), 0);
  const { page, complaints, context } = await open(browser, report('verified'), { viewport: large });
  assert.match(await page.locator('.verification').textContent(), /Error of the run.*positions at most .*expected 1/);
  assert.equal(await page.locator('h3', { hasText: 'Estimated error' }).count(), 1);
  const lower = await page.evaluate(() => window.urto.data.model.bodies.findIndex((b) => b.name === 'lower'));
  await page.evaluate((body) => window.urto.select({ body, joint: -1 }), lower);
  const banded = await picture(page, '.inspector .plot canvas');
  await shot(page, 'verification', { fullPage: true, clip: { x: 0, y: 0, width: 1440, height: 1640 } });
  // The same plot without its band.
  await page.evaluate((body) => {
    window.urto.data.verification = null;
    window.urto.select({ body, joint: -1 });
  }, lower);
  assert.notEqual((await picture(page, '.inspector .plot canvas')).hash, banded.hash, 'there is no band');
  assert.deepEqual(complaints, []);
  await context.close();
  const plain = await open(browser, report('cradle'));
  assert.equal(await plain.page.locator('.verification').count(), 0);
  await plain.context.close();
});

test('a failed run says so before everything else', async (browser) => {
  const { page, complaints, context } = await open(browser, report('failed'), { viewport: large });
  const first = page.locator('.remark').first();
  assert.match(await first.textContent(), /^Failure The run failed at t = /);
  assert.equal(await first.getAttribute('role'), 'alert');
  const top = (await first.boundingBox()).y;
  assert(top < (await page.locator('.tiles').boundingBox()).y && top < (await page.locator('.stage').boundingBox()).y);
  assert.equal(await page.locator('h1 .chip.bad').textContent(), 'failed: 1 failure');
  assert((await picture(page)).drawn > 0.01, 'what was recorded is not drawn');
  await shot(page, 'report-failed', { clip: { x: 0, y: 0, width: 1440, height: 520 } });
  assert.deepEqual(complaints, []);
  await context.close();
});

test('a scene is seen before it runs, with its contacts', async (browser) => {
  const file = join(work, 'stack.html');
  execFileSync(urto, ['view', join(scenes, 'sphere-stack.json'), '-o', file, '-q']);
  const { page, complaints, context } = await open(browser, file, { viewport: large });
  assert.equal(await page.locator('h1 .chip').textContent(), 'not run');
  assert(await page.locator('.transport').isHidden());
  assert(await page.evaluate(() => window.urto.data.contacts.gap.length > 0), 'no contacts at the start');
  assert((await picture(page)).drawn > 0.05);
  await shot(page, 'view-scene');
  assert.deepEqual(complaints, []);
  await context.close();
});

test('flexible surfaces, every kind of shape, and systems without bodies', async (browser) => {
  writeFlexible(join(work, 'flexible.html'));
  writeStates(join(work, 'states.html'));
  const one = await open(browser, join(work, 'flexible.html'));
  const before = await picture(one.page);
  assert(before.drawn > 0.03 && before.colours > 50, JSON.stringify(before));
  await one.page.keyboard.press('End');
  assert.notEqual((await picture(one.page)).hash, before.hash, 'the surface does not move');
  assert.match(await one.page.locator('.legends').textContent(), /strain 0.*4 %/);
  assert.equal(await one.page.evaluate(() => window.urto.replay.shapes.groups.length), 6, 'spheres and ellipsoids share one');
  assert.deepEqual(one.complaints, []);
  await one.context.close();
  const two = await open(browser, join(work, 'states.html'));
  assert(await two.page.locator('.view').isHidden());
  assert.equal(await two.page.locator('.explore .plot canvas').count(), 1);
  assert.deepEqual(two.complaints, []);
  await two.context.close();
});

test('a circuit has its states and no energy of bodies', async (browser) => {
  assert.equal(run('circuits/rectifier.json', 'circuit'), 0);
  const { page, complaints, context } = await open(browser, report('circuit'), { viewport: large });
  const titles = await page.locator('.plots h3').allTextContents();
  assert(titles.some((title) => title.startsWith('Certificates')), titles.join());
  assert(!titles.some((title) => title.startsWith('Energy')), titles.join());
  assert.deepEqual(complaints, []);
  await context.close();
});

test('a sweep leads from its table to the runs', async (browser) => {
  const folder = join(work, 'sweep');
  assert.equal(spawnSync(urto, ['sweep', join(scenes, 'pendulum.json'), '--set', 'L=0.5,1', '--duration', '0.2', '--what', 'rod.z', '-q', '-o', folder]).status, 0);
  const context = await browser.newContext({ viewport: large, offline: true });
  const page = await context.newPage();
  const complaints = [];
  page.on('console', (m) => { if (m.type() === 'error') complaints.push(m.text()); });
  page.on('pageerror', (e) => complaints.push(e.message));
  await page.goto(pathToFileURL(join(folder, 'sweep.html')).href);
  assert.equal(await page.locator('tbody tr').count(), 2);
  assert((await page.locator('svg circle').count()) >= 8, 'a mark for every run');
  await shot(page, 'sweep');
  assert.equal(await page.locator('tbody a').first().getAttribute('href'), 'L=0.5/report.html');
  await page.locator('tbody a').first().click();
  await until(page, () => Boolean(window.urto));
  assert.deepEqual(complaints, []);
  await context.close();
});

test('one body that flies off does not make the others small', async (browser) => {
  // A stack of three cubes, 0.6 m high; a fourth beside it is shot away, 18 m in a second.
  const cube = (name, position, velocity) => ({ name, position, velocity, density: 500, shapes: [{ kind: 'box', size: [0.2, 0.2, 0.2] }] });
  const floor = { name: 'floor', kind: 'fixed', shapes: [{ kind: 'half-space' }] };
  const shot = cube('shot', [0.3, 0, 0.1], [13, 0, 12]);
  for (const [name, stack] of [['three', 3], ['two', 2]]) {
    const bodies = [floor, ...Array.from({ length: stack }, (_, k) => cube(`b${k + 1}`, [0, 0, 0.1 + 0.2 * k], [0, 0, 0])), shot];
    const file = join(work, `shot-${name}.json`);
    writeFileSync(file, JSON.stringify({ urto: 1, bodies, simulation: { duration: 1, step: 0.005 } }));
    assert.equal(spawnSync(urto, ['run', file, '-q', '-o', join(work, `shot-${name}`)]).status, 0);
    const { page, complaints, context } = await open(browser, report(`shot-${name}`), { viewport: large });
    const seen = () => page.evaluate(async () => {
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      const { data, replay } = window.urto;
      const [low, high] = ['b1', 'b2'].map((n) => replay.whereIs(data.model.bodies.findIndex((b) => b.name === n)));
      return { part: Math.hypot(low[0] - high[0], low[1] - high[1]) / replay.canvas.getBoundingClientRect().height, size: replay.extent };
    });
    const first = await seen();
    assert(first.size < 2, `a view of ${first.size} m for a stack of 0.6 m`);
    assert(first.part > 0.1, `0.2 m of the stack are ${first.part} of the picture's height`);
    assert.match(await page.locator('.legend.gone').textContent(), /one body leaves this view: shot/);
    await page.keyboard.press('f');
    const all = await seen();
    assert(all.part < 0.25 * first.part, `everything is not seen: ${all.part}`);
    await page.keyboard.press('f');
    assert(Math.abs((await seen()).part - first.part) < 1e-3 * first.part);
    assert.deepEqual(complaints, []);
    await context.close();
  }
  // A body that is all there is stays in the picture wherever it goes.
  const alone = join(work, 'alone.json');
  writeFileSync(alone, JSON.stringify({ urto: 1, bodies: [shot], simulation: { duration: 1, step: 0.005 } }));
  assert.equal(spawnSync(urto, ['run', alone, '-q', '-o', join(work, 'alone')]).status, 0);
  const { page, context } = await open(browser, report('alone'));
  assert(await page.evaluate(() => window.urto.replay.extent > 13 && window.urto.replay.gone.length === 0));
  await context.close();
});

test('a narrow window is enough, and names may hold anything', async (browser) => {
  const file = join(work, 'odd.json');
  writeFileSync(file, JSON.stringify({ urto: 1, title: '</script><b id="evil">&amp; a "title"', description: '<!--', bodies: [{ name: 'a<b>&', mass: 1, inertia: [1, 1, 1] }], simulation: { duration: 0.01, step: 0.001 } }));
  assert.equal(spawnSync(urto, ['run', file, '-q', '-o', join(work, 'odd')]).status, 0);
  const { page, complaints, context } = await open(browser, report('odd'), { viewport: { width: 390, height: 800 } });
  assert.match(await page.locator('h1').textContent(), /^<\/script><b id="evil">&amp; a "title"/);
  assert.equal(await page.locator('#evil').count(), 0);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, 'it scrolls sideways');
  assert.deepEqual(complaints, []);
  await context.close();
});

test('modes are chosen from a list and go round and round', async (browser) => {
  assert.equal(spawnSync(urto, ['modes', join(scenes, 'double-pendulum.json'), '--report', join(work, 'modes.html')]).status, 0);
  const { page, complaints, context } = await open(browser, join(work, 'modes.html'));
  const choice = page.getByRole('combobox', { name: 'mode' });
  assert.match(await choice.locator('option').nth(1).textContent(), /^mode 2: .* Hz$/);
  await choice.selectOption({ index: 1 });
  const { from, to } = await page.evaluate(() => window.urto.data.chapters[1]);
  assert.equal(await clock(page), from);
  await page.evaluate((t) => window.urto.player.seek(t), from + (to - from) / 4);
  assert.equal(await page.locator('.clock').textContent(), '90°');
  const out = await picture(page);
  await page.evaluate((t) => window.urto.player.seek(t), to - 0.05);
  assert.notEqual((await picture(page)).hash, out.hash, 'the mode stands still');
  await page.getByRole('button', { name: 'play or pause' }).click();
  await until(page, (t) => window.urto.player.t < t, to - 0.06);
  assert.equal(await page.evaluate(() => window.urto.player.playing), true, 'it stops after one period');
  await page.evaluate((t) => { window.urto.player.pause(); window.urto.player.seek(t); }, from + (to - from) / 4);
  await shot(page, 'modes');
  assert.deepEqual(complaints, []);
  await context.close();
});

test('statics shows the scene at rest with its forces', async (browser) => {
  assert.equal(spawnSync(urto, ['statics', join(scenes, 'rocking-block.json'), '--set', 'tilt=0.05', '--report', join(work, 'rest.html')]).status, 0);
  const { page, complaints, context } = await open(browser, join(work, 'rest.html'));
  assert.match(await page.locator('.remark').first().textContent(), /equilibrium in/);
  assert.equal(await clock(page), await page.evaluate(() => window.urto.player.end));
  assert((await picture(page)).drawn > 0.05, 'blank');
  await shot(page, 'statics');
  assert.deepEqual(complaints, []);
  await context.close();
  // Still falling when the search is over.
  assert.equal(spawnSync(urto, ['statics', join(scenes, 'marbles.json'), '--set', 'N=3', '--max-iterations', '2', '--report', join(work, 'falls.html')]).status, 3);
  const falls = await open(browser, join(work, 'falls.html'));
  assert.equal(await falls.page.locator('.chip').textContent(), 'no equilibrium');
  assert.match(await falls.page.locator('.remark').first().textContent(), /no equilibrium in 20 iterations/);
  await falls.context.close();
});

test('pictures', async (browser) => {
  const { page, context } = await open(browser, report('marbles'), { viewport: large });
  await page.evaluate(() => {
    const { player, select, data } = window.urto;
    player.seek(0.12 * player.end);
    select({ body: data.frames.moving[3], joint: -1 });
  });
  await shot(page, 'report');
  await page.locator('.plots').scrollIntoViewIfNeeded();
  const box = await page.locator('.plots').boundingBox();
  await shot(page, 'report-plots', { fullPage: true, clip: { x: 0, y: (await page.evaluate(() => scrollY)) + box.y - 10, width: 1440, height: 705 } });
  await context.close();
});

// Of the bundled scenes, for the page on collision; only where pictures are asked for.
if (pictures) {
  test('pictures of scenes', async (browser) => {
    for (const name of ['arch', 'house-of-cards']) {
      assert.equal(run(`${name}.json`, name), 0);
      const { page, context } = await open(browser, report(name), { viewport: { width: 1200, height: 760 } });
      await picture(page);
      await page.locator('.view').screenshot({ path: join(pictures, `scene-${name}.png`) });
      await context.close();
    }
  });
}

const start = Date.now();
assert.equal(run('marbles.json', 'marbles', ...(pictures ? [] : ['--set', 'N=40', '--duration', '0.8'])), 0);
assert.equal(run('newtons-cradle.json', 'cradle'), 0);
assert.equal(run('newtons-cradle.json', 'failed', '--tol', '1e-30', '--set', 'simulation.stop_on_failure=true'), 3);
const browser = await launch();
let failed = 0;
for (const [name, body] of tests) {
  const from = Date.now();
  try {
    await body(browser);
    console.log(`ok      ${name} (${((Date.now() - from) / 1000).toFixed(1)} s)`);
  } catch (error) {
    ++failed;
    console.log(`FAILED  ${name}\n${error.stack}`);
  }
}
await browser.close();
console.log(`${tests.length - failed} of ${tests.length} passed in ${((Date.now() - start) / 1000).toFixed(1)} s`);
process.exit(failed ? 1 : 0);
