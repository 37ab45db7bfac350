// Geometry of bodies: shapes of one kind share an instanced mesh, so that a thousand bodies are a handful of draws.
import * as THREE from 'three';

/// Pale sectors, so that one sees a ball roll.
function sectors() {
  const canvas = document.createElement('canvas');
  canvas.width = 64;
  canvas.height = 4;
  const paint = canvas.getContext('2d');
  paint.fillStyle = '#ffffff';
  paint.fillRect(0, 0, 64, 4);
  paint.fillStyle = '#c9ced6';
  paint.fillRect(0, 0, 16, 4);
  paint.fillRect(32, 0, 16, 4);
  const texture = new THREE.CanvasTexture(canvas);
  texture.colorSpace = THREE.SRGBColorSpace;
  texture.magFilter = THREE.NearestFilter;
  texture.anisotropy = 4;
  return texture;
}

export function meshGeometry(mesh, smooth = false) {
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute('position', new THREE.BufferAttribute(mesh.vertices, 3));
  geometry.setIndex(new THREE.BufferAttribute(new Uint32Array(mesh.triangles), 1));
  const drawn = smooth ? geometry : geometry.toNonIndexed();
  drawn.computeVertexNormals();
  return drawn;
}

/// What to instance, and by how much to scale it. Axes of cylinders, capsules and cones are z; three.js has them along y.
function primitive(shape, model, fine) {
  const [a, b, c] = shape.size;
  const turns = fine ? 40 : 20;
  switch (shape.kind) {
    case 'sphere': return { key: 'sphere', round: true, scale: [a, a, a], make: () => new THREE.SphereGeometry(1, turns, turns / 2).rotateX(Math.PI / 2) };
    case 'ellipsoid': return { key: 'sphere', round: true, scale: [a, b, c], make: () => new THREE.SphereGeometry(1, turns, turns / 2).rotateX(Math.PI / 2) };
    case 'box': return { key: 'box', scale: [a, b, c], make: () => new THREE.BoxGeometry(2, 2, 2) };
    case 'cylinder': return { key: 'cylinder', round: !shape.glyph, scale: [a, a, b], make: () => new THREE.CylinderGeometry(1, 1, 2, turns).rotateX(Math.PI / 2) };
    case 'cone': return { key: 'cone', round: true, scale: [a, a, b], make: () => new THREE.ConeGeometry(1, 2, turns).rotateX(Math.PI / 2) };
    case 'capsule': return { key: `capsule ${a} ${b}`, round: true, scale: [1, 1, 1], make: () => new THREE.CapsuleGeometry(a, 2 * b, turns / 4, turns).rotateX(Math.PI / 2) };
    default: {
      const mesh = model.meshes[shape.mesh];
      return mesh ? { key: `mesh ${shape.mesh}`, scale: [1, 1, 1], make: () => meshGeometry(mesh) } : null;
    }
  }
}

/// A texture of grid lines for planes; its colours come with the theme.
export function gridTexture(line) {
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = 512;
  const paint = canvas.getContext('2d');
  paint.clearRect(0, 0, 512, 512);
  for (let k = 0; k < 10; ++k) {
    paint.fillStyle = line;
    paint.globalAlpha = k === 0 ? 0.42 : 0.2;
    const width = k === 0 ? 4 : 2;
    paint.fillRect(k * 51.2, 0, width, 512);
    paint.fillRect(0, k * 51.2, 512, width);
  }
  const texture = new THREE.CanvasTexture(canvas);
  texture.wrapS = texture.wrapT = THREE.RepeatWrapping;
  texture.anisotropy = 8;
  texture.colorSpace = THREE.SRGBColorSpace;
  return texture;
}

