// The page's data: JSON with references into one block of arrays (docs/report.md).

const types = { f32: Float32Array, f64: Float64Array, i32: Int32Array };

function decodeBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const digit = new Uint8Array(128);
  const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  for (let k = 0; k < 64; ++k) digit[digits.charCodeAt(k)] = k;
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  const bytes = new Uint8Array((text.length / 4) * 3 - padding);
  for (let k = 0, b = 0; k < text.length; k += 4) {
    const four =
      (digit[text.charCodeAt(k)] << 18) | (digit[text.charCodeAt(k + 1)] << 12) |
      (digit[text.charCodeAt(k + 2)] << 6) | digit[text.charCodeAt(k + 3)];
    bytes[b++] = four >> 16;
    if (b < bytes.length) bytes[b++] = (four >> 8) & 255;
    if (b < bytes.length) bytes[b++] = four & 255;
  }
  return bytes;
}

/// Replaces every {at, n, type} by the typed array it stands for.
function resolve(value, buffer) {
  if (Array.isArray(value)) return value.map((x) => resolve(x, buffer));
  if (value === null || typeof value !== 'object') return value;
  if (value.type in types && 'at' in value && 'n' in value) return new types[value.type](buffer, value.at, value.n);
  return Object.fromEntries(Object.entries(value).map(([key, x]) => [key, resolve(x, buffer)]));
}

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Response(stream).arrayBuffer();
}

export async function readData() {
  const json = document.getElementById('urto-json');
  const binary = document.getElementById('urto-binary');
  const data = resolve(JSON.parse(json.textContent), await inflate(decodeBase64(binary.textContent.trim())));
  binary.remove();
  data.moving = new Map(data.frames.moving.map((body, k) => [body, k]));
  return data;
}

/// The last frame at or before time t, and how far t is towards the next one.
export function locate(time, t) {
  let low = 0, high = time.length - 1;
  if (!(t > time[0])) return [0, 0];
  if (t >= time[high]) return [high, 0];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (time[middle] <= t) low = middle;
    else high = middle;
  }
  const span = time[high] - time[low];
  return [low, span > 0 ? (t - time[low]) / span : 0];
}

const axes = ['x', 'y', 'z'];

/// Everything of one body that can be plotted over frames: name, unit, values.
export function bodyQuantities(data, body) {
  const slot = data.moving.get(body);
  if (slot === undefined) return [];
  const { count, moving, position, velocity, angular_velocity } = data.frames;
  const column = (array, i) => {
    const out = new Float32Array(count);
    for (let f = 0; f < count; ++f) out[f] = array[3 * (f * moving.length + slot) + i];
    return out;
  };
  const list = [];
  axes.forEach((a, i) => list.push({ name: a, group: 'position', unit: 'm', values: () => column(position, i), band: { of: 'position', slot, axis: i } }));
  axes.forEach((a, i) => list.push({ name: 'v' + a, group: 'velocity', unit: 'm/s', values: () => column(velocity, i) }));
  axes.forEach((a, i) => list.push({ name: 'w' + a, group: 'angular velocity', unit: 'rad/s', values: () => column(angular_velocity, i) }));
  list.push({
    name: 'speed', group: 'velocity', unit: 'm/s',
    values: () => {
      const [x, y, z] = [0, 1, 2].map((i) => column(velocity, i));
      return x.map((_, f) => Math.hypot(x[f], y[f], z[f]));
    },
  });
  list.push({ name: 'contact force', group: 'contact force', unit: 'N', values: () => contactForce(data, body) });
  return list;
}

/// Sum of the sizes of the contact forces on a body: what presses on it, also when they balance.
function contactForce(data, body) {
  const { start, body: pair, force } = data.contacts;
  const out = new Float32Array(data.frames.count);
  for (let f = 0; f < out.length; ++f) {
    for (let k = start[f]; k < start[f + 1]; ++k) {
      if (pair[2 * k] === body || pair[2 * k + 1] === body) {
        out[f] += Math.hypot(force[3 * k], force[3 * k + 1], force[3 * k + 2]);
      }
    }
  }
  return out;
}

/// Every state by its name, "item.quantity".
export function allStates(data) {
  const states = new Map();
  data.model.bodies.forEach((body, k) => {
    for (const q of bodyQuantities(data, k)) states.set(`${body.name}.${q.name}`, q);
  });
  for (const s of data.series) {
    states.set(`${s.item}.${s.name}`, { name: s.name, unit: s.unit, values: () => s.values, band: { of: 'coordinate', item: s.item, name: s.name } });
  }
  return states;
}
