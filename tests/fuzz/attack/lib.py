"""Runs the urto command under limits and judges how it ended. Shared by all attack scripts."""
import sys; sys.setrecursionlimit(8000); sys.dont_write_bytecode = True
import os, sys, time, json, random, signal, resource, subprocess, tempfile, shutil, collections, threading, hashlib, copy, math
HERE = os.path.dirname(os.path.abspath(__file__))
PROJECT = os.path.abspath(os.path.join(HERE, "../../.."))
PROBLEMS = os.path.abspath(os.environ.get("PROBLEMS", os.path.join(PROJECT, "../shared/problems")))
URTO = os.path.abspath(os.environ.get("URTO", os.path.join(PROJECT, "build/release/urto")))
WORK = os.path.abspath(os.environ.get("WORK", os.path.join(tempfile.gettempdir(), "urto-attack")))
FOUND = os.path.join(WORK, "found")
SANITIZED = any(word in URTO for word in ("debug", "asan", "sanitize"))
os.makedirs(FOUND, exist_ok=True); os.makedirs(WORK, exist_ok=True)
RSS_LIMIT = 2 << 30
Result = collections.namedtuple("Result", "code seconds rss out err timed_out")

def limits(seconds=None):
    os.setpgid(0, 0)
    if seconds: resource.setrlimit(resource.RLIMIT_CPU, (max(1, math.ceil(seconds)), max(1, math.ceil(seconds)) + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))

def run(args, timeout=20, cwd=None, env=None, stdin=None, preexec=limits):
    """One process. Code is negative for a signal. The timeout is one of processor time, whatever else the machine does; one that only waits has six times as long."""
    e = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1",
             ASAN_OPTIONS="detect_leaks=0:allocator_may_return_null=0:max_allocation_size_mb=6000", UBSAN_OPTIONS="print_stacktrace=1")
    if env: e.update(env)
    fo, fe = tempfile.TemporaryFile(), tempfile.TemporaryFile()
    t0 = time.time()
    p = subprocess.Popen([URTO] + [str(a) for a in args], stdout=fo, stderr=fe, cwd=cwd, env=e,
                         stdin=subprocess.DEVNULL, preexec_fn=(lambda: limits(timeout)) if preexec is limits else preexec)
    timed_out = False
    def kill():
        nonlocal timed_out
        timed_out = True
        try: os.kill(p.pid, signal.SIGKILL)
        except ProcessLookupError: pass
    timer = threading.Timer(6 * timeout, kill); timer.start()
    _, status, usage = os.wait4(p.pid, 0)
    timer.cancel()
    p.returncode = os.waitstatus_to_exitcode(status)
    timed_out = timed_out or p.returncode == -signal.SIGXCPU
    fo.seek(0); fe.seek(0)
    out = fo.read(4 << 20).decode("utf8", "replace"); err = fe.read(1 << 20).decode("utf8", "replace")
    fo.close(); fe.close()
    return Result(p.returncode, time.time() - t0, usage.ru_maxrss * 1024, out, err, timed_out)

