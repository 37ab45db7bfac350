"""Structure-aware fuzz of scenes: urto check | run | view | statics | modes | compare. usage: fuzz_scene.py N SEED"""
import glob
from lib import *
try:
    import nancheck
except ImportError: nancheck = None
N, SEED = int(sys.argv[1]), int(sys.argv[2]); rnd = random.Random(SEED)
T = Tally("scene")
files = sorted(glob.glob(HERE + "/seeds/*.json"))
extra = [f for f in sorted(glob.glob(PROJECT + "/scenes/*.json") + glob.glob(PROJECT + "/scenes/*/*.json")) if not any(x in f for x in ("marbles", "bending", "tumble", "house"))]
trees = [load_json(f) for f in files] * 4
for f in extra:
    if os.path.getsize(f) > 20000: continue
    t = load_json(f)
    t.pop("$schema", None); s = t.setdefault("simulation", {}); s["duration"] = 10 * (s.get("step", 1e-3) if not isinstance(s.get("step", 1e-3), str) else 1e-3)
    trees.append(t)
keys, vocab, donors = set(), set(), collections.defaultdict(list)
def walk(n):
    if isinstance(n, dict):
        for k, v in n.items(): keys.add(k); donors[k].append(v); walk(v)
    elif isinstance(n, list):
        for v in n: walk(v)
    elif isinstance(n, str): vocab.add(n)
for t in trees: walk(t)
schema = load_json(PROJECT + "/src/urto/scene/scene.schema.json")
def walk_schema(n):
    if isinstance(n, dict):
        for k, v in n.get("properties", {}).items() if isinstance(n.get("properties"), dict) else []: keys.add(k)
        for e in n.get("enum", []) if isinstance(n.get("enum"), list) else []:
            if isinstance(e, str): vocab.add(e)
        for v in n.values(): walk_schema(v)
    elif isinstance(n, list):
        for v in n: walk_schema(v)
walk_schema(schema)
# Every option of a run, with the words and numbers of its range: steppers, solvers and settings that no seed has.
options = schema["$defs"]["simulation"]["properties"]
words = {k: o[key] for k, o in options.items() for key in ("enum", "examples") if key in o}
with_contacts = ["dvi", "dvi-newton", "moreau-jean", "nonsmooth-alpha", "trapezoidal-lcp"]
assert set(with_contacts) <= set(words["stepper"]) and "ipm" in words["solver"], "the schema of scenes has changed"
for k, o in words.items(): donors[k] += o
def setting(k):
    o = options[k]
    if k in words: return rnd.choice(words[k])
    if o.get("type") == "boolean": return rnd.random() < 0.5
    kind = o.get("$ref", "").split("/")[-1]
    low, high = o.get("minimum", 1 if kind == "count" else 0), o.get("maximum", 1e9)
    ends = [low, high, o.get("default", 1)]
    return rnd.choice(ends + [rnd.randint(int(low), int(min(high, 100)))] if kind == "count" else ends + [rnd.uniform(low, min(high, 2)), 10.0 ** rnd.randint(-9, 9)])
