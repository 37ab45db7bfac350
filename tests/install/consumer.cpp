// What a user of the installed library would write: a mass of 2 kg falling on the ground, one
// frictional contact.
#include <cmath>
#include <cstdio>
#include <urto/solver/solver.h>
#include <urto/version.h>

int main() {
  urto::StepProblem problem;
  urto::BlockMatrix mass;
  mass.push_back(2.0 * urto::Mat3::Identity());
  problem.H = mass;
  problem.a = urto::Vec3(0, 0, -2.0);  // 1 m/s downwards
  problem.J.columns = 3;
  problem.J.add_block(3);
  urto::Mat3 frame;
  frame << 0, 0, 1, 1, 0, 0, 0, 1, 0;  // rows: normal z, tangents x and y
  problem.J.add_entry(0, frame);
  problem.E.resize(3, 3);
  problem.b = urto::Vec3::Zero();
  problem.K.push_back(urto::ConvexSet::cone(0.5));
  urto::validate(problem, "falling mass");
  const urto::Solution solution = urto::solve(problem);
  std::printf("urto %s: impulse %g N s\n", urto::version, solution.lambda[0]);
  return solution.status == urto::Status::converged && std::abs(solution.lambda[0] - 2) < 1e-7 ? 0
                                                                                               : 1;
}
