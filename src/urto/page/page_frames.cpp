// The page's arrays over frames: bodies, contacts, joint coordinates and forces.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "urto/error.h"
#include "urto/page/page_data.h"

namespace urto {
namespace {

using nlohmann::json;

constexpr std::size_t body_bytes = 4 * (3 + 4 + 3 + 3);
constexpr std::size_t contact_bytes = 4 * (2 + 3 + 3 + 1);

/// Every `stride`-th frame, and the last.
std::vector<long> kept_frames(long frames, long stride) {
  std::vector<long> kept;
  for (long f = 0; f < frames; f += stride) kept.push_back(f);
  if (frames > 0 && kept.back() != frames - 1) kept.push_back(frames - 1);
  return kept;
}

long stride_for(long frames, std::size_t frame_bytes, std::size_t budget) {
  const auto most =
      static_cast<long>(std::max<std::size_t>(budget / std::max<std::size_t>(frame_bytes, 1), 2));
  return std::max((frames + most - 1) / most, 1L);
}

/// Calls use(k, row) for the kept rows of a dataset. Far apart they are read one by one, close together in blocks: opening a dataset and
/// inflating a chunk cost more than a few rows too many.
template <typename Use>
void for_rows(const ResultReader& result, const std::string& path, std::size_t width,
              const std::vector<long>& kept, Use use) {
  constexpr std::size_t block_numbers = std::size_t{1} << 20;
  constexpr std::size_t gap_numbers = std::size_t{1} << 13;
  std::size_t k = 0;
  while (k < kept.size()) {
    std::size_t end = k + 1;
    while (end < kept.size() &&
           static_cast<std::size_t>(kept[end] - kept[k] + 1) * width <= block_numbers &&
           static_cast<std::size_t>(kept[end] - kept[end - 1]) * width <= gap_numbers) {
      ++end;
    }
    const long count = kept[end - 1] - kept[k] + 1;
    const std::vector<double> block = result.numbers(path, kept[k], count);
    if (block.size() != width * static_cast<std::size_t>(count)) {
      throw InputError(path, "rows of another size", fmt::format("{} numbers a row", width));
    }
    for (std::size_t r = k; r < end; ++r) {
      use(r, block.data() + static_cast<std::size_t>(kept[r] - kept[k]) * width);
    }
    k = end;
  }
}

class FrameWriter {
 public:
  FrameWriter(const ResultReader& result, const DrawnModel& model, PageData& data)
      : result_(result), model_(model), data_(data) {}

  void run(const PageOptions& options) {
    const ResultCounts counts = result_.counts();
    stride_ = stride_for(counts.frames, bytes_a_frame(counts), options.frame_bytes);
    kept_ = kept_frames(counts.frames, stride_);
    add_bodies();
    if (options.scene_contacts != nullptr) {
      add_scene_contacts(*options.scene_contacts);
    } else {
      add_contacts();
    }
    add_series();
  }

 private:
  std::size_t width_of(const std::string& path) const {
    if (!result_.has(path)) return 0;
    std::size_t width = 1;
    const auto shape = result_.shape(path);
    for (std::size_t k = 1; k < shape.size(); ++k) width *= static_cast<std::size_t>(shape[k]);
    return width;
  }

  std::size_t bytes_a_frame(const ResultCounts& counts) const {
    const auto contacts =
        static_cast<double>(counts.contacts) / static_cast<double>(std::max(counts.frames, 1L));
    std::size_t bytes = body_bytes * model_.moving().size() +
                        static_cast<std::size_t>(std::ceil(contacts)) * contact_bytes;
    for (const char* path : {"/frames/coordinate", "/frames/coordinate_rate",
                             "/frames/joint_reaction", "/frames/motor_force", "/frames/limit_force",
                             "/frames/friction_force", "/frames/coupling_force"}) {
      bytes += 4 * width_of(path);
    }
    return bytes;
  }

  /// Columns of the bodies that move, `parts` numbers each.
  json moving_columns(const std::string& path, std::size_t parts) {
    const std::vector<int> moving = model_.moving();
    std::vector<float> values;
    values.reserve(kept_.size() * moving.size() * parts);
    for_rows(
        result_, path, model_.bodies.size() * parts, kept_, [&](std::size_t, const double* row) {
          for (const int body : moving) {
            for (std::size_t i = 0; i < parts; ++i) {
              values.push_back(static_cast<float>(row[static_cast<std::size_t>(body) * parts + i]));
            }
          }
        });
    return data_.add(values);
  }

  void add_bodies() {
    std::vector<double> time;
    for_rows(result_, "/frames/time", 1, kept_,
             [&](std::size_t, const double* t) { time.push_back(*t); });
    json frames{{"count", kept_.size()},
                {"recorded", result_.counts().frames},
                {"stride", stride_},
                {"time", data_.add(time)},
                {"moving", model_.moving()}};
    frames["position"] = moving_columns("/frames/position", 3);
    frames["rotation"] = moving_columns("/frames/rotation", 4);
    frames["velocity"] = moving_columns("/frames/velocity", 3);
    frames["angular_velocity"] = moving_columns("/frames/angular_velocity", 3);
    json fixed = json::array();
    if (!kept_.empty()) {
      const DrawnFrame first = read_drawn_frame(result_, model_, 0);
      for (std::size_t k = 0; k < model_.bodies.size(); ++k) {
        if (model_.bodies[k].moves()) continue;
        const Pose& pose = first.pose[k];
        fixed.push_back(
            {{"body", k},
             {"position", {pose.position[0], pose.position[1], pose.position[2]}},
             {"rotation",
              {pose.rotation[0], pose.rotation[1], pose.rotation[2], pose.rotation[3]}}});
      }
    }
    frames["fixed"] = std::move(fixed);
    data_.json["frames"] = std::move(frames);
  }

