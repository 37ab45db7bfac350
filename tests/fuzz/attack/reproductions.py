"""What was found by users and attacks at bf7a413, each as small as it could be made; there every one of these fails. usage: reproductions.py [NAME...]
Beside each stands the test that holds it now (tests/README in the folders). Prints FINDING for what has come back."""
from lib import *
import zlib, h5py, numpy as np
d = os.path.join(WORK, "reproductions"); shutil.rmtree(d, ignore_errors=True); os.makedirs(d)
SCENES = PROJECT + "/scenes/"
FLOOR = {"name": "floor", "kind": "fixed", "shapes": [{"kind": "half-space"}]}
def scene(name, s):
    p = os.path.join(d, name + ".json"); open(p, "w").write(s if isinstance(s, str) else json.dumps({"urto": 1, **s})); return p
def text(name, s):
    p = os.path.join(d, name); open(p, "wb").write(s if isinstance(s, bytes) else s.encode()); return p
def ball(name, position, radius=.1, **more): return {"name": name, "position": position, "density": 1000, "shapes": [{"kind": "sphere", "radius": radius}], **more}
def point(name="a", **more): return {"name": name, "mass": 1, "inertia": [1, 1, 1], **more}
def hinge(name, body, motor=None): return {"name": name, "kind": "revolute", "bodies": ["world", body], "position": [0, 0, 0], "axis": [0, 1, 0], **({"motor": {"name": motor[0], "mode": "speed", "value": motor[1]}} if motor else {})}
def ended(r, codes, *said, never=()):
    """What is wrong with the end of a command; empty if nothing is."""
    out = r.out + r.err
    if r.timed_out: return "no end in %.0f s" % r.seconds
    if r.code < 0: return "signal %d" % -r.code
    if r.code not in codes: return "code %d: %s" % (r.code, out.strip()[:120])
    for s in said:
        if s not in out: return "no %r in %r" % (s, out.strip()[:160])
    for s in never:
        if s in out: return "%r in its output" % s
    return ""
def first(*checks):
    return next((c for c in checks if c), "")
def page(file):
    t = open(file, encoding="utf8").read(); at = t.index('id="urto-json"'); at = t.index(">", at) + 1
    return json.loads(t[at:t.index("</script>", at)])
CHECKS = []
def check(item, test):
    def add(f): CHECKS.append((item, test, f)); return f
    return add

@check("1 nothing moves: check, run, view", "AnalysisCommand.NothingMovesAndEveryCommandSaysSo")
def _():
    return first(*[ended(run([c, SCENES + "pendulum.json", "--set", "bodies.rod.kind=" + kind, *more], cwd=d), (0,)) for kind in ("fixed", "kinematic") for c, more in (("check", []), ("run", ["-o", d + "/n", "-q"]), ("view", ["-o", d + "/n.html", "-q"]))])
@check("1 nothing moves: statics, modes", "AnalysisCommand.NothingMovesAndEveryCommandSaysSo")
def _():
    return first(*[ended(run([c, SCENES + "pendulum.json", "--set", "bodies.rod.kind=fixed"]), (2,), "moving body") for c in ("statics", "modes")])
@check("2 the first moment has the contacts of the first step", "Run.TheFirstMomentHasEveryContactOfTheFirstStep")
def _():
    p = scene("hover", {"bodies": [FLOOR, {"name": "box", "position": [0, 0, .10001], "density": 1000, "shapes": [{"kind": "box", "size": [.2, .2, .2]}]}], "simulation": {"duration": .001, "step": .001}})
    r = run(["view", p, "-o", d + "/v.html", "-q"]); e = ended(r, (0,))
    if e: return e
    n = page(d + "/v.html")["contacts"]["gap"]["n"]; return "" if n == 4 else "%d contacts of 4" % n
