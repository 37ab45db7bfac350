#include "urto/scene/urdf_robot.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>
#include <string_view>
#include <tinyxml2.h>

#include <fmt/format.h>

#include "urto/error.h"
#include "urto/file/read_file.h"
#include "urto/file/text_tokens.h"

namespace urto::urdf {
namespace {

using tinyxml2::XMLElement;

constexpr std::pair<std::string_view, JointKind> joint_kinds[] = {
    {"revolute", JointKind::revolute},   {"continuous", JointKind::continuous},
    {"prismatic", JointKind::prismatic}, {"fixed", JointKind::fixed},
    {"floating", JointKind::floating},   {"planar", JointKind::planar}};

class Reader {
 public:
  explicit Reader(const std::filesystem::path& file) : file_(file.string()) {}

  Robot read(const XMLElement& root) {
    out_.name = text(root, "name", "");
    for (const XMLElement* e = root.FirstChildElement(); e; e = e->NextSiblingElement()) {
      const std::string_view tag = e->Name();
      if (tag == "link") {
        out_.links.push_back(link(*e));
      } else if (tag == "joint") {
        out_.joints.push_back(joint(*e));
      } else {
        leave_out(*e, tag == "material" ? "colours" : "");
      }
    }
    check_names(out_.links, "link");
    check_names(out_.joints, "joint");
    for (const auto& [what, found] : left_out_) {
      out_.warnings.push_back(
          fmt::format("{}: left out{}{}", found.first_place, what.second,
                      found.count > 1 ? fmt::format(" ({} such elements)", found.count) : ""));
    }
    return std::move(out_);
  }

 private:
  struct LeftOut {
    std::string first_place;
    int count = 0;
  };

  std::string place(const XMLElement& e) const {
    const char* const name = e.Attribute("name");
    return fmt::format("{}: line {}: <{}{}>", file_, e.GetLineNum(), e.Name(),
                       name != nullptr ? fmt::format(" name=\"{}\"", name) : "");
  }
  [[noreturn]] void fail(const XMLElement& e, const std::string& found,
                         const std::string& expected) const {
    throw InputError(place(e), found, expected);
  }

  /// One remark for all elements of a kind.
  void leave_out(const XMLElement& e, std::string_view why) {
    const std::string parent =
        e.Parent() && e.Parent()->ToElement() ? e.Parent()->ToElement()->Name() : std::string();
    LeftOut& found = left_out_[{parent + "/" + e.Name(),
                                why.empty() ? std::string() : fmt::format(", {}", why)}];
    if (found.count++ == 0) found.first_place = place(e);
  }
  void leave_out_others(const XMLElement& of, std::initializer_list<std::string_view> known) {
    for (const XMLElement* e = of.FirstChildElement(); e; e = e->NextSiblingElement()) {
      if (std::ranges::find(known, std::string_view(e->Name())) == known.end()) leave_out(*e, "");
    }
  }

  std::string text(const XMLElement& e, const char* key, const char* fallback = nullptr) const {
    const char* const value = e.Attribute(key);
    if (value == nullptr && fallback == nullptr)
      fail(e, fmt::format("no attribute '{}'", key), "one");
    return value != nullptr ? value : fallback;
  }

  std::vector<double> numbers(const XMLElement& e, const char* key, std::size_t count,
                              const std::string& value) const {
    std::vector<double> out;
    std::istringstream words(value);
    bool good = true;
    for (std::string word; words >> word;) {
      double x = 0;
      good = good && parse_number(word, x) && std::isfinite(x);
      out.push_back(x);
    }
    if (!good || out.size() != count) {
      fail(e, fmt::format("{}=\"{}\"", key, value),
           count == 1 ? "a finite number" : fmt::format("{} finite numbers", count));
    }
    return out;
  }
  Vec3 vector(const XMLElement& e, const char* key, const char* fallback = nullptr) const {
    const auto x = numbers(e, key, 3, text(e, key, fallback));
    return {x[0], x[1], x[2]};
  }
  double number(const XMLElement& e, const char* key, const char* fallback = nullptr) const {
    return numbers(e, key, 1, text(e, key, fallback))[0];
  }
  double positive(const XMLElement& e, const char* key) const {
    const double x = number(e, key);
    if (!(x > 0)) fail(e, fmt::format("{}=\"{}\"", key, x), "a positive number");
    return x;
  }

