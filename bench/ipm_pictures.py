#!/usr/bin/python3
"""Pictures of docs/solvers/ipm.md, from the program's own output.

usage: ipm_pictures.py convergence URTO OUT.svg          histories of a few problems (urto solve --verbose --json)
       ipm_pictures.py sizes BALLS.csv PAPERS_TESTS OUT.svg  iterations against size: recipe 001 table 5.3 from script/bench balls, figure 5.6 from the properties that a test records
       ipm_pictures.py bending URTO SCENE OUT.svg        the bent lattice, and its deflection with hard and with penalty contact
"""
import csv
import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

import matplotlib

matplotlib.use('Agg')
import matplotlib.pyplot as plt

plt.rcParams.update({'svg.fonttype': 'none', 'svg.hashsalt': 'urto', 'font.size': 9, 'axes.grid': True, 'grid.alpha': 0.3,
                     'axes.spines.top': False, 'axes.spines.right': False, 'font.family': 'sans-serif'})

PROBLEMS = [
    ('stack of 10 boxes, convex', 'box-stack --levels 10', 'convex'),
    ('wall of 39 bricks, convex', 'box-wall', 'convex'),
    ('packing, 1000 contacts, frictionless', 'sphere-packing --contacts 1000 --mu 0', 'convex'),
    ('packing, 1000 contacts, convex', 'sphere-packing --contacts 1000', 'convex'),
    ('elastic block, 600 nodes, exact', 'stiff-lattice --nx 20 --ny 10 --nz 3', 'exact'),
    ('train of 20 cubes, exact', 'joint-contact-mix --bodies 20', 'exact'),
]


def save(figure, path):
    figure.savefig(path, bbox_inches='tight', metadata={'Date': None, 'Creator': None})


def convergence(urto, target):
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), sharex=True)
    with tempfile.TemporaryDirectory() as work:
        file = os.path.join(work, 'p.hdf5')
        for name, kind, law in PROBLEMS:
            subprocess.run([urto, 'generate', *kind.split(), '-q', '-o', file], check=True)
            out = subprocess.run([urto, 'solve', file, '--solver', 'ipm', '--friction', law, '--verbose', '--json'],
                                 capture_output=True, text=True)
            result = json.loads(out.stdout)['results'][0]
            if not result['certified']:
                sys.exit('%s: %s' % (name, result['status']))
            history, log = result['history'], result['interior_point']
            line, = left.semilogy([h['iteration'] for h in history], [h['residual'] for h in history], linewidth=1.4,
                                  label='%s (%d)' % (name, result['iterations']))
            right.semilogy([r['iteration'] for r in log], [max(r['mu'], 1e-20) for r in log], linewidth=1.4, color=line.get_color())
    left.axhline(1e-8, color='black', linewidth=0.8, linestyle=':')
    left.set(xlabel='iteration', ylabel='residual of the certificate')
    right.set(xlabel='iteration', ylabel='μ')
    left.legend(fontsize=7, frameon=False, loc='lower left')
    save(figure, target)


def sizes(balls, tests, target):
    with tempfile.TemporaryDirectory() as work:
        file = os.path.join(work, 'r.xml')
        subprocess.run([tests, '--gtest_filter=Mangoni.Ladder*', '--gtest_output=xml:' + file], check=True, stdout=subprocess.DEVNULL)
        ladder = sorted((int(p.get('name')[len('spheres'):]), float(p.get('value'))) for p in xml.parse(file).iter('property')
                        if p.get('name').startswith('spheres'))
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6))
    with open(balls) as f:
        rows = list(csv.DictReader(line for line in f if not line.startswith('#')))
    for stop, test, style in (('source', "the source's test", 'o-'), ('certificate 1e-8', 'certificate 1e-8', 'o:')):
        for friction, what, color in (('0', 'no friction', '#1f77b4'), ('0.3', 'friction 0.3, convex', '#d62728')):
            points = [(int(r['balls']), float(r['iterations'])) for r in rows if r['stop'] == stop and r['friction'] == friction]
            left.semilogx(*zip(*points), style, markersize=4, color=color, label='%s, %s' % (what, test))
    left.semilogx([64, 280, 595, 1190], [17.2, 17.9, 17.7, 17.8], marker='s', markersize=4, color='#7f7f7f', linestyle='--',
                  label="Mangoni 2017, no friction, the source's test")
    left.set(xlabel='balls in the box', ylabel='iterations a step', ylim=(0, None))
    left.set_xticks([64, 280, 595, 1190], ['64', '280', '595', '1190'])
    left.legend(fontsize=7, frameon=False)
    right.plot(*zip(*ladder), marker='o', markersize=3)
    right.axvline(15, color='#7f7f7f', linestyle='--', linewidth=0.8)
    right.text(15.3, 1, 'last one of the source', color='#7f7f7f', fontsize=8)
    right.set(xlabel='spheres, the n-th of 10ⁿ kg', ylabel='iterations', ylim=(0, None))
    save(figure, target)


