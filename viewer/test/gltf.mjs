// Khronos' validator on glTF files of runs: node test/gltf.mjs URTO WORK RUN…
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { strict as assert } from 'node:assert';
import validator from 'gltf-validator';

const [urto, work, ...runs] = process.argv.slice(2);
for (const run of runs) {
  const file = join(work, `${run}.glb`);
  execFileSync(urto, ['export', join(work, run), '--gltf', file, '-q']);
  const { issues, info } = await validator.validateBytes(new Uint8Array(readFileSync(file)));
  assert.deepEqual(issues.messages, [], `${run}: ${JSON.stringify(issues.messages, null, 1)}`);
  assert.equal(info.animationCount, 1);
  assert(info.totalTriangleCount > 100, `${run}: ${info.totalTriangleCount} triangles`);
  console.log(`ok      ${run}.glb: ${info.drawCallCount} meshes, ${info.totalTriangleCount} triangles, no issues`);
}