@check("2 contradictory speed motors are named", "ConsistentStart.ContradictorySpeedMotorsAreRefusedByName")
def _(): return ended(run(["check", scene("motors", {"bodies": [point(position=[1, 0, 0])], "joints": [hinge("one", "a", ("slow", 1)), hinge("two", "a", ("fast", 3))]})]), (2,), "'slow'", "'fast'")
@check("2 an impossible distance blames itself", "ConsistentStart.ADistanceThatNoPositionHasBlamesItself")
def _(): return ended(run(["check", scene("rope", {"bodies": [point(position=[1, 0, 0])], "joints": [{"name": "rope", "kind": "distance", "bodies": ["world", "a"], "points": [[2, 0, 0], [1.5, 0, 0]], "length": 5}, hinge("hinge", "a")]})]), (2,), "joint 'rope' c")
@check("2 mistakes of meshes have their place, and the cure", "SceneGeometry.MistakesInFilesAreNamedThere")
def _():
    corners = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]; inside_out = [[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]]
    text("inside.obj", "".join("v %g %g %g\n" % tuple(c) for c in corners) + "".join("f %d %d %d\n" % tuple(i + 1 for i in f) for f in inside_out))
    return ended(run(["check", scene("mesh", {"bodies": [{"name": "a", "density": 1000, "shapes": [{"kind": "mesh", "file": "inside.obj"}]}]})], cwd=d), (2,), "mesh.json", "/bodies/0/shapes/0", '"flip": true')
@check("2 a comma too many is named", "SceneErrors.SyntaxHasLineAndColumn")
def _(): return ended(run(["check", scene("comma", '{"urto": 1,\n}')]), (2,), "found a comma before '}'")
@check("3 statics: verdict first, units, natural order, rounding as 0", "AnalysisCommand.StaticsIsATableWithUnitsFramesAndNaturalOrder")
def _():
    r = run(["statics", scene("row", {"gravity": 10, "bodies": [FLOOR] + [{"name": "b%d" % k, "position": [k, 0, .05], "mass": .01, "shapes": [{"kind": "sphere", "radius": .05}]} for k in (10, 2, 1)]})])
    return ended(r, (0,), "x [m]", "world axes") or ("" if r.out.startswith("equilibrium") and r.out.find("\nb2 ") < r.out.find("\nb10 ") and "e-" not in r.out[r.out.find("Bodies:"):] else "another table: %r" % r.out[:160])
@check("3 statics: the motor that imposes a speed is named", "AnalysisCommand.ADrivenSceneIsToldWhichMotorImposesASpeed")
def _(): return ended(run(["statics", scene("driven", {"bodies": [point(position=[1, 0, 0])], "joints": [hinge("h", "a", ("drive", 2))]})]), (2, 3), "motor 'drive'", "speed")
@check("3 modes: what sticks is linearised as a constraint, and said", "AnalysisCommand.ModesSayWhatHoldsAndIsLinearisedAsAConstraint")
def _(): return ended(run(["modes", SCENES + "sphere-stack.json"]), (0,), "sticking contact", "constraints")
@check("4 one unreadable file does not lose the batch", "Command.BadFilesGiveOneMessageEachAndTheOthersAreSolved")
def _(): return ended(run(["solve", PROJECT + "/tests/data/brick.hdf5", text("text.dat", "not a problem")]), (2,), "1 of 1 certified", "text.dat")
@check("4 second-order cone problems in text are read", "Command.SecondOrderConesAreSolvedByTheConvexLaw")
def _(): return ended(run(["solve", text("cone.dat", "3\n1\n0\n3\n3\n3\t3\n1 0 0\n0 1 0\n0 0 1\n-1 2 0\n0 3\n0.5\n")]), (0,), "certified")
@check("4 an infeasible LCP is told", "Command.AnInfeasibleLcpComesWithItsProof")
def _(): return ended(run(["solve", text("none.dat", "2\n0\n2\n2\n2\t2\n1 -1\n-1 1\n-1 -1\n"), "--json"]), (3,), "infeasibility_certificate")
@check("5 a run of 20 000 steps does not record them all", "Run.FramesAreAsManyAsCanBeLookedAtIfNobodySaysHowMany, PageOfValues.OfALongRunIsReadInBulk")
def _():
    r = run(["run", scene("many", {"bodies": [point(position=[1, 0, 0])], "joints": [hinge("h", "a")], "simulation": {"duration": 20, "step": 1e-3}}), "-o", d + "/many", "-q", "--no-report"], timeout=60); e = ended(r, (0, 3))
    if e: return e
    with h5py.File(d + "/many/result.h5", "r") as f: n = f["frames/time"].shape[0]
    return "" if 200 <= n <= 3500 else "%d frames" % n
