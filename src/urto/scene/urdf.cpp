#include "urto/scene/urdf.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "urto/error.h"
#include "urto/file/spelling.h"
#include "urto/scene/urdf_robot.h"

namespace urto {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Eigen::Isometry3d;
using urdf::Geometry;
using urdf::Joint;
using urdf::JointKind;
using urdf::Link;

Json array(const Vec3& x) {
  return Json::array({x[0], x[1], x[2]});
}

/// Where a thing is, left out where it is at the origin.
void put_frame(Json& out, const Isometry3d& frame) {
  if (!frame.translation().isZero(0)) out["position"] = array(frame.translation());
  const Eigen::Quaterniond q(frame.linear());
  if (!frame.linear().isIdentity(1e-15)) out["rotation"] = {q.w(), q.x(), q.y(), q.z()};
}

/// Coordinates of a joint are along or about the axis z of its markers.
Isometry3d with_axis_z(const Isometry3d& frame, const Vec3& axis) {
  Isometry3d out = frame;
  out.linear() =
      frame.linear() * Eigen::Quaterniond::FromTwoVectors(Vec3::UnitZ(), axis).toRotationMatrix();
  return out;
}

bool turns(const Joint& joint) {
  return joint.kind == JointKind::revolute || joint.kind == JointKind::continuous;
}

bool has_coordinate(const Joint& joint) {
  return turns(joint) || joint.kind == JointKind::prismatic;
}

/// Links that move as one.
struct Body {
  std::string name;
  std::vector<std::pair<const Link*, Isometry3d>> links;  ///< in the frame of the first
  Isometry3d at = Isometry3d::Identity();                 ///< in the world, at the start
  bool fixed = false;
  std::string moved_by = {};  ///< a joint
};

class Converter {
 public:
  Converter(const fs::path& file, const UrdfOptions& options, const fs::path& directory)
      : file_(file), directory_(directory), options_(options), robot_(urdf::read_robot(file)) {
    out_.warnings = robot_.warnings;
  }

