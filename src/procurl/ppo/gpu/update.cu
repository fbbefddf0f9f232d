// One PPO update of many runs: a block of threads makes all gradient steps of one run.
//
// The weights and the activations of a minibatch stay in shared memory, Adam's moments and the
// gradient in the cache of the GPU, so that a step neither starts a kernel nor moves weights. All
// sums have a fixed order and full single precision: equal inputs give equal bits, whatever else
// the GPU does. The formulas are those of `procurl.ppo.learning.update`.
//
// A generated header, `shape.h`, describes the network; see `shape.py`. A C++ compiler makes the
// same update for the CPU, where a loop stands for the threads. Tests use it; it is not made for
// speed. Values therefore pass from one PHASE to the next in memory only.

#include "learning.cuh"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

DEVICE void update_run(const Run& run, float* shared) {
  Memory memory;
  memory.weights = shared;
  memory.buffers = memory.weights + PARAMS;
  memory.observations = memory.buffers + BUFFERS_SIZE;
  memory.next_observations = memory.observations + OBSERVATIONS_SIZE;
  memory.samples = memory.next_observations + OBSERVATIONS_SIZE;
  memory.next_samples = memory.samples + SAMPLE_ROWS * BATCH;
  memory.partial = memory.next_samples + SAMPLE_ROWS * BATCH;
  memory.groups = memory.partial + THREADS;
  memory.totals = memory.groups + GROUPS;
  memory.means_of_terms = memory.totals + 8;
  memory.chosen = reinterpret_cast<int32_t*>(memory.means_of_terms + 8);
  memory.gradient = run.scratch;
  memory.means = run.scratch + PARAMS;
  memory.squares = run.scratch + 2 * PARAMS;

  PHASE {  // zeros, also where matrices are filled up
    for (int i = tid; i < PARAMS; i += THREADS) {
      memory.weights[i] = memory.gradient[i] = memory.means[i] = memory.squares[i] = 0.0f;
    }
    for (int i = tid; i < 2 * OBSERVATIONS_SIZE; i += THREADS) memory.observations[i] = 0.0f;
    for (int i = tid; i < DIAGNOSTICS; i += THREADS) memory.totals[i] = 0.0f;
    choose(run, memory, 0, tid);
  }
  PHASE {
    each_parameter<0>(tid, [&](int place, int index) {
      memory.weights[place] = run.params[index];
      memory.means[place] = run.means[index];
      memory.squares[place] = run.squares[index];
    });
  }
  PHASE { gather<THREADS>(run, memory, tid); }
  PHASE { choose(run, memory, 1, tid); }
  for (int step = 0; step < GRADIENT_STEPS; ++step) {
    swap(memory.observations, memory.next_observations);
    swap(memory.samples, memory.next_samples);
    all_forward<0>(memory);
    PHASE {  // threads without a sample fetch the next ones
      for (int b = tid; b < BATCH; b += THREADS) differentiate(memory, run.settings, b);
      if (step + 1 < GRADIENT_STEPS && tid >= BUSY) gather<THREADS - BUSY>(run, memory, tid - BUSY);
    }
    PHASE {
      memory.partial[tid] = sum_samples(memory, tid);
      choose(run, memory, step + 2, tid);
      if (tid == THREADS - 1) correct(memory, run.settings, run.count[0] + step + 1);
    }
    all_backward<N_STAGES - 1>(memory);
    PHASE {
      if (tid < GROUPS) {
        constexpr int size = THREADS / GROUPS;
        memory.groups[tid] = sum_of<size>(memory.partial + size * tid, Itself());
      }
    }
    PHASE {
      const float norm = sqrtf(sum_of<GROUPS>(memory.groups, Itself()));
      descend(memory, run.settings, norm, tid);
      if (tid == THREADS - 1) {
        diagnose(memory, run.settings, norm, step >= GRADIENT_STEPS - MINIBATCHES);
      }
    }
  }
  PHASE {
    each_parameter<0>(tid, [&](int place, int index) {
      run.new_params[index] = memory.weights[place];
      run.new_means[index] = memory.means[place];
      run.new_squares[index] = memory.squares[place];
    });
    for (int j = tid; j < DIAGNOSTICS; j += THREADS) {
      run.diagnostics[j] = memory.totals[j] / (j == 4 ? MINIBATCHES : GRADIENT_STEPS);
    }
  }
}

