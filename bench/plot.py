#!/usr/bin/python3
"""Pictures and the comparison table from the files in bench/results.

usage: plot.py scaling solvers.csv out.svg
       plot.py profile problems.csv out.svg
       plot.py run result.h5 out.png                       (needs python3-h5py)
       plot.py steps steps.csv out.svg
       plot.py peers peers-urto.csv peers-siconos.csv      (a Markdown table on stdout)
       plot.py treatments ipm-treatments.csv               (the same)
"""
import csv
import math
import sys

import matplotlib

matplotlib.use('Agg')
import matplotlib.pyplot as plt

# One colour and mark for a solver in all pictures; text stays text, so that the files are small and can be searched.
ORDER = ['auto', 'prox', 'nsgs', 'nsgs-quartic', 'nsgs-projection', 'sor', 'ssor', 'sor-colour', 'sor-colour x2', 'jacobi', 'spg', 'apgd', 'admm']
COLOURS = ['#000000', '#d62728', '#1f77b4', '#17becf', '#6baed6', '#2ca02c', '#98df8a', '#8c6d31', '#bd9e39', '#7f7f7f',
           '#9467bd', '#e377c2', '#ff7f0e']
MARKS = 'osD^v<>PX*phd'
plt.rcParams.update({'svg.fonttype': 'none', 'svg.hashsalt': 'urto', 'font.size': 9, 'axes.grid': True, 'grid.alpha': 0.3,
                     'axes.spines.top': False, 'axes.spines.right': False, 'font.family': 'sans-serif'})


def style(name):
    k = ORDER.index(name) if name in ORDER else len(ORDER) - 1
    return dict(color=COLOURS[k], marker=MARKS[k], markersize=4, linewidth=1.4)


def rows_of(path):
    with open(path) as f:
        return list(csv.DictReader(line for line in f if not line.startswith('#')))


def number(text):
    return float(text) if text else math.nan


def save(figure, path):
    figure.savefig(path, bbox_inches='tight', metadata={'Date': None, 'Creator': None} if path.endswith('.svg') else None)


def by_rank(names):
    return sorted(names, key=lambda n: (ORDER.index(n) if n in ORDER else len(ORDER), n))


def scaling(source, target):
    lines = {}
    for r in rows_of(source):
        name = r['solver'] if r['threads'] == '1' else '%s x%s' % (r['solver'], r['threads'])
        lines.setdefault(name, []).append(r)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2))
    for name in by_rank(lines):
        rows = lines[name]
        n = [int(r['contacts']) for r in rows]
        cost = [1e6 * number(r['per_iteration_s']) for r in rows]
        if not all(math.isnan(c) for c in cost):
            left.loglog(n, cost, **style(name))
        total = [number(r['total_s']) for r in rows]
        right.loglog(n, total, label=name, **style(name))
        missed = [(a, b) for a, b, r in zip(n, total, rows) if r['status'] != 'converged']
        if missed:
            right.loglog(*zip(*missed), linestyle='none', marker='o', markersize=9, markerfacecolor='none', color='0.3')
    bottom = left.get_ylim()[0]
    sizes = sorted({int(r['contacts']) for rows in lines.values() for r in rows})
    left.loglog(sizes, [bottom * 0.7 * s / sizes[0] for s in sizes], 'k--', linewidth=0.8)
    left.annotate('linear', (sizes[-1], bottom * 0.7 * sizes[-1] / sizes[0]), textcoords='offset points', xytext=(-30, -12))
    left.set(xlabel='contacts', ylabel='one iteration [µs]', title='cost of an iteration')
    right.set(xlabel='contacts', ylabel='setup and solve [s]', title='time to residual 1e-4 (ringed: not reached)')
    right.legend(loc='center left', bbox_to_anchor=(1.01, 0.5), frameon=False)
    figure.tight_layout()
    save(figure, target)


def steps(source, target):
    """Time a step, whole and by phase, against the number of bodies."""
    phases = [('rows_s', 'rows', '#1f77b4'), ('assemble_s', 'assemble', '#17becf'), ('solve_s', 'solve', '#d62728'),
              ('certify_s', 'certify', '#ff7f0e'), ('advance_s', 'advance', '#2ca02c')]
    rows = rows_of(source)
    scenes = list(dict.fromkeys(r['scene'] for r in rows))
    figure, axes = plt.subplots(1, len(scenes), figsize=(11, 3.6), sharey=True)
    for axis, scene in zip(axes, scenes):
        mine = [r for r in rows if r['scene'] == scene]
        n = [int(r['bodies']) for r in mine]
        total = [sum(1e6 * number(r[key]) for key, _, _ in phases) for r in mine]
        axis.plot(n, total, 'k-o', markersize=4, label='whole step')
        for key, label, colour in phases:
            axis.plot(n, [1e6 * number(r[key]) for r in mine], marker='.', linewidth=1.2, color=colour, label=label)
        axis.plot(n, [1.6 * total[0] * k / n[0] for k in n], 'k--', linewidth=0.8, label='linear')
        axis.set(xscale='log', yscale='log', xlabel='bodies', title=scene)
    axes[0].set_ylabel('one step [µs]')
    axes[-1].legend(loc='center left', bbox_to_anchor=(1.01, 0.5), frameon=False)
    figure.tight_layout()
    save(figure, target)


