#!/usr/bin/python3
"""Siconos (Debian: siconos, python3-siconos) on files of 3D friction problems: a peer, never a dependency.

usage: siconos_fc3d.py --solvers NSGS,PROX --tolerances 1e-4,1e-8 --time-limit 60 FILE... > peers.csv

Equal accuracy: Siconos 4.4 stops on an error relative to max(|q|, |r|, |u|), Urto on one relative to |q|. So the
tolerance given to Siconos is tightened until the error relative to |q|, recomputed here from the file, is reached, and
the time of that last run alone is taken (the best of a few when it is short). It is the processor time of the driver call: the
problem is already in the block storage that Siconos likes. Solves run in a process of their own, which is ended and replaced
when one hangs or crashes.
"""
import argparse
import csv
import json
import os
import select
import subprocess
import sys
import time

os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

COLUMNS = ['problem', 'contacts', 'solver', 'tolerance', 'reached', 'seconds', 'iterations', 'fclib_error', 'given_tolerance', 'status']
TIGHTER = 0.1 ** 0.5
MOST_TRIES = 14


def read_text(path):
    """Siconos' text form with a dense (0) or block (1) matrix, values column-major."""
    tokens = open(path).read().split()
    at = 0

    def take(n, kind=float):
        nonlocal at
        at += n
        return np.array(tokens[at - n:at], dtype=float).astype(kind)

    dim, nc = take(2, int)
    storage, rows, columns = take(3, int)
    if storage == 0:
        take(2)
        W = sp.csc_matrix(take(rows * columns).reshape(rows, columns, order='F'))
    elif storage == 1:
        blocks, block_rows, block_columns = take(3, int)
        row_start = np.concatenate([[0], take(block_rows, int)])
        column_start = np.concatenate([[0], take(block_columns, int)])
        filled1, filled2 = take(2, int)
        pointer, index = take(filled1, int), take(filled2, int)
        W = sp.lil_matrix((rows, columns))
        for r in range(filled1 - 1):
            for k in range(pointer[r], pointer[r + 1]):
                take(1)
                c = index[k]
                shape = (row_start[r + 1] - row_start[r], column_start[c + 1] - column_start[c])
                W[row_start[r]:row_start[r + 1], column_start[c]:column_start[c + 1]] = \
                    take(shape[0] * shape[1]).reshape(shape, order='F')
        W = W.tocsc()
    else:
        raise ValueError('storage %d is not read here' % storage)
    return int(dim), int(nc), W, take(dim * nc), take(nc)


def read_hdf5(path):
    import h5py

    def matrix(g):
        m, n, nz = (int(g[k][0]) for k in ('m', 'n', 'nz'))
        p, i, x = g['p'][:], g['i'][:], g['x'][:]
        if nz == -1:
            return sp.csc_matrix((x, i, p), shape=(m, n))
        if nz == -2:
            return sp.csr_matrix((x, i, p), shape=(m, n)).tocsc()
        return sp.coo_matrix((x[:nz], (i[:nz], p[:nz])), shape=(m, n)).tocsc()

    with h5py.File(path, 'r') as f:
        if 'fclib_local' in f:
            g = f['fclib_local']
            W, q = matrix(g['W']), g['vectors/q'][:]
        else:  # M v = H r + f, u = H^T v + w
            g = f['fclib_global']
            M, H = matrix(g['M']), matrix(g['H'])
            H = H if H.shape[0] == M.shape[0] else H.T.tocsc()
            lu = spla.splu(M)
            W = sp.csc_matrix(H.T @ lu.solve(H.toarray()))
            q = g['vectors/w'][:] + H.T @ lu.solve(g['vectors/f'][:])
        mu = g['vectors/mu'][:]
        return int(g['spacedim'][0]), len(mu), W, q, mu


def fclib_error(W, q, mu, r):
    """|r - P_K(r - u - mu |u_T| n)| / |q|, the normal first in each block of three."""
    u = (W @ r + q).reshape(-1, 3)
    R = r.reshape(-1, 3)
    z = R - u
    z[:, 0] -= mu * np.linalg.norm(u[:, 1:], axis=1)
    n, t = z[:, 0], np.linalg.norm(z[:, 1:], axis=1)
    P = z.copy()
    P[mu * t <= -n] = 0
    k = ~((t <= mu * n) | (mu * t <= -n))
    s = (n[k] + mu[k] * t[k]) / (1 + mu[k] ** 2)
    P[k, 0] = s
    P[k, 1:] *= (mu[k] * s / t[k])[:, None]
    return np.linalg.norm(R - P) / (np.linalg.norm(q) or 1)


def solver_options(name, tolerance):
    import siconos.numerics as N
    ids = {'PROX': N.SICONOS_FRICTION_3D_PROX, 'ADMM': N.SICONOS_FRICTION_3D_ADMM, 'VI-EG': N.SICONOS_FRICTION_3D_VI_EG,
           'NSN-AC': N.SICONOS_FRICTION_3D_NSN_AC, 'NSN-FB': N.SICONOS_FRICTION_3D_NSN_FB}
    local = {'NSGS': N.SICONOS_FRICTION_3D_ONECONTACT_NSN_GP_HYBRID, 'NSGS-NSN': N.SICONOS_FRICTION_3D_ONECONTACT_NSN,
             'NSGS-QUARTIC': N.SICONOS_FRICTION_3D_ONECONTACT_QUARTIC,
             'NSGS-PLI': N.SICONOS_FRICTION_3D_ONECONTACT_ProjectionOnConeWithLocalIteration}
    o = N.SolverOptions(ids.get(name, N.SICONOS_FRICTION_3D_NSGS))
    o.dparam[N.SICONOS_DPARAM_TOL] = tolerance
    o.iparam[N.SICONOS_IPARAM_MAX_ITER] = 2000 if name.startswith('NSN') else 1000000
    if name in local:
        # The cheap stop test with one full check at the end, and local solves to machine precision.
        o.iparam[N.SICONOS_FRICTION_3D_IPARAM_ERROR_EVALUATION] = N.SICONOS_FRICTION_3D_NSGS_ERROR_EVALUATION_LIGHT_WITH_FULL_FINAL
        N.solver_options_update_internal(o, 0, local[name])
        if name != 'NSGS-QUARTIC':
            inner = N.solver_options_get_internal_solver(o, 0)
            inner.dparam[N.SICONOS_DPARAM_TOL] = 1e-14
            if name == 'NSGS-PLI':
                inner.iparam[N.SICONOS_IPARAM_MAX_ITER] = 100
    return o


