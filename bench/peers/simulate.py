#!/usr/bin/python3
"""The same scenes in Urto, ODE and Bullet, one after the other on one machine, by processor time.

usage: simulate.py run BUILD OUT.csv [--quick] [--repeat N] [SCENE...]   BUILD holds the programs (script/build release urto_peers)
       simulate.py table OUT.csv                                        a Markdown table on stdout
       simulate.py plot OUT.csv OUT.svg                                 error against time: work and precision
"""
import csv
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import scenes  # noqa: E402

ODE, BULLET = 'ODE', 'Bullet'
COLUMNS = ['scene', 'engine', 'setting', 'bodies', 'steps', 'of', 'ms', 'ms_last', 'ms_median', 'ms_worst', 'deep', 'settled', 'gap', 'drift', 'moved',
           'crept', 'rise', 'contacts', 'sweeps', 'most_sweeps', 'guessed', 'handed_on', 'missed', 'residual', 'solve_share', 'failure']


def ode(iterations):
    return ODE, 'QuickStep %d' % iterations, 'peer_ode', ['--iterations=%d' % iterations]


def bullet(iterations):
    return BULLET, 'SI %d' % iterations, 'peer_bullet', ['--iterations=%d' % iterations]


def urto(setting, *options):
    return 'Urto', setting, 'peer_urto', ['--' + o for o in options]


def at(*tolerances):
    return [urto(t, 'tolerance=' + t) for t in tolerances]


DIRECT = (ODE, 'direct', 'peer_ode', ['--solver=step'])
CONVEX = urto('convex', 'friction=convex')
PILE = [ode(20), ode(100), bullet(10), bullet(50)] + at('1e-2', '1e-3', '1e-4', '1e-6')
REST = [ode(20), ode(100), bullet(10), bullet(100)] + at('1e-2', '1e-4', '1e-8')
CHAIN = [ode(20), ode(100), DIRECT, bullet(10), bullet(100), urto('dvi'), urto('dvi, joints projected', 'project_joints=true')]
SETTINGS = {
    'pile125': PILE, 'pile1000': PILE, 'pile4000': [ode(20), bullet(10)] + at('1e-2', '1e-3', '1e-4', '1e-6'),
    'pile10000': [ode(20)] + at('1e-2', '1e-3'), 'pile100000': [ode(20)] + at('1e-2', '1e-3'),
    'wall95': REST, 'arch20': REST, 'cards40': REST, 'cards610': [ode(100)] + at('1e-4'),
    'chain100': CHAIN, 'slide': [ode(20), bullet(10), urto('exact'), CONVEX],
    'stack10': [ode(20), ode(1000), DIRECT, bullet(10), bullet(1000)] + at('1e-4', '1e-8'),
    'vehicle1': at('1e-4', '1e-8'), 'vehicle8': at('1e-4', '1e-8'),
}
QUICK = ['pile125', 'wall95', 'chain100', 'slide', 'stack10', 'vehicle1']
# What says how wrong a run is, of each scene; the unit is metres but for the chain's drift of energy.
ERROR = {'pile': 'settled', 'wall': 'crept', 'arch': 'crept', 'cards': 'crept', 'chain': 'gap', 'slide': 'rise', 'stack': 'moved', 'vehicle': 'residual'}


def error_of(scene):
    return next(key for start, key in ERROR.items() if scene.startswith(start))


def measure(build, folder, scene, engine, setting, program, options):
    path = os.path.join(build, program)
    if not os.path.exists(path):
        return None
    if engine != 'Urto':
        made = scenes.SCENES[scene]()
        options = options + ['--step=%r' % made.step, '--duration=%r' % made.duration]
    done = subprocess.run([path, os.path.join(folder, scene + '.scene'), '--budget=120'] + options, capture_output=True, text=True)
    line = dict(scene=scene, engine=engine, setting=setting)
    if done.returncode == 0:
        line.update(json.loads(done.stdout.replace(':nan', ':NaN').replace(':-nan', ':NaN').replace(':inf', ':Infinity')))
    else:
        line['failure'] = done.stderr.strip()[-200:] or 'ended with %d' % done.returncode
    return line


