// A scene in Bullet (Debian's 3.24, double precision): sequential impulses with `--iterations=10`.
#include <BulletDynamics/MLCPSolvers/btDantzigSolver.h>
#include <BulletDynamics/MLCPSolvers/btMLCPSolver.h>
#include <btBulletDynamicsCommon.h>
#include <memory>

#include "scene.h"

namespace {

using namespace peers;

btVector3 vector(const Vec& v) {
  return {v[0], v[1], v[2]};
}
Vec vec(const btVector3& v) {
  return {v.x(), v.y(), v.z()};
}

class Bullet {
 public:
  Bullet(const Arguments& a, const Scene& scene) : step_(a.step) {
    if (a.text("solver", "") == "dantzig")
      solver_ = std::make_unique<btMLCPSolver>(&dantzig_);
    else
      solver_ = std::make_unique<btSequentialImpulseConstraintSolver>();
    world_ = std::make_unique<btDiscreteDynamicsWorld>(&dispatcher_, &pairs_, solver_.get(),
                                                       &configuration_);
    btContactSolverInfo& info = world_->getSolverInfo();
    info.m_numIterations = static_cast<int>(a.number("iterations", 10));
    info.m_leastSquaresResidualThreshold = 0;
    if (a.text("solver", "") == "dantzig") info.m_minimumSolverBatchSize = 1;
    world_->setGravity(vector(scene.gravity));
    // Bullet multiplies the coefficients of the two bodies.
    const double friction = std::sqrt(scene.friction);
    for (const Plane& p : scene.planes) {
      shapes_.push_back(std::make_unique<btStaticPlaneShape>(vector(p.n), p.d));
      add(0, {}, {{}, {1, 0, 0, 0}}, shapes_.back().get(), friction);
    }
    for (const Body& b : scene.bodies) {
      shapes_.push_back(shape_of(b));
      bodies_.push_back(add(b.mass, b.inertia, b.start, shapes_.back().get(), friction));
    }
    add_hinges(scene);
  }

  void step() {
    world_->stepSimulation(step_, 1, step_);
    ++steps_;
    for (int i = 0; i < dispatcher_.getNumManifolds(); ++i)
      found_ += dispatcher_.getManifoldByIndexInternal(i)->getNumContacts();
  }

  void get(std::vector<State>& states) const {
    states.resize(bodies_.size());
    for (std::size_t i = 0; i < bodies_.size(); ++i) {
      const btTransform& t = bodies_[i]->getWorldTransform();
      const btQuaternion q = t.getRotation();
      states[i] = {vec(t.getOrigin()),
                   {q.w(), q.x(), q.y(), q.z()},
                   vec(bodies_[i]->getLinearVelocity()),
                   vec(bodies_[i]->getAngularVelocity())};
    }
  }

  std::string remarks() const {
    return ",\"contacts\":" + std::to_string(found_ / std::max(1L, steps_));
  }

 private:
  static std::unique_ptr<btCollisionShape> shape_of(const Body& b) {
    if (b.kind == "sphere") return std::make_unique<btSphereShape>(b.size[0]);
    if (b.kind == "box") return std::make_unique<btBoxShape>(vector(b.size) / 2);
    if (b.kind != "hull") return std::make_unique<btEmptyShape>();
    auto hull = std::make_unique<btConvexHullShape>();
    for (const Vec& p : b.points) hull->addPoint(vector(p));
    hull->setMargin(0);
    return hull;
  }

  btRigidBody* add(double mass, const Vec& inertia, const State& s, btCollisionShape* shape,
                   double friction) {
    btTransform t(btQuaternion(s.q[1], s.q[2], s.q[3], s.q[0]), vector(s.p));
    motions_.push_back(std::make_unique<btDefaultMotionState>(t));
    btRigidBody::btRigidBodyConstructionInfo info(mass, motions_.back().get(), shape,
                                                  vector(inertia));
    info.m_friction = friction;
    info.m_restitution = info.m_rollingFriction = 0;
    info.m_linearDamping = info.m_angularDamping = 0;
    owned_.push_back(std::make_unique<btRigidBody>(info));
    btRigidBody* body = owned_.back().get();
    body->setActivationState(DISABLE_DEACTIVATION);
    if (mass > 0) body->setLinearVelocity(vector(s.v));
    world_->addRigidBody(body);
    return body;
  }

  void add_hinges(const Scene& scene) {
    if (scene.hinges.empty()) return;
    shapes_.push_back(std::make_unique<btEmptyShape>());
    btRigidBody* ground = add(0, {}, {{}, {1, 0, 0, 0}}, shapes_.back().get(), 0);
    const auto local = [](const btRigidBody& b, const btVector3& point) {
      return b.getWorldTransform().inverse() * point;
    };
    const auto turned = [](const btRigidBody& b, const btVector3& axis) {
      return b.getWorldTransform().getBasis().transpose() * axis;
    };
    for (const Hinge& h : scene.hinges) {
      btRigidBody& a = h.a < 0 ? *ground : *bodies_[h.a];
      btRigidBody& b = *bodies_[h.b];
      const btVector3 point = vector(h.point), axis = vector(h.axis);
      hinges_.push_back(std::make_unique<btHingeConstraint>(a, b, local(a, point), local(b, point),
                                                            turned(a, axis), turned(b, axis)));
      world_->addConstraint(hinges_.back().get(), true);
    }
  }

  btDefaultCollisionConfiguration configuration_;
  btCollisionDispatcher dispatcher_{&configuration_};
  btDbvtBroadphase pairs_;
  btDantzigSolver dantzig_;
  std::unique_ptr<btConstraintSolver> solver_;
  std::vector<std::unique_ptr<btCollisionShape>> shapes_;
  std::vector<std::unique_ptr<btDefaultMotionState>> motions_;
  std::vector<std::unique_ptr<btRigidBody>> owned_;
  std::vector<std::unique_ptr<btHingeConstraint>> hinges_;
  std::vector<btRigidBody*> bodies_;
  std::unique_ptr<btDiscreteDynamicsWorld> world_;  // last: it goes first
  double step_;
  long found_ = 0, steps_ = 0;
};

}  // namespace

int main(int count, char** words) {
  try {
    const Arguments a = arguments(count, words);
    const Scene scene = read_scene(a.scene);
    Bullet engine(a, scene);
    return run(a, scene, engine);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "peer_bullet: %s\n", e.what());
    return 2;
  }
}
