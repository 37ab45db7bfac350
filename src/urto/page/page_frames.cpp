// The page's arrays over frames: bodies, contacts, joint coordinates and forces.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

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

/// Calls use(first, end) for stretches of the kept frames, of `width` numbers each, that are worth
/// reading in one go. Far apart they are read one by one, close together in blocks: opening a
/// dataset and inflating a chunk cost more than a few rows too many.
template <typename Use>
void for_blocks(const std::vector<long>& kept, std::size_t width, Use use) {
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
    use(k, end);
    k = end;
  }
}

class FrameWriter {
 public:
  FrameWriter(const ResultView& result, const DrawnModel& model, PageData& data)
      : result_(result), about_(result.description()), model_(model), data_(data) {}

  void run(const PageOptions& options) {
    const ResultCounts counts = result_.counts();
    contacts_per_frame_ = static_cast<std::size_t>(std::ceil(
        static_cast<double>(counts.contacts) / static_cast<double>(std::max(counts.frames, 1L))));
    stride_ = stride_for(counts.frames, bytes_per_frame(), options.frame_bytes);
    kept_ = kept_frames(counts.frames, stride_);
    add_bodies();
    add_contacts();
    add_series();
  }

 private:
  std::size_t bytes_per_frame() const {
    std::size_t bytes = body_bytes * model_.moving().size() + contacts_per_frame_ * contact_bytes;
    for (const Channel& c : about_.channels) {
      if (c.group != "bodies") bytes += 4 * about_.size(c);
    }
    return bytes;
  }

  /// Calls use(row) for the kept frames of a channel.
  template <typename Use>
  void for_rows(int channel, Use use) const {
    const std::size_t width = about_.size(about_.channels[static_cast<std::size_t>(channel)]);
    for_blocks(kept_, width, [&](std::size_t first, std::size_t end) {
      const long count = kept_[end - 1] - kept_[first] + 1;
      const std::vector<double> block = result_.channel(channel, kept_[first], count);
      for (std::size_t r = first; r < end; ++r)
        use(block.data() + static_cast<std::size_t>(kept_[r] - kept_[first]) * width);
    });
  }

  /// A channel of the bodies that move.
  json moving_columns(const char* name) {
    const int channel = find_channel(about_, name);
    if (channel < 0) return data_.add(std::vector<float>());
    const auto parts =
        static_cast<std::size_t>(about_.channels[static_cast<std::size_t>(channel)].width);
    const std::vector<int> moving = model_.moving();
    std::vector<float> values;
    values.reserve(kept_.size() * moving.size() * parts);
    for_rows(channel, [&](const double* row) {
      for (const int body : moving) {
        for (std::size_t i = 0; i < parts; ++i)
          values.push_back(static_cast<float>(row[static_cast<std::size_t>(body) * parts + i]));
      }
    });
    return data_.add(values);
  }

