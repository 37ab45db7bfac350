// The 3D replay. It draws when something has changed, not all the time.
import * as THREE from 'three';
import { OrbitControls } from 'three/examples/jsm/controls/OrbitControls.js';
import { Arrows, Frames, Joints, Points } from './glyphs.js';
import { Flexible } from './flexible.js';
import { Shapes, quaternion, vector } from './shapes.js';
import { css, scaleColour } from './colours.js';
import { locate } from './data.js';
import { jointReach, sceneBoxes } from './extent.js';

function quantile(list, q) {
  const sorted = list.filter((x) => x > 0).sort((a, b) => a - b);
  return sorted.length ? sorted[Math.floor(q * (sorted.length - 1))] : 0;
}

export class Replay {
  constructor(canvas, data, player) {
    this.data = data;
    this.player = player;
    this.canvas = canvas;
    this.options = { contacts: true, forces: true, joints: true, reactions: false, frames: false, path: true, follow: false, shadows: data.model.shapes.length < 600,
      colour: 'body', forceScale: 1, glyphSize: 1 };
    this.selected = { body: -1, joint: -1 };
    // Kept after drawing, so that the picture can be saved.
    this.renderer = new THREE.WebGLRenderer({ canvas, antialias: true, alpha: true, preserveDrawingBuffer: true });
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio, 2));
    this.scene = new THREE.Scene();
    this.camera = new THREE.PerspectiveCamera(38, 1, 0.01, 100);
    this.camera.up.set(0, 0, 1);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = false;
    this.controls.addEventListener('change', () => this.invalidate());
    Object.assign(this, sceneBoxes(data));
    this.all = false;
    this.extent = this.box.getSize(new THREE.Vector3()).length();
    this.jointReach = jointReach(data.model);
    this.addLights();
    this.addThings();
    this.setTheme();
    this.resize();
    this.fit();
    new ResizeObserver(() => this.resize()).observe(canvas.parentElement);
    player.onChange(() => this.invalidate(true));
    this.stale = true;
  }

  addLights() {
    this.scene.add(new THREE.HemisphereLight('#ffffff', '#8a93a3', 1.6));
    const sun = new THREE.DirectionalLight('#ffffff', 2.2);
    const centre = this.box.getCenter(new THREE.Vector3());
    sun.position.copy(centre).addScaledVector(new THREE.Vector3(0.45, -0.6, 1.2), this.extent);
    sun.target.position.copy(centre);
    const reach = 0.75 * this.extent;
    Object.assign(sun.shadow.camera, { left: -reach, right: reach, top: reach, bottom: -reach, near: 0.05 * this.extent, far: 3.5 * this.extent });
    sun.shadow.mapSize.set(2048, 2048);
    sun.shadow.normalBias = 0.002 * this.extent;
    sun.shadow.radius = 3;
    this.sun = sun;
    this.scene.add(sun, sun.target);
    this.renderer.shadowMap.type = THREE.PCFSoftShadowMap;
  }

  addThings() {
    const { data } = this;
    const { start, force } = data.contacts;
    let most = 0;
    for (let f = 0; f + 1 < start.length; ++f) most = Math.max(most, start[f + 1] - start[f]);
    const sizes = [];
    const stride = Math.max(3, 3 * Math.floor(force.length / 3 / 20000));
    for (let k = 0; k < force.length; k += stride) sizes.push(Math.hypot(force[k], force[k + 1], force[k + 2]));
    this.typicalForce = quantile(sizes, 0.9);
    this.shapes = new Shapes(data.model);
    this.joints = new Joints(data.model, '#3d4757');
    this.points = new Points(most, '#e0314f');
    this.arrows = new Arrows(most, '#f0563c');
    this.reactions = new Arrows(data.model.joints.length, '#9a5bd6');
    this.frames = new Frames(data.frames.moving.length + data.model.joints.length);
    this.flexible = data.flexible.map((f) => new Flexible(f));
    this.reactionSeries = data.model.joints.map((joint) => ['x', 'y', 'z'].map((a) => data.series.find((s) => s.group === 'joint' && s.item === joint.name && s.name === `force ${a}`)?.values));
    const reactions = this.reactionSeries.flatMap(([x, y, z]) => (x ? Array.from(x, (_, f) => Math.hypot(x[f], y[f], z[f])) : []));
    this.typicalReaction = quantile(reactions.filter(Number.isFinite), 0.9);
    const path = new THREE.BufferGeometry();
    path.setAttribute('position', new THREE.BufferAttribute(new Float32Array(3 * data.frames.count), 3));
    this.path = new THREE.Line(path, new THREE.LineBasicMaterial({ color: '#2f6fde', transparent: true, opacity: 0.85 }));
    this.path.frustumCulled = false;
    this.path.visible = false;
    this.poses = data.model.bodies.map(() => new THREE.Matrix4());
    this.centres = data.model.bodies.map(() => new THREE.Vector3());
    for (const f of data.frames.fixed) {
      this.centres[f.body].copy(vector(f.position));
      this.poses[f.body].compose(this.centres[f.body], quaternion(f.rotation), new THREE.Vector3(1, 1, 1));
    }
    this.colours = data.model.bodies.map((b) => new THREE.Color().setRGB(...b.colour, THREE.SRGBColorSpace));
    this.painted = data.model.bodies.map(() => new THREE.Color());
    const { velocity } = data.frames;
    this.topSpeed = 0;
    for (let k = 0; k < velocity.length; k += 3) this.topSpeed = Math.max(this.topSpeed, Math.hypot(velocity[k], velocity[k + 1], velocity[k + 2]));
    this.scene.add(this.shapes.group, this.joints.group, this.points.mesh, this.arrows.group, this.reactions.group, this.frames.lines, this.path, ...this.flexible.map((f) => f.mesh));
    if (this.shapes.planes.length === 0) this.addGround();
  }

  /// Where nothing is a floor, a grid below everything tells up from down.
  addGround() {
    const cell = this.gridCell() / 10;
    const cells = 2 * Math.ceil((0.75 * this.extent) / cell);
    this.ground = new THREE.GridHelper(cells * cell, cells, '#8893a5', '#8893a5');
    this.ground.rotation.x = Math.PI / 2;
    const centre = this.box.getCenter(new THREE.Vector3());
    this.ground.position.set(Math.round(centre.x / cell) * cell, Math.round(centre.y / cell) * cell, this.box.min.z);
    this.ground.material.transparent = true;
    this.ground.material.opacity = 0.3;
    this.scene.add(this.ground);
  }

  gridCell() {
    return 10 ** Math.round(Math.log10(0.6 * this.extent));
  }

  setTheme() {
    this.shapes.stylePlanes(css('--plane'), css('--plane-line'), this.gridCell());
    this.joints.setColour(css('--joint'));
    this.path.material.color.set(css('--accent'));
    this.invalidate();
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.canvas.parentElement;
    if (width === 0 || height === 0) return;
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / height;
    this.camera.updateProjectionMatrix();
    this.invalidate();
  }

  /// Looks at what stays together, and asked again at everything, where bodies have left.
  fitNext() {
    this.all = this.gone.length > 0 && !this.all;
    this.fit();
  }

  /// Looks from `direction` (towards the camera).
  fit(direction = new THREE.Vector3(0.62, -1, 0.66)) {
    const shown = this.all ? this.whole : this.box;
    const centre = shown.getCenter(new THREE.Vector3());
    const towards = direction.clone().normalize();
    const right = new THREE.Vector3().crossVectors(this.camera.up, towards).normalize();
    const above = new THREE.Vector3().crossVectors(towards, right);
    const tangent = Math.tan((this.camera.fov * Math.PI) / 360);
    // As near as every corner of the box allows.
    let distance = 0;
    for (let corner = 0; corner < 8; ++corner) {
      const [min, max] = [shown.min, shown.max];
      const x = new THREE.Vector3(corner & 1 ? max.x : min.x, corner & 2 ? max.y : min.y, corner & 4 ? max.z : min.z).sub(centre);
      const needed = Math.max(Math.abs(x.dot(right)) / (tangent * this.camera.aspect), Math.abs(x.dot(above)) / tangent);
      distance = Math.max(distance, x.dot(towards) + 1.06 * needed);
    }
    this.camera.position.copy(centre).addScaledVector(towards, distance);
    Object.assign(this.camera, { near: distance / 200, far: distance * 40 });
    this.camera.updateProjectionMatrix();
    this.controls.target.copy(centre);
    this.controls.update();
    this.invalidate();
  }

  set(option, value) {
    this.options[option] = value;
    this.invalidate(true);
  }

  select(selected) {
    this.selected = selected;
    const slot = this.data.moving.get(selected.body);
    this.path.visible = slot !== undefined;
    if (slot !== undefined) {
      const { position, moving, count } = this.data.frames;
      const out = this.path.geometry.attributes.position;
      for (let f = 0; f < count; ++f) out.setXYZ(f, ...position.subarray(3 * (f * moving.length + slot), 3 * (f * moving.length + slot) + 3));
      out.needsUpdate = true;
    }
    this.invalidate(true);
  }

  invalidate(moved = false) {
    this.stale ||= moved;
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  draw() {
    if (this.stale) this.update();
    this.stale = false;
    const { shadows } = this.options;
    if (this.sun.castShadow !== shadows) {
      this.sun.castShadow = this.renderer.shadowMap.enabled = shadows;
      this.scene.traverse((node) => { if (node.material) node.material.needsUpdate = true; });
    }
    this.renderer.render(this.scene, this.camera);
    this.keepUp();
  }

  /// Shadows and fine pixels are given up where a replay without a graphics card would stutter.
  keepUp() {
    const now = performance.now();
    const slow = this.player.playing && this.drawn && now - this.drawn > 120;
    this.slow = slow ? (this.slow ?? 0) + 1 : 0;
    this.drawn = this.player.playing ? now : null;
    if (this.slow < 8) return;
    this.options.shadows = false;
    this.renderer.setPixelRatio(1);
    this.resize();
  }

  update() {
    const [frame, part] = locate(this.data.frames.time, this.player.t);
    const next = Math.min(frame + 1, this.data.frames.count - 1);
    const followed = this.options.follow ? this.centres[this.selected.body]?.clone() : null;
    this.placeBodies(frame, next, part);
    if (followed) {
      const shift = this.centres[this.selected.body].clone().sub(followed);
      this.camera.position.add(shift);
      this.controls.target.add(shift);
      this.controls.update();
    }
    this.paintBodies(part < 0.5 ? frame : next);
    this.shapes.place(this.poses);
    this.placeGlyphs(part < 0.5 ? frame : next);
    for (const f of this.flexible) f.update(frame, next, part);
    this.path.visible = this.options.path && this.data.moving.has(this.selected.body);
  }

  placeBodies(frame, next, part) {
    const { position, rotation, moving } = this.data.frames;
    const [a, b] = [new THREE.Quaternion(), new THREE.Quaternion()];
    const one = new THREE.Vector3(1, 1, 1);
    moving.forEach((body, k) => {
      const [i, j] = [frame * moving.length + k, next * moving.length + k];
      const mix = (c) => position[3 * i + c] + part * (position[3 * j + c] - position[3 * i + c]);
      a.set(rotation[4 * i + 1], rotation[4 * i + 2], rotation[4 * i + 3], rotation[4 * i]);
      if (part > 0) a.slerp(b.set(rotation[4 * j + 1], rotation[4 * j + 2], rotation[4 * j + 3], rotation[4 * j]), part);
      this.poses[body].compose(this.centres[body].set(mix(0), mix(1), mix(2)), a, one);
    });
  }

  paintBodies(frame) {
    const { velocity, moving } = this.data.frames;
    this.painted.forEach((colour, body) => colour.copy(this.colours[body]));
    if (this.options.colour === 'speed' && this.topSpeed > 0) {
      moving.forEach((body, k) => {
        const v = 3 * (frame * moving.length + k);
        scaleColour(Math.hypot(velocity[v], velocity[v + 1], velocity[v + 2]) / this.topSpeed, this.painted[body]);
      });
    }
    const picked = this.selected.body;
    if (picked >= 0) this.painted[picked].lerp(new THREE.Color('#ffffff'), 0.55);
    this.shapes.paint(this.painted);
  }

  placeGlyphs(frame) {
    const o = this.options;
    const size = 0.011 * this.extent * o.glyphSize;
    const { start, point, force } = this.data.contacts;
    const [from, along] = [new THREE.Vector3(), new THREE.Vector3()];
    this.points.begin();
    this.arrows.begin();
    const reach = (0.14 * this.extent * o.forceScale) / (this.typicalForce || 1);
    const cap = 0.6 * this.extent;
    for (let k = start[frame]; k < start[frame + 1]; ++k) {
      from.set(point[3 * k], point[3 * k + 1], point[3 * k + 2]);
      along.set(force[3 * k], force[3 * k + 1], force[3 * k + 2]);
      if (o.contacts) this.points.add(from.x, from.y, from.z, 0.32 * size);
      if (o.forces) this.arrows.add(from, along, Math.min(along.length() * reach, cap), 0.16 * size);
    }
    this.points.end();
    this.arrows.end();
    this.joints.group.visible = o.joints;
    this.joints.place(this.poses, Math.min(1.6 * size, 0.3 * this.jointReach * o.glyphSize));
    this.reactions.begin();
    if (o.reactions) {
      const scale = (0.16 * this.extent * o.forceScale) / (this.typicalReaction || 1);
      this.joints.items.forEach(({ at }, k) => {
        const [x, y, z] = this.reactionSeries[k];
        if (x) this.reactions.add(at, along.set(x[frame], y[frame], z[frame]), Math.min(along.length() * scale, cap), 0.22 * size);
      });
    }
    this.reactions.end();
    const marks = o.frames ? [...this.data.frames.moving.map((b) => this.poses[b]), ...this.joints.items.map((i) => i.glyph.updateMatrix() ?? i.glyph.matrix)]
      : this.selected.body >= 0 && this.data.moving.has(this.selected.body) ? [this.poses[this.selected.body]] : [];
    this.frames.lines.geometry.setDrawRange(0, 6 * marks.length);
    this.frames.place(marks.map(unscaled), 4 * size);
  }

  /// The body or joint at a point of the window: {body, joint}, −1 for none.
  pick(clientX, clientY) {
    const r = this.canvas.getBoundingClientRect();
    const raycaster = new THREE.Raycaster();
    raycaster.setFromCamera(new THREE.Vector2((2 * (clientX - r.left)) / r.width - 1, 1 - (2 * (clientY - r.top)) / r.height), this.camera);
    const joint = this.options.joints ? this.joints.pick(raycaster) : null;
    if (joint) return { body: -1, joint: joint.joint };
    return { body: this.shapes.pick(raycaster), joint: -1 };
  }

  /// Where a body's centre is in the window.
  whereIs(body) {
    const r = this.canvas.getBoundingClientRect();
    const p = this.centres[body].clone().project(this.camera);
    return [r.left + ((p.x + 1) / 2) * r.width, r.top + ((1 - p.y) / 2) * r.height];
  }
}

function unscaled(matrix) {
  const m = matrix.clone();
  const e = m.elements;
  for (let axis = 0; axis < 3; ++axis) {
    const length = Math.hypot(e[4 * axis], e[4 * axis + 1], e[4 * axis + 2]) || 1;
    for (let i = 0; i < 3; ++i) e[4 * axis + i] /= length;
  }
  return m;
}