// The arrays of run number r, of arrays that begin with the runs.
DEVICE Run run_number(const Run& all, int64_t r) {
  return {all.params + r * GIVEN,
          all.means + r * GIVEN,
          all.squares + r * GIVEN,
          all.observations + r * STEPS * OBSERVATION,
          all.log_probs + r * STEPS,
          all.advantages + r * STEPS,
          all.returns + r * STEPS,
          all.settings + r * SETTINGS,
          all.actions + r * STEPS * ACTION_SIZE,
          all.count + r,
          all.order + r * GRADIENT_STEPS * BATCH,
          all.new_params + r * GIVEN,
          all.new_means + r * GIVEN,
          all.new_squares + r * GIVEN,
          all.diagnostics + r * DIAGNOSTICS,
          all.scratch + r * 3 * PARAMS};
}

#ifdef __CUDACC__
extern __shared__ float4 shared_memory[];

__global__ void __launch_bounds__(THREADS, BLOCKS_PER_PROCESSOR) update_runs(const Run all) {
  update_run(run_number(all, blockIdx.x), reinterpret_cast<float*>(shared_memory));
}

// A kernel must ask for more than 48 KiB, on every device that it runs on.
static cudaError_t allow_shared_memory() {
  return cudaFuncSetAttribute(update_runs, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              SHARED_BYTES);
}
#endif

// What keeps this device and its driver from running the kernel; null if nothing does.
extern "C" const char* procurl_problem() {
#ifdef __CUDACC__
  const cudaError_t status = allow_shared_memory();
  if (status != cudaSuccess) return cudaGetErrorString(status);
#endif
  return nullptr;
}

using Floats = ffi::Buffer<ffi::F32>;
using Integers = ffi::Buffer<ffi::S32>;
using Actions = ffi::Buffer<DISCRETE ? ffi::S32 : ffi::F32>;
using Result = ffi::ResultBuffer<ffi::F32>;

static ffi::Error update(
#ifdef __CUDACC__
    cudaStream_t stream,
#endif
    Floats params, Floats means, Floats squares, Integers count, Floats observations,
    Actions actions, Floats log_probs, Floats advantages, Floats returns, Integers order,
    Floats settings, Result new_params, Result new_means, Result new_squares, Result diagnostics,
    Result scratch) {
  const Run all = {params.typed_data(),      means.typed_data(),
                   squares.typed_data(),     observations.typed_data(),
                   log_probs.typed_data(),   advantages.typed_data(),
                   returns.typed_data(),     settings.typed_data(),
                   actions.typed_data(),     count.typed_data(),
                   order.typed_data(),       new_params->typed_data(),
                   new_means->typed_data(),  new_squares->typed_data(),
                   diagnostics->typed_data(), scratch->typed_data()};
  const int64_t runs = count.element_count();
#ifdef __CUDACC__
  cudaError_t status = allow_shared_memory();
  if (status == cudaSuccess) {
    update_runs<<<runs, THREADS, SHARED_BYTES, stream>>>(all);
    status = cudaGetLastError();
  }
  if (status != cudaSuccess) return ffi::Error::Internal(cudaGetErrorString(status));
#else
  for (int64_t r = 0; r < runs; ++r) {
    alignas(16) static thread_local float shared[SHARED_BYTES / sizeof(float)];
    update_run(run_number(all, r), shared);
  }
#endif
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(procurl_update, update,
                              ffi::Ffi::Bind()
#ifdef __CUDACC__
                                  .Ctx<ffi::PlatformStream<cudaStream_t>>()
#endif
                                  .Arg<Floats>()
                                  .Arg<Floats>()
                                  .Arg<Floats>()
                                  .Arg<Integers>()
                                  .Arg<Floats>()
                                  .Arg<Actions>()
                                  .Arg<Floats>()
                                  .Arg<Floats>()
                                  .Arg<Floats>()
                                  .Arg<Integers>()
                                  .Arg<Floats>()
                                  .Ret<Floats>()
                                  .Ret<Floats>()
                                  .Ret<Floats>()
                                  .Ret<Floats>()
                                  .Ret<Floats>(),
                              {ffi::Traits::kCmdBufferCompatible});
