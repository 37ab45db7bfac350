// What is not a body: arrows, contact points, joints, frames and paths.
import * as THREE from 'three';
import { quaternion, vector } from './shapes.js';

const up = new THREE.Vector3(0, 0, 1);

/// Arrows of any number, drawn as two instanced meshes.
export class Arrows {
  constructor(capacity, colour) {
    this.capacity = Math.max(capacity, 1);
    const material = new THREE.MeshStandardMaterial({ color: colour, roughness: 0.5, emissive: colour, emissiveIntensity: 0.25 });
    this.shaft = new THREE.InstancedMesh(new THREE.CylinderGeometry(1, 1, 1, 10).rotateX(Math.PI / 2).translate(0, 0, 0.5), material, this.capacity);
    this.head = new THREE.InstancedMesh(new THREE.ConeGeometry(1, 1, 14).rotateX(Math.PI / 2).translate(0, 0, 0.5), material, this.capacity);
    this.group = new THREE.Group();
    this.group.add(this.shaft, this.head);
    for (const mesh of [this.shaft, this.head]) {
      mesh.frustumCulled = false;
      mesh.count = 0;
    }
    this.matrix = new THREE.Matrix4();
    this.turn = new THREE.Quaternion();
    this.scale = new THREE.Vector3();
    this.tip = new THREE.Vector3();
    this.along = new THREE.Vector3();
  }

  begin() { this.shaft.count = this.head.count = 0; }

  add(from, direction, length, width) {
    const k = this.shaft.count;
    if (!(length > 0) || k >= this.capacity) return;
    this.along.copy(direction).normalize();
    this.turn.setFromUnitVectors(up, this.along);
    const head = Math.min(5 * width, 0.5 * length);
    this.scale.set(width, width, length - head);
    this.shaft.setMatrixAt(k, this.matrix.compose(from, this.turn, this.scale));
    this.tip.copy(from).addScaledVector(this.along, length - head);
    this.scale.set(2.4 * width, 2.4 * width, head);
    this.head.setMatrixAt(k, this.matrix.compose(this.tip, this.turn, this.scale));
    this.shaft.count = this.head.count = k + 1;
  }

  end() { this.shaft.instanceMatrix.needsUpdate = this.head.instanceMatrix.needsUpdate = true; }
}

export class Points {
  constructor(capacity, colour) {
    this.capacity = Math.max(capacity, 1);
    this.mesh = new THREE.InstancedMesh(new THREE.IcosahedronGeometry(1, 2), new THREE.MeshBasicMaterial({ color: colour }), this.capacity);
    this.mesh.frustumCulled = false;
    this.mesh.count = 0;
    this.matrix = new THREE.Matrix4();
  }

  begin() { this.mesh.count = 0; }
  add(x, y, z, radius) {
    if (this.mesh.count >= this.capacity) return;
    this.mesh.setMatrixAt(this.mesh.count++, this.matrix.makeScale(radius, radius, radius).setPosition(x, y, z));
  }
  end() { this.mesh.instanceMatrix.needsUpdate = true; }
}

const torus = new THREE.TorusGeometry(1, 0.16, 10, 36);
const axle = new THREE.CylinderGeometry(0.14, 0.14, 3, 12).rotateX(Math.PI / 2);
const ball = new THREE.SphereGeometry(0.62, 20, 14);
const block = new THREE.BoxGeometry(1, 1, 1);
const slide = new THREE.BoxGeometry(0.8, 0.8, 2.4);
const disc = new THREE.CylinderGeometry(1.4, 1.4, 0.12, 32).rotateX(Math.PI / 2);
const bar = (axis) => new THREE.CylinderGeometry(0.16, 0.16, 2, 12).rotateX(axis === 'y' ? 0 : Math.PI / 2).rotateY(axis === 'x' ? Math.PI / 2 : 0);

/// The parts of a joint's glyph at marker b: z is the axis of those that have one.
const parts = {
  revolute: [torus, axle], cylindrical: [torus, slide], screw: [torus, axle, block], prismatic: [slide], spherical: [ball],
  universal: [bar('x'), bar('y')], fixed: [block], planar: [disc], 'point-on-line': [ball, axle], 'point-on-plane': [ball, disc],
  distance: [ball],
};