  ConvertedScene convert() {
    index();
    choose_pose();
    gather();
    Json scene{{"urto", 1}};
    scene["title"] = robot_.name.empty() ? file_.stem().string() : robot_.name;
    scene["description"] = "Made by urto convert from " + file_.filename().string() + ".";
    Json bodies = Json::array();
    if (options_.ground) {
      bodies.push_back({{"name", unused_name("ground")},
                        {"kind", "fixed"},
                        {"shapes", {{{"kind", "half-space"}}}}});
    }
    for (const Body& body : bodies_) bodies.push_back(body_of(body));
    scene["bodies"] = std::move(bodies);
    scene["markers"] = Json::array();  // here, for a reader; joints add to them
    add_joints(scene);
    scene["markers"] = std::move(markers_);
    scene["watch"] = watched();
    scene["simulation"] = {{"duration", 2}, {"step", 1e-3}};
    for (const char* section : {"markers", "joints", "couplings", "forces", "watch"}) {
      if (scene.contains(section) && scene[section].empty()) scene.erase(section);
    }
    out_.links = static_cast<int>(robot_.links.size());
    out_.bodies = static_cast<int>(bodies_.size());
    try {
      out_.json = scene.dump(2) + "\n";
    } catch (const Json::type_error&) {  // the only thing that cannot be written
      fail("a name", "letters that are not UTF-8", "a file in UTF-8");
    }
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail(const std::string& where, const std::string& found,
                         const std::string& expected) const {
    throw InputError(fmt::format("{}: {}", file_.string(), where), found, expected);
  }

  // ---- The tree

  void index() {
    for (const Link& link : robot_.links) links_[link.name] = &link;
    for (const Joint& joint : robot_.joints) {
      for (const std::string& end : {joint.parent, joint.child}) {
        if (!links_.contains(end)) {
          fail(fmt::format("joint '{}'", joint.name), fmt::format("no link '{}'", end),
               "a link of this file");
        }
      }
      if (!parent_.emplace(joint.child, &joint).second) {
        fail(fmt::format("link '{}'", joint.child),
             fmt::format("two parents, by '{}' and '{}'", parent_[joint.child]->name, joint.name),
             "a tree");
      }
      children_[joint.parent].push_back(&joint);
      joints_[joint.name] = &joint;
    }
    std::vector<std::string> roots;
    for (const Link& link : robot_.links) {
      if (!parent_.contains(link.name)) roots.push_back(link.name);
    }
    if (roots.size() != 1) {
      fail("its links",
           roots.empty() ? "a ring"
                         : fmt::format("{} roots: {}", roots.size(), fmt::join(roots, ", ")),
           "one tree");
    }
    root_ = roots.front();
  }

  /// Zero, what was asked for, or what a joint that follows another has then.
  void choose_pose() {
    for (const auto& [name, value] : options_.pose) {
      const auto at = joints_.find(name);
      if (at == joints_.end() || !has_coordinate(*at->second)) {
        std::vector<std::string_view> names;
        for (const Joint& joint : robot_.joints) {
          if (has_coordinate(joint)) names.push_back(joint.name);
        }
        const std::string_view near = nearest_word(name, names);
        throw InputError("--pose", fmt::format("no moving joint '{}'", name),
                         near.empty() ? "the name of one" : fmt::format("one such as '{}'", near));
      }
      if (at->second->mimic) {
        throw InputError("--pose",
                         fmt::format("'{}', which follows '{}'", name, at->second->mimic->joint),
                         "a joint that leads");
      }
    }
    for (const Joint& joint : robot_.joints) {
      if (!has_coordinate(joint)) continue;
      const double q = coordinate_of(joint, 0);
      coordinate_[joint.name] = q;
      if (joint.limits && (q < (*joint.limits)[0] || q > (*joint.limits)[1])) {
        out_.warnings.push_back(
            fmt::format("joint '{}': starts at {:.6g}, outside its limits {:.6g} "
                        "to {:.6g}; --pose {}=… says otherwise",
                        joint.name, q, (*joint.limits)[0], (*joint.limits)[1], joint.name));
      }
    }
  }

  double coordinate_of(const Joint& joint, std::size_t depth) {
    if (const auto given = options_.pose.find(joint.name); given != options_.pose.end())
      return given->second;
    if (!joint.mimic) return 0;
    const auto leader = joints_.find(joint.mimic->joint);
    if (leader == joints_.end() || !has_coordinate(*leader->second)) {
      fail(fmt::format("joint '{}'", joint.name),
           fmt::format("it follows '{}'", joint.mimic->joint), "a joint with one coordinate");
    }
    if (depth > robot_.joints.size()) {
      fail(fmt::format("joint '{}'", joint.name), "a ring of joints that follow each other",
           "one that leads");
    }
    return joint.mimic->multiplier * coordinate_of(*leader->second, depth + 1) +
           joint.mimic->offset;
  }

  Isometry3d moved(const Joint& joint) const {
    Isometry3d out = Isometry3d::Identity();
    if (!has_coordinate(joint)) return out;
    const double q = coordinate_.at(joint.name);
    if (turns(joint)) {
      out.linear() = Eigen::AngleAxisd(q, joint.axis).toRotationMatrix();
    } else {
      out.translation() = q * joint.axis;
    }
    return out;
  }

  /// Bodies from the root outwards, without recursion: a chain may be long.
  void gather() {
    const Link& root = *links_.at(root_);
    Body first{.name = root_, .links = {{&root, Isometry3d::Identity()}}};
    first.at.translation() = options_.at;
    first.fixed = options_.fixed_base.value_or(!(root.inertial && root.inertial->mass > 0));
    if (!options_.fixed_base) {
      out_.warnings.push_back(fmt::format("link '{}': the root is {}; --base says otherwise", root_,
                                          first.fixed ? "fixed, for it has no mass" : "free"));
    }
    bodies_.push_back(std::move(first));
    place_[root_] = {0, Isometry3d::Identity()};
    std::vector<std::string> open{root_};
    std::size_t visited = 1;
    while (!open.empty()) {
      const std::string link = open.back();
      open.pop_back();
      const auto outward = children_.find(link);
      if (outward == children_.end()) continue;
      for (const Joint* joint : outward->second) {
        const auto [body, frame] = place_.at(link);
        const Isometry3d child = frame * joint->origin * moved(*joint);
        if (joint->kind == JointKind::fixed) {
          place_[joint->child] = {body, child};
          bodies_[body].links.emplace_back(links_.at(joint->child), child);
        } else {
          Body next{.name = joint->child,
                    .links = {{links_.at(joint->child), Isometry3d::Identity()}},
                    .at = bodies_[body].at * child,
                    .moved_by = joint->name};
          place_[joint->child] = {bodies_.size(), Isometry3d::Identity()};
          bodies_.push_back(std::move(next));
        }
        open.push_back(joint->child);
        ++visited;
      }
    }
    if (visited != robot_.links.size()) fail("its links", "a ring beside the tree", "one tree");
  }

  // ---- Bodies

  Json body_of(const Body& body) {
    Json out{{"name", body.name}};
    if (body.fixed) out["kind"] = "fixed";
    put_frame(out, body.at);
    if (!body.fixed) put_mass(body, out);
    Json shapes = Json::array();
    for (const auto& [link, frame] : body.links) add_shapes(*link, frame, shapes);
    if (!shapes.empty()) out["shapes"] = std::move(shapes);
    if (!options_.self_collision) {
      out["layers"] = {"robot"};
      out["ignores"] = {"robot"};
    }
    for (std::size_t k = 1; k < body.links.size(); ++k)
      add_marker(body.links[k].first->name, body.name, body.links[k].second);
    return out;
  }

  /// Of all links together, about their centre, in the axes of the body.
  void put_mass(const Body& body, Json& out) const {
    double mass = 0;
    Vec3 first_moment = Vec3::Zero();
    for (const auto& [link, frame] : body.links) {
      if (!link->inertial) continue;
      mass += link->inertial->mass;
      first_moment += link->inertial->mass * (frame * link->inertial->frame.translation());
    }
    if (!(mass > 0)) {
      fail(fmt::format("link '{}'", body.name),
           body.moved_by.empty() ? "no mass"
                                 : fmt::format("no mass, and '{}' moves it", body.moved_by),
           "an <inertial> with a mass, or a fixed joint");
    }
    const Vec3 center = first_moment / mass;
    Mat3 inertia = Mat3::Zero();
    for (const auto& [link, frame] : body.links) {
      if (!link->inertial) continue;
      const Mat3 R = frame.linear() * link->inertial->frame.linear();
      const Vec3 r = frame * link->inertial->frame.translation() - center;
      inertia += R * link->inertial->inertia * R.transpose() +
                 link->inertial->mass * (r.squaredNorm() * Mat3::Identity() - r * r.transpose());
    }
    inertia = (0.5 * (inertia + inertia.transpose())).eval();
    out["mass"] = mass;
    out["center_of_mass"] = array(center);
    out["inertia"] = Json::array();
    for (int row = 0; row < 3; ++row) out["inertia"].push_back(array(inertia.row(row)));
  }

  /// What collides; a link without that shows what it looks like.
  void add_shapes(const Link& link, const Isometry3d& frame, Json& shapes) {
    const bool collides = !link.collision.empty();
    for (const Geometry& g : collides ? link.collision : link.visual) {
      Json shape = shape_of(g, collides);
      if (shape.is_null()) continue;
      if (!collides) shape["collides"] = false;
      put_frame(shape, frame * g.frame);
      shapes.push_back(std::move(shape));
    }
  }

  Json shape_of(const Geometry& g, bool collides) {
    switch (g.kind) {
      case Geometry::Kind::box:
        return {{"kind", "box"}, {"size", array(g.size)}};
      case Geometry::Kind::cylinder:
        return {{"kind", "cylinder"}, {"radius", g.size[0]}, {"length", g.size[1]}};
      case Geometry::Kind::sphere:
        return {{"kind", "sphere"}, {"radius", g.size[0]}};
      case Geometry::Kind::mesh:
        break;
    }
    std::string ending = fs::path(g.file).extension().string();
    std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return std::tolower(c); });
    if (ending != ".stl" && ending != ".obj") {
      out_.warnings.push_back(fmt::format("{}: {} is left out: of meshes STL and OBJ are read{}",
                                          g.place, g.file,
                                          collides ? "; THE LINK DOES NOT COLLIDE THERE" : ""));
      return nullptr;
    }
    const fs::path found = find_mesh(g);
    if (found.empty()) {
      if (collides) fail(g.place, fmt::format("no file {}", g.file), "a mesh; --package NAME=DIR");
      out_.warnings.push_back(fmt::format("{}: there is no {}: left out", g.place, g.file));
      return nullptr;
    }
    // Surfaces for the eye are seldom closed; what touches is the hull in most other programs too.
    std::error_code error;
    const fs::path relative = fs::relative(found, directory_, error);
    Json out{{"kind", "hull"}, {"file", (error || relative.empty() ? found : relative).string()}};
    if (g.size != Vec3::Ones()) out["scale"] = array(g.size);
    if (collides) ++hulls_;
    return out;
  }