time_keys = ("duration", "step", "min_step", "max_step", "output_step", "error_tolerance", "checkpoint_interval", "threads", "max_iterations", "time_limit", "adaptive", "newton_iterations", "newton_tolerance", "verify")
drawn = sorted(k for k in options if k not in time_keys and k not in ("stepper", "solver", "stop_on_failure"))
d = os.path.join(WORK, "scene"); shutil.rmtree(d, ignore_errors=True); os.makedirs(d)
path = os.path.join(d, "s.json")
nonsense = 0
for n in range(N):
    tree = rnd.choice(trees)
    free_time = rnd.random() < 0.15
    m = mutate_tree(rnd, tree, keys, vocab, donors, protect=lambda p: not free_time and len(p) >= 1 and p[0] == "simulation" and (len(p) == 1 or p[1] in time_keys))
    if rnd.random() < 0.5 and "seeds" in str(tree.get("_", "seeds")):  # numbers only: gets past the reader more often
        m = copy.deepcopy(tree)
        ps = [p for p in places(m) if isinstance(get(m, p), (int, float)) and not isinstance(get(m, p), bool) and p[0] != "urto" and not (p[0] == "simulation" and p[1] in time_keys)]
        for _ in range(rnd.choice((1, 1, 2, 3, 6)) if ps else 0):
            p = rnd.choice(ps); v = get(m, p)
            set_at(m, p, rnd.choice((0, -v, v * 10.0 ** rnd.randint(-12, 12), v * 10.0 ** rnd.randint(-150, 150), v + rnd.uniform(-1, 1), v * rnd.uniform(0, 3), 1e-6, 1e6, 1e100, 1, v * (1 + 1e-12), 1e-17)))
    if isinstance(m, dict) and isinstance(m.get("simulation"), dict) and rnd.random() < (0.1 if "circuit" in m or "equations" in m else 0.5):
        sim = m["simulation"]
        # The options of the steppers with contacts are tried on them as often as not.
        sim["stepper"] = rnd.choice(words["stepper"] + (with_contacts + with_contacts[2:]) * 3)
        if rnd.random() < 0.4: sim["solver"] = rnd.choice(words["solver"])
        for k in rnd.sample(drawn, rnd.choice((0, 1, 2, 4))): sim[k] = setting(k)
        if sim["stepper"] not in ("dvi", "dvi-newton"): sim.pop("adaptive", None)
        if rnd.random() < 0.05: sim["verify"] = True
    text = dumps(m)
    if rnd.random() < 0.05: text = mutate_bytes(rnd, text.encode("utf8", "surrogatepass"))
    else: text = text.encode("utf8", "surrogatepass")
    with open(path, "wb") as f: f.write(text)
    how = rnd.choices(("run", "check", "view", "statics", "modes", "compare"), (70, 6, 8, 8, 8, 6))[0]
    out = os.path.join(d, "o"); shutil.rmtree(out, ignore_errors=True)
    args = {"run": ["run", path, "-o", out, "-q"] + ([] if rnd.random() < 0.3 else ["--no-report"]) + (["--csv"] if rnd.random() < 0.1 else []),
            "check": ["check", path], "view": ["view", path, "-o", d + "/v.html", "-q"],
            "statics": ["statics", path, "--json"], "modes": ["modes", path, "--json"],
            "compare": ["compare", path, "-o", out, "--no-progress", "--json"] + rnd.choice([[], ["--reference", "none"], ["--steppers", "dvi,moreau-jean"], ["--steppers", "trapezoidal-lcp"], ["--solvers", "auto,nsgs"]])}[how]
    r = run(args, cwd=d, timeout=float(os.environ.get("HANG", "20")))
    extra = None
    if r.code in (0, 3) and how == "run" and not r.timed_out and nancheck:
        if os.path.exists(out + "/result.h5"):
            try:
                status, missed, bad = nancheck.check(out + "/result.h5")
                if r.code == 0 and (bad or status != "finished" or missed): extra = "exit0-but " + status + " " + ",".join(bad)
                elif r.code == 3 and any(b in ("missed-count", "quaternion", "time-order") for b in bad): extra = "exit3-odd " + ",".join(bad)
                elif r.code == 3 and "urto: error: " not in r.err: extra = "exit3-without-a-reason"
            except Exception as e: extra = "unreadable result: %s" % str(e)[:60]
        elif r.code == 0: extra = "exit0-no-result"
        elif "defect" not in r.err: extra = "exit3-no-result"
    if r.code == 2 and how == "run" and os.path.exists(out) and os.listdir(out): extra = "exit2-left-files " + ",".join(sorted(os.listdir(out)))
    if r.code == 0 and how in ("statics", "modes", "compare"):
        try:
            j = json.loads(r.out)
            if "NaN" in r.out or "Infinity" in r.out: extra = "json-nan"
        except ValueError: extra = "json-invalid"
        if "null" in r.out and how == "statics": pass
    T.judge(r, {"s.json": text}, "urto " + " ".join(args), extra)
    if n % 500 == 499: T.report()
T.report()
