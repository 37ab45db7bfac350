// What the tests of the page share: a browser without a network, and a look at the pixels.
import { chromium } from 'playwright-core';
import { existsSync } from 'node:fs';
import { strict as assert } from 'node:assert';
import { pathToFileURL } from 'node:url';

const places = [process.env.URTO_CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

export async function launch() {
  const executablePath = places.find((p) => p && existsSync(p));
  assert(executablePath, 'no chromium; script/setup view installs it, URTO_CHROMIUM names another');
  // A container has no sandbox for root, little shared memory and no graphics card: WebGL is drawn by the processor.
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--ignore-gpu-blocklist'] });
}

// The processor draws every pixel: few of them where nobody looks.
const small = { width: 960, height: 640 };
export const large = { width: 1440, height: 900 };

/// Opens a page from the disk. `complaints` gathers console errors, exceptions and every request but the page itself.
export async function open(browser, file, options = {}) {
  const context = await browser.newContext({ viewport: small, colorScheme: 'light', offline: true, ...options });
  const page = await context.newPage();
  const address = pathToFileURL(file).href;
  const complaints = [];
  page.on('console', (m) => { if (m.type() === 'error' || (m.type() === 'warning' && !/GPU stall|GL Driver/.test(m.text()))) complaints.push(`console: ${m.text()}`); });
  page.on('pageerror', (e) => complaints.push(`exception: ${e.message}`));
  page.on('request', (r) => { if (r.url() !== address) complaints.push(`request: ${r.url().slice(0, 200)}`); });
  await page.goto(address);
  await until(page, () => Boolean(window.urto));
  return { page, context, complaints };
}

/// Waits for a predicate in the page. (Playwright's own way evaluates strings, which the page forbids.)
export async function until(page, predicate, argument) {
  for (const end = Date.now() + 30000; Date.now() < end;) {
    if (await page.evaluate(predicate, argument)) return;
    await new Promise((done) => setTimeout(done, 20));
  }
  assert.fail(`waited in vain for ${predicate}`);
}

/// The replay's canvas as it is now: share of pixels that are drawn on, number of colours, and a fingerprint.
export async function picture(page, selector = '.view canvas') {
  return page.evaluate(async (s) => {
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    const canvas = document.querySelector(s);
    const small = document.createElement('canvas');
    small.width = 360;
    small.height = Math.round((360 * canvas.height) / canvas.width);
    const paint = small.getContext('2d', { willReadFrequently: true });
    paint.drawImage(canvas, 0, 0, small.width, small.height);
    const { data } = paint.getImageData(0, 0, small.width, small.height);
    const colours = new Set();
    let drawn = 0, hash = 2166136261;
    for (let k = 0; k < data.length; k += 4) {
      if (data[k + 3] > 0) ++drawn;
      const colour = (data[k] << 16) | (data[k + 1] << 8) | data[k + 2];
      colours.add(colour);
      hash = Math.imul(hash ^ colour, 16777619) >>> 0;
    }
    return { drawn: drawn / (data.length / 4), colours: colours.size, hash };
  }, selector);
}

export const clock = (page) => page.evaluate(() => window.urto.player.t);