  /// "package://NAME/…" lies where --package says, else in a folder NAME above the file.
  fs::path find_mesh(const Geometry& g) const {
    constexpr std::string_view scheme = "package://", file_scheme = "file://";
    const fs::path here = fs::absolute(file_).parent_path();
    std::error_code ignored;
    const auto regular = [&](const fs::path& p) {
      return fs::is_regular_file(p, ignored) ? fs::weakly_canonical(p, ignored) : fs::path();
    };
    if (g.file.starts_with(file_scheme)) return regular(g.file.substr(file_scheme.size()));
    if (!g.file.starts_with(scheme)) return regular(here / g.file);
    const std::string rest = g.file.substr(scheme.size());
    const std::string package = rest.substr(0, rest.find('/'));
    const std::string inside = rest.substr(std::min(rest.size(), package.size() + 1));
    if (const auto given = options_.packages.find(package); given != options_.packages.end())
      return regular(given->second / inside);
    for (fs::path above = here; above != above.parent_path(); above = above.parent_path()) {
      if (above.filename() == package) return regular(above / inside);
      if (const fs::path found = regular(above / package / inside); !found.empty()) return found;
    }
    return {};
  }

  // ---- Joints

  std::string unused_name(const std::string& wanted) const {
    std::string name = wanted;
    for (int k = 2; links_.contains(name); ++k) name = fmt::format("{}-{}", wanted, k);
    return name;
  }

