// Two numbers at a time, and small dense kernels made of them whose sizes the compiler knows. A sum
// is taken in the order of a plain loop, whatever the sizes: two lanes are two sums, never two
// halves of one. So the bits are those of the loop, on every machine.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace urto {

using Pair __attribute__((vector_size(16))) = double;

inline Pair load(const double* p) {
  Pair v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

inline void store(const Pair& v, double* p) {
  std::memcpy(p, &v, sizeof v);
}

inline Pair both(double x) {
  return Pair{x, x};
}

inline Pair magnitude(const Pair& v) {
  using Bits __attribute__((vector_size(16))) = std::uint64_t;
  constexpr std::uint64_t mask = ~(std::uint64_t{1} << 63);
  return std::bit_cast<Pair>(std::bit_cast<Bits>(v) & Bits{mask, mask});
}

/// Whether all numbers are the same; NaN is not.
inline bool equal(const double* a, const double* b, int n) {
  using Bits __attribute__((vector_size(16))) = std::int64_t;
  Bits same{-1, -1};
  int k = 0;
  for (; k + 1 < n; k += 2) same &= load(a + k) == load(b + k);
  return (same[0] & same[1]) != 0 && (k == n || a[k] == b[k]);
}

/// Two consecutive columns of two rows.
struct PairOfColumns {
  Pair first, second;
};
inline PairOfColumns columns(const double* row, const double* next_row) {
  const Pair a = load(row), b = load(next_row);
  return {Pair{a[0], b[0]}, Pair{a[1], b[1]}};
}

/// A size that the compiler knows; 0 stands for one that is known when it runs.
template <int N>
using Size = std::integral_constant<int, N>;

/// body(Size<0>()), …, body(Size<N − 1>()).
template <int N, class Body>
void unrolled(const Body& body) {
  [&]<int... k>(std::integer_sequence<int, k...>) {
    (body(Size<k>()), ...);
  }
  (std::make_integer_sequence<int, N>());
}

/// Calls kernel(Size<n>()) for the sizes of mechanics: bodies have six rows, contacts three, joints
/// mostly five, three or one. Other sizes are Size<0>.
template <class Kernel>
auto with_size(int n, const Kernel& kernel) {
  switch (n) {
    case 1:
      return kernel(Size<1>());
    case 3:
      return kernel(Size<3>());
    case 5:
      return kernel(Size<5>());
    case 6:
      return kernel(Size<6>());
    default:
      return kernel(Size<0>());
  }
}

/// N numbers in lanes.
template <int N>
struct Column {
  static constexpr int pairs = N / 2;
  static constexpr bool odd = N % 2 == 1;
  Pair pair[pairs > 0 ? pairs : 1];
  double last = 0;

  static Column of(const double* p) {
    Column c;
    for (int k = 0; k < pairs; ++k) c.pair[k] = load(p + 2 * k);
    if constexpr (odd) c.last = p[N - 1];
    return c;
  }
  static Column zero() {
    Column c;
    for (int k = 0; k < pairs; ++k) c.pair[k] = both(0);
    return c;
  }
  void store_to(double* p) const {
    for (int k = 0; k < pairs; ++k) store(pair[k], p + 2 * k);
    if constexpr (odd) p[N - 1] = last;
  }
  void add(const Column& v, double factor) {
    for (int k = 0; k < pairs; ++k) pair[k] += v.pair[k] * both(factor);
    if constexpr (odd) last += v.last * factor;
  }
  template <int k>
  double at() const {
    return k < 2 * pairs ? pair[k / 2][k % 2] : last;
  }
  /// From the pair `First` on.
  template <int First = 0>
  void subtract(const Column& v, double factor) {
    for (int k = First; k < pairs; ++k) pair[k] -= v.pair[k] * both(factor);
    if constexpr (odd) last -= v.last * factor;
  }
  void scale(double factor) {
    for (int k = 0; k < pairs; ++k) pair[k] *= both(factor);
    if constexpr (odd) last *= factor;
  }
};

/// a·x and b·x, each from zero in the order of its terms.
template <int N>
inline Pair products(const double* a, const double* b, const double* x) {
  Pair sum = both(0);
  for (int c = 0; c + 1 < N; c += 2) {
    const PairOfColumns v = columns(a + c, b + c);
    sum += v.first * both(x[c]);
    sum += v.second * both(x[c + 1]);
  }
  if constexpr (N % 2 == 1) sum += Pair{a[N - 1], b[N - 1]} * both(x[N - 1]);
  return sum;
}

template <int N>
inline double product(const double* a, const double* x) {
  double sum = 0;
  for (int c = 0; c < N; ++c) sum += a[c] * x[c];
  return sum;
}

/// y += A x of a row-major A, rows × Width.
template <int Width>
inline void add_products(const double* A, int rows, const double* x, double* y) {
  int r = 0;
  for (; r + 1 < rows; r += 2)
    store(load(y + r) + products<Width>(A + r * Width, A + (r + 1) * Width, x), y + r);
  if (r < rows) y[r] += product<Width>(A + r * Width, x);
}

}  // namespace urto