TALLIES = []
import atexit
signal.signal(signal.SIGTERM, lambda *a: sys.exit(1))
atexit.register(lambda: [t.report() for t in TALLIES if t.n])
class Tally:
    def __init__(self, name):
        TALLIES.append(self)
        self.name, self.codes, self.findings, self.n, self.t0 = name, collections.Counter(), collections.OrderedDict(), 0, time.time()
        self.worst_s = self.worst_rss = 0
    def judge(self, r, files, what="", extra=None, good=(0, 2, 3, 129, 130, 143)):
        """files: {name: bytes} that reproduce. extra: a nonsense found by the caller."""
        self.n += 1
        self.codes["timeout" if r.timed_out else r.code] += 1
        self.worst_s = max(self.worst_s, r.seconds); self.worst_rss = max(self.worst_rss, r.rss)
        kinds = []
        # A sanitized program is ten to fifty times slower: what hangs is found by the same seed without.
        if r.timed_out: kinds += [] if SANITIZED else ["hang"]
        elif r.code < 0: kinds.append("signal%d" % -r.code)
        elif r.code not in good: kinds.append("code%d" % r.code)
        if "defect of urto" in r.err: kinds.append("defect:" + r.err.split("error:")[-1].strip()[:80])
        if "Sanitizer" in r.err or "runtime error" in r.err:
            line = next((l for l in r.err.splitlines() if "runtime error" in l or "SUMMARY" in l), "sanitizer")
            kinds.append("san:" + line[:160])
        if "HDF5-DIAG" in r.err + r.out: kinds.append("hdf5-diag")
        if r.rss > RSS_LIMIT and not SANITIZED: kinds.append("memory%.1fGiB" % (r.rss / 2**30))
        if r.code == 2 and not r.err.strip(): kinds.append("silent2")
        if r.code in (2,) and len(r.err) > 1100: kinds.append("longmessage")
        if extra: kinds.append(extra)
        for k in kinds:
            key = k.split("GiB")[0][:7] if k.startswith("memory") else k
            c = self.findings.setdefault(key, [0, None])
            c[0] += 1
            if c[0] <= 4:
                d = os.path.join(FOUND, "%s-%s-%d" % (self.name, "".join(ch if ch.isalnum() else "_" for ch in key)[:60], c[0]))
                shutil.rmtree(d, ignore_errors=True); os.makedirs(d)
                for n, b in files.items():
                    with open(os.path.join(d, n), "wb") as f: f.write(b if isinstance(b, bytes) else b.encode("utf8", "surrogatepass"))
                with open(os.path.join(d, "how.txt"), "w") as f:
                    f.write("%s\ncode %s seconds %.2f rss %.0f MiB\n--- stdout\n%s\n--- stderr\n%s\n" % (what, r.code, r.seconds, r.rss / 2**20, r.out[-3000:], r.err[-6000:]))
                c[1] = d
        return kinds
    def report(self):
        print("%-28s %6d cases in %.0f s; exits %s; slowest %.1f s, largest %.0f MiB" % (
            self.name, self.n, time.time() - self.t0, dict(sorted(self.codes.items(), key=str)), self.worst_s, self.worst_rss / 2**20))
        for k, (n, d) in self.findings.items(): print("    FINDING %5d x %s   %s" % (n, k, d))
        sys.stdout.flush()

STRANGE = [None, True, False, 0, -1, 1, 2, -0.0, 1e308, -1e308, 1e-308, 5e-324, 1e-12, 1e12, 1e9, 1e5, 2147483647, 2147483648, -2147483649,
           9223372036854775807, 18446744073709551615, 10**30, 0.5, -0.5, 3.7, 1e-300, 1e154, 1e200,
           "", "world", "=", "=inf", "=-inf", "=1/0", "=0/0", "=sqrt(-1)", "=log(0)", "=1e308*10", "=((", "=" + "(" * 150 + "1" + ")" * 150, "=-" * 60 + "1",
           "nan", "NaN", "inf", "x", "a/b", "{i}", "{i}{j}{k}", "\u0000", "\u00e9", "</script><script>alert(1)</script>", "%s%n", "../../../etc/passwd", "/dev/null", "/etc", "\U0001F4A5" * 20, "A" * 70000,
           [], {}, [0, 0, 0], [1, 2], [1, 2, 3, 4], [0, 0, 0, 0], [1e200, 0, 0], [1e308, 1e308, 1e308], [None, None], [[]], [[0, 0], [0, 0]], [[0, 0, 0]] * 4, [[0, 0], [1, 1], [1, 2]],
           {"axis": [0, 0, 0], "angle": 1}, {"axis": [0, 0, 1], "angle": 1e308}, {"polynomial": [0, 1e300, 1e300]}, {"polynomial": []}, {"harmonic": {"frequency": 1e300}}, {"table": [[0, 0]]}, {"table": []}, {"table": [[0, 0], [0, 1]]},
           {"spline": [[0, 0], [1e-300, 1], [1, 2]]}, {"spline": [[0, 1]]}, {"step": {"t0": 0, "t1": 0}}, {"step": {"t0": 1, "t1": 0}}]

def places(node, path=()):
    yield path
    if isinstance(node, dict):
        for k in node: yield from places(node[k], path + (k,))
    elif isinstance(node, list):
        for k in range(len(node)): yield from places(node[k], path + (k,))
def get(node, path):
    for k in path: node = node[k]
    return node
def set_at(root, path, value):
    if not path: return value
    get(root, path[:-1])[path[-1]] = value
    return root

