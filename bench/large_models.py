#!/usr/bin/python3
"""Large models under nonsmooth-alpha, each beside dvi at a tenth of the step: penetration, energy, cost.

usage: large_models.py URTO FOLDER [NAME...]        writes CSV to standard output; FOLDER is for the runs
"""
import csv
import json
import os
import subprocess
import sys

here = os.path.dirname(os.path.abspath(__file__))
scenes = os.path.join(here, '..', 'scenes')

# name: scene, simulated time, step of nonsmooth-alpha, tolerance of both
CASES = {
    'wall': ('brick-wall.json', 0.1, 2e-3, 1e-6),
    'hulls': ('hulls.json', 0.5, 2e-3, 1e-6),
    'vehicle1': (None, 2.0, 2e-3, 1e-8),
    'chain': ('chain-100.json', 1.5, 1e-3, 1e-8),
}
FIELDS = ['model', 'stepper', 'carried', 'step', 'time', 'penetration', 'joint_error', 'start', 'numerical', 'user', 'per_step', 'missed',
          'verdict', 'status']


def scene_of(name, folder):
    if CASES[name][0]:
        return os.path.join(scenes, CASES[name][0])
    subprocess.run([sys.executable, os.path.join(here, 'peers', 'scenes.py'), folder, name], check=True)
    return os.path.join(folder, name + '.json')


def run(urto, folder, name, stepper, step, carried):
    scene = scene_of(name, folder)
    _, duration, _, tolerance = CASES[name]
    out = os.path.join(folder, '%s-%s-%s' % (name, stepper, carried))
    command = [urto, 'run', scene, '-o', out, '--json', '-q', '--no-report', '--stepper', stepper, '--step', '%g' % step,
               '--duration', '%g' % duration, '--tol', '%g' % tolerance]
    if stepper == 'nonsmooth-alpha':
        command += ['--set', 'simulation.carried_contacts=' + carried]
    with open(out + '.log', 'wb') as log:
        child = subprocess.Popen(command, stdout=log, stderr=subprocess.DEVNULL)
        _, _, used = os.wait4(child.pid, 0)
    with open(out + '.log') as log:
        text = log.read()
    s = json.loads(text[text.index('{'):])
    steps = max(1, s['steps'])
    return {'model': name, 'stepper': stepper, 'carried': carried, 'step': step, 'time': s['time'], 'penetration': s['worst']['penetration'],
            'joint_error': s['worst']['joint_error'], 'start': s['energy']['start'], 'numerical': s['energy']['numerical'],
            'user': round(used.ru_utime, 2), 'per_step': used.ru_utime / steps, 'missed': s['missed'], 'verdict': s['verdict']['level'],
            'status': s['status']}


def main():
    urto, folder = sys.argv[1], sys.argv[2]
    os.makedirs(folder, exist_ok=True)
    out = csv.DictWriter(sys.stdout, FIELDS)
    out.writeheader()
    for name in sys.argv[3:] or CASES:
        step = CASES[name][2]
        for stepper, h, carried in (('nonsmooth-alpha', step, 'none'), ('nonsmooth-alpha', step, 'sliding'), ('dvi', step / 10, 'none')):
            out.writerow(run(urto, folder, name, stepper, h, carried))
            sys.stdout.flush()


main()
