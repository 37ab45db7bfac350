#include "urto/firstorder/first_order_system.h"

#include <utility>

#include <fmt/format.h>

#include "urto/error.h"

namespace urto {
namespace {

SparseMatrix identity(int n) {
  SparseMatrix out(n, n);
  out.setIdentity();
  return out;
}

/// Of a relation whose matrices may be left empty.
LinearRelation completed(LinearRelation r, Eigen::Index states, Eigen::Index rows) {
  if (r.C.size() == 0) r.C.resize(rows, states);
  if (r.D.size() == 0) r.D.resize(rows, rows);
  if (r.B.size() == 0) r.B.resize(states, rows);
  if (r.e.size() == 0) r.e = Vector::Zero(rows);
  return r;
}

class Checker {
 public:
  Checker(std::string_view name) : name_(name) {}

  void refuse(std::string_view what, const std::string& found, const std::string& expected) const {
    throw InputError(fmt::format("{}: {}", name_, what), found, expected);
  }
  void size(std::string_view what, Eigen::Index found, Eigen::Index expected) const {
    if (found != expected)
      refuse(what, fmt::format("{} values", found), fmt::format("{}", expected));
  }
  void size(std::string_view what, const SparseMatrix& A, Eigen::Index rows,
            Eigen::Index columns) const {
    if (A.rows() == rows && A.cols() == columns) return;
    refuse(what, fmt::format("{} × {}", A.rows(), A.cols()), fmt::format("{} × {}", rows, columns));
  }
  template <class F>
  void there(std::string_view what, const F& function, std::string_view beside) const {
    if (!function) refuse(what, "none", fmt::format("a function, as there is {}", beside));
  }