def mutate_tree(rnd, tree, all_keys, vocabulary, donors, protect=lambda p: False, rounds=None):
    tree = copy.deepcopy(tree)
    for _ in range(rounds or rnd.choice((1, 1, 1, 2, 2, 3, 5))):
        ps = [p for p in places(tree) if not protect(p)]
        if not ps: return tree
        p = rnd.choice(ps)
        try:
            v = get(tree, p)
            how = rnd.randrange(13)
            if how <= 2: tree = set_at(tree, p, copy.deepcopy(rnd.choice(STRANGE)))
            elif how == 3: tree = set_at(tree, p, copy.deepcopy(get(tree, rnd.choice(ps))))
            elif how == 4 and p: 
                parent = get(tree, p[:-1]); del parent[p[-1]]
            elif how == 5:
                if isinstance(v, list): v.append(copy.deepcopy(get(tree, rnd.choice(ps))))
                elif isinstance(v, dict): v[rnd.choice(all_keys)] = copy.deepcopy(rnd.choice(STRANGE + [get(tree, rnd.choice(ps))]))
                elif isinstance(v, (int, float)) and not isinstance(v, bool): tree = set_at(tree, p, -v)
            elif how == 6:
                if isinstance(v, (int, float)) and not isinstance(v, bool):
                    tree = set_at(tree, p, rnd.choice([v * 10.0 ** rnd.randint(-320, 308) if v else 10.0 ** rnd.randint(-300, 300), v * (1 + 1e-9), v + 1, int(v), "=%r" % v, [v], {"polynomial": [v, 1]}, -v, 0, v * 1e6, v * 1e-6]))
                elif isinstance(v, str): tree = set_at(tree, p, rnd.choice(vocabulary))
            elif how == 7 and isinstance(v, list) and len(v) > 1: rnd.shuffle(v)
            elif how == 8 and isinstance(v, list): v.extend(copy.deepcopy(v) * rnd.choice((1, 1, 3)))
            elif how == 9 and isinstance(v, dict) and v:
                k = rnd.choice(list(v)); v[rnd.choice(all_keys)] = v.pop(k)
            elif how == 10:
                q = rnd.choice(ps); a, b = copy.deepcopy(v), copy.deepcopy(get(tree, q))
                tree = set_at(tree, p, b); tree = set_at(tree, q, a)
            elif how == 11 and p and isinstance(p[-1], str):
                pool = donors.get(p[-1])
                if pool: tree = set_at(tree, p, copy.deepcopy(rnd.choice(pool)))
            elif how == 12:
                for _ in range(rnd.choice((1, 5, 55, 70))): v = [v] if rnd.random() < 0.5 else {"body": v}
                tree = set_at(tree, p, v)
        except (KeyError, IndexError, TypeError, RecursionError, OverflowError): pass
    return tree

def dumps(tree):
    old = sys.getrecursionlimit(); sys.setrecursionlimit(20000)
    try: return json.dumps(tree)
    except RecursionError: return "[" * 5000
    finally: sys.setrecursionlimit(old)

def mutate_bytes(rnd, b, rounds=None):
    b = bytearray(b)
    for _ in range(rounds or rnd.choice((1, 1, 2, 3, 8, 30))):
        if not b: return bytes(b)
        at = rnd.randrange(len(b)); how = rnd.randrange(9)
        if how == 0: b[at] = rnd.randrange(256)
        elif how == 1: b[at] ^= 1 << rnd.randrange(8)
        elif how == 2: b[at:at + 1] = b""
        elif how == 3: b[at:at] = bytes([rnd.randrange(256)])
        elif how == 4 and rnd.random() < 0.3: del b[at:]
        elif how == 5: b[at:at + 8] = rnd.choice([b"\xff" * 8, b"\0" * 8, b"\xff\xff\xff\x7f\0\0\0\0", b"\0\0\0\0\0\0\xf8\x7f", b"\0\0\0\0\0\0\xf0\x7f"])[:max(0, min(8, len(b) - at))]
        elif how == 6:
            n = rnd.choice((1, 2, 4, 8, 64)); q = rnd.randrange(len(b)); b[at:at + n] = b[q:q + n]
        elif how == 7: b[at:at + 4] = rnd.choice([0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0x10000]).to_bytes(4, "little")[:max(0, min(4, len(b) - at))]
        elif how == 8: b[at] = rnd.choice(b"0123456789-+.eE \n,;/#[]{}\"")
    return bytes(b)

def strip_comments(text):
    out, i, n = [], 0, len(text)
    while i < n:
        c = text[i]
        if c == '"':
            j = i + 1
            while text[j] != '"': j += 2 if text[j] == "\\" else 1
            out.append(text[i:j + 1]); i = j + 1
        elif text.startswith("//", i):
            while i < n and text[i] != "\n": i += 1
        elif text.startswith("/*", i): i = text.index("*/", i) + 2
        else: out.append(c); i += 1
    return "".join(out)
def load_json(path):
    with open(path, encoding="utf8") as f: return json.loads(strip_comments(f.read()))
