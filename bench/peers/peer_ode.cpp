// A scene in ODE (Debian's 0.16, double precision): QuickStep with `--iterations=20`, or
// `--solver=step`, its direct method.
#include <ode/ode.h>

#include "scene.h"

namespace {

using namespace peers;

/// The faces of a convex polytope of few points, as ODE's convex geometry wants them: planes, and
/// polygons counter-clockwise from outside.
struct Polytope {
  std::vector<dReal> planes, points;
  std::vector<unsigned> polygons;
  unsigned faces = 0;

  explicit Polytope(const std::vector<Vec>& p) {
    Vec middle{};
    for (const Vec& x : p) {
      points.insert(points.end(), x.begin(), x.end());
      for (int k = 0; k < 3; ++k) middle[k] += x[k] / static_cast<double>(p.size());
    }
    const std::size_t n = p.size();
    std::vector<Vec> found;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = i + 1; j < n; ++j) {
        for (std::size_t k = j + 1; k < n; ++k) add_face(p, middle, {i, j, k}, found);
      }
    }
  }

  void add_face(const std::vector<Vec>& p, const Vec& middle, const std::array<std::size_t, 3>& at,
                std::vector<Vec>& found) {
    Vec normal = cross(p[at[1]] - p[at[0]], p[at[2]] - p[at[0]]);
    const double size = length(normal);
    if (size < 1e-14) return;
    for (double& x : normal) x /= size;
    if (dot(normal, p[at[0]] - middle) < 0) normal = {-normal[0], -normal[1], -normal[2]};
    std::vector<unsigned> on;
    for (std::size_t i = 0; i < p.size(); ++i) {
      const double above = dot(normal, p[i] - p[at[0]]);
      if (above > 1e-9) return;
      if (above > -1e-9) on.push_back(static_cast<unsigned>(i));
    }
    for (const Vec& other : found) {
      if (dot(other, normal) > 1 - 1e-9) return;
    }
    found.push_back(normal);
    Vec centre{};
    for (const unsigned i : on) {
      for (int k = 0; k < 3; ++k) centre[k] += p[i][k] / static_cast<double>(on.size());
    }
    const Vec east = p[on[0]] - centre, north = cross(normal, east);
    std::sort(on.begin(), on.end(), [&](unsigned a, unsigned b) {
      const auto angle = [&](unsigned i) {
        return std::atan2(dot(p[i] - centre, north), dot(p[i] - centre, east) * length(north) /
                                                         std::max(1e-300, length(east)));
      };
      return angle(a) < angle(b);
    });
    planes.insert(planes.end(), normal.begin(), normal.end());
    planes.push_back(dot(normal, p[at[0]]));
    polygons.push_back(static_cast<unsigned>(on.size()));
    polygons.insert(polygons.end(), on.begin(), on.end());
    ++faces;
  }
};

class Ode {
 public:
  Ode(const Arguments& a, const Scene& scene)
      : step_(a.step), friction_(scene.friction), quick_(a.text("solver", "") != "step") {
    dInitODE2(0);
    dAllocateODEDataForThread(dAllocateMaskAll);
    world_ = dWorldCreate();
    contacts_ = dJointGroupCreate(0);
    erp_ = a.number("erp", 0.2);
    cfm_ = a.number("cfm", 1e-10);
    dWorldSetERP(world_, erp_);
    dWorldSetCFM(world_, cfm_);
    dWorldSetAutoDisableFlag(world_, 0);
    dWorldSetQuickStepNumIterations(world_, static_cast<int>(a.number("iterations", 20)));
    dWorldSetContactMaxCorrectingVel(world_, 1e30);
    dWorldSetContactSurfaceLayer(world_, 0);
    dWorldSetGravity(world_, scene.gravity[0], scene.gravity[1], scene.gravity[2]);
    space_ = dHashSpaceCreate(nullptr);
    dHashSpaceSetLevels(space_, -5, 2);
    for (const Plane& p : scene.planes) dCreatePlane(space_, p.n[0], p.n[1], p.n[2], p.d);
    polytopes_.reserve(scene.bodies.size());
    for (const Body& b : scene.bodies) add(b);
    for (const Hinge& h : scene.hinges) {
      const dJointID joint = dJointCreateHinge(world_, nullptr);
      dJointAttach(joint, bodies_[h.b], h.a < 0 ? nullptr : bodies_[h.a]);
      dJointSetHingeAnchor(joint, h.point[0], h.point[1], h.point[2]);
      dJointSetHingeAxis(joint, h.axis[0], h.axis[1], h.axis[2]);
    }
  }

