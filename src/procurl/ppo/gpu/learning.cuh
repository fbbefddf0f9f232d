// PPO's loss and Adam, and what they need of a minibatch.

#pragma once

#include "network.cuh"

constexpr float BETA_1 = 0.9f, BETA_2 = 0.999f, ADAM_EPSILON = 1e-5f;
constexpr float STD_EPSILON = 1e-8f, NORM_EPSILON = 1e-6f;
constexpr float HALF_LOG_TWO_PI = 0.91893853320467274f;
constexpr int DIAGNOSTICS = 7;  // loss, policy, value, entropy, KL, clipped, norm of the gradient
constexpr int SETTINGS = 5;     // learning rate, clip range, weights of entropy and value, norm

// What one run reads and writes, in the order of the program that calls.
struct Run {
  const float *params, *means, *squares, *observations, *log_probs, *advantages, *returns, *settings;
  const Action* actions;
  const int32_t *count, *order;
  float *new_params, *new_means, *new_squares, *diagnostics, *scratch;
};

// The loss of sample b, and its gradient in the place of the outputs of policy and critic.
DEVICE void differentiate(const Memory& memory, const float* settings, int b) {
  const float clip_range = settings[1], entropy_weight = settings[2], value_weight = settings[3];
  const float* advantages = memory.samples + ADVANTAGE * BATCH;
  const float mean = sum_of<BATCH>(advantages, Itself()) / BATCH;
  const float squares = sum_of<BATCH>(advantages, [=](float x) { return (x - mean) * (x - mean); });
  const float advantage = (advantages[b] - mean) / (sqrtf(squares / (BATCH - 1)) + STD_EPSILON);

  float* policy = buffer_of<POLICY_BUFFER>(memory);
  float* value = buffer_of<VALUE_BUFFER>(memory) + at<VALUE_OUTPUTS>(b, 0);
  float log_prob = 0.0f, entropy = 0.0f;
#if DISCRETE
  float largest = policy[at<POLICY_OUTPUTS>(b, 0)], total = 0.0f;
  for (int a = 1; a < ACTIONS; ++a) largest = fmaxf(largest, policy[at<POLICY_OUTPUTS>(b, a)]);
  for (int a = 0; a < ACTIONS; ++a) total += expf(policy[at<POLICY_OUTPUTS>(b, a)] - largest);
  const float normalizer = largest + logf(total);
  const int taken = reinterpret_cast<const int32_t*>(memory.samples)[FIRST_ACTION * BATCH + b];
  for (int a = 0; a < ACTIONS; ++a) {
    const float log_p = policy[at<POLICY_OUTPUTS>(b, a)] - normalizer;
    entropy -= expf(log_p) * log_p;
    if (a == taken) log_prob = log_p;
  }
#else
  const float* log_std = memory.weights + LOG_STD;
  for (int a = 0; a < ACTIONS; ++a) {
    const float action = memory.samples[(FIRST_ACTION + a) * BATCH + b];
    const float scaled = (action - policy[at<POLICY_OUTPUTS>(b, a)]) * expf(-log_std[a]);
    log_prob -= 0.5f * scaled * scaled + log_std[a] + HALF_LOG_TWO_PI;
    entropy += log_std[a] + (0.5f + HALF_LOG_TWO_PI);
  }
#endif
  const float log_ratio = log_prob - memory.samples[OLD_LOG_PROB * BATCH + b];
  const float ratio = expf(log_ratio);
  const float clipped = fminf(fmaxf(ratio, 1.0f - clip_range), 1.0f + clip_range);
  const float gain = advantage * ratio, bounded = advantage * clipped;
  // ∂loss/∂log π(a|s): none where the clipped gain is the smaller one.
  const float slope = gain <= bounded ? -advantage * ratio / BATCH : 0.0f;

  const float error = value[0] - memory.samples[RETURN * BATCH + b];
  value[0] = value_weight * 2.0f * error / BATCH;
  float* terms = memory.samples + FIRST_TERM * BATCH + b;
  // NaN if the ratio is not finite: the smaller gain alone would hide that the run has diverged.
  terms[0] = -fminf(gain, bounded) + 0.0f * ratio;
  terms[BATCH] = error * error;
  terms[2 * BATCH] = entropy;
  terms[3 * BATCH] = ratio - 1.0f - log_ratio;
  terms[4 * BATCH] = fabsf(ratio - 1.0f) > clip_range ? 1.0f : 0.0f;
#if DISCRETE
  for (int a = 0; a < ACTIONS; ++a) {
    float* logit = policy + at<POLICY_OUTPUTS>(b, a);
    const float log_p = *logit - normalizer, p = expf(log_p);
    *logit = slope * ((a == taken ? 1.0f : 0.0f) - p) +
             entropy_weight / BATCH * p * (log_p + entropy);
  }
#else
  for (int a = 0; a < ACTIONS; ++a) {
    float* output = policy + at<POLICY_OUTPUTS>(b, a);
    float* action = memory.samples + (FIRST_ACTION + a) * BATCH + b;
    const float inverse = expf(-log_std[a]), scaled = (*action - *output) * inverse;
    *output = slope * scaled * inverse;
    *action = slope * (scaled * scaled - 1.0f) - entropy_weight / BATCH;  // ∂loss/∂log_std
  }
#endif
}