  void add_bodies() {
    std::vector<double> time;
    for_blocks(kept_, 1, [&](std::size_t first, std::size_t end) {
      const auto block = result_.times(kept_[first], kept_[end - 1] - kept_[first] + 1);
      for (std::size_t r = first; r < end; ++r)
        time.push_back(block[static_cast<std::size_t>(kept_[r] - kept_[first])]);
    });
    json frames{{"count", kept_.size()},
                {"recorded", result_.counts().frames},
                {"stride", stride_},
                {"time", data_.add(time)},
                {"moving", model_.moving()}};
    for (const char* name : {"position", "rotation", "velocity", "angular_velocity"})
      frames[name] = moving_columns(name);
    json fixed = json::array();
    if (!kept_.empty()) {
      const DrawnFrame first = drawn_frame(result_, 0);
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

  void add_contacts() {
    std::vector<int> start{0}, body;
    std::vector<float> point, force, gap;
    const auto add = [&](const RecordedContact& c) {
      body.insert(body.end(), {c.body_a, c.body_b});
      for (int i = 0; i < 3; ++i) {
        point.push_back(static_cast<float>(c.point[i]));
        force.push_back(static_cast<float>(c.force[i]));
      }
      gap.push_back(static_cast<float>(c.gap));
    };
    constexpr std::size_t numbers = 12;
    for_blocks(kept_, numbers * (contacts_per_frame_ + 1), [&](std::size_t first, std::size_t end) {
      const auto block = result_.contacts(kept_[first], kept_[end - 1] - kept_[first] + 1);
      for (std::size_t r = first; r < end; ++r) {
        for (const RecordedContact& c : block[static_cast<std::size_t>(kept_[r] - kept_[first])])
          add(c);
        start.push_back(static_cast<int>(gap.size()));
      }
    });
    data_.json["contacts"] = {{"start", data_.add(start)},
                              {"body", data_.add(body)},
                              {"point", data_.add(point)},
                              {"force", data_.add(force)},
                              {"gap", data_.add(gap)}};
  }

  struct Label {
    std::string group, item, name, unit;
  };

  static std::string part_name(const Channel& c, int part) {
    if (c.width == 1) return c.label;
    return c.width == 3 ? fmt::format("{} {}", c.label, "xyz"[part])
                        : fmt::format("{} {}", c.label, part + 1);
  }

  /// The names of a channel's numbers; none for those of bodies, which the page has by itself.
  std::vector<Label> labels(const Channel& c) const {
    std::vector<Label> out;
    if (c.group == "coordinates") {
      const bool rate = c.name == "coordinate_rate";
      for (const DescribedCoordinate& x : about_.coordinates) {
        const std::string& joint = about_.joints[static_cast<std::size_t>(x.joint)].name;
        out.push_back({"joint", joint, x.name + (rate ? " rate" : ""),
                       std::string(x.is_angle() ? "rad" : "m") + (rate ? "/s" : "")});
      }
    } else if (c.group == "joints") {
      for (const DescribedJoint& joint : about_.joints) {
        for (const char* name : {"force x", "force y", "force z"})
          out.push_back({"joint", joint.name, name, "N"});
        for (const char* name : {"moment x", "moment y", "moment z"})
          out.push_back({"joint", joint.name, name, "N·m"});
      }
    } else if (c.group != "bodies") {
      const std::string kind = c.group.substr(0, c.group.size() - 1);  // "motors" are each a motor
      const auto group = std::ranges::find(about_.groups, c.group, &NamedGroup::name);
      for (const std::string& item : group->items) {
        for (int i = 0; i < c.width; ++i) out.push_back({kind, item, part_name(c, i), c.unit});
      }
    }
    return out;
  }

  void add_series() {
    data_.json["series"] = json::array();
    for (const Channel& c : about_.channels) {
      const int channel = find_channel(about_, c.name);
      if (channel < 0) continue;
      const std::vector<Label> names = labels(c);
      if (names.empty()) continue;
      std::vector<std::vector<float>> columns(names.size());
      for_rows(channel, [&](const double* row) {
        for (std::size_t k = 0; k < columns.size(); ++k)
          columns[k].push_back(static_cast<float>(row[k]));
      });
      for (std::size_t k = 0; k < columns.size(); ++k) {
        data_.json["series"].push_back({{"group", names[k].group},
                                        {"item", names[k].item},
                                        {"name", names[k].name},
                                        {"unit", names[k].unit},
                                        {"values", data_.add(columns[k])}});
      }
    }
  }

  const ResultView& result_;
  const Description& about_;
  const DrawnModel& model_;
  PageData& data_;
  std::size_t contacts_per_frame_ = 0;
  long stride_ = 1;
  std::vector<long> kept_ = {};
};

}  // namespace

void add_page_frames(const ResultView& result, const DrawnModel& model, const PageOptions& options,
                     PageData& data) {
  FrameWriter(result, model, data).run(options);
}

}  // namespace urto
