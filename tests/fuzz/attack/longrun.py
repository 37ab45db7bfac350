"""Many steps of small scenes: memory, file size, drift; what reads the result afterwards. usage: longrun.py [STEPS]"""
from lib import *
import h5py, numpy as np
N = int(float(sys.argv[1])) if len(sys.argv) > 1 else 1000000
d = os.path.join(WORK, "long"); shutil.rmtree(d, ignore_errors=True); os.makedirs(d)
S = {"pendulum": {"bodies": [{"name": "a", "mass": 1, "inertia": [.01, .01, .01], "position": [1, 0, 0]}], "joints": [{"name": "h", "kind": "revolute", "bodies": ["world", "a"], "position": [0, 0, 0], "axis": [0, 1, 0]}]},
     "box-at-rest": {"bodies": [{"kind": "fixed", "shapes": [{"kind": "half-space"}]}, {"name": "a", "density": 1000, "position": [0, 0, .1], "shapes": [{"kind": "box", "size": [.2, .2, .2]}]}]},
     "circuit": {"circuit": {"components": [{"name": "V", "kind": "voltage-source", "nodes": ["s", "0"], "voltage": {"harmonic": {"amplitude": 12, "frequency": 50}}}, {"name": "R", "kind": "resistor", "nodes": ["s", "a"], "resistance": .5}, {"name": "D", "kind": "diode", "nodes": ["a", "b"]}, {"name": "C", "kind": "capacitor", "nodes": ["b", "0"], "capacitance": 1e-3}, {"name": "L", "kind": "resistor", "nodes": ["b", "0"], "resistance": 100}]}}}
def finding(name, what): print("    FINDING %s: %s" % (name, what))
for name, s in S.items():
    h = 1e-3 if name != "circuit" else 1e-5
    s = {"urto": 1, **s, "simulation": {"duration": N * h, "step": h, "output_step": 100 * h, **({"checkpoint_interval": 50} if name != "circuit" else {})}}
    p = d + "/%s.json" % name; json.dump(s, open(p, "w")); o = d + "/" + name
    q = subprocess.Popen([URTO, "run", p, "-o", o, "--no-progress"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL); samples = []; t0 = time.time()
    while q.poll() is None:
        try:
            rss = int([l for l in open("/proc/%d/status" % q.pid) if l.startswith("VmRSS")][0].split()[1]) / 1024
            size = os.path.getsize(o + "/result.h5") / 2**20 if os.path.exists(o + "/result.h5") else 0
            samples.append((time.time() - t0, rss, size))
        except (OSError, IndexError): pass
        time.sleep(0.2)
        if time.time() - t0 > 500: os.kill(q.pid, signal.SIGINT); break
    q.wait(); wall = time.time() - t0
    if q.returncode not in (0, 130): finding(name, "ended with %d" % q.returncode)
    # What is written grows in the file, not in the memory. The first tenth is where buffers find their size.
    late = [m for t, m, _ in samples if t > wall / 10]
    if late and late[-1] > late[0] + 64 and not SANITIZED: finding(name, "memory from %.0f to %.0f MiB" % (late[0], late[-1]))
    k = [samples[int(i)] for i in np.linspace(0, len(samples) - 1, 8)] if samples else []
    print("%s: code %d in %.0f s, RSS (s, MiB, file MiB): %s" % (name, q.returncode, wall, [(round(a), round(b), round(c, 1)) for a, b, c in k]))
    i = run(["info", o]); print("   " + " | ".join(l for l in i.out.splitlines() if l.startswith(("status", "steps", "worst", "missed", "joint", "energy", "contacts"))))
    with h5py.File(o + "/result.h5", "r") as f:
        n = f["steps/time"].shape[0]; print("   steps %d, file %.1f MiB = %.0f bytes a step, report %.1f MiB" % (n, os.path.getsize(o + "/result.h5") / 2**20, os.path.getsize(o + "/result.h5") / n, os.path.getsize(o + "/report.html") / 2**20))
        if q.returncode == 0 and n != N: finding(name, "%d steps of %d" % (n, N))
        if "frames/position" in f:
            e = f["steps/energy/kinetic"][()] + f["steps/energy/potential"][()]; x = f["frames/position"][:, -1]
            print("   energy start %.6g, last %.6g; last time %.9g; body from %s to %s" % (e[0], e[-1], f["steps/time"][-1], x[0], x[-1]))
            if name == "box-at-rest" and np.abs(x - x[0]).max() > 1e-6: finding(name, "the box has moved by %g m" % np.abs(x - x[0]).max())
    for c in (["info", o], ["report", o, "-o", d + "/r.html", "-q"], ["plot", o, "--what", "certificate", "-o", d + "/e.csv", "-q"]):
        r = run(c, timeout=60); print("   urto %s: code %d %.1f s %.0f MiB" % (c[0], r.code, r.seconds, r.rss / 2**20))
        if r.code: finding(name, "%s ended with %s: %s" % (c[0], r.code, r.err.strip()[:200]))
    sys.stdout.flush()
