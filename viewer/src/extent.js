// How large things are: what the camera looks at, and how large symbols may be.
import * as THREE from 'three';
import { quaternion, vector } from './shapes.js';

/// Half the box about a shape in its own axes, and its middle.
function halfBox(shape, model) {
  const [a, b, c] = shape.size;
  const middle = new THREE.Vector3();
  switch (shape.kind) {
    case 'sphere': return { half: [a, a, a], middle };
    case 'box': case 'ellipsoid': return { half: [a, b, c], middle };
    case 'cylinder': case 'cone': return { half: [a, a, b], middle };
    case 'capsule': return { half: [a, a, a + b], middle };
    default: {
      const mesh = model.meshes[shape.mesh];
      if (!mesh || shape.kind === 'half-space') return null;
      const box = new THREE.Box3().setFromArray(mesh.vertices);
      return { half: box.getSize(new THREE.Vector3()).multiplyScalar(0.5).toArray(), middle: box.getCenter(middle) };
    }
  }
}

/// Grows a box by a shape's own box where `place` puts it. False if that is nowhere.
function addPlaced(box, { half, middle }, place) {
  const centre = middle.clone().applyMatrix4(place);
  const e = place.elements;
  const reach = new THREE.Vector3(...[0, 1, 2].map((i) => Math.abs(e[i]) * half[0] + Math.abs(e[4 + i]) * half[1] + Math.abs(e[8 + i]) * half[2]));
  if (![...centre.toArray(), ...reach.toArray()].every(Number.isFinite)) return false;
  box.union(new THREE.Box3(centre.clone().sub(reach), centre.add(reach)));
  return true;
}

const diagonal = (box) => (box.isEmpty() ? 0 : box.getSize(new THREE.Vector3()).length());

/// Where each moving body is: a box at the start, one over all time, and its centres.
function paths(data, shapesOf) {
  const { position, rotation, moving, count } = data.frames;
  const one = new THREE.Vector3(1, 1, 1);
  const samples = Math.min(count, Math.max(2, Math.ceil(30000 / (data.model.shapes.length || 1))));
  return moving.map((body, slot) => {
    const path = { body, start: new THREE.Box3(), box: new THREE.Box3(), centres: [], lost: false };
    const shapes = shapesOf.get(body) ?? [];
    for (let k = 0; shapes.length && k < samples; ++k) {
      const row = Math.round((k * (count - 1)) / Math.max(samples - 1, 1)) * moving.length + slot;
      const pose = new THREE.Matrix4().compose(vector(position.subarray(3 * row, 3 * row + 3)), quaternion(rotation.subarray(4 * row, 4 * row + 4)), one);
      const at = new THREE.Box3();
      for (const { half, local } of shapes) path.lost = !addPlaced(at, half, pose.clone().multiply(local)) || path.lost;
      if (at.isEmpty()) continue;
      path.box.union(at);
      if (k === 0) path.start.copy(at);
      path.centres.push(at.getCenter(new THREE.Vector3()));
    }
    return path;
  }).filter((path) => path.centres.length || path.lost);
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? 0;
}

/// The paths of most bodies belong to the picture, and where all bodies begin. Of the rest, nearest first, those that make it at most twice
/// as large one by one and six times in all; whoever goes farther has left it.
function frameMost(list, box) {
  const all = list.flatMap((path) => path.centres);
  const middle = new THREE.Vector3(...[0, 1, 2].map((i) => median(all.map((c) => c.getComponent(i)))));
  const reach = (path) => (path.lost ? Infinity : path.centres.reduce((most, c) => Math.max(most, c.distanceTo(middle)), 0));
  const byReach = list.map((path) => ({ path, reach: reach(path) })).sort((a, b) => a.reach - b.reach);
  const most = byReach.length <= 2 ? byReach.length : (byReach.length >> 1) + 1;
  for (const { path } of byReach) box.union(path.start);
  byReach.slice(0, most).forEach(({ path }) => box.union(path.box));
  const largest = 6 * diagonal(box);
  let k = most;
  for (; k < byReach.length && !byReach[k].path.lost; ++k) {
    const grown = diagonal(box.clone().union(byReach[k].path.box));
    if (grown > 2 * diagonal(box) || grown > largest) break;
    box.union(byReach[k].path.box);
  }
  return byReach.slice(k).map(({ path }) => path.body);
}

/// What the camera shows: the box of what stays together, that of everything, and the bodies that left the first. One that flies off must not
/// make the rest small.
export function sceneBoxes(data) {
  const one = new THREE.Vector3(1, 1, 1);
  const still = new Map(data.frames.fixed.map((f) => [f.body, new THREE.Matrix4().compose(vector(f.position), quaternion(f.rotation), one)]));
  const box = new THREE.Box3();
  const shapesOf = new Map();
  for (const shape of data.model.shapes) {
    const half = halfBox(shape, data.model);
    if (!half) continue;
    const local = new THREE.Matrix4().compose(vector(shape.position), quaternion(shape.rotation), one);
    if (data.moving.has(shape.body)) shapesOf.set(shape.body, [...(shapesOf.get(shape.body) ?? []), { half, local }]);
    else if (still.has(shape.body)) addPlaced(box, half, still.get(shape.body).clone().multiply(local));
  }
  for (const f of data.flexible) for (let k = 0; k < f.positions.length; k += 3) box.expandByPoint(vector(f.positions.subarray(k, k + 3)));
  // Markers on the world belong to the picture of a mechanism.
  for (const joint of data.model.joints) {
    joint.body.forEach((body, side) => { if (body === 0) box.expandByPoint(vector(joint.position[side])); });
  }
  const list = paths(data, shapesOf);
  const gone = frameMost(list, box);
  if (box.isEmpty()) box.set(new THREE.Vector3(-1, -1, -1), new THREE.Vector3(1, 1, 1));
  const whole = list.reduce((out, path) => out.union(path.box), box.clone());
  // A flat mechanism still has some depth to look at.
  return { box: box.expandByScalar(0.02 * diagonal(box)), whole: whole.expandByScalar(0.02 * diagonal(whole)), gone };
}

/// How far joints typically are from the centres of their bodies: symbols larger than that would hide a chain.
export function jointReach(model) {
  const reaches = model.joints.flatMap((joint) => joint.body.map((body, side) => (model.bodies[body].kind === 'fixed' ? 0 : Math.hypot(...joint.position[side])))).filter((x) => x > 0).sort((a, b) => a - b);
  return reaches.length ? reaches[reaches.length >> 1] : Infinity;
}
