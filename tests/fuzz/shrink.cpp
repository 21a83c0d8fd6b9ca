// shrink(): delta debugging on programs.
#include <algorithm>

#include "isa/program_file.h"
#include "tests/fuzz/random_program.h"

namespace dlc {
namespace {

class Shrinker {
 public:
  Shrinker(const Program& program, const HwConfig& hw, const std::function<bool(const Program&)>& fails,
           int most_runs)
      : best_(program), hw_(hw), fails_(fails), runs_left_(most_runs) {}

  Program run() {
    bool changed = true;
    while (changed && runs_left_ > 0) {
      changed = drop_instructions();
      for (size_t i = best_.instructions.size(); i-- > 0;) changed = simplify(i) || changed;
    }
    return best_;
  }

 private:
  // Takes the candidate if it is valid and still fails.
  bool accept(Program candidate) {
    if (runs_left_ <= 0 || !verify_program(candidate, hw_, 1).empty()) return false;
    --runs_left_;
    if (!fails_(candidate)) return false;
    best_ = std::move(candidate);
    return true;
  }

  bool drop_instructions() {
    bool changed = false;
    for (size_t length = std::max<size_t>(1, best_.instructions.size() / 2); length > 0; length /= 2) {
      for (size_t end = best_.instructions.size(); end > 0;) {
        const size_t first = end > length ? end - length : 0;
        if (best_.instructions.size() > end - first && accept(without(first, end))) changed = true;
        end = std::min(first, best_.instructions.size());
      }
    }
    return changed;
  }

  // Waits count the kept instructions among those that they counted before.
  Program without(size_t first, size_t end) const {
    Program out = best_;
    std::array<std::vector<uint32_t>, isa::kEngineCount>
        kept;  // by engine: kept instructions among the first n
    for (auto& k : kept) k.push_back(0);
    for (size_t i = 0; i < best_.instructions.size(); ++i) {
      auto& k = kept[static_cast<size_t>(isa::engine_of(best_.instructions[i]))];
      k.push_back(k.back() + (i < first || i >= end ? 1 : 0));
    }
    for (isa::Instruction& instruction : out.instructions) {
      auto& wait = isa::wait_of(instruction);
      for (size_t e = 0; e < wait.size(); ++e)
        wait[e] = kept[e][std::min<size_t>(wait[e], kept[e].size() - 1)];
    }
    const auto erase = [&](auto& list) {
      if (list.size() != best_.instructions.size()) return;
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(first),
                 list.begin() + static_cast<std::ptrdiff_t>(end));
    };
    erase(out.layer_of);
    erase(out.notes);
    erase(out.instructions);
    if (!out.segments.empty())
      out.segments[0].instruction_count = static_cast<uint32_t>(out.instructions.size());
    return out;
  }

  // Tries smaller values for each field of an instruction: its default, then half of it.
  bool simplify(size_t index) {
    bool changed = false;
    std::vector<std::pair<size_t, size_t>> elements;  // field number, element
    visit_elements(best_.instructions[index], [&](size_t field, size_t element, int, int64_t, auto&&) {
      elements.push_back({field, element});
    });
    for (const auto& [field, element] : elements) {
      for (const bool half : {false, true}) {
        Program candidate = best_;
        bool differs = false;
        visit_elements(candidate.instructions[index],
                       [&](size_t f, size_t e, int initial, int64_t value, auto&& set) {
                         if (f != field || e != element) return;
                         const int64_t target = half ? value / 2 : initial;
                         differs = value != target && (!half || target > initial);
                         if (differs) set(target);
                       });
        if (differs && accept(std::move(candidate))) {
          changed = true;
          break;
        }
      }
    }
    return changed;
  }

  // f(field number, element, default, value, setter) for every element of every number field but addresses
  // in DRAM, whose value seldom matters.
  template <class F>
  static void visit_elements(isa::Instruction& instruction, F&& f) {
    std::visit(
        [&](auto& i) {
          size_t field = 0;
          for_each_field(i, [&](const isa::FieldInfo& info, auto& member) {
            const size_t number = field++;
            if constexpr (requires { member.size(); }) {
              for (size_t e = 0; e < member.size(); ++e) visit_one(info, number, e, member[e], f);
            } else {
              visit_one(info, number, 0, member, f);
            }
          });
        },
        instruction);
  }
  template <class T, class F>
  static void visit_one(const isa::FieldInfo& info, size_t field, size_t element, T& member, F&& f) {
    if (std::string_view(info.name) == "dram_address" || std::string_view(info.name) == "memory") return;
    f(field, element, info.initial, static_cast<int64_t>(member),
      [&](int64_t value) { member = static_cast<T>(value); });
  }

  Program best_;
  const HwConfig& hw_;
  const std::function<bool(const Program&)>& fails_;
  int runs_left_;
};

}  // namespace

Program shrink(const Program& program, const HwConfig& hw, const std::function<bool(const Program&)>& fails,
               int most_runs) {
  return Shrinker(program, hw, fails, most_runs).run();
}

}  // namespace dlc
