// Pages made by hand: things that results do not hold yet, or not all at once.
import { readFileSync, writeFileSync } from 'node:fs';
import { deflateSync } from 'node:zlib';

class Arrays {
  chunks = [];
  size = 0;
  add(values, type = 'f32') {
    const array = new { f32: Float32Array, f64: Float64Array, i32: Int32Array }[type](values);
    const at = this.size;
    const bytes = Buffer.from(array.buffer);
    const padded = Buffer.alloc(Math.ceil(bytes.length / 8) * 8);
    bytes.copy(padded);
    this.chunks.push(padded);
    this.size += padded.length;
    return { at, n: array.length, type };
  }
  base64() { return deflateSync(Buffer.concat(this.chunks)).toString('base64'); }
}

function writePage(file, json, arrays) {
  const template = readFileSync(new URL('../dist/page.html', import.meta.url), 'utf8');
  const put = (text, mark, value) => text.replace(`{{urto-${mark}}}`, () => value);
  writeFileSync(file, put(put(put(template, 'title', 'Sample'), 'json', JSON.stringify(json)), 'binary', arrays.base64()));
}

function emptyPage(arrays, frames) {
  const time = Array.from({ length: frames }, (_, k) => k / (frames - 1 || 1));
  return {
    format: 'urto-page', version: 1, mode: 'run', title: 'Sample', description: '', urto: { run: '0', page: '0' }, watch: [], remarks: [], verdict: { level: 'good', short: 'good', findings: [] },
    summary: { status: 'finished', failure: '', missed: 0, steps: 0, time: 1, wall_seconds: 1, rejected: 0, dofs: 0, rank: 0, equality_rows: 0, mobility: 0, worst_residual: 0, worst_penetration: 0,
      worst_joint_error: 0, start_energy: 0, most_contacts: 0, seconds: [{ phase: 'solve', value: 0 }] },
    settings: { stepper: 'dvi', step: 0.1, adaptive: 0, duration: 1, output_step: 0.1, solver: 'auto', tolerance: 1e-8, friction: 'exact', threads: 1 },
    model: { bodies: [{ name: 'world', kind: 'fixed', mass: 0, colour: [0.6, 0.6, 0.6] }], shapes: [], joints: [], meshes: [] },
    frames: { count: frames, recorded: frames, stride: 1, time: arrays.add(time, 'f64'), moving: [], position: arrays.add([]), rotation: arrays.add([]), velocity: arrays.add([]), angular_velocity: arrays.add([]),
      fixed: [{ body: 0, position: [0, 0, 0], rotation: [1, 0, 0, 0] }] },
    contacts: { start: arrays.add(Array(frames + 1).fill(0), 'i32'), body: arrays.add([], 'i32'), point: arrays.add([]), force: arrays.add([]), gap: arrays.add([]) },
    series: [], flexible: [], steps: { recorded: 0, stretch: 1, time: arrays.add([], 'f64'), columns: {}, panels: [] },
  };
}

/// A strip that bends, coloured by its strain, and one body of every kind of shape.
export function writeFlexible(file) {
  const arrays = new Arrays();
  const frames = 5, cells = 20;
  const page = emptyPage(arrays, frames);
  const positions = [], values = [], triangles = [];
  for (let f = 0; f < frames; ++f) {
    for (let k = 0; k <= cells; ++k) {
      const s = k / cells;
      for (const y of [-0.2, 0.2]) positions.push(2 * s, y, -0.3 * f * s * s);
      values.push(f * (1 - s), f * (1 - s));
    }
  }
  for (let k = 0; k < cells; ++k) triangles.push(2 * k, 2 * k + 2, 2 * k + 1, 2 * k + 1, 2 * k + 2, 2 * k + 3);
  page.flexible.push({ name: 'strip', triangles: arrays.add(triangles, 'i32'), positions: arrays.add(positions), field: { name: 'strain', unit: '%', values: arrays.add(values) } });
  page.model.meshes.push({ vertices: arrays.add([0, 0, 0, 0.3, 0, 0, 0, 0.3, 0, 0, 0, 0.3]), triangles: arrays.add([0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3], 'i32') });
  const kinds = [['sphere', [0.15, 0, 0]], ['box', [0.1, 0.15, 0.2]], ['cylinder', [0.1, 0.2, 0]], ['capsule', [0.1, 0.15, 0]], ['cone', [0.15, 0.2, 0]], ['ellipsoid', [0.1, 0.15, 0.2]], ['hull', [0, 0, 0]]];
  kinds.forEach(([kind, size], k) => page.model.shapes.push({ kind, body: 0, size, position: [0.4 * k, 1, 0], rotation: [1, 0, 0, 0], mesh: kind === 'hull' ? 0 : -1, glyph: false }));
  writePage(file, page, arrays);
}

/// A first-order system: states, no bodies.
export function writeStates(file) {
  const arrays = new Arrays();
  const page = emptyPage(arrays, 50);
  page.series.push({ group: 'state', item: 'circuit', name: 'current', unit: 'A', values: arrays.add(Array.from({ length: 50 }, (_, k) => Math.sin(k / 5))) });
  page.watch = ['circuit.current'];
  writePage(file, page, arrays);
}
