#include "compiler/backends/cpu/executable.h"

#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <mutex>

#include "compiler/backends/cpu/memory_plan.h"
#include "isa/error.h"

namespace dlc::cpu {
namespace {

// Memory of one run: kept between runs, one a concurrent caller.
struct Arena {
  explicit Arena(int64_t bytes) : memory(static_cast<size_t>(bytes) + 64) {
    const auto at = reinterpret_cast<uintptr_t>(memory.data());
    base = memory.data() + (64 - at % 64) % 64;
  }
  std::vector<uint8_t> memory;
  uint8_t* base;
};

// Operations of one iteration of the parallel loop, roughly: statements times iterations.
double work_of(const std::vector<loop::Stmt>& body) {
  double work = 0;
  for (const loop::Stmt& s : body) {
    const bool is_loop = s.kind == loop::Stmt::Kind::loop || s.kind == loop::Stmt::Kind::parallel_loop;
    work += is_loop ? static_cast<double>((s.end - s.begin + s.step - 1) / s.step) * work_of(s.body) : 1;
  }
  return work;
}

constexpr double kWorthSharing = 20000;  // statements: below some 10 microseconds threads cost more than they bring

}  // namespace

struct Executable::Impl {
  const ir::Graph& graph;
  CpuOptions options;
  loop::LoopProgram program;
  MemoryPlan plan;
  Jit jit;
  struct Runnable {
    KernelFunction function = nullptr;
    int64_t iterations = 0, grain = 1;         // iterations 0: not shared out
    int64_t all = 1;                           // of the parallel loop
    std::vector<uint8_t*> constants;           // per buffer: where it is, or nullptr
    std::vector<int64_t> offsets;              // in the arena
  };
  std::vector<Runnable> runnables;                       // per step
  std::unordered_map<uint32_t, reference::Tensor> constant_tensors;  // of fallback nodes
  std::unique_ptr<Arena> constants;
  std::vector<uint8_t*> constant_at;                     // per storage; nullptr: in the arena
  mutable tbb::task_arena threads;
  mutable std::mutex mutex;
  mutable std::vector<std::unique_ptr<Arena>> idle;

  Impl(const ir::Graph& g, const CpuOptions& o)
      : graph(g), options(o), jit(make_target(o.target), o.cache_folder), threads(std::clamp(o.jobs, 1, tbb::info::default_concurrency())) {}

  void prepare() {
    const Target target = make_target(options.target);
    program = loop::lower(graph, target.machine);
    plan = plan_memory(program);
    std::vector<size_t> handles;
    for (const loop::Step& s : program.steps) handles.push_back(s.is_fallback() ? 0 : jit.add(s.kernel));
    place_constants();
    jit.build(options.jobs);
    for (size_t i = 0; i < program.steps.size(); ++i) {
      const loop::Step& s = program.steps[i];
      Runnable r;
      if (s.is_fallback()) {
        keep_constants(s);
      } else {
        r.function = jit.function(handles[i]);
        for (int storage : s.storages) {
          r.constants.push_back(constant_at[static_cast<size_t>(storage)]);  // kernels only read it
          r.offsets.push_back(plan.offsets[static_cast<size_t>(storage)]);
        }
        const int64_t n = s.kernel.parallel_iterations();
        r.all = std::max<int64_t>(1, n);
        if (n > 1) {
          const double each = work_of(s.kernel.body[0].body);
          if (options.jobs > 1 && each * static_cast<double>(n) > kWorthSharing) {
            r.iterations = n;
            r.grain = std::max<int64_t>({1, n / (4 * options.jobs), static_cast<int64_t>(kWorthSharing / 4 / each)});
          }
        }
      }
      runnables.push_back(r);
    }
  }

  // Constants lie on cache lines: a vector load across two of them costs two.
  void place_constants() {
    std::vector<int64_t> offsets(program.storages.size(), -1);
    int64_t total = 0;
    for (size_t i = 0; i < program.storages.size(); ++i) {
      if (!program.storages[i].constant) continue;
      offsets[i] = total;
      total += (program.storages[i].bytes() + 127) / 64 * 64;
    }
    constants = std::make_unique<Arena>(total);
    constant_at.assign(program.storages.size(), nullptr);
    for (size_t i = 0; i < program.storages.size(); ++i) {
      if (offsets[i] < 0) continue;
      constant_at[i] = constants->base + offsets[i];
      const ir::Bytes& bytes = *program.storages[i].constant;
      if (!bytes.empty()) std::memcpy(constant_at[i], bytes.data(), bytes.size());
      program.storages[i].constant = std::make_shared<const ir::Bytes>();  // still marks a constant
    }
  }

  void keep_constants(const loop::Step& s) {
    const ir::Node& node = graph.node(s.fallback);
    if (!reference::can_evaluate(node))
      throw UserError(ErrorKind::unsupported, node.where(), "neither the CPU backend nor the reference backend knows this operator");
    for (ir::ValueId v : node.inputs)
      if (v.valid() && graph.value(v).is_constant()) constant_tensors.try_emplace(v.index, reference::constant_tensor(graph.value(v)));
  }