GRAIN = {"mass": 1e-6, "inertia": [1e-12] * 3}
SMALL = {"bodies": [{"name": "a", **GRAIN}, {"name": "b", **GRAIN, "position": [.001, 0, 0]}], "forces": [{"kind": "bushing", "bodies": ["a", "b"], "position": [.0005, 0, 0], "stiffness": [1e8] * 6}], "simulation": {"duration": .1, "step": 1e-2}}
UNIT = [{"name": "a", "mass": 1, "inertia": [1, 1, 1]}, {"name": "b", "mass": 1, "inertia": [1, 1, 1]}]
BUSHING = {"bodies": UNIT, "forces": [{"kind": "bushing", "bodies": ["a", "b"], "position": [1.5, 0, 0], "stiffness": [100, 100, 100.5, 1e100, 1, 1]}]}
DAMPER = {"bodies": UNIT, "forces": [{"kind": "spring", "bodies": ["a", "b"], "points": [[1, 0, 0], [2, 1e103, 0]], "damping": [[0, 0], [1, 1]]}, {"kind": "load", "body": "b", "point": [2, 0, .1], "force": [{"harmonic": {}}, 0, 0], "torque": [0, 0, 1]}]}
def steel(name, x, material=None): return {**({"name": name} if name else {}), "position": [x, 0, 0], "mass": 1, "shapes": [{"kind": "sphere", "radius": .1, **({"material": material} if material else {})}]}
FAR = {"materials": {"steel": {"friction": 0}}, "bodies": [steel("one", .201), steel(None, .402, "steel"), steel(None, .603), steel("four", .804, "steel")],
       "joints": [{"kind": "revolute", "bodies": ["world", "one"], "position": [.201, 1e100, .5], "axis": [0, 1, 0]}, {"kind": "revolute", "bodies": ["world", "four"], "position": [.804, 0, .5], "axis": [0, 1, 0]}], "simulation": {"step": .0002, "duration": .02}}
for name, s in (("grains on a stiff bushing", SMALL), ("a bushing of 1e100", BUSHING), ("a damper of 1e103 m", DAMPER), ("interior point with a joint at 1e100", FAR)):
    check("7 memory: " + name, "Attack.MatricesThatCannotBeFactorisedAreNoCrash, FailedFactor.*")(lambda s=s: ended(run(["run", scene("singular", s), "-o", d + "/s", "-q", "--no-report"], timeout=60), (0, 2, 3)))
@check("7 memory: a list for a number in a resumed result", "DamagedResult.WithAListForANumberIsNotWrittenOn")
def _():
    b = d + "/oob"; run(["run", HERE + "/seeds/contact.json", "-o", b, "-q", "--no-report"])
    with h5py.File(b + "/result.h5", "r+", libver="latest") as f: del f["run/frames"]; f.create_dataset("run/frames", shape=(10**8,), dtype="i8", chunks=(1 << 20,), compression="gzip")
    return ended(run(["run", "--resume", "-o", b, "-q", "--no-report"]), (2,))
