"""Non-smooth multibody dynamics with certified steps.

    import urto

    scene = urto.load("scenes/pendulum.json", {"gravity": [0, 0, -1.62]})
    simulation = urto.Simulation(scene)
    while simulation.step():
        print(simulation.time, simulation.position("rod"))

    result = urto.run(scene, "out/pendulum", progress=True)
    print(result.verdict, result["position"].shape)

Units are SI and radians. A wrong scene, file or option raises `urto.InputError` (a ValueError),
which says what was found, where, and what was expected. Numerical trouble raises nothing: look at
`Simulation.status`, `Simulation.failure`, `Result.verdict`, and at the status of a solve.
"""

import json as _json
import os as _os
import sys as _sys
from collections.abc import Mapping as _Mapping

from ._urto import (
    Checkpoint,
    ComplementarityProblem as _ComplementarityProblem,
    InputError,
    Result as _Result,
    Scene,
    Simulation,
    StepProblem as _StepProblem,
    __version__,
    complementarity_solvers,
    modes,
    read_problem,
    rollout,
    run as _run,
    solvers,
    statics,
    steppers,
    write_problem,
)

__all__ = [
    "Checkpoint",
    "InputError",
    "Result",
    "Scene",
    "Simulation",
    "complementarity_problem",
    "complementarity_solvers",
    "load",
    "modes",
    "open_result",
    "read_problem",
    "rollout",
    "run",
    "scene",
    "solvers",
    "statics",
    "step_problem",
    "steppers",
    "write_problem",
]


def _overrides(values):
    """{"gravity": 0, "simulation.step": 1e-4} as the command's path=value."""
    if values is None:
        return []
    if isinstance(values, _Mapping):
        return [f"{path}={_json.dumps(value)}" for path, value in values.items()]
    return list(values)


def load(file, overrides=None):
    """Reads a scene file. `overrides` is {path: value}, or a list of "path=value"."""
    return Scene.load(_os.fspath(file), _overrides(overrides))


def scene(description, overrides=None, name="scene"):
    """A scene from a dictionary with the keys of a scene file, or from JSON text."""
    text = description if isinstance(description, str) else _json.dumps(description)
    return Scene.parse(text, name, _overrides(overrides))


class Result(_Result):
    """A result file: `result["position"]` is an array frames × bodies × 3, `result.steps("…")`
    one number per step."""

    def _repr_html_(self):
        from html import escape

        rows = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th>"
            f"<td style='text-align:left'>{escape(value)}</td></tr>"
            for name, value in self.summary
        )
        return f"<b>{escape(self.title)}</b><table>{rows}</table>"

    def show(self, height=700):
        """The page of the result in a notebook: replay and plots."""
        from html import escape
        from tempfile import TemporaryDirectory

        from IPython.display import HTML

        with TemporaryDirectory() as folder:
            page = _os.path.join(folder, "report.html")
            self.report(page)
            with open(page, encoding="utf-8") as text:
                source = escape(text.read(), quote=True)
        return HTML(f'<iframe srcdoc="{source}" width="100%" height="{height}"></iframe>')


def open_result(path):
    """Opens a result file, or the directory of a run."""
    return Result(_os.fspath(path))


def _progress_line(time, end, contacts, residual):
    part = time / end if end > 0 else 1.0
    _sys.stderr.write(
        f"\r{'█' * int(30 * part):<30} {100 * part:3.0f} %  t = {time:.4g} of {end:.4g} s, "
        f"{contacts} contacts, worst residual {residual:.1e} "
    )
    _sys.stderr.flush()


def run(scene, directory, *, verify=False, resume=False, page=True, csv=False, progress=None):
    """Runs a scene to its end and leaves result, page and checkpoint in `directory`.

    `progress` is True for a bar, or f(time, end, contacts, worst_residual). Ctrl-C ends the run in
    order: what was recorded is kept, and `resume=True` goes on. Returns the Result; its `verdict`
    says whether the motion can be believed."""
    shown = _progress_line if progress is True else progress or None
    try:
        _run(scene, _os.fspath(directory), verify, resume, page, csv, shown)
    finally:
        if progress is True:
            _sys.stderr.write("\n")
    return Result(_os.fspath(directory))


def _triplets(matrix):
    """A SciPy sparse matrix, or anything NumPy makes a matrix of, as rows, columns, values."""
    if hasattr(matrix, "tocoo"):
        entries = matrix.tocoo()
        return entries.shape, (entries.row.tolist(), entries.col.tolist(), entries.data.tolist())
    import numpy

    dense = numpy.atleast_2d(numpy.asarray(matrix, dtype=float))
    if dense.ndim != 2:
        raise InputError(f"matrix: found {dense.ndim} dimensions, expected 2")
    row, column = numpy.nonzero(dense)
    return dense.shape, (row.tolist(), column.tolist(), dense[row, column].tolist())


def step_problem(H, J, a, b, sets):
    """H x − Jᵀλ = a, u = J x + b, λ ∈ K, −û ∈ N_K(λ).

    `sets` lists the factors of K, in the order of the rows: ("free", rows), ("nonnegative",),
    ("cone", mu) for three rows (n, t1, t2), ("cone", mu, 2) in the plane, ("box", lo, hi)."""
    (dofs, _), entries = _triplets(H)
    (rows, _), jacobian = _triplets(J)
    return _StepProblem(dofs, entries, rows, jacobian, list(a), list(b), [tuple(s) for s in sets])


def complementarity_problem(M, q, lo=None, hi=None):
    """w = M z + q, lo ≤ z ≤ hi. Without bounds it is the LCP: z ≥ 0, w ≥ 0, z·w = 0."""
    (size, _), entries = _triplets(M)
    lo = [0.0] * size if lo is None else list(lo)
    hi = [float("inf")] * size if hi is None else list(hi)
    return _ComplementarityProblem(size, entries, list(q), lo, hi)