  struct Contacts {
    std::vector<int> start{0}, body;
    std::vector<float> point, force, gap;
  };

  void put_contacts(const Contacts& c) {
    data_.json["contacts"] = {{"start", data_.add(c.start)},
                              {"body", data_.add(c.body)},
                              {"point", data_.add(c.point)},
                              {"force", data_.add(c.force)},
                              {"gap", data_.add(c.gap)}};
  }

  void add_contacts() {
    Contacts out;
    std::vector<std::array<std::int64_t, 2>> ranges(kept_.size());
    for_rows(result_, "/contacts/start", 1, kept_,
             [&](std::size_t k, const double* x) { ranges[k][0] = static_cast<std::int64_t>(*x); });
    for_rows(result_, "/contacts/count", 1, kept_,
             [&](std::size_t k, const double* x) { ranges[k][1] = static_cast<std::int64_t>(*x); });
    for (const auto& range : ranges) {
      const std::int64_t first = range[0], count = range[1];
      if (count > 0) {
        const auto a = result_.numbers("/contacts/body_a", first, count),
                   b = result_.numbers("/contacts/body_b", first, count);
        for (std::size_t k = 0; k < a.size(); ++k) {
          out.body.push_back(static_cast<int>(a[k]));
          out.body.push_back(static_cast<int>(b[k]));
        }
        const auto append = [&](const char* path, std::vector<float>& to) {
          for (const double x : result_.numbers(path, first, count)) {
            to.push_back(static_cast<float>(x));
          }
        };
        append("/contacts/point", out.point);
        append("/contacts/force", out.force);
        append("/contacts/gap", out.gap);
      }
      out.start.push_back(static_cast<int>(out.gap.size()));
    }
    put_contacts(out);
  }

  /// Before a run nobody knows the forces; the page draws such contacts without arrows.
  void add_scene_contacts(const std::vector<Contact>& contacts) {
    Contacts out;
    for (const Contact& c : contacts) {
      out.body.insert(out.body.end(), {c.body_a, c.body_b});
      for (int i = 0; i < 3; ++i) {
        out.point.push_back(static_cast<float>(c.point[i]));
        out.force.push_back(0);
      }
      out.gap.push_back(static_cast<float>(c.gap));
    }
    out.start.push_back(static_cast<int>(out.gap.size()));
    put_contacts(out);
  }

  struct Label {
    std::string group, item, name, unit;
  };

  /// One series for each column of a dataset.
  void add_columns(const std::string& path, const std::vector<Label>& labels) {
    if (labels.empty() || !result_.has(path)) return;
    std::vector<std::vector<float>> columns(labels.size());
    for_rows(result_, path, labels.size(), kept_, [&](std::size_t, const double* row) {
      for (std::size_t c = 0; c < columns.size(); ++c) {
        columns[c].push_back(static_cast<float>(row[c]));
      }
    });
    for (std::size_t c = 0; c < columns.size(); ++c) {
      data_.json["series"].push_back({{"group", labels[c].group},
                                      {"item", labels[c].item},
                                      {"name", labels[c].name},
                                      {"unit", labels[c].unit},
                                      {"values", data_.add(columns[c])}});
    }
  }

  void add_series() {
    data_.json["series"] = json::array();
    std::vector<Label> value, rate, reaction;
    const auto owner = result_.numbers("/coordinates/joint");
    const auto names = result_.texts("/coordinates/name");
    for (std::size_t k = 0; k < names.size(); ++k) {
      if (k >= owner.size() ||
          !(owner[k] >= 0 && owner[k] < static_cast<double>(model_.joints.size()))) {
        throw InputError("/coordinates/joint", "no joint", "one for every coordinate");
      }
      const std::string& joint = model_.joints[static_cast<std::size_t>(owner[k])].name;
      const bool angle = names[k].starts_with("angle") || names[k] == "swing";
      value.push_back({"joint", joint, names[k], angle ? "rad" : "m"});
      rate.push_back({"joint", joint, names[k] + " rate", angle ? "rad/s" : "m/s"});
    }
    for (const DrawnJoint& joint : model_.joints) {
      for (const char* name : {"force x", "force y", "force z"}) {
        reaction.push_back({"joint", joint.name, name, "N"});
      }
      for (const char* name : {"moment x", "moment y", "moment z"}) {
        reaction.push_back({"joint", joint.name, name, "N·m"});
      }
    }
    add_columns("/frames/coordinate", value);
    add_columns("/frames/coordinate_rate", rate);
    add_columns("/frames/joint_reaction", reaction);
    for (const char* group : {"motor", "limit", "friction", "coupling"}) {
      std::vector<Label> labels;
      for (const std::string& name : result_.texts(fmt::format("/{}s/name", group))) {
        labels.push_back({group, name, "force", "N, N·m"});
      }
      add_columns(fmt::format("/frames/{}_force", group), labels);
    }
  }

  const ResultReader& result_;
  const DrawnModel& model_;
  PageData& data_;
  long stride_ = 1;
  std::vector<long> kept_ = {};
};

}  // namespace

void add_page_frames(const ResultReader& result, const DrawnModel& model,
                     const PageOptions& options, PageData& data) {
  FrameWriter(result, model, data).run(options);
}

}  // namespace urto