  std::unique_ptr<Arena> take() const {
    const std::lock_guard<std::mutex> lock(mutex);
    if (idle.empty()) return std::make_unique<Arena>(plan.arena_bytes);
    auto a = std::move(idle.back());
    idle.pop_back();
    return a;
  }
  void give(std::unique_ptr<Arena> a) const {
    const std::lock_guard<std::mutex> lock(mutex);
    idle.push_back(std::move(a));
  }

  void* address(const Arena& a, int storage) const {
    if (uint8_t* constant = constant_at[static_cast<size_t>(storage)]) return constant;
    return a.base + plan.offsets[static_cast<size_t>(storage)];
  }

  void run_kernel(const Runnable& r, const Arena& arena) const {
    constexpr size_t kUsual = 32;
    std::array<void*, kUsual> usual;
    std::vector<void*> many(r.offsets.size() > kUsual ? r.offsets.size() : 0);
    void** buffers = many.empty() ? usual.data() : many.data();
    for (size_t i = 0; i < r.offsets.size(); ++i) buffers[i] = r.constants[i] ? r.constants[i] : arena.base + r.offsets[i];
    if (r.iterations == 0) return r.function(buffers, 0, r.all);
    threads.execute([&] {
      tbb::parallel_for(tbb::blocked_range<int64_t>(0, r.iterations, static_cast<size_t>(r.grain)),
                        [&](const tbb::blocked_range<int64_t>& range) { r.function(buffers, range.begin(), range.end()); });
    });
  }

  void run_fallback(const loop::Step& s, const Arena& arena) const {
    const ir::Node& node = graph.node(s.fallback);
    std::vector<reference::Tensor> copies(node.inputs.size());
    std::vector<const reference::Tensor*> operands;
    size_t at = 0;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ir::ValueId v = node.inputs[i];
      if (!v.valid()) {
        operands.push_back(nullptr);
        continue;
      }
      const int storage = s.storages[at++];
      if (const auto it = constant_tensors.find(v.index); it != constant_tensors.end()) {
        operands.push_back(&it->second);
        continue;
      }
      copies[i] = reference::Tensor(graph.value(v).type, graph.value(v).shape);
      copies[i].name = graph.value(v).name;
      if (!copies[i].bytes.empty()) std::memcpy(copies[i].bytes.data(), address(arena, storage), copies[i].bytes.size());
      operands.push_back(&copies[i]);
    }
    const std::vector<reference::Tensor> results = reference::evaluate_node(graph, s.fallback, operands);
    for (size_t i = 0; i < results.size(); ++i)
      if (node.outputs[i].valid() && !results[i].bytes.empty())
        std::memcpy(address(arena, s.storages[at++]), results[i].bytes.data(), results[i].bytes.size());
      else if (node.outputs[i].valid()) ++at;
  }

  void read_inputs(const TensorMap& inputs, const Arena& arena) const {
    for (ir::ValueId v : graph.inputs()) {
      const auto it = program.inputs.find(v.index);
      if (it == program.inputs.end()) continue;
      const reference::Tensor& t = reference::graph_input(graph, v, inputs);
      if (plan.offsets[static_cast<size_t>(it->second)] >= 0 && !t.bytes.empty()) std::memcpy(address(arena, it->second), t.bytes.data(), t.bytes.size());
    }
  }
};

Executable::Executable(const ir::Graph& graph, const CpuOptions& options) : impl_(new Impl(graph, options)) {
  impl_->prepare();
  for (const loop::Step& s : impl_->program.steps)
    if (s.is_fallback()) fallback_nodes_.push_back(s.fallback);
}

Executable::~Executable() = default;

TensorMap Executable::evaluate(const TensorMap& inputs) const { return evaluate_timed(inputs, nullptr); }

TensorMap Executable::evaluate_timed(const TensorMap& inputs, std::vector<StepTime>* times) const {
  const Impl& m = *impl_;
  std::unique_ptr<Arena> arena = m.take();
  m.read_inputs(inputs, *arena);
  if (times && times->empty()) {
    for (const loop::Step& s : m.program.steps)
      times->push_back({s.name, s.is_fallback() ? m.graph.node(s.fallback).op : s.kernel.name, s.is_fallback(), 0});
  }
  for (size_t i = 0; i < m.program.steps.size(); ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const loop::Step& s = m.program.steps[i];
    if (s.is_fallback()) m.run_fallback(s, *arena);
    else m.run_kernel(m.runnables[i], *arena);
    if (times) (*times)[i].seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  TensorMap result;
  for (ir::ValueId v : m.graph.outputs()) {
    const ir::Value& value = m.graph.value(v);
    reference::Tensor t(value.type, value.shape);
    t.name = value.name;
    if (!t.bytes.empty()) std::memcpy(t.bytes.data(), m.address(*arena, m.program.outputs.at(v.index)), t.bytes.size());
    result[value.name] = std::move(t);
  }
  m.give(std::move(arena));
  return result;
}

const JitStatistics& Executable::jit_statistics() const { return impl_->jit.statistics(); }
int64_t Executable::arena_bytes() const { return impl_->plan.arena_bytes; }

std::string Executable::loop_ir() const {
  std::string text;
  for (const loop::Step& s : impl_->program.steps)
    text += s.is_fallback() ? "reference \"" + s.name + "\"\n" : "# " + s.name + "\n" + loop::print(s.kernel);
  return text;
}

}  // namespace dlc::cpu