def run(urto, scene, step, settings, work):
    """Positions [time][body] of a run; stops where the program does."""
    out = os.path.join(work, 'out')
    options = [x for s in settings for x in ('--set', s)]
    subprocess.run([urto, 'run', scene, '--step', str(step), '-o', out, '--csv', '--no-report', '--no-progress', '-q', *options],
                   capture_output=True)
    states = {}
    with open(os.path.join(out, 'states.csv')) as f:
        for r in csv.DictReader(f):
            states.setdefault(float(r['time']), {})[r['body']] = (float(r['x']), float(r['z']))
    subprocess.run(['rm', '-r', out], check=True)
    return states


def bending(urto, scene, target):
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), width_ratios=[1.3, 1])
    penalty = ['simulation.penalty_contact=true', 'simulation.stepper=linear-implicit-euler']
    strip = ['parameters.ny=2', 'watch=[]']
    with tempfile.TemporaryDirectory() as work:
        plate = run(urto, scene, 0.05, [], work)
        for settings, step, style, label in ((strip, 0.05, 'o-', 'hard, h = 0.05 s'), (strip, 0.00125, '-', 'hard, h = 0.00125 s'),
                                             (strip + penalty, 0.025, 's--', 'penalty, h = 0.025 s'),
                                             (strip + penalty, 0.005, '--', 'penalty, h = 0.005 s')):
            states = run(urto, scene, step, settings, work)
            right.plot(list(states), [s['n-10-1-0'][1] for s in states.values()], style, markersize=4, linewidth=1.2, label=label)
    last = plate[max(plate)]
    nodes = {name: at for name, at in last.items() if name.startswith('n-') and name.split('-')[2] == '5'}
    for name, (x, z) in nodes.items():
        i, j, k = (int(t) for t in name.split('-')[1:])
        for other in ('n-%d-%d-%d' % (i + 1, j, k), 'n-%d-%d-%d' % (i, j, k + 1)):
            if other in nodes:
                left.plot([x, nodes[other][0]], [z, nodes[other][1]], color='#9ecae1', linewidth=1)
        left.add_patch(plt.Circle((x, z), 0.02, color='#1f77b4'))
    for x, z in ((-0.5, -0.045), (0.5, -0.045), (0, 0.12 + 0.05 - 0.105)):
        left.add_patch(plt.Circle((x, z), 0.025, color='#636363'))
    left.set(aspect='equal', xlabel='x [m]', ylabel='z [m]', xlim=(-0.65, 0.65))
    right.set(xlabel='t [s]', ylabel='lowest mass at mid-span, z [m]', ylim=(-0.15, 0.02))
    right.legend(fontsize=7, frameon=False)
    save(figure, target)


COMMANDS = {'convergence': (convergence, 2), 'sizes': (sizes, 3), 'bending': (bending, 3)}

if __name__ == '__main__':
    if len(sys.argv) < 2 or sys.argv[1] not in COMMANDS or len(sys.argv) - 2 != COMMANDS[sys.argv[1]][1]:
        sys.exit(__doc__)
    COMMANDS[sys.argv[1]][0](*sys.argv[2:])