 private:
  std::string_view name_;
};

void validate_field(const FirstOrderSystem& s, const Moment& now, const Vector& x,
                    const Checker& check) {
  if (s.mass.size() != 0) check.size("mass M", s.mass, s.states, s.states);
  if (!s.field.f) return;
  check.there("∂f/∂x", s.field.jacobian, "f");
  check.size("f", s.field.f(now, x).size(), s.states);
  check.size("∂f/∂x", s.field.jacobian(now, x), s.states, s.states);
}

void validate_relation(const FirstOrderSystem& s, const Moment& now, const Vector& x,
                       const Checker& check) {
  const Relation& r = s.relation;
  const int rows = s.rows();
  if (rows == 0) return;
  if (r.kind == RelationKind::linear) {
    check.there("relation", r.linear, "a law");
  } else {
    check.there("h", r.h, "a law");
    check.there("g", r.g, "a law");
    check.there("∂h/∂x", r.C, "h");
    check.there("∂g/∂λ", r.B, "g");
    if (r.kind != RelationKind::type1) check.there("∂h/∂λ", r.D, "h(t, x, λ)");
    if (r.kind == RelationKind::nonlinear) check.there("∂g/∂x", r.K, "g(t, x, λ)");
  }
  Vector lambda(rows);
  for (int i = 0; i < rows; ++i) {
    const MultiplierBounds& law = s.laws[i];
    if (!(law.lower <= law.upper) || law.lower == std::numeric_limits<double>::infinity() ||
        law.upper == -std::numeric_limits<double>::infinity()) {
      check.refuse(fmt::format("law of row {}", i),
                   fmt::format("bounds [{}, {}]", law.lower, law.upper), "lower ≤ upper");
    }
    lambda[i] = std::min(std::max(0.0, law.lower), law.upper);
  }
  if (r.linear) {
    const LinearRelation l = completed(r.linear(now), s.states, rows);
    check.size("C", l.C, rows, s.states);
    check.size("D", l.D, rows, rows);
    check.size("B", l.B, s.states, rows);
    check.size("e", l.e.size(), rows);
    return;
  }
  check.size("h", r.h(now, x, lambda).size(), rows);
  check.size("g", r.g(now, x, lambda).size(), s.states);
  check.size("∂h/∂x", r.C(now, x, lambda), rows, s.states);
  if (r.D) check.size("∂h/∂λ", r.D(now, x, lambda), rows, rows);
  if (r.K) check.size("∂g/∂x", r.K(now, x, lambda), s.states, s.states);
  check.size("∂g/∂λ", r.B(now, x, lambda), s.states, rows);
}

}  // namespace

Field linear_field(SparseMatrix A, Vector b) {
  return driven_field(std::move(A), [b = std::move(b)](const Moment&) { return b; });
}

Field driven_field(SparseMatrix A, std::function<Vector(const Moment&)> b) {
  Field out = varying_field([A = std::move(A)](const Moment&) { return A; }, std::move(b));
  out.constant = true;
  return out;
}

Field varying_field(std::function<SparseMatrix(const Moment&)> A,
                    std::function<Vector(const Moment&)> b) {
  Field out{.linear = true};
  out.f = [A, b = std::move(b)](const Moment& now, const Vector& x) {
    Vector f = A(now) * x;
    if (b) f += b(now);
    return f;
  };
  out.jacobian = [A = std::move(A)](const Moment& now, const Vector&) { return A(now); };
  return out;
}

Field with_control(Field field, SparseMatrix T, StateFunction u, StateMatrix by_state) {
  Field out{.linear = field.linear && !by_state, .constant = field.constant && !by_state};
  out.f = [f = std::move(field.f), T, u = std::move(u)](const Moment& now, const Vector& x) {
    return Vector(f(now, x) + T * u(now, x));
  };
  out.jacobian = [A = std::move(field.jacobian), T = std::move(T), by_state = std::move(by_state)](
                     const Moment& now, const Vector& x) {
    SparseMatrix sum = A(now, x);
    if (by_state) sum += SparseMatrix(T * by_state(now, x));
    return sum;
  };
  return out;
}

Relation linear_relation(LinearRelation constant) {
  return linear_relation([constant = std::move(constant)](const Moment&) { return constant; });
}

Relation linear_relation(std::function<LinearRelation(const Moment&)> varying) {
  return {.linear = std::move(varying)};
}

Relation type1_relation(StateFunction h, StateMatrix C,
                        std::function<Vector(const Moment&, const Vector&)> g,
                        std::function<SparseMatrix(const Moment&, const Vector&)> B) {
  RelationFunction output;
  RelationMatrix by_state;
  if (h) {
    output = [h = std::move(h)](const Moment& now, const Vector& x, const Vector&) {
      return h(now, x);
    };
  }
  if (C) {
    by_state = [C = std::move(C)](const Moment& now, const Vector& x, const Vector&) {
      return C(now, x);
    };
  }
  Relation out =
      type2_relation(std::move(output), std::move(by_state), {}, std::move(g), std::move(B));
  out.kind = RelationKind::type1;
  return out;
}

Relation type2_relation(RelationFunction h, RelationMatrix C, RelationMatrix D,
                        std::function<Vector(const Moment&, const Vector&)> g,
                        std::function<SparseMatrix(const Moment&, const Vector&)> B) {
  Relation out{.kind = RelationKind::type2};
  out.h = std::move(h);
  out.C = std::move(C);
  out.D = std::move(D);
  if (g) {
    out.g = [g = std::move(g)](const Moment& now, const Vector&, const Vector& lambda) {
      return g(now, lambda);
    };
  }
  if (B) {
    out.B = [B = std::move(B)](const Moment& now, const Vector&, const Vector& lambda) {
      return B(now, lambda);
    };
  }
  return out;
}

Relation nonlinear_relation(RelationFunction h, RelationMatrix C, RelationMatrix D,
                            RelationFunction g, RelationMatrix K, RelationMatrix B) {
  Relation out{.kind = RelationKind::nonlinear};
  out.h = std::move(h);
  out.g = std::move(g);
  out.C = std::move(C);
  out.D = std::move(D);
  out.K = std::move(K);
  out.B = std::move(B);
  return out;
}

void validate(const FirstOrderSystem& s, double t, const Vector& x, std::string_view name) {
  const Checker check(name);
  if (s.states < 0) check.refuse("states", fmt::format("{}", s.states), "0 or more");
  check.size("start", x.size(), s.states);
  if (!x.allFinite()) check.refuse("start", "a value that is not finite", "numbers");
  const Moment now{t, t};
  validate_field(s, now, x, check);
  validate_relation(s, now, x, check);
}

SparseMatrix mass_of(const FirstOrderSystem& s) {
  return s.mass.size() == 0 ? identity(s.states) : s.mass;
}

Vector field_at(const FirstOrderSystem& s, const Moment& now, const Vector& x) {
  return s.field.f ? s.field.f(now, x) : Vector(Vector::Zero(s.states));
}

SparseMatrix field_jacobian_at(const FirstOrderSystem& s, const Moment& now, const Vector& x) {
  return s.field.f ? s.field.jacobian(now, x) : SparseMatrix(s.states, s.states);
}

RelationPoint relation_at(const FirstOrderSystem& s, const Moment& now, const Vector& x,
                          const Vector& lambda) {
  const int n = s.states, m = s.rows();
  const Relation& r = s.relation;
  RelationPoint out{.K = SparseMatrix(n, n)};
  if (m == 0) {
    out.r = Vector::Zero(n);
    out.C.resize(0, n);
    out.D.resize(0, 0);
    out.B.resize(n, 0);
  } else if (r.linear) {
    LinearRelation l = completed(r.linear(now), n, m);
    out.y = l.C * x + l.D * lambda + l.e;
    out.r = l.B * lambda;
    out.C = std::move(l.C);
    out.D = std::move(l.D);
    out.B = std::move(l.B);
  } else {
    out.y = r.h(now, x, lambda);
    out.r = r.g(now, x, lambda);
    out.C = r.C(now, x, lambda);
    out.D = r.D ? r.D(now, x, lambda) : SparseMatrix(m, m);
    if (r.K) out.K = r.K(now, x, lambda);
    out.B = r.B(now, x, lambda);
  }
  return out;
}

}  // namespace urto