// Takes the samples of the next minibatch, whose numbers are in `chosen`.
template <int N_THREADS>
DEVICE void gather(const Run& run, const Memory& memory, int tid) {
  for (int i = tid; i < BATCH * OBSERVATION; i += N_THREADS) {
    const int b = i / OBSERVATION, o = i % OBSERVATION;
    memory.next_observations[at<INPUTS_WIDTH>(b, o)] =
        run.observations[memory.chosen[b] * OBSERVATION + o];
  }
  for (int b = tid; b < BATCH; b += N_THREADS) {
    const int i = memory.chosen[b];
    memory.next_samples[OLD_LOG_PROB * BATCH + b] = run.log_probs[i];
    memory.next_samples[ADVANTAGE * BATCH + b] = run.advantages[i];
    memory.next_samples[RETURN * BATCH + b] = run.returns[i];
#if DISCRETE
    reinterpret_cast<int32_t*>(memory.next_samples)[FIRST_ACTION * BATCH + b] = run.actions[i];
#else
    for (int a = 0; a < ACTIONS; ++a) {
      memory.next_samples[(FIRST_ACTION + a) * BATCH + b] = run.actions[i * ACTIONS + a];
    }
#endif
  }
}

// Finds the next minibatch: the samples of gradient step number `step`.
DEVICE void choose(const Run& run, const Memory& memory, int step, int tid) {
  for (int b = tid; b < BATCH && step < GRADIENT_STEPS; b += THREADS) {
    memory.chosen[b] = run.order[step * BATCH + b];
  }
}

// Means of the terms of the loss, and the gradient of log_std; returns the sum of its squares.
DEVICE float sum_samples(const Memory& memory, int tid) {
  float squares = 0.0f;
  for (int row = tid; row < SAMPLE_ROWS - FIRST_TERM - (DISCRETE ? 1 : 0); row += THREADS) {
    const float sum = sum_of<BATCH>(memory.samples + (FIRST_TERM + row) * BATCH, Itself());
    if (row < TERMS) {
      memory.means_of_terms[row] = sum / BATCH;
    } else {
      memory.gradient[LOG_STD + row - TERMS] = sum;
      squares += sum * sum;
    }
  }
  return squares;
}

// Adds a minibatch to the diagnostics; KL is that of the last epoch.
DEVICE void diagnose(const Memory& memory, const float* settings, float norm, bool last_epoch) {
  const float* means = memory.means_of_terms;
  memory.totals[0] += means[0] + settings[3] * means[1] - settings[2] * means[2];
  for (int j = 0; j < 3; ++j) memory.totals[1 + j] += means[j];
  if (last_epoch) memory.totals[4] += means[3];
  memory.totals[5] += means[4];
  memory.totals[6] += norm;
}

DEVICE float adam(float& mean, float& square, float gradient, float rate, float unbiased) {
  mean = BETA_1 * mean + (1.0f - BETA_1) * gradient;
  square = BETA_2 * square + (1.0f - BETA_2) * gradient * gradient;
  return ratio_of(rate * mean, root(square) * unbiased + ADAM_EPSILON);
}

// Corrects Adam's rate and squares for the zeros that it begins with, at its step number `count`.
DEVICE void correct(const Memory& memory, const float* settings, int count) {
  const float n = static_cast<float>(count);
  memory.means_of_terms[TERMS] = settings[0] / (1.0f - powf(BETA_1, n));
  memory.means_of_terms[TERMS + 1] = 1.0f / sqrtf(1.0f - powf(BETA_2, n));
}

// Clips the gradient by its norm and takes a step of Adam.
DEVICE void descend(const Memory& memory, const float* settings, float norm, int tid) {
  const float scale = fminf(1.0f, settings[4] / (norm + NORM_EPSILON));
  const float rate = memory.means_of_terms[TERMS], unbiased = memory.means_of_terms[TERMS + 1];
#ifdef __CUDACC__
#pragma unroll 4
#endif
  for (int i = 4 * tid; i < PARAMS; i += 4 * THREADS) {
    const Four g = load_four(memory.gradient + i);
    Four m = load_four(memory.means + i), s = load_four(memory.squares + i);
    Four w = load_four(memory.weights + i);
    w.x -= adam(m.x, s.x, g.x * scale, rate, unbiased);
    w.y -= adam(m.y, s.y, g.y * scale, rate, unbiased);
    w.z -= adam(m.z, s.z, g.z * scale, rate, unbiased);
    w.w -= adam(m.w, s.w, g.w * scale, rate, unbiased);
    store_four(memory.means + i, m);
    store_four(memory.squares + i, s);
    store_four(memory.weights + i, w);
  }
}

// Calls `copy(place, index)` for every parameter: its place in the memory of a block, and its index
// among the parameters of the program that calls.
template <int L, typename Copy>
DEVICE void each_parameter(int tid, Copy copy) {
  if constexpr (L < N_LAYERS) {
    constexpr Layer layer = LAYERS[L];
    for (int i = tid; i < layer.true_inputs * layer.true_outputs; i += THREADS) {
      const int r = i / layer.true_outputs, c = i % layer.true_outputs;
      copy(layer.kernel + at<layer.outputs>(r, c), layer.given_kernel + i);
    }
    for (int i = tid; i < layer.true_outputs; i += THREADS) {
      copy(layer.bias + i, layer.given_bias + i);
    }
    each_parameter<L + 1>(tid, copy);
  } else if constexpr (LOG_STD >= 0) {
    for (int i = tid; i < ACTIONS; i += THREADS) copy(LOG_STD + i, GIVEN_LOG_STD + i);
  }
}

DEVICE void swap(float*& a, float*& b) {
  float* const first = a;
  a = b, b = first;
}

// Threads that compute the loss while the others fetch the next samples; 0: all do both.
constexpr int BUSY = 2 * BATCH <= THREADS ? BATCH : 0;
constexpr int GROUPS = 32;