def run(source, target):
    """Three moments from above the tray's rim, and where the energy went."""
    import h5py
    import numpy
    with h5py.File(source, 'r') as f:
        time, position = f['frames/time'][:], f['frames/position'][:]
        spheres = [(b, s[0]) for b, s, k in zip(f['shapes/body'][:], f['shapes/size'][:], f['shapes/kind'][:]) if k == b'sphere']
        t = f['steps/time'][:]
        energy = {k: f['steps/energy/' + k][:] for k in ('kinetic', 'potential', 'friction', 'impact', 'damping')}
    figure, axes = plt.subplots(1, 4, figsize=(12.5, 3.2), gridspec_kw={'width_ratios': [1, 1, 1, 1.5]})
    colours = plt.cm.viridis(numpy.linspace(0.1, 0.95, len(spheres)))
    for axis, at in zip(axes, (0, 0.25, time[-1])):
        k = int(numpy.argmin(abs(time - at)))
        # From the front: what is nearer is drawn later.
        for n in sorted(range(len(spheres)), key=lambda n: -position[k, spheres[n][0], 1]):
            body, radius = spheres[n]
            axis.add_patch(plt.Circle(position[k, body, [0, 2]], radius, facecolor=colours[n], edgecolor='k', linewidth=0.3))
        axis.set(xlim=(-0.27, 0.27), ylim=(-0.02, 0.52), aspect='equal', title='t = %.2f s' % time[k])
        axis.grid(False)
        axis.set_xticks([])
        axis.set_yticks([])
    below = numpy.zeros_like(t)
    for key, colour in zip(('potential', 'kinetic', 'impact', 'friction'), ('#6baed6', '#74c476', '#d62728', '#fdae6b')):
        top = below + energy[key]
        axes[3].fill_between(t, below, top, color=colour, label=key)
        below = top
    axes[3].set(xlabel='time [s]', ylabel='energy [J]', title='where the energy went', xlim=(0, t[-1]))
    axes[3].legend(loc='center right', frameon=True)
    figure.tight_layout()
    figure.savefig(target, dpi=110, metadata={'Software': None})


def profile(source, target, tolerance=1e-8):
    """Dolan and Moré: for each solver the share of problems it solves within a factor tau of the fastest."""
    rows = rows_of(source)
    problems = sorted({r['problem'] for r in rows})
    times = {(r['problem'], r['solver']): number(r['seconds']) for r in rows
             if float(r['tolerance']) == tolerance and r['reached'] == '1'}
    fastest = {p: min((t for (q, _), t in times.items() if q == p), default=math.inf) for p in problems}
    figure, axes = plt.subplots(figsize=(7.5, 4.2))
    largest = max([t / fastest[p] for (p, _), t in times.items()] + [10.0])
    for name in by_rank({r['solver'] for r in rows}):
        ratios = sorted(times[p, name] / fastest[p] for p in problems if (p, name) in times)
        x = [1.0] + ratios + [largest]
        y = [0.0] + [(k + 1) / len(problems) for k in range(len(ratios))] + [len(ratios) / len(problems)]
        axes.step(x, y, where='post', label=name, color=style(name)['color'],
                  linewidth=2.2 if name == 'auto' else 1.5)
    axes.set(xscale='log', xlim=(1, largest), ylim=(0, 1.02), xlabel='factor τ of the fastest solver on the problem',
             ylabel='share of the problems solved', title='%d friction problems to 1e-8, exact friction' % len(problems))
    axes.legend(loc='center left', bbox_to_anchor=(1.01, 0.5), frameon=False)
    save(figure, target)