  std::string add_marker(const std::string& wanted, const std::string& body,
                         const Isometry3d& frame) {
    std::string name = wanted;
    for (int k = 2; !marker_names_.insert(name).second; ++k) name = fmt::format("{}-{}", wanted, k);
    Json marker{{"name", name}, {"body", body}};
    put_frame(marker, frame);
    markers_.push_back(std::move(marker));
    return name;
  }

  void add_joints(Json& scene) {
    Json joints = Json::array(), couplings = Json::array(), forces = Json::array();
    for (const Joint& joint : robot_.joints) {
      if (joint.kind == JointKind::fixed || joint.kind == JointKind::floating) continue;
      joints.push_back(joint_of(joint));
      ++out_.joints;
      if (!has_coordinate(joint)) {
        if (joint.damping > 0 || joint.friction > 0) {
          out_.warnings.push_back(
              fmt::format("joint '{}': dynamics of a planar joint are left out", joint.name));
        }
        continue;
      }
      if (joint.damping > 0) {
        forces.push_back({{"name", joint.name + "-damper"},
                          {"kind", "torsion-spring"},
                          {"joint", joint.name},
                          {"rest", 0},
                          {"stiffness", 0},
                          {"damping", joint.damping}});
      }
      if (joint.mimic) {
        Json terms = Json::array();
        terms.push_back({{"joint", joint.name}, {"factor", 1}});
        terms.push_back({{"joint", joint.mimic->joint}, {"factor", -joint.mimic->multiplier}});
        couplings.push_back({{"name", joint.name + "-follows"},
                             {"coordinates", std::move(terms)},
                             {"target", joint.mimic->offset}});
      }
    }
    scene["joints"] = std::move(joints);
    scene["couplings"] = std::move(couplings);
    scene["forces"] = std::move(forces);
    if (unbounded_ > 0) {
      out_.warnings.push_back(
          fmt::format("joint efforts: {} left out, motors of positions have no bound", unbounded_));
    }
    if (hulls_ > 0) {
      out_.warnings.push_back(fmt::format("{} of what collides {} taken as {} convex hull{}",
                                          hulls_ == 1 ? "a mesh" : fmt::format("{} meshes", hulls_),
                                          hulls_ == 1 ? "is" : "are", hulls_ == 1 ? "its" : "their",
                                          hulls_ == 1 ? "" : "s"));
    }
  }