BIG = {"bodies": [FLOOR, {"generate": "packing", "count": 100, "box": [[-.5, -.5, .1], [.5, .5, 2]], "radius": [.04, .06], "density": 1000}], "simulation": {"duration": .5, "step": 1e-3, "output_step": 1e-3, "checkpoint_interval": .05, "tolerance": 1e-6}}
@check("8 a full disk loses nothing recorded before the last checkpoint", "DamagedResult.OfAFullDiskIsWholeUpToItsCheckpointAndGoesOn, FullDisk.*")
def _():
    def small_files():
        limits(); signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (1500000, resource.RLIM_INFINITY))
    p = scene("big", BIG); o = d + "/disk"; r = run(["run", p, "-o", o, "--no-progress", "--no-report"], timeout=120, preexec=small_files)
    e = ended(r, (2, 3))
    if e: return e
    if len(r.err) > 4000: return "%d bytes of messages" % len(r.err)
    i = run(["info", o], timeout=20)
    return first(ended(i, (0,)), ended(run(["report", o, "-q"], timeout=60), (0,)), ended(run(["run", "--resume", "-o", o, "-q", "--no-report"], timeout=120), (0, 3)))
@check("9 a damaged result hangs nobody", "ResultFile.DamageIsFoundSoon, ResultFuzz.ADamagedResultIsReadOrRefused")
def _():
    b = d + "/flip"; run(["run", SCENES + "pendulum.json", "-o", b, "-q", "--no-report", "--duration", "0.5"]); data = open(b + "/result.h5", "rb").read(); rnd = random.Random(3); hangs = 0
    for k in range(60):
        m = bytearray(data); m[rnd.randrange(len(m))] ^= 1 << rnd.randrange(8); f = text("flip.h5", bytes(m)); hangs += run(["info", f], timeout=5 if not SANITIZED else 60).timed_out
        if hangs > 2: break
    return "%d of %d flipped bits hang info" % (hangs, k + 1) if hangs else ""
@check("9 external links are not followed", "DamagedResult.ThatLeadsToOtherFilesIsRefused")
def _():
    b = d + "/link"; run(["run", HERE + "/seeds/contact.json", "-o", b, "-q", "--no-report"])
    with h5py.File(d + "/other.h5", "w") as f: f["x"] = np.bytes_(b"SECRET-OF-OTHER-H5")
    with h5py.File(b + "/result.h5", "r+", libver="latest") as f: del f["scene"]; f["scene"] = h5py.ExternalLink(d + "/other.h5", "/x")
    return ended(run(["info", b, "--scene"]), (2,), never=["SECRET"])
@check("9 data kept in another file are not shown", "DamagedResult.ThatLeadsToOtherFilesIsRefused")
def _():
    b = d + "/stored"; run(["run", HERE + "/seeds/contact.json", "-o", b, "-q", "--no-report"]); secret = text("secret.txt", "TOP-SECRET-TEXT-OF-THE-USER " * 8)
    with h5py.File(b + "/result.h5", "r+", libver="latest") as f:
        del f["scene"]; dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE); dcpl.set_external(secret.encode(), 0, 100); ty = h5py.h5t.C_S1.copy(); ty.set_size(100); h5py.h5d.create(f.id, b"scene", ty, h5py.h5s.create(h5py.h5s.SCALAR), dcpl)
    return ended(run(["info", b, "--scene"]), (2,), never=["TOP-SECRET"])