  /// Roll, pitch and yaw are turns about the fixed axes x, y and z, in this order.
  Eigen::Isometry3d origin(const XMLElement& of) const {
    Eigen::Isometry3d out = Eigen::Isometry3d::Identity();
    const XMLElement* const e = of.FirstChildElement("origin");
    if (e == nullptr) return out;
    const Vec3 rpy = vector(*e, "rpy", "0 0 0");
    out.linear() =
        (Eigen::AngleAxisd(rpy.z(), Vec3::UnitZ()) * Eigen::AngleAxisd(rpy.y(), Vec3::UnitY()) *
         Eigen::AngleAxisd(rpy.x(), Vec3::UnitX()))
            .toRotationMatrix();
    out.translation() = vector(*e, "xyz", "0 0 0");
    return out;
  }

  Inertial inertial(const XMLElement& e) {
    leave_out_others(e, {"origin", "mass", "inertia"});
    Inertial out{.frame = origin(e)};
    const XMLElement* const mass = e.FirstChildElement("mass");
    if (mass == nullptr) fail(e, "no <mass>", "one");
    out.mass = number(*mass, "value");
    if (!(out.mass >= 0)) fail(*mass, fmt::format("value=\"{}\"", out.mass), "zero or more kg");
    const XMLElement* const inertia = e.FirstChildElement("inertia");
    if (inertia == nullptr) fail(e, "no <inertia>", "one");
    const double xx = number(*inertia, "ixx"), yy = number(*inertia, "iyy"),
                 zz = number(*inertia, "izz"), xy = number(*inertia, "ixy", "0"),
                 xz = number(*inertia, "ixz", "0"), yz = number(*inertia, "iyz", "0");
    out.inertia << xx, xy, xz, xy, yy, yz, xz, yz, zz;
    return out;
  }

  Geometry geometry(const XMLElement& e, const std::string& link, std::size_t number_of_it) {
    leave_out_others(e, {"origin", "geometry", "material", "name"});
    Geometry out{.frame = origin(e),
                 .place = fmt::format("link '{}', {} {}, line {}", link, e.Name(), number_of_it,
                                      e.GetLineNum())};
    const XMLElement* const g = e.FirstChildElement("geometry");
    const XMLElement* const shape = g != nullptr ? g->FirstChildElement() : nullptr;
    if (shape == nullptr) fail(e, "no shape in a <geometry>", "a box, cylinder, sphere or mesh");
    const std::string_view kind = shape->Name();
    if (kind == "box") {
      out.kind = Geometry::Kind::box;
      out.size = vector(*shape, "size");
      if (!(out.size.minCoeff() > 0))
        fail(*shape, "a length that is not positive", "three lengths");
    } else if (kind == "cylinder") {
      out.kind = Geometry::Kind::cylinder;
      out.size = {positive(*shape, "radius"), positive(*shape, "length"), 0};
    } else if (kind == "sphere") {
      out.kind = Geometry::Kind::sphere;
      out.size = {positive(*shape, "radius"), 0, 0};
    } else if (kind == "mesh") {
      out.kind = Geometry::Kind::mesh;
      out.file = text(*shape, "filename");
      out.size = vector(*shape, "scale", "1 1 1");
    } else {
      fail(*shape, fmt::format("a <{}>", kind), "a box, cylinder, sphere or mesh");
    }
    return out;
  }

  Link link(const XMLElement& e) {
    Link out{.name = text(e, "name")};
    leave_out_others(e, {"inertial", "visual", "collision"});
    if (const XMLElement* const i = e.FirstChildElement("inertial")) out.inertial = inertial(*i);
    for (const XMLElement* c = e.FirstChildElement("collision"); c;
         c = c->NextSiblingElement("collision"))
      out.collision.push_back(geometry(*c, out.name, out.collision.size() + 1));
    for (const XMLElement* v = e.FirstChildElement("visual"); v;
         v = v->NextSiblingElement("visual"))
      out.visual.push_back(geometry(*v, out.name, out.visual.size() + 1));
    return out;
  }

