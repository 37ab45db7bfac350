#!/usr/bin/env python3
"""Writes the scene of IFToMM A02 for N windows:  a02-four-bar.py 10 > a02-four-bar.json

The scene format's generators repeat bodies, not joints between neighbours; so a scene of N windows is written out."""
import sys

n = int(sys.argv[1]) if len(sys.argv) > 1 else 10
inertia = "[1e-4, 0.083333333333333333, 0.083333333333333333]"  # m L²/12 about the two axes across; the rod's x is along it


def rod(name, x, y, upright, velocity, spin):
    turn = '"rotation": { "axis": [0, 0, 1], "degrees": 90 }, ' if upright else ""
    turns = f', "angular_velocity": [0, 0, {spin}]' if spin else ""
    return (f'    {{ "name": "{name}", "position": [{x}, {y}, 0], {turn}"mass": 1, "inertia": {inertia}, '
            f'"velocity": [{velocity}, 0, 0]{turns}, '
            '"shapes": [{ "kind": "box", "size": [1, 0.03, 0.03], "collides": false }] }')


def joint(name, kind, a, b, x, y):
    return (f'    {{ "name": "{name}", "kind": "{kind}", "bodies": ["{a}", "{b}"], "position": [{x}, {y}, 0], '
            '"axis": [0, 0, 1] }')


bodies = [rod(f"post-{i}", i, 0.5, True, 0.5, -1) for i in range(n + 1)]
bodies += [rod(f"bar-{i}", i + 0.5, 1, False, 1, 0) for i in range(n)]
joints = [joint(f"A{i}", "revolute", "world", f"post-{i}", i, 0) for i in range(n + 1)]
for i in range(n):
    joints.append(joint(f"B{i}", "revolute", f"post-{i}", f"bar-{i}", i, 1))
    joints.append(joint(f"C{i}", "point-on-line", f"post-{i + 1}", f"bar-{i}", i + 1, 1))

newline = ",\n"
print(f"""// Written by a02-four-bar.py {n}: change that instead, and N with it.
{{
  "$schema": "../../src/urto/scene/scene.schema.json",
  "urto": 1,
  "title": "IFToMM A02: {n} four-bar windows",
  "description": "N = {n} square windows of {2 * n + 1} uniform rods of 1 m and 1 kg, upright, the top at 1 m/s along x; g = 9.81 m/s² along -y, 10 s. Twice a turn all rods lie on one line, where the mobility rises from 1 to N + 1. Measured: energy, and the point B0 against the pendulum that the mechanism is (all posts stay parallel). Choices: hinges as in the plane, but without the constraints that would hold the plane many times over (each bar is hinged at its left end and pinned, two rows, at its right one), so that the start has mobility 1 and no redundant row; the inertia of a rod about its own axis is 1e-4 kg m² and does not act.",
  "gravity": [0, -9.81, 0],
  "bodies": [
{newline.join(bodies)}
  ],
  "joints": [
{newline.join(joints)}
  ],
  "watch": ["A0.angle", "bar-0.x", "bar-0.y"],
  "simulation": {{
    "duration": 10, "step": 1e-4, "adaptive": true, "error_tolerance": 1e-5, "max_step": 1e-2,
    "project_joints": true, "output_step": 0.02
  }}
}}""")