  void step() {
    dSpaceCollide(space_, this, near);
    if (quick_)
      dWorldQuickStep(world_, step_);
    else
      dWorldStep(world_, step_);
    dJointGroupEmpty(contacts_);
    ++steps_;
  }

  void get(std::vector<State>& states) const {
    states.resize(bodies_.size());
    for (std::size_t i = 0; i < bodies_.size(); ++i) {
      const dReal *p = dBodyGetPosition(bodies_[i]), *q = dBodyGetQuaternion(bodies_[i]),
                  *v = dBodyGetLinearVel(bodies_[i]), *w = dBodyGetAngularVel(bodies_[i]);
      states[i] = {
          {p[0], p[1], p[2]}, {q[0], q[1], q[2], q[3]}, {v[0], v[1], v[2]}, {w[0], w[1], w[2]}};
    }
  }

  std::string remarks() const {
    return ",\"contacts\":" + std::to_string(found_ / std::max(1L, steps_));
  }

 private:
  void add(const Body& b) {
    dMass mass;
    dMassSetParameters(&mass, b.mass, 0, 0, 0, b.inertia[0], b.inertia[1], b.inertia[2], 0, 0, 0);
    const dBodyID body = dBodyCreate(world_);
    dBodySetMass(body, &mass);
    const State& s = b.start;
    dBodySetPosition(body, s.p[0], s.p[1], s.p[2]);
    const dQuaternion q{s.q[0], s.q[1], s.q[2], s.q[3]};
    dBodySetQuaternion(body, q);
    dBodySetLinearVel(body, s.v[0], s.v[1], s.v[2]);
    dGeomID shape = nullptr;
    if (b.kind == "sphere") {
      shape = dCreateSphere(space_, b.size[0]);
    } else if (b.kind == "box") {
      shape = dCreateBox(space_, b.size[0], b.size[1], b.size[2]);
    } else if (b.kind == "hull") {
      Polytope& p = polytopes_.emplace_back(b.points);
      shape = dCreateConvex(space_, p.planes.data(), p.faces, p.points.data(),
                            static_cast<unsigned>(p.points.size() / 3), p.polygons.data());
    }
    if (shape != nullptr) dGeomSetBody(shape, body);
    bodies_.push_back(body);
  }

  static void near(void* data, dGeomID g1, dGeomID g2) {
    Ode& o = *static_cast<Ode*>(data);
    const dBodyID b1 = dGeomGetBody(g1), b2 = dGeomGetBody(g2);
    if (b1 == nullptr && b2 == nullptr) return;
    std::array<dContact, 16> contacts;
    const int n = dCollide(g1, g2, 8, &contacts[0].geom, sizeof(dContact));
    o.found_ += n;
    for (int i = 0; i < n; ++i) {
      contacts[i].surface.mode = dContactApprox1 | dContactSoftERP | dContactSoftCFM;
      contacts[i].surface.mu = o.friction_;
      contacts[i].surface.soft_erp = o.erp_;
      contacts[i].surface.soft_cfm = o.cfm_;
      dJointAttach(dJointCreateContact(o.world_, o.contacts_, &contacts[i]), b1, b2);
    }
  }

  dWorldID world_;
  dSpaceID space_;
  dJointGroupID contacts_;
  std::vector<dBodyID> bodies_;
  std::vector<Polytope> polytopes_;
  double step_, friction_, erp_, cfm_;
  bool quick_;
  long found_ = 0, steps_ = 0;
};

}  // namespace

int main(int count, char** words) {
  try {
    const Arguments a = arguments(count, words);
    const Scene scene = read_scene(a.scene);
    Ode engine(a, scene);
    return run(a, scene, engine);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "peer_ode: %s\n", e.what());
    return 2;
  }
}
