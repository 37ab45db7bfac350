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

/// Adds the two ends of a placed box along each world axis.
function addEnds(ends, { half, middle }, place) {
  const centre = middle.clone().applyMatrix4(place);
  const e = place.elements;
  for (let i = 0; i < 3; ++i) {
    const reach = Math.abs(e[i]) * half[0] + Math.abs(e[4 + i]) * half[1] + Math.abs(e[8 + i]) * half[2];
    ends.low[i].push(centre.getComponent(i) - reach);
    ends.high[i].push(centre.getComponent(i) + reach);
  }
}

/// The box in which nearly all shapes are nearly all the time: one that flies off does not make the rest small.
export function sceneBox(data) {
  const { position, rotation, moving, count, fixed } = data.frames;
  const one = new THREE.Vector3(1, 1, 1);
  const ends = { low: [[], [], []], high: [[], [], []] };
  const box = new THREE.Box3();
  const samples = Math.min(count, Math.max(2, Math.ceil(30000 / (data.model.shapes.length || 1))));
  const still = new Map(fixed.map((f) => [f.body, new THREE.Matrix4().compose(vector(f.position), quaternion(f.rotation), one)]));
  for (const shape of data.model.shapes) {
    const half = halfBox(shape, data.model);
    if (!half) continue;
    const local = new THREE.Matrix4().compose(vector(shape.position), quaternion(shape.rotation), one);
    const slot = data.moving.get(shape.body);
    for (let k = 0; k < (slot === undefined ? 1 : samples); ++k) {
      const row = Math.round((k * (count - 1)) / Math.max(samples - 1, 1)) * moving.length + slot;
      const pose = slot === undefined ? still.get(shape.body)
        : new THREE.Matrix4().compose(vector(position.subarray(3 * row, 3 * row + 3)), quaternion(rotation.subarray(4 * row, 4 * row + 4)), one);
      addEnds(ends, half, pose.clone().multiply(local));
    }
  }
  if (ends.low[0].length) {
    const at = (list, q) => list.sort((x, y) => x - y)[Math.round(q * (list.length - 1))];
    box.min.set(...ends.low.map((list) => at(list, 0.005)));
    box.max.set(...ends.high.map((list) => at(list, 0.995)));
  }
  for (const f of data.flexible) for (let k = 0; k < f.positions.length; k += 3) box.expandByPoint(vector(f.positions.subarray(k, k + 3)));
  // Markers on the world belong to the picture of a mechanism.
  for (const joint of data.model.joints) {
    joint.body.forEach((body, side) => { if (body === 0) box.expandByPoint(vector(joint.position[side])); });
  }
  if (box.isEmpty()) return new THREE.Box3(new THREE.Vector3(-1, -1, -1), new THREE.Vector3(1, 1, 1));
  // A flat mechanism still has some depth to look at.
  return box.expandByScalar(0.02 * box.getSize(new THREE.Vector3()).length());
}

/// How far joints typically are from the centres of their bodies: symbols larger than that would hide a chain.
export function jointReach(model) {
  const reaches = model.joints.flatMap((joint) => joint.body.map((body, side) => (model.bodies[body].kind === 'fixed' ? 0 : Math.hypot(...joint.position[side])))).filter((x) => x > 0).sort((a, b) => a - b);
  return reaches.length ? reaches[reaches.length >> 1] : Infinity;
}