def run(build, out, names, repeats):
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        scenes.write(folder, names)
        for scene in names:
            kept = {}
            for _ in range(repeats):
                for settings in SETTINGS[scene]:
                    line = measure(build, folder, scene, *settings)
                    if line:
                        kept.setdefault(settings[:2], []).append(line)
            for several in kept.values():
                several.sort(key=lambda l: l.get('ms', float('inf')))
                lines.append(several[(len(several) - 1) // 2])
                print(' '.join('%s=%s' % (k, lines[-1][k]) for k in COLUMNS if k in lines[-1]), flush=True)
            with open(out, 'w', newline='') as f:
                writer = csv.DictWriter(f, COLUMNS, extrasaction='ignore')
                writer.writeheader()
                writer.writerows(lines)


def rows_of(path):
    with open(path) as f:
        return list(csv.DictReader(line for line in f if not line.startswith('#')))


def short(text, digits=2):
    return '%.*g' % (digits, float(text)) if text else ''


def table(path):
    print('<!-- written by script/bench peers -->')
    print('| scene | engine | setting | ms a step | worst step | penetration [m] | moved [m] | joint gap [m] | energy drift | steps missed |')
    print('|---|---|---|---:|---:|---:|---:|---:|---:|---:|')
    for r in rows_of(path):
        if r['failure']:
            print('| %s | %s | %s | %s | | | | | | |' % (r['scene'], r['engine'], r['setting'], r['failure']))
            continue
        chain, pile = r['scene'].startswith('chain'), r['scene'].startswith('pile')
        early = '' if r['steps'] == r['of'] else ' (after %s of %s steps)' % (r['steps'], r['of'])
        print('| %s | %s | %s | %s%s | %s | %s | %s | %s | %s | %s |' %
              (r['scene'], r['engine'], r['setting'], short(r['ms'], 3), early, short(r['ms_worst'], 3), short(r['settled']) if pile else '',
               '' if pile or chain else short(r['moved']), short(r['gap']) if chain else '', short(r['drift']) if chain else '', r['missed']))


def plot(path, target):
    import matplotlib
    matplotlib.use('Agg')
    import matplotlib.pyplot as plt
    plt.rcParams.update({'svg.fonttype': 'none', 'svg.hashsalt': 'urto', 'font.size': 9, 'axes.grid': True, 'grid.alpha': 0.3,
                         'axes.spines.top': False, 'axes.spines.right': False, 'font.family': 'sans-serif'})
    rows = [r for r in rows_of(path) if not r['failure']]
    names = [n for n in ('pile1000', 'pile4000', 'wall95', 'arch20', 'cards40', 'chain100') if any(r['scene'] == n for r in rows)]
    figure, axes = plt.subplots(2, 3, figsize=(10, 6))
    for ax, name in zip(axes.flat, names):
        for engine, colour, mark in ((ODE, '#1f77b4', 's'), (BULLET, '#ff7f0e', '^'), ('Urto', '#000000', 'o')):
            points = [(float(r['ms']), max(1e-13, float(r[error_of(name)])), r['setting']) for r in rows if r['scene'] == name and r['engine'] == engine]
            if not points:
                continue
            ax.loglog([p[0] for p in points], [p[1] for p in points], mark, color=colour, markersize=5, label=engine)
            for ms, error, setting in points:
                ax.annotate(setting, (ms, error), fontsize=6, xytext=(3, 3), textcoords='offset points')
        ax.set_title(name, fontsize=9)
        ax.set_xlabel('processor time a step [ms]')
        ax.set_ylabel({'settled': 'penetration', 'crept': 'creep in 5 s', 'gap': 'joint gap'}[error_of(name)] + ' [m]')
    for ax in list(axes.flat)[len(names):]:
        ax.axis('off')
    axes.flat[0].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(target, bbox_inches='tight', metadata={'Date': None, 'Creator': None})


def main(words):
    if not words or words[0] not in ('run', 'table', 'plot'):
        sys.exit(__doc__)
    if words[0] == 'table':
        return table(words[1])
    if words[0] == 'plot':
        return plot(words[1], words[2])
    build, out, rest = words[1], words[2], words[3:]
    repeats = 1
    if '--repeat' in rest:
        k = rest.index('--repeat')
        repeats = int(rest[k + 1])
        del rest[k:k + 2]
    quick = '--quick' in rest
    names = [n for n in rest if n != '--quick'] or (QUICK if quick else [n for n in SETTINGS if n != 'pile100000'])
    unknown = [n for n in names if n not in SETTINGS]
    if unknown:
        sys.exit('scene: found %s, expected one of %s' % (', '.join(unknown), ', '.join(SETTINGS)))
    run(build, out, names, repeats)


if __name__ == '__main__':
    main(sys.argv[1:])