def treatments(source):
    """Per family of problems, the treatments of Coulomb's law inside ipm: reached at each tolerance, median iterations and total time at the tightest."""
    rows = rows_of(source)

    def family(problem):
        if problem.startswith('GFC3D'):
            return 'global3d'
        if problem.lower().startswith(('fc2d', 'gfc2d', 'frictioncontact')):
            return 'friction2d'
        made_for_urto = '-n' in problem and '-nc' in problem
        return problem.split('-')[0] if made_for_urto else 'friction3d, Siconos'

    names = list(dict.fromkeys(r['solver'] for r in rows))
    tolerances = sorted({float(r['tolerance']) for r in rows}, reverse=True)
    families = sorted({family(r['problem']) for r in rows}, key=str.lower)
    print('| problems | ' + ' | '.join(names) + ' |')
    print('|---|' + '---|' * len(names))
    for kind in families + ['all']:
        cells = []
        count = len({r['problem'] for r in rows if kind in ('all', family(r['problem']))})
        for name in names:
            mine = [r for r in rows if r['solver'] == name and kind in ('all', family(r['problem']))]
            reached = {t: [r for r in mine if float(r['tolerance']) == t and r['reached'] == '1'] for t in tolerances}
            tight = sorted(int(r['iterations']) for r in reached[tolerances[-1]])
            median = f'{tight[len(tight) // 2]} it' if tight else '–'
            seconds = sum(number(r['seconds']) for r in mine)
            cells.append(' / '.join(str(len(reached[t])) for t in tolerances) + f', {median}, {seconds:.3g} s')
        print(f'| {kind} ({count}) | ' + ' | '.join(cells) + ' |')


def peers(ours, theirs):
    """Ratio of Siconos' time to ours at equal accuracy, solver family by family; above 1 Urto is faster."""
    mine = {(r['problem'], r['solver'], float(r['tolerance'])): number(r['seconds']) for r in rows_of(ours) if r['reached'] == '1'}
    other = {(r['problem'], r['solver'], float(r['tolerance'])): number(r['seconds']) for r in rows_of(theirs) if r['reached'] == '1'}
    contacts = {r['problem']: r['contacts'] for r in rows_of(ours)}
    problems = sorted({r['problem'] for r in rows_of(theirs)})
    # The last pair is what a user meets: the best of theirs, known only afterwards, against our default.
    all_of_theirs = {r['solver'] for r in rows_of(theirs)}
    pairs = [('NSGS / nsgs', {'NSGS', 'NSGS-NSN'}, {'nsgs'}), ('PROX / prox', {'PROX'}, {'prox'}),
             ('best of %d / auto' % len(all_of_theirs), all_of_theirs, {'auto'})]

    def best(times, p, names, tolerance):
        return min((times.get((p, s, tolerance), math.inf) for s in names), default=math.inf)

    def show(a, b):
        if math.isinf(a) and math.isinf(b):
            return 'neither'
        if math.isinf(a):
            return 'only Urto'
        if math.isinf(b):
            return 'only Siconos'
        return '%.2g' % (a / b) if a / b < 100 else '%.0f' % (a / b)

    columns = [(title, a, b, t) for t in (1e-4, 1e-8) for title, a, b in pairs]
    print('| problem | contacts | ' + ' | '.join('%s, %.0e' % (c[0], c[3]) for c in columns) + ' |')
    print('|---|---:|' + '---:|' * len(columns))
    logs = {k: [] for k in range(len(columns))}
    for p in problems:
        cells = []
        for k, (_, a, b, t) in enumerate(columns):
            x, y = best(other, p, a, t), best(mine, p, b, t)
            cells.append(show(x, y))
            if math.isfinite(x) and math.isfinite(y):
                logs[k].append(math.log(x / y))
        print('| %s | %s | %s |' % (p, contacts.get(p, ''), ' | '.join(cells)))
    means = ['**%.2g** (%d)' % (math.exp(sum(v) / len(v)), len(v)) if v else '–' for v in logs.values()]
    print('| geometric mean (of so many) | | %s |' % ' | '.join(means))
    print('\n| contacts | problems | solved by Siconos, 1e-08 | by auto | best of theirs / auto: geometric mean | worst | best |')
    print('|---|---:|---:|---:|---:|---:|---:|')
    for low, high in ((1, 10), (11, 100), (101, 1000), (1001, 10 ** 9), (1, 10 ** 9)):
        inside = [p for p in problems if low <= int(contacts.get(p) or 0) <= high]
        if not inside:
            continue
        x = [best(other, p, all_of_theirs, 1e-8) for p in inside]
        y = [best(mine, p, {'auto'}, 1e-8) for p in inside]
        both = [a / b for a, b in zip(x, y) if math.isfinite(a) and math.isfinite(b)]
        mean = '**%.2g** (%d)' % (math.exp(sum(map(math.log, both)) / len(both)), len(both)) if both else '–'
        name = 'all' if (low, high) == (1, 10 ** 9) else '%d to %d' % (low, high) if high < 10 ** 9 else 'more'
        print('| %s | %d | %d | %d | %s | %s | %s |' % (name, len(inside), sum(map(math.isfinite, x)), sum(map(math.isfinite, y)),
              mean, '%.2g' % min(both) if both else '–', '%.3g' % max(both) if both else '–'))


if __name__ == '__main__':
    commands = {'scaling': scaling, 'run': run, 'steps': steps, 'profile': profile, 'peers': peers, 'treatments': treatments}
    if len(sys.argv) < 3 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    commands[sys.argv[1]](*sys.argv[2:])
