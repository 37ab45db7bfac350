#include "urto/solver/sweep_kernel.h"

namespace urto {
namespace {

using Two [[gnu::vector_size(16)]] = double;

inline Two load_two(const double* p) {
  Two v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
inline void store_two(Two v, double* p) {
  __builtin_memcpy(p, &v, sizeof v);
}

struct Four {
  Two low, high;
};
inline Four operator+(Four a, Four b) {
  return {a.low + b.low, a.high + b.high};
}
inline Four operator*(Four a, Four b) {
  return {a.low * b.low, a.high * b.high};
}
inline Four load(const double* p) {
  return {load_two(p), load_two(p + 2)};
}
inline void store(Four v, double* p) {
  store_two(v.low, p);
  store_two(v.high, p + 2);
}
inline Four all(double s) {
  return {Two{s, s}, Two{s, s}};
}
inline Four join(Two a, Two b) {
  return {a, b};
}
inline Two low(Four v) {
  return v.low;
}
inline Two high(Four v) {
  return v.high;
}

// (a₀ + a₁, b₀ + b₁)
inline Two sums(Two a, Two b) {
  return __builtin_shufflevector(a, b, 0, 2) + __builtin_shufflevector(a, b, 1, 3);
}

// G y of a contact: four partial sums of each row, folded to two.
template <bool pair>
inline void gather(const PackedContact& c, const BodyLine* y, double* u) {
  const double* a = y[c.body[0]].y;
  const Four a_first = load(a);
  const Two a_last = load_two(a + 4);
  Four n = load(c.rows) * a_first;
  Four t1 = load(c.rows + 4) * a_first;
  Four t2 = load(c.rows + 8) * a_first;
  Four last = load(c.rows + 24) * join(a_last, a_last);
  if constexpr (pair) {
    const double* b = y[c.body[1]].y;
    const Four b_first = load(b);
    const Two b_last = load_two(b + 4);
    n = n + load(c.rows + 12) * b_first;
    t1 = t1 + load(c.rows + 16) * b_first;
    t2 = t2 + load(c.rows + 20) * b_first;
    last = last + load(c.rows + 28) * join(b_last, b_last);
    t2 = t2 + load(c.rows + 32) * join(a_last, b_last);
  } else {
    t2 = t2 + join(load_two(c.rows + 32) * a_last, Two{0, 0});
  }
  const Two n2 = low(n) + high(n) + low(last);
  const Two t12 = low(t1) + high(t1) + high(last);
  const Two t22 = low(t2) + high(t2);
  const Two first_two = sums(n2, t12);
  u[0] = first_two[0];
  u[1] = first_two[1];
  u[2] = t22[0] + t22[1];
}

template <bool pair>
inline double gather_normal(const PackedContact& c, const BodyLine* y) {
  const double* a = y[c.body[0]].y;
  Four n = load(c.rows) * load(a);
  Two last = load_two(c.rows + 24) * load_two(a + 4);
  if constexpr (pair) {
    const double* b = y[c.body[1]].y;
    n = n + load(c.rows + 12) * load(b);
    last = last + load_two(c.rows + 28) * load_two(b + 4);
  }
  const Two n2 = low(n) + high(n) + last;
  return n2[0] + n2[1];
}

// y += Gᵀ δ
template <bool pair>
inline void scatter(const PackedContact& c, double n, double t1, double t2, BodyLine* y) {
  const Four all_n = all(n), all_t1 = all(t1), all_t2 = all(t2);
  const Four n_t1 = join(Two{n, n}, Two{t1, t1});
  double* a = y[c.body[0]].y;
  store(load(a) + (load(c.rows) * all_n + load(c.rows + 4) * all_t1 + load(c.rows + 8) * all_t2),
        a);
  const Four a_last = load(c.rows + 24) * n_t1;
  const Four t2_last = load(c.rows + 32) * all_t2;
  store_two(load_two(a + 4) + (low(a_last) + high(a_last) + low(t2_last)), a + 4);
  if constexpr (pair) {
    double* b = y[c.body[1]].y;
    store(load(b) +
              (load(c.rows + 12) * all_n + load(c.rows + 16) * all_t1 + load(c.rows + 20) * all_t2),
          b);
    const Four b_last = load(c.rows + 28) * n_t1;
    store_two(load_two(b + 4) + (low(b_last) + high(b_last) + high(t2_last)), b + 4);
  }
}

template <bool pair>
inline void sweep_all(PackedContact* contacts, int count, int step, double* lambda, BodyLine* y) {
  const int first = step > 0 ? 0 : count - 1;
  for (int k = 0; k < count; ++k) {
    PackedContact& c = contacts[first + step * k];
    double* force = lambda + 4 * (first + step * k);
    const bool loaded = force[0] != 0 || force[1] != 0 || force[2] != 0;
    // Without load, and the bodies part: nothing to solve.
    if (!loaded && gather_normal<pair>(c, y) + c.b[0] >= 0) continue;
    double u[3], r[3];
    gather<pair>(c, y, u);
    u[0] += c.b[0] + c.compliance[0] * force[0];
    u[1] += c.b[1] + c.compliance[1] * force[1];
    u[2] += c.b[2] + c.compliance[1] * force[2];
    solve_cone(c.local, u, force, r);
    const double n = r[0] - force[0], t1 = r[1] - force[1], t2 = r[2] - force[2];
    force[0] = r[0];
    force[1] = r[1];
    force[2] = r[2];
    scatter<pair>(c, n, t1, t2, y);
  }
}

template <bool pair>
inline void measure_all(const PackedContact* contacts, int count, const double* lambda,
                        const BodyLine* y, double* u) {
  for (int k = 0; k < count; ++k) {
    const PackedContact& c = contacts[k];
    const double* force = lambda + 4 * k;
    double* out = u + 4 * k;
    gather<pair>(c, y, out);
    out[0] += c.b[0] + c.compliance[0] * force[0];
    out[1] += c.b[1] + c.compliance[1] * force[1];
    out[2] += c.b[2] + c.compliance[1] * force[2];
    out[3] = 0;
  }
}

}  // namespace

void sweep_contacts(Touching bodies, PackedContact* contacts, int count, int step, double* lambda,
                    BodyLine* y) {
  if (bodies == Touching::two) {
    sweep_all<true>(contacts, count, step, lambda, y);
  } else {
    sweep_all<false>(contacts, count, step, lambda, y);
  }
}

void measure_contacts(Touching bodies, const PackedContact* contacts, int count,
                      const double* lambda, const BodyLine* y, double* u) {
  if (bodies == Touching::two) {
    measure_all<true>(contacts, count, lambda, y, u);
  } else {
    measure_all<false>(contacts, count, lambda, y, u);
  }
}

}  // namespace urto
