// A surface whose vertices move by themselves, coloured by a scalar field.
import * as THREE from 'three';
import { scaleColour } from './colours.js';

export class Flexible {
  /// {name, triangles, positions (frames × vertices × 3), field: {name, unit, values (frames × vertices)} or null}
  constructor(source) {
    this.source = source;
    let vertices = 0;
    for (const corner of source.triangles) vertices = Math.max(vertices, corner + 1);
    this.vertices = vertices;
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute('position', new THREE.BufferAttribute(new Float32Array(3 * vertices), 3));
    geometry.setAttribute('color', new THREE.BufferAttribute(new Float32Array(3 * vertices), 3));
    geometry.setIndex(new THREE.BufferAttribute(new Uint32Array(source.triangles), 1));
    this.mesh = new THREE.Mesh(geometry, new THREE.MeshStandardMaterial({ vertexColors: true, side: THREE.DoubleSide, roughness: 0.5 }));
    this.mesh.castShadow = this.mesh.receiveShadow = true;
    this.mesh.frustumCulled = false;
    this.range = [Infinity, -Infinity];
    for (const x of source.field?.values ?? []) this.range = [Math.min(this.range[0], x), Math.max(this.range[1], x)];
  }

  update(frame, next, part) {
    const { positions, field } = this.source;
    const { position, color } = this.mesh.geometry.attributes;
    const [a, b] = [frame * this.vertices, next * this.vertices];
    const span = this.range[1] - this.range[0];
    const colour = new THREE.Color();
    for (let k = 0; k < 3 * this.vertices; ++k) position.array[k] = positions[3 * a + k] + part * (positions[3 * b + k] - positions[3 * a + k]);
    for (let k = 0; k < this.vertices; ++k) {
      if (field) {
        const value = field.values[a + k] + part * (field.values[b + k] - field.values[a + k]);
        scaleColour(span > 0 ? (value - this.range[0]) / span : 0, colour);
      } else {
        colour.set('#8aa4c8');
      }
      color.setXYZ(k, colour.r, colour.g, colour.b);
    }
    position.needsUpdate = color.needsUpdate = true;
    this.mesh.geometry.computeVertexNormals();
  }
}