export class Joints {
  constructor(model, colour) {
    this.group = new THREE.Group();
    this.material = new THREE.MeshStandardMaterial({ color: colour, roughness: 0.4, metalness: 0.2 });
    // Joints are mostly inside bodies: there they shine through.
    this.ghost = new THREE.MeshBasicMaterial({ color: colour, transparent: true, opacity: 0.4, depthTest: false, depthWrite: false });
    this.items = model.joints.map((joint, index) => {
      const glyph = new THREE.Group();
      for (const geometry of parts[joint.kind.replace(/_/g, '-')] ?? []) {
        const ghost = new THREE.Mesh(geometry, this.ghost);
        ghost.renderOrder = 2;
        glyph.add(new THREE.Mesh(geometry, this.material), ghost);
      }
      glyph.traverse((node) => { node.userData.joint = index; });
      this.group.add(glyph);
      const local = joint.position.map((p, side) => new THREE.Matrix4().compose(vector(p), quaternion(joint.rotation[side]), new THREE.Vector3(1, 1, 1)));
      let line = null;
      if (joint.kind === 'distance') {
        line = new THREE.Line(new THREE.BufferGeometry().setFromPoints([new THREE.Vector3(), new THREE.Vector3()]), new THREE.LineBasicMaterial({ color: colour }));
        line.frustumCulled = false;
        this.group.add(line);
      }
      return { joint, glyph, local, line, at: new THREE.Vector3() };
    });
    this.matrix = new THREE.Matrix4();
    this.scale = new THREE.Vector3();
    // From the joint to the centres of its bodies: the string of a pendulum.
    const links = new THREE.BufferGeometry();
    links.setAttribute('position', new THREE.BufferAttribute(new Float32Array(12 * model.joints.length), 3));
    this.links = new THREE.LineSegments(links, new THREE.LineBasicMaterial({ color: colour, transparent: true, opacity: 0.6 }));
    this.links.frustumCulled = false;
    this.moves = model.bodies.map((b) => b.kind !== 'fixed');
    this.group.add(this.links);
  }

  place(poses, size) {
    const place = new THREE.Vector3(), turn = new THREE.Quaternion();
    for (const { joint, glyph, local, line, at } of this.items) {
      this.matrix.multiplyMatrices(poses[joint.body[1]], local[1]).decompose(place, turn, this.scale);
      glyph.position.copy(place);
      glyph.quaternion.copy(turn);
      glyph.scale.setScalar(size);
      at.copy(place);
      if (line) {
        const ends = line.geometry.attributes.position;
        ends.setXYZ(0, place.x, place.y, place.z);
        this.matrix.multiplyMatrices(poses[joint.body[0]], local[0]);
        ends.setXYZ(1, this.matrix.elements[12], this.matrix.elements[13], this.matrix.elements[14]);
        ends.needsUpdate = true;
      }
    }
    const links = this.links.geometry.attributes.position;
    this.items.forEach(({ joint, at: end }, k) => {
      joint.body.forEach((body, side) => {
        const e = poses[body].elements;
        const centre = this.moves[body] ? [e[12], e[13], e[14]] : [end.x, end.y, end.z];
        links.setXYZ(4 * k + 2 * side, end.x, end.y, end.z);
        links.setXYZ(4 * k + 2 * side + 1, ...centre);
      });
    });
    links.needsUpdate = true;
  }

  setColour(colour) {
    for (const material of [this.material, this.ghost, this.links.material]) material.color.set(colour);
  }

  /// {joint, distance} under a ray, or null.
  pick(raycaster) {
    const hit = raycaster.intersectObject(this.group, true).find((h) => h.object.isMesh);
    return hit ? { joint: hit.object.userData.joint, distance: hit.distance } : null;
  }
}

/// x red, y green, z blue.
export class Frames {
  constructor(count) {
    this.positions = new Float32Array(count * 18);
    const colours = new Float32Array(count * 18);
    const rgb = [[0.88, 0.24, 0.24], [0.2, 0.66, 0.3], [0.24, 0.44, 0.92]];
    for (let k = 0; k < count * 3; ++k) {
      for (let end = 0; end < 2; ++end) colours.set(rgb[k % 3], 6 * k + 3 * end);
    }
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute('position', new THREE.BufferAttribute(this.positions, 3));
    geometry.setAttribute('color', new THREE.BufferAttribute(colours, 3));
    this.lines = new THREE.LineSegments(geometry, new THREE.LineBasicMaterial({ vertexColors: true, depthTest: false, transparent: true }));
    this.lines.frustumCulled = false;
    this.lines.renderOrder = 3;
  }

  place(matrices, size) {
    matrices.forEach(({ elements: e }, k) => {
      for (let axis = 0; axis < 3; ++axis) {
        for (let i = 0; i < 3; ++i) {
          this.positions[18 * k + 6 * axis + i] = e[12 + i];
          this.positions[18 * k + 6 * axis + 3 + i] = e[12 + i] + size * e[4 * axis + i];
        }
      }
    });
    this.lines.geometry.attributes.position.needsUpdate = true;
  }
}
