"""Faults: kill -9 with resume, Ctrl-C, full disk, read-only folder, occupied folder, two runs, removed result. usage: faults.py [KILLS]"""
from lib import *
import h5py, numpy as np
KILLS = int(sys.argv[1]) if len(sys.argv) > 1 else 50
rnd = random.Random(5); d = os.path.join(WORK, "faults"); shutil.rmtree(d, ignore_errors=True); os.makedirs(d)
def scene(**sim):
    return {"urto": 1, "title": "kill", "materials": {"m": {"friction": 0.4, "restitution": 0.3}}, "bodies": [
        {"name": "g", "kind": "fixed", "shapes": [{"kind": "half-space", "material": "m"}]},
        {"generate": "packing", "count": 30, "box": [[-.4, -.4, .1], [.4, .4, 1.5]], "radius": [.05, .09], "density": 1000, "material": "m", "name": "p-{i}"},
        {"generate": "chain", "count": 5, "from": [1, 0, 1], "direction": [1, 0, 0], "link_length": .2, "radius": .02, "density": 1000, "joint": "revolute", "axis": [0, 1, 0], "anchor": "world", "name": "l-{i}"}],
        "simulation": {"duration": 1.5, "step": 1e-3, "output_step": 5e-3, "checkpoint_interval": 0.02, "tolerance": 1e-6, **sim}}
def write(name, s):
    p = os.path.join(d, name); json.dump(s, open(p, "w")); return p
def data_of(file):
    out = {}
    with h5py.File(file, "r") as f:
        def visit(n, o):
            if isinstance(o, h5py.Dataset) and not n.startswith("steps/seconds") and n != "run/wall_seconds": out[n] = (o.shape, o[()].tobytes() if hasattr(o[()], "tobytes") else bytes(str(o[()]), "utf8"))
        f.visititems(visit)
    return out
def differences(a, b):
    return sorted(k for k in set(a) | set(b) if a.get(k) != b.get(k))
def popen(args, **kw):
    return subprocess.Popen([URTO] + args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kw)
def kills():
    p = write("kill.json", scene()); ref = os.path.join(d, "ref")
    t0 = time.time(); r = run(["run", p, "-o", ref, "-q", "--no-report"], timeout=200); whole = time.time() - t0
    reference = data_of(ref + "/result.h5"); print("uninterrupted: code %d, %.1f s, %d datasets compared" % (r.code, whole, len(reference)))
    same = finished = no_checkpoint = broken = unreadable = killed = 0; differ = collections.Counter(); codes = collections.Counter()
    n = 0
    while killed < KILLS:
        o = os.path.join(d, "k"); shutil.rmtree(o, ignore_errors=True); n += 1
        resume = False; k_here = 0
        while True:
            a = ["run", p, "-o", o, "-q", "--no-report"] + (["--resume"] if resume else [])
            q = popen(a); wait = rnd.uniform(0.02, whole * 0.6) if k_here < 4 else 1000
            try: out, err = q.communicate(timeout=wait)
            except subprocess.TimeoutExpired:
                os.kill(q.pid, signal.SIGKILL); q.communicate(); killed += 1; k_here += 1
                if os.path.exists(o + "/result.h5"):
                    i = run(["info", o]);
                    if i.code != 0: unreadable += 1; print("  info after kill:", i.code, i.err.strip()[:150])
                if os.path.exists(o + "/checkpoint.h5"): resume = True
                else: no_checkpoint += 1; resume = False
                left = [x for x in os.listdir(o)] if os.path.exists(o) else []
                if any(x.endswith(".part") for x in left): codes["left .part"] += 1
                continue
            codes[q.returncode] += 1
            if q.returncode not in (0, 3): broken += 1; print("  resume failed:", q.returncode, err.decode()[:300]); break
            dif = differences(reference, data_of(o + "/result.h5")); finished += 1
            if not dif: same += 1
            else: differ[tuple(dif)[:6]] += 1
            break
    print("kills %d in %d runs: finished %d, bit-identical %d, no checkpoint yet (started anew) %d, refused %d, unreadable after kill %d; codes %s" % (killed, n, finished, same, no_checkpoint, broken, unreadable, dict(codes)))
    for k, v in differ.items(): print("  DIFFER", v, k)
    return p, reference, whole