  std::string link_of(const XMLElement& e, const char* tag) const {
    const XMLElement* const found = e.FirstChildElement(tag);
    if (found == nullptr) fail(e, fmt::format("no <{}>", tag), "one");
    return text(*found, "link");
  }

  Joint joint(const XMLElement& e) {
    Joint out{.name = text(e, "name")};
    const std::string type = text(e, "type");
    const auto* const kind =
        std::ranges::find(joint_kinds, type, &std::pair<std::string_view, JointKind>::first);
    if (kind == std::end(joint_kinds)) {
      fail(e, fmt::format("type=\"{}\"", type),
           "revolute, continuous, prismatic, fixed, floating or planar");
    }
    out.kind = kind->second;
    leave_out_others(e, {"origin", "parent", "child", "axis", "limit", "dynamics", "mimic"});
    out.parent = link_of(e, "parent");
    out.child = link_of(e, "child");
    out.origin = origin(e);
    if (const XMLElement* const axis = e.FirstChildElement("axis")) out.axis = vector(*axis, "xyz");
    const bool turns = out.kind != JointKind::fixed && out.kind != JointKind::floating;
    if (turns && !(out.axis.norm() > 1e-9)) fail(e, "an axis of no length", "a direction");
    if (turns) out.axis.normalize();
    limits(e, out);
    if (const XMLElement* const d = e.FirstChildElement("dynamics")) {
      out.damping = number(*d, "damping", "0");
      out.friction = number(*d, "friction", "0");
      if (!(out.damping >= 0 && out.friction >= 0))
        fail(*d, "a negative damping or friction", "zero or more");
    }
    if (const XMLElement* const m = e.FirstChildElement("mimic")) {
      out.mimic =
          Mimic{text(*m, "joint"), number(*m, "multiplier", "1"), number(*m, "offset", "0")};
    }
    return out;
  }

  void limits(const XMLElement& e, Joint& out) {
    const XMLElement* const l = e.FirstChildElement("limit");
    const bool needed = out.kind == JointKind::revolute || out.kind == JointKind::prismatic;
    if (l == nullptr) {
      if (needed) fail(e, "no <limit>", "one, as revolute and prismatic joints have it");
      return;
    }
    if (needed) {
      out.limits = {number(*l, "lower", "0"), number(*l, "upper", "0")};
      if (!((*out.limits)[0] <= (*out.limits)[1])) {
        fail(*l, fmt::format("lower {} above upper {}", (*out.limits)[0], (*out.limits)[1]),
             "a range");
      }
    }
    const double effort = number(*l, "effort", "0");
    if (effort > 0) out.effort = effort;
    if (l->Attribute("velocity") != nullptr && number(*l, "velocity") > 0)
      leave_out(*l, "its bound of the velocity");
  }

  template <typename Items>
  void check_names(const Items& items, const char* kind) const {
    std::set<std::string> names;
    for (const auto& item : items) {
      if (item.name.empty() || item.name.find('/') != std::string::npos) {
        throw InputError(file_, fmt::format("a {} named '{}'", kind, item.name),
                         "a name without a slash");
      }
      if (!names.insert(item.name).second) {
        throw InputError(file_, fmt::format("two {}s named '{}'", kind, item.name),
                         "names of their own");
      }
    }
  }

  std::string file_;
  Robot out_;
  std::map<std::pair<std::string, std::string>, LeftOut> left_out_;
};

}  // namespace

Robot read_robot(const std::filesystem::path& file) {
  const std::string text = read_text_file(file, 20);
  tinyxml2::XMLDocument document;
  if (document.Parse(text.data(), text.size()) != tinyxml2::XML_SUCCESS) {
    throw InputError(fmt::format("{}: line {}", file.string(), document.ErrorLineNum()),
                     fmt::format("no XML ({})", document.ErrorName()), "a URDF file");
  }
  const XMLElement* const root = document.RootElement();
  if (root == nullptr || std::string_view(root->Name()) != "robot") {
    throw InputError(file.string(),
                     root == nullptr ? "no element" : fmt::format("a <{}>", root->Name()),
                     "the <robot> of a URDF file");
  }
  if (text.find("<xacro:") != std::string::npos)
    throw InputError(file.string(), "xacro elements", "plain URDF, as the program xacro writes it");
  return Reader(file).read(*root);
}

}  // namespace urto::urdf