  Json joint_of(const Joint& joint) {
    const auto [parent, parent_frame] = place_.at(joint.parent);
    const auto [child, child_frame] = place_.at(joint.child);
    Json markers = Json::array();
    markers.push_back(add_marker(joint.name + "-parent", bodies_[parent].name,
                                 with_axis_z(parent_frame * joint.origin, joint.axis)));
    markers.push_back(add_marker(joint.name + "-child", bodies_[child].name,
                                 with_axis_z(child_frame, joint.axis)));
    const bool angle = turns(joint);
    const char* const coordinate = angle ? "angle" : "displacement";
    Json out{{"name", joint.name},
             {"kind", angle                                ? "revolute"
                      : joint.kind == JointKind::prismatic ? "prismatic"
                                                           : "planar"},
             {"markers", std::move(markers)}};
    if (!has_coordinate(joint)) return out;
    if (joint.limits)
      out["limits"][coordinate] = Json::array({(*joint.limits)[0], (*joint.limits)[1]});
    if (joint.friction > 0) out["friction"][coordinate] = joint.friction;
    if (!options_.motors.empty() && !joint.mimic) {
      Json motor{{"mode", options_.motors},
                 {"value", options_.motors == "position" ? coordinate_.at(joint.name) : 0.0}};
      if (options_.motors == "speed" && std::isfinite(joint.effort))
        motor["max_force"] = joint.effort;
      if (options_.motors == "position" && std::isfinite(joint.effort)) ++unbounded_;
      out["motor"] = std::move(motor);
    }
    return out;
  }

  /// The joints of a small robot.
  Json watched() const {
    constexpr std::size_t most = 8;
    Json out = Json::array();
    for (const Joint& joint : robot_.joints) {
      if (has_coordinate(joint) && out.size() < most)
        out.push_back(joint.name + (turns(joint) ? ".angle" : ".displacement"));
    }
    return out;
  }

  const fs::path& file_;
  const fs::path& directory_;
  const UrdfOptions& options_;
  urdf::Robot robot_;
  ConvertedScene out_;
  std::map<std::string, const Link*> links_;
  std::map<std::string, const Joint*> joints_, parent_;
  std::map<std::string, std::vector<const Joint*>> children_;
  std::map<std::string, double> coordinate_;
  std::map<std::string, std::pair<std::size_t, Isometry3d>> place_;  ///< body, frame in it
  std::string root_;
  std::vector<Body> bodies_;
  Json markers_ = Json::array();
  std::set<std::string> marker_names_;
  int hulls_ = 0, unbounded_ = 0;
};

}  // namespace

ConvertedScene urdf_scene(const fs::path& file, const UrdfOptions& options,
                          const fs::path& directory) {
  return Converter(file, options, directory).convert();
}

}  // namespace urto