def interrupt(p, reference, whole):
    codes = collections.Counter(); same = 0
    for i in range(6):
        o = os.path.join(d, "i"); shutil.rmtree(o, ignore_errors=True)
        q = popen(["run", p, "-o", o, "--no-progress"]); time.sleep(rnd.uniform(.1, whole * .7)); os.kill(q.pid, signal.SIGINT); out, err = q.communicate(); codes[q.returncode] += 1
        st = run(["info", o]).out if os.path.exists(o) else ""
        if i == 0: print("Ctrl-C says:", err.decode().strip()[-160:], "| report.html:", os.path.exists(o + "/report.html"))
        if q.returncode == 130:
            r = run(["run", "--resume", "-o", o, "-q"], timeout=200); codes["resumed %d" % r.code] += 1; same += not differences(reference, data_of(o + "/result.h5"))
    print("Ctrl-C x6:", dict(codes), "bit-identical after resume:", same)
    o = os.path.join(d, "term"); q = popen(["run", p, "-o", o, "-q"]); time.sleep(whole * .5); os.kill(q.pid, signal.SIGTERM); q.communicate(); print("SIGTERM: code", q.returncode, os.listdir(o))
    q = popen(["run", p, "-o", o, "-q"]); time.sleep(whole * .3); os.kill(q.pid, signal.SIGINT); os.kill(q.pid, signal.SIGINT); q.communicate(); print("two Ctrl-C at once: code", q.returncode)