export class Shapes {
  constructor(model) {
    this.group = new THREE.Group();
    this.groups = [];
    this.planes = [];
    const fine = model.shapes.length < 400;
    const map = sectors();
    const byKey = new Map();
    for (const shape of model.shapes) {
      if (shape.kind === 'half-space') {
        this.addPlane(shape, model);
        continue;
      }
      const p = primitive(shape, model, fine);
      if (!p) continue;
      if (!byKey.has(p.key)) byKey.set(p.key, { make: p.make, round: p.round, items: [] });
      const local = new THREE.Matrix4().compose(vector(shape.position), quaternion(shape.rotation), vector(p.scale));
      byKey.get(p.key).items.push({ body: shape.body, local });
    }
    for (const { make, round, items } of byKey.values()) {
      const material = new THREE.MeshStandardMaterial({ roughness: 0.42, metalness: 0.05, map: round ? map : null });
      const mesh = new THREE.InstancedMesh(make(), material, items.length);
      mesh.castShadow = mesh.receiveShadow = true;
      mesh.frustumCulled = false;
      mesh.userData.bodies = items.map((item) => item.body);
      this.group.add(mesh);
      this.groups.push({ mesh, items });
    }
  }

  addPlane(shape, model) {
    const polygon = model.meshes[shape.mesh];
    if (!polygon) return;
    const geometry = meshGeometry(polygon, true);
    const uv = new Float32Array((geometry.attributes.position.count) * 2);
    geometry.setAttribute('uv', new THREE.BufferAttribute(uv, 2));
    const base = new THREE.Mesh(geometry, new THREE.MeshStandardMaterial({ roughness: 0.9, metalness: 0 }));
    base.receiveShadow = true;
    const lines = new THREE.Mesh(geometry, new THREE.MeshBasicMaterial({ transparent: true, depthWrite: false, polygonOffset: true, polygonOffsetFactor: -1, polygonOffsetUnits: -1 }));
    const plane = new THREE.Group();
    plane.add(base, lines);
    plane.matrixAutoUpdate = false;
    base.userData.bodies = [shape.body];
    this.group.add(plane);
    const local = new THREE.Matrix4().compose(vector(shape.position), quaternion(shape.rotation), new THREE.Vector3(1, 1, 1));
    this.planes.push({ plane, base, lines, body: shape.body, local });
  }

  /// `cell`: the size of ten grid cells.
  stylePlanes(colour, line, cell) {
    const texture = gridTexture(line);
    for (const { base, lines } of this.planes) {
      base.material.color.set(colour);
      lines.material.map?.dispose();
      lines.material.map = texture;
      lines.material.needsUpdate = true;
      const { position, uv } = base.geometry.attributes;
      for (let k = 0; k < position.count; ++k) uv.setXY(k, position.getX(k) / cell, position.getY(k) / cell);
      uv.needsUpdate = true;
    }
  }

  place(poses) {
    const m = new THREE.Matrix4();
    for (const { mesh, items } of this.groups) {
      items.forEach(({ body, local }, k) => mesh.setMatrixAt(k, m.multiplyMatrices(poses[body], local)));
      mesh.instanceMatrix.needsUpdate = true;
      mesh.boundingSphere = null;
    }
    for (const { plane, body, local } of this.planes) {
      plane.matrix.multiplyMatrices(poses[body], local);
      plane.matrixWorldNeedsUpdate = true;
    }
  }

  paint(colours) {
    for (const { mesh, items } of this.groups) {
      items.forEach(({ body }, k) => mesh.setColorAt(k, colours[body]));
      mesh.instanceColor.needsUpdate = true;
    }
  }

  /// The body under a ray, or −1.
  pick(raycaster) {
    for (const hit of raycaster.intersectObject(this.group, true)) {
      const bodies = hit.object.userData.bodies;
      if (bodies) return bodies[hit.instanceId ?? 0];
    }
    return -1;
  }
}

export const vector = (x) => new THREE.Vector3(x[0], x[1], x[2]);
/// Ours are (w, x, y, z).
export const quaternion = (p) => new THREE.Quaternion(p[1], p[2], p[3], p[0]);
