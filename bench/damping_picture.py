#!/usr/bin/python3
"""Draws numerical damping against frequency from runs of Urto: bodies on springs, each with another stiffness, and what a step leaves
of their oscillations (docs/steppers/nonsmooth-alpha.md).

usage: damping_picture.py URTO OUTPUT
"""
import csv
import json
import math
import os
import subprocess
import sys
import tempfile

import matplotlib
matplotlib.use('Agg')
import matplotlib.pyplot as plt

STEP = 1e-2
FREQUENCIES = [10 ** (-1.5 + 0.25 * k) for k in range(15)]  # omega h
RADII = (0.8, 0.5, 0.0)


def scene(z, steps):
    """A body on a rail, let go a metre from where its spring rests."""
    return {'urto': 1, 'title': 'Oscillator', 'gravity': 0, 'bodies': [{'name': 'mass', 'mass': 1, 'inertia': [1, 1, 1]}],
            'joints': [{'name': 'rail', 'kind': 'prismatic', 'bodies': ['world', 'mass'], 'axis': [1, 0, 0]}],
            'forces': [{'kind': 'torsion-spring', 'joint': 'rail', 'rest': -1, 'stiffness': (z / STEP) ** 2}],
            'simulation': {'duration': steps * STEP, 'step': STEP, 'output_step': STEP, 'tolerance': 1e-10}}


def damping(urto, folder, stepper, radius, z):
    """1 - the factor of a step: the slope of log(energy) over whole oscillations."""
    steps = max(200, math.ceil(4 * math.pi / z) * 2)
    path, out = os.path.join(folder, 'oscillator.json'), os.path.join(folder, 'out')
    with open(path, 'w') as f:
        json.dump(scene(z, steps), f)
    subprocess.run([urto, 'run', path, '-o', out, '--csv', '--no-report', '-q', '--stepper', stepper, '--set',
                    'simulation.spectral_radius=%g' % radius], check=False, stderr=subprocess.DEVNULL)
    energies = []
    with open(os.path.join(out, 'states.csv')) as f:
        for row in csv.DictReader(f):
            if row['body'] == 'mass':
                energies.append((z / STEP * (float(row['x']) + 1)) ** 2 + float(row['vx']) ** 2)
    # What is damped fast is lost in rounding soon; of the rest the start, not yet the scheme's slowest motion, is left out.
    alive = next((k for k, e in enumerate(energies) if e < 1e-16 * energies[0]), len(energies))
    first = min(alive // 3, 20)
    points = [(k, 0.5 * math.log(energies[k])) for k in range(first, alive)]
    if len(points) < 3:
        return 1
    mean = [sum(p[i] for p in points) / len(points) for i in (0, 1)]
    slope = sum((k - mean[0]) * (e - mean[1]) for k, e in points) / sum((k - mean[0]) ** 2 for k, _ in points)
    return 1 - math.exp(slope)


def main():
    urto, output = sys.argv[1], sys.argv[2]
    figure, axes = plt.subplots(figsize=(7, 4.5))
    with tempfile.TemporaryDirectory() as folder:
        for stepper, line in (('nonsmooth-alpha', '-'), ('moreau-jean', '--')):
            for radius, colour in zip(RADII, ('C0', 'C1', 'C2')):
                d = [damping(urto, folder, stepper, radius, z) for z in FREQUENCIES]
                axes.loglog(FREQUENCIES, [x if x > 1e-12 else float('nan') for x in d], line, color=colour,
                            label='%s, $\\rho_\\infty$ = %g' % (stepper, radius))
    axes.set_xlabel('$\\omega h$')
    axes.set_ylabel('damping of a step')
    axes.legend(fontsize='small')
    axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(output)


main()