def full_disk(p):
    m = os.path.join(d, "small"); os.makedirs(m, exist_ok=True)
    for mb in (1, 2, 4):
        if subprocess.call(["mount", "-t", "tmpfs", "-o", "size=%dm" % mb, "tmpfs", m]): print("no tmpfs mount"); break
        try:
            big = write("big.json", scene(duration=3, output_step=0, checkpoint_interval=0.1))
            r = run(["run", big, "-o", m + "/o", "--no-progress"], timeout=300)
            print("full disk %d MiB: code %d, %.1f s, said %r, files %s" % (mb, r.code, r.seconds, r.err.strip()[-250:], {x: os.path.getsize(m + "/o/" + x) for x in os.listdir(m + "/o")} if os.path.exists(m + "/o") else None))
            i = run(["info", m + "/o"]); print("   info: code", i.code, (i.out + i.err).strip().replace("\n", " | ")[:330])
            try:
                h = h5py.File(m + "/o/result.h5", "r", libver="latest", swmr=True); print("   h5py: frames", h["frames/time"].shape, "status", h["run/status"][()].strip(b"\0"))
                for n in ("frames/position", "steps/residual", "contacts/force"): h[n][()]
                h.close()
            except Exception as e: print("   h5py cannot read:", str(e)[:120])
            # more room, then resume
            subprocess.call(["mount", "-o", "remount,size=200m", m]); 
            r = run(["run", big, "--resume", "-o", m + "/o", "-q", "--no-report"], timeout=300); print("   resume with room: code", r.code, r.err.strip()[:200])
            if r.code in (0, 3):
                ref = os.path.join(d, "bigref"); 
                if not os.path.exists(ref): run(["run", big, "-o", ref, "-q", "--no-report"], timeout=300)
                print("   same bits as uninterrupted:", not differences(data_of(ref + "/result.h5"), data_of(m + "/o/result.h5")))
        finally: subprocess.call(["umount", m])
    # page cannot be written; other commands
    if not subprocess.call(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", m]):
        try:
            open(m + "/fill", "wb").write(b"x" * 900000)
            ref = os.path.join(d, "ref")
            for c in (["report", ref, "-o", m + "/r.html"], ["export", ref, "--gltf", m + "/x.glb"], ["export", ref, "--vtk", m + "/v"], ["plot", ref, "--what", "energy", "-o", m + "/e.csv"], ["generate", "box-wall", "--width", "20", "-o", m + "/w.hdf5"], ["view", p, "-o", m + "/v.html"]):
                r = run(c); print("full disk,", c[0], c[-2], ": code", r.code, r.err.strip()[:160], "| left:", [x for x in os.listdir(m) if x != "fill"])
                for x in os.listdir(m):
                    if x != "fill": (shutil.rmtree if os.path.isdir(m + "/" + x) else os.remove)(m + "/" + x)
        finally: subprocess.call(["umount", m])
    # output to a full device
    q = subprocess.run("%s info %s > /dev/full" % (URTO, os.path.join(d, "ref")), shell=True, stderr=subprocess.PIPE); print("stdout /dev/full: code", q.returncode, q.stderr.decode().strip()[:100])
def folders(p):
    # read-only (root ignores modes: a read-only mount)
    m = os.path.join(d, "ro"); os.makedirs(m, exist_ok=True)
    if not subprocess.call(["mount", "-t", "tmpfs", "-o", "ro,size=1m", "tmpfs", m]):
        r = run(["run", p, "-o", m + "/o", "-q"]); print("read-only: code", r.code, r.err.strip()[:200]); r = run(["run", p, "-o", m, "-q"]); print("read-only itself: code", r.code, r.err.strip()[:200]); subprocess.call(["umount", m])
    o = os.path.join(d, "occ"); os.makedirs(o)
    for name, content in (("result.h5", b"mine"), ("report.html", b"<html>mine"), ("checkpoint.h5", b"mine"), ("states.csv", b"a,b\n")):
        f = os.path.join(o, name); open(f, "wb").write(content); r = run(["run", p, "-o", o, "-q", "--csv", "--duration", "0.01"]); print("foreign %s: code %d kept %s; %s" % (name, r.code, open(f, "rb").read() == content, r.err.strip()[:110])); os.remove(f)
    f = os.path.join(d, "plainfile"); open(f, "w").write("x"); r = run(["run", p, "-o", f, "-q"]); print("output is a file: code", r.code, r.err.strip()[:150])
    r = run(["run", p, "-o", f + "/sub", "-q"]); print("output under a file: code", r.code, r.err.strip()[:150])
    os.symlink(WORK + "/faults/linktarget.h5", os.path.join(o, "result.h5")); open(WORK + "/faults/linktarget.h5", "w").write("precious"); r = run(["run", p, "-o", o, "-q", "--duration", "0.01"]); print("result.h5 is a link to a foreign file: code", r.code, r.err.strip()[:120], open(WORK + "/faults/linktarget.h5", errors="replace").read(8)); os.remove(os.path.join(o, "result.h5"))
    os.symlink(WORK + "/faults/dangling-target", os.path.join(o, "result.h5")); r = run(["run", p, "-o", o, "-q", "--duration", "0.01"]); print("result.h5 a dangling link: code", r.code, r.err.strip()[:120], "followed:", os.path.exists(WORK + "/faults/dangling-target"))
    os.makedirs(os.path.join(d, "asdir/result.h5")); r = run(["run", p, "-o", os.path.join(d, "asdir"), "-q", "--duration", "0.01"]); print("result.h5 is a folder: code", r.code, r.err.strip()[:150])
    # old result lost when the new run is bad?
    o = os.path.join(d, "old"); run(["run", p, "-o", o, "-q", "--duration", "0.05"]); h = hashlib.sha1(open(o + "/result.h5", "rb").read()).hexdigest()
    bad = write("bad.json", {"urto": 1, "bodies": [{"mass": -1}]}); r = run(["run", bad, "-o", o, "-q"]); print("bad scene over an old result: code", r.code, "old kept:", h == hashlib.sha1(open(o + "/result.h5", "rb").read()).hexdigest(), sorted(os.listdir(o)))
    r = run(["run", p, "-o", o, "-q", "--resume", "--duration", "0.07"]); print("resume with another duration: code", r.code, r.err.strip()[:200])
    r = run(["run", p, "-o", o, "-q", "--resume", "--duration", "0.05"]); print("resume of a finished run: code", r.code, r.err.strip()[:200])
    r = run(["run", p, "-o", os.path.join(d, "nothing"), "-q", "--resume"]); print("resume of nothing: code", r.code, r.err.strip()[:200])
def races(p):
    other = write("other.json", scene(duration=0.5)); fail = write("fail.json", scene(tolerance=1e-300, duration=0.3, max_iterations=5))
    for name, a_scene, b_scene, delay in (("same scene", p, p, .5), ("other scene", p, other, .5), ("good first, failing second", p, fail, .3)):
        o = os.path.join(d, "race"); shutil.rmtree(o, ignore_errors=True)
        a = popen(["run", a_scene, "-o", o, "--no-progress"]); time.sleep(delay); b = popen(["run", b_scene, "-o", o, "--no-progress"])
        ao, ae = a.communicate(); bo, be = b.communicate()
        pick = lambda s: " | ".join(l for l in s.decode().splitlines() if l.startswith(("status", "steps", "missed")))
        print("two runs, %s:\n  first : code %d %s %s\n  second: code %d %s %s" % (name, a.returncode, pick(ao), ae.decode().strip()[:200], b.returncode, pick(bo), be.decode().strip()[:200]))
        i = run(["info", o]); print("  info: code", i.code, pick(i.out.encode()), i.err.strip()[:150], sorted(os.listdir(o)))
        rr = run(["run", "--resume", "-o", o, "-q"], timeout=100); print("  resume: code", rr.code, rr.err.strip()[:200])
    for what in ("result", "folder", "checkpoint"):
        o = os.path.join(d, "gone"); shutil.rmtree(o, ignore_errors=True)
        q = popen(["run", p, "-o", o, "--no-progress"]); time.sleep(.6)
        if what == "folder": shutil.rmtree(o)
        else: os.remove(os.path.join(o, what + ".h5"))
        out, err = q.communicate(); print("%s removed during the run: code %d, says %s" % (what, q.returncode, err.decode().strip()[:250]), os.listdir(o) if os.path.exists(o) else "no folder")
if __name__ == "__main__":
    parts = sys.argv[2].split(",") if len(sys.argv) > 2 else ["kills", "interrupt", "disk", "folders", "races"]
    p, reference, whole = None, None, 2
    if "kills" in parts: p, reference, whole = kills()
    else: p = write("kill.json", scene()); r = run(["run", p, "-o", d + "/ref", "-q", "--no-report"], timeout=200); whole = r.seconds; reference = data_of(d + "/ref/result.h5")
    sys.stdout.flush()
    if "interrupt" in parts: interrupt(p, reference, whole)
    if "disk" in parts: full_disk(p)
    if "folders" in parts: folders(p)
    if "races" in parts: races(p)