def checkpoint(change):
    o = d + "/cp"; shutil.rmtree(o, ignore_errors=True); p = scene("cp", {**BIG, "simulation": {**BIG["simulation"], "duration": 60}})
    q = subprocess.Popen([URTO, "run", p, "-o", o, "-q", "--no-report"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL); t0 = time.time()
    while not os.path.exists(o + "/checkpoint.h5") and time.time() - t0 < 60: time.sleep(.02)
    os.kill(q.pid, 9); q.wait(); f = o + "/checkpoint.h5"; change(f)
    r = run(["run", "--resume", "-o", o, "-q", "--no-report"], timeout=4 if not SANITIZED else 60)
    return "goes on from it" if r.timed_out else ended(r, (2,))
@check("9 a flipped bit of a checkpoint is noticed", "Checkpoint.AFlippedBitOfANumberIsNoticed")
def _():
    def flip(f):
        with h5py.File(f, "r") as h: at = h["q"].id.get_offset()
        b = bytearray(open(f, "rb").read()); b[at + 7 + 16] ^= 1; open(f, "wb").write(b)
    return checkpoint(flip)
@check("9 not-a-number in a checkpoint is noticed", "Checkpoint.NumbersThatAreNoStateAreRefused")
def _():
    def nan(f):
        with h5py.File(f, "r+") as h: h["v"][0] = np.nan
    return checkpoint(nan)
@check("10 two runs in one folder", "RunCommand.TwoInOneFolderAreRefusedAndTheFirstSaysHowItWent")
def _():
    o = d + "/race"; bad = scene("bad", {"bodies": [FLOOR] + [{"name": "b%d" % k, "position": [0, 0, .5 + k], "density": 1000, "shapes": [{"kind": "box", "size": [1, 1, 1]}]} for k in range(8)], "simulation": {"duration": 2, "step": 1e-3, "solver": "nsgs", "max_iterations": 1, "tolerance": 1e-12}}); good = scene("good", {"bodies": [point()], "simulation": {"duration": .01}})
    q = subprocess.Popen([URTO, "run", bad, "-o", o, "-q", "--no-report"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while q.poll() is None and not os.path.exists(o + "/result.h5"): time.sleep(.01)
    r = run(["run", good, "-o", o, "-q", "--no-report"]); code = q.wait()
    return "" if code == 3 and r.code == 2 else "the failing run ended with %d, the other with %d" % (code, r.code)
@check("11 ten thousand balls in one place", "SceneLimits.BodiesInOnePlaceAreTooManyContacts")
def _():
    r = run(["check", scene("crowd", {"gravity": 0, "bodies": [{"generate": "grid", "count": [10000, 1, 1], "spacing": [1e-9, 0, 0], "body": {"density": 1, "shapes": [{"kind": "sphere", "radius": 1}]}}]}), "--memory-limit", "1G"], timeout=60)
    return ended(r, (2,), "do bodies stand in one place?", never=["defect"]) or ("%.1f GiB" % (r.rss / 2**30) if r.rss > 1.1 * 2**30 and not SANITIZED else "")
@check("11 a million bodies in all", "SceneLimits.BodiesAreCountedInAll")
def _(): return ended(run(["check", scene("grids", {"bodies": [{"generate": "grid", "count": [100, 100, 50], "spacing": [1, 1, 1], "name": "g%d-{i}-{j}-{k}" % n, "body": {"mass": 1, "inertia": [1, 1, 1]}} for n in range(3)]})], timeout=60), (2,), "1000000")
@check("11 what has no end is no include, mesh, result or problem", "Attack.WhatHasNoEndIsNoFile, SceneFileLimits.OnlyRegularFilesAreRead")
def _():
    pipe, zero = d + "/pipe.obj", d + "/zero.obj"; os.mkfifo(pipe); os.symlink("/dev/zero", zero)
    mesh = lambda f: scene("endless", {"bodies": [{"name": "a", "kind": "fixed", "shapes": [{"kind": "mesh", "file": f}]}]})
    return first(*[ended(run(a, cwd=d, timeout=10), (2,)) for a in (["check", "/dev/zero"], ["check", pipe], ["info", pipe], ["info", "/dev/zero"], ["solve", pipe], ["solve", "/dev/zero"], ["check", scene("inc", {"include": ["/dev/zero"]})], ["check", scene("inc2", {"include": ["pipe.obj"]})], ["check", mesh("pipe.obj")], ["check", mesh("zero.obj")])])
@check("11 a small FCLIB file of many zeros", "ProblemFileTest.*, MemoryLimit.RefusesOnlyWhatIsTooMuch")
def _():
    p = d + "/bomb.hdf5"; shutil.copy(PROJECT + "/tests/data/stack_fclib.hdf5", p); names = []
    with h5py.File(p, "r+") as f:
        f.visititems(lambda n, o: names.append((n, o.shape, o.dtype)) if isinstance(o, h5py.Dataset) and o.shape else None)
        for n, dt in [(n, t) for n, _, t in names if t.kind == "f"][:1] + [(n, t) for n, s, t in names if t.kind == "i" and s[0] > 4][:1]:
            # Every chunk is there, deflated a thousand to one: three megabytes.
            del f[n]; ds = f.create_dataset(n, shape=(96 << 22,), dtype=dt, chunks=(1 << 22,), compression="gzip"); zeros = zlib.compress(bytes(dt.itemsize << 22), 9)
            for k in range(96): ds.id.write_direct_chunk((k << 22,), zeros)
    r = run(["solve", p], timeout=60); return ended(r, (2,)) or ("%.1f GiB" % (r.rss / 2**30) if r.rss > 2**30 else "")
@check("11 generators of absurd sizes", "Attack.SizesBeyondAllBoundsAreRefusedBeforeAnythingIsMade")
def _(): return first(*[ended(run(["generate", *a.split(), "-o", d + "/p.hdf5"], timeout=20), (2,), never=["defect"]) for a in ("sphere-packing --contacts 2000000000", "box-wall --width 2000000000 --height 2000000000", "stiff-lattice --nx 100000 --ny 100000 --nz 100000", "random-local --contacts 100000")])
@check("11 twenty thousand chained parameters", "SceneLimits.ParametersMayBeChainedHoweverLong")
def _(): return ended(run(["check", scene("params", {"parameters": {"p%d" % k: "=p%d" % (k + 1) if k < 20000 else 1 for k in range(20001)}, "bodies": []})], timeout=60), (0,))
@check("11 sixty thousand nested includes", "SceneFileLimits.FilesMayIncludeEachOther64Deep")
def _():
    os.makedirs(d + "/deep"); n = 60000
    for k in range(n): open(d + "/deep/d%d.json" % k, "w").write('{"urto":1%s}' % (',"include":["d%d.json"]' % (k + 1) if k < n - 1 else ""))
    e = ended(run(["check", d + "/deep/d0.json"], timeout=60), (2,), "deep"); shutil.rmtree(d + "/deep"); return e
@check("11 a step of 1e-300", "SceneLimits.AStepIsNoSmallerThanTimeCanCount")
def _(): return ended(run(["run", scene("tiny", {"bodies": [FLOOR, ball("a", [0, 0, 1])], "simulation": {"duration": 1e-3, "step": 1e-300}}), "-o", d + "/t", "-q"], timeout=10), (2,))
@check("11 --memory-limit", "RunCommand.MemoryIsLimitedAndTheMessageSaysHow")
def _(): return ended(run(["check", SCENES + "pendulum.json", "--memory-limit", "2G"]), (0,))
@check("12 Ctrl-C in statics", "RunCommand.ASearchForAnEquilibriumCanBeInterrupted")
def _():
    p = scene("falling", {"bodies": [point()]}); q = subprocess.Popen([URTO, "statics", p, "--max-iterations", "2000000000"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL); time.sleep(1); q.send_signal(signal.SIGINT)
    try: code = q.wait(10)
    except subprocess.TimeoutExpired: q.kill(); q.wait(); return "not heard"
    return "" if code == 130 else "code %d" % code
@check("12 SIGTERM writes a checkpoint", "RunCommand.AskedToEndItWritesACheckpointToo")
def _():
    o = d + "/term"; q = subprocess.Popen([URTO, "run", scene("term", {"bodies": [point()], "simulation": {"duration": 1e4, "step": 1e-3, "output_step": 1}}), "-o", o, "-q"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL); time.sleep(1); q.send_signal(signal.SIGTERM); code = q.wait(60)
    return "" if code == 143 and os.path.exists(o + "/checkpoint.h5") else "code %d, left %s" % (code, os.listdir(o))
@check("12 output to a full device is noticed", "RunCommand.OutputThatCannotBeWrittenIsNoSuccess")
def _():
    for command in (["--version"], ["run", "--help"], ["check", SCENES + "pendulum.json"]):
        with open("/dev/full", "w") as full: code = subprocess.call([URTO] + command, stdout=full, stderr=subprocess.DEVNULL)
        if code != 2: return "%s: code %d" % (" ".join(command[:2]), code)
    return ""
@check("12 NUL in a name", "SceneLimits.NamesAndTextsHaveALength")
def _(): return ended(run(["check", scene("nul", {"bodies": [point("a\0b")]})]), (2,), "control characters")
@check("12 errors do not quote foreign files", "SceneFileLimits.NothingOfAFileThatIsNoSceneIsShown")
def _():
    for name, content in (("secret", "hunter2:x:0:0\n"), ("list.json", '["hunter2"]'), ("secret.obj", "hunter2:x:0:0\n")): text(name, content)
    mesh = {"bodies": [{"name": "a", "kind": "fixed", "shapes": [{"kind": "mesh", "file": "secret.obj"}]}]}
    return first(*[ended(run(["check", scene("quote", s)], cwd=d), (2,), never=["hunter2"]) for s in ({"include": ["secret"]}, {"include": ["list.json"]}, mesh)])
@check("12 a name that begins with = is a name", "SceneNames.ThatBeginWithAnEqualsSignAreNames")
def _(): return ended(run(["check", scene("equals", {"title": "=a title", "bodies": [point("=cmd")]})]), (0,))
@check("12 leftovers of a killed run go", "DamagedResult.LeftoversOfAKilledRunGo")
def _():
    o = d + "/left"; os.makedirs(o); old = o + "/checkpoint.h5.999999999-3.part"; open(old, "w").write("half"); r = run(["run", HERE + "/seeds/contact.json", "-o", o, "-q", "--no-report"])
    return ended(r, (0, 3)) or ("it is still there" if os.path.exists(old) else "")
@check("12 minus infinity is no energy", "SceneEnergy.OfABodyInTheCentreOfAGravityIsRefused")
def _(): return ended(run(["run", scene("centre", {"gravity": 0, "bodies": [point("star")], "forces": [{"kind": "central-gravity", "center": [0, 0, 0], "strength": 1}]}), "-o", d + "/star", "-q"], timeout=30), (2, 3), "star")
@check("12 no warning of 7e-15 J", "VerdictRules.WhatRestsHasNoEnergyToLose")
def _():
    p = scene("rest", {"bodies": [FLOOR, {"name": "hi", "kind": "kinematic", "position": [0, 0, 1], "shapes": [{"kind": "box", "size": [1, 1, 1]}], "motion": {"position": [0, 0, {"polynomial": [0, -1]}]}}, ball("x", [3, 0, .5], .5)], "simulation": {"duration": .2, "step": 1e-3}})
    e = ended(run(["run", p, "-o", d + "/rest", "-q"]), (0,))
    return e or next((r["text"] for r in page(d + "/rest/report.html")["remarks"] if "nergy" in r["text"]), "")
@check("12 messages stay under 1 kB", "RunCommand.MessagesAreShort, Messages.AreAtMostAKilobyteAndKeepTheirEnds")
def _():
    for command in (["check", scene("long", {"bodies": [{"name": "b", "kind": "a" * 70000}]})], ["check", "a" * 3000], ["run", "--" + "a" * 3000], ["check", scene("text", {"gravity": "=" + "x" * 70000})]):
        r = run(command); e = ended(r, (2,)) or ("%d bytes" % len(r.err.encode()) if len(r.err.encode()) > 1024 else "")
        if e: return e
    return ""

only = sys.argv[1:]; found = n = 0
for item, test, f in CHECKS:
    if only and not any(o in item for o in only): continue
    n += 1
    try: said = f()
    except Exception as e: said = "%s: %s" % (type(e).__name__, str(e)[:120])
    found += bool(said)
    print("%s %-60s [%s]%s" % ("FINDING" if said else "ok     ", item, test, "  " + said if said else "")); sys.stdout.flush()
print("reproductions: %d, come back: %d" % (n, found))