class Problem:
    def __init__(self, path):
        import siconos.numerics as N
        dim, self.contacts, self.W, self.q, self.mu = read_hdf5(path) if path.endswith(('.hdf5', '.h5')) else read_text(path)
        assert dim == 3
        self.problem = N.FrictionContactProblem(3, self.contacts, self.W.toarray(order='F'), self.q, self.mu)
        if self.contacts > 1:
            self.W.sort_indices()
            self.problem.M = N.SBM_from_csparse(3, self.W)[1]

    def solve(self, name, target, given, repeat):
        import siconos.numerics as N
        seconds = np.inf
        for _ in range(repeat):
            r, u, o = np.zeros(3 * self.contacts), np.zeros(3 * self.contacts), solver_options(name, given)
            begin = time.process_time()
            N.fc3d_driver(self.problem, r, u, o)
            seconds = min(seconds, time.process_time() - begin)
            if seconds > 0.05:
                break
        error = float(fclib_error(self.W, self.q, self.mu, r))
        return dict(contacts=self.contacts, reached=int(error <= target), seconds='%.4g' % seconds, fclib_error='%.3g' % error,
                    iterations=int(o.iparam[N.SICONOS_IPARAM_ITER_DONE]), status='reached' if error <= target else 'missed')


def serve():
    """Requests as lines on standard input, an answer a line; what Siconos prints goes elsewhere."""
    import siconos.numerics as N
    N.numerics_set_verbose(0)
    answers = os.fdopen(os.dup(1), 'w')
    os.dup2(2, 1)
    known, problem = None, None
    for line in sys.stdin:
        path, name, target, given, repeat = json.loads(line)
        if path != known:
            try:
                known, problem = path, Problem(path)
            except ValueError:
                known, problem = path, None
        print('ready', file=answers, flush=True)
        answer = problem.solve(name, target, given, repeat) if problem else dict(status='not read here', reached=0)
        print(json.dumps(answer), file=answers, flush=True)


class Server:
    child = None

    def ask(self, request, limit):
        """The answer, or why there is none. `limit` is on the solve: starting and reading do not count."""
        if self.child is None:
            self.child = subprocess.Popen([sys.executable, os.path.abspath(__file__), '--serve', '-'], stdin=subprocess.PIPE,
                                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
            os.set_blocking(self.child.stderr.fileno(), False)
        self.child.stdin.write((json.dumps(request) + '\n').encode())
        for wait in (600, limit):
            if not select.select([self.child.stdout], [], [], wait)[0]:
                return self.end('time limit')
            line = self.child.stdout.readline()
            err = self.child.stderr.read() or b''  # read, or a full pipe would stop the child
            if b'Traceback' in err:  # a mistake of ours must not look like a failure of theirs
                sys.exit(err.decode())
            if not line:
                return self.end('crashed')
        return json.loads(line)

    def end(self, why):
        self.child.kill()
        self.child.wait()
        self.child = None
        return dict(status=why, reached=0)


def solve_tightening(server, path, name, target, limit, repeat):
    """Tighter and tighter until the error is reached; each try has the whole limit."""
    row = {}
    given = target
    for _ in range(MOST_TRIES):
        row = dict(row, **server.ask((path, name, target, given, repeat), limit), given_tolerance='%.1e' % given)
        if row['reached'] or row['status'] != 'missed':
            break
        given *= TIGHTER
    return row


def files_of(inputs):
    for path in inputs:
        if os.path.isdir(path):
            yield from sorted(os.path.join(path, name) for name in os.listdir(path) if name.endswith(('.hdf5', '.h5', '.dat')))
        else:
            yield path


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument('--solvers', default='NSGS,NSGS-NSN,NSGS-PLI,NSN-AC,NSN-FB,PROX,ADMM,VI-EG')
    a.add_argument('--tolerances', default='1e-4,1e-8')
    a.add_argument('--time-limit', type=float, default=60)
    a.add_argument('--repeat', type=int, default=5)
    a.add_argument('--serve', action='store_true', help=argparse.SUPPRESS)
    a.add_argument('files', nargs='+')
    a = a.parse_args()
    if a.serve:
        return serve()
    out = csv.DictWriter(sys.stdout, COLUMNS, restval='', lineterminator='\n')
    out.writeheader()
    server = Server()
    for path in files_of(a.files):
        for name in a.solvers.split(','):
            for tolerance in a.tolerances.split(','):
                row = dict(solve_tightening(server, path, name, float(tolerance), a.time_limit, a.repeat),
                           problem=os.path.basename(path), solver=name, tolerance=tolerance)
                out.writerow(row)
                sys.stdout.flush()
                print('%-44s %-9s %s %s' % (row['problem'], name, tolerance, row.get('seconds', '') + ' ' + row.get('status', '')),
                      file=sys.stderr)
                if not row['reached']:
                    break


if __name__ == '__main__':
    main()
