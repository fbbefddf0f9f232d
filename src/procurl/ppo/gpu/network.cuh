// The products of a network: forward, and the gradients of weights and activations.

#pragma once

#include <cstdint>

#include "products.cuh"

constexpr int TERMS = 5;        // of the loss of a sample: those before the norm, but for the sum

// The memory of one block of threads.
struct Memory {
  float* weights;      // all parameters
  float* buffers;      // activations, later their gradients
  float* observations; // of the minibatch
  float* samples;      // [SAMPLE_ROWS, BATCH] of the minibatch
  float* next_observations;
  float* next_samples;
  float* partial;      // [THREADS] sums of squares
  float* groups;       // [GROUPS] sums of `partial`
  float* totals;       // [8] of the diagnostics
  float* means_of_terms;  // [TERMS], then Adam's rate and its correction of squares
  int32_t* chosen;     // [BATCH] the next minibatch
  float* gradient;     // [PARAMS], with the moments in the memory of the GPU
  float* means;
  float* squares;
};

template <int B>
DEVICE float* buffer_of(const Memory& memory) {
  constexpr int first = BUFFERS[B];
  if constexpr (B == 0) {
    return memory.observations;
  } else {
    return memory.buffers + first;
  }
}

// Rows of `samples`.
enum Sample { OLD_LOG_PROB, ADVANTAGE, RETURN, FIRST_TERM, FIRST_ACTION = FIRST_TERM + TERMS };

template <int L, int TM, int TN>
DEVICE void forward_tile(const Memory& memory, int index) {
  constexpr Layer layer = LAYERS[L];
  constexpr int across = layer.outputs / TN;
  const int row = index / across * TM, column = index % across * TN;
  float tile[TM][TN], unused[TN];
  const float* bias = memory.weights + layer.bias + column;
  UNROLL for (int m = 0; m < TM; ++m) {
    UNROLL for (int n = 0; n < TN; ++n) tile[m][n] = bias[n];
  }
  multiply<TM, TN, layer.inputs, true, false, layer.inputs, layer.outputs>(
      tile, unused, false, buffer_of<layer.from>(memory), memory.weights + layer.kernel, row,
      column);
  float* out = buffer_of<layer.to>(memory);
  UNROLL for (int m = 0; m < TM; ++m) {
    UNROLL for (int n = 0; n < TN; n += 4) {
      Four v = {tile[m][n], tile[m][n + 1], tile[m][n + 2], tile[m][n + 3]};
      if (layer.rectified) {
        v = {fmaxf(v.x, 0.0f), fmaxf(v.y, 0.0f), fmaxf(v.z, 0.0f), fmaxf(v.w, 0.0f)};
      }
      store_four(out + at<layer.outputs>(row + m, column + n), v);
    }
  }
}

// The gradient of a tile of the kernel, and of the bias; returns the sum of its squares.
template <int L, int TM, int TN>
DEVICE float weights_tile(const Memory& memory, int index) {
  constexpr Layer layer = LAYERS[L];
  constexpr int across = layer.outputs / TN;
  const int row = index / across * TM, column = index % across * TN;
  float tile[TM][TN] = {}, columns[TN] = {}, squares = 0.0f;
  multiply<TM, TN, BATCH, false, false, layer.inputs, layer.outputs>(
      tile, columns, row == 0, buffer_of<layer.from>(memory),
      buffer_of<layer.to>(memory), row, column);
  UNROLL for (int m = 0; m < TM; ++m) {
    UNROLL for (int n = 0; n < TN; n += 4) {
      const Four v = {tile[m][n], tile[m][n + 1], tile[m][n + 2], tile[m][n + 3]};
      squares += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
      store_four(memory.gradient + layer.kernel + at<layer.outputs>(row + m, column + n), v);
    }
  }
  if (row == 0) {
    UNROLL for (int n = 0; n < TN; ++n) {
      squares += columns[n] * columns[n];
      memory.gradient[layer.bias + column + n] = columns[n];
    }
  }
  return squares;
}

// The gradient of a tile of the activations that layers L1 and, unless it is −1, L2 read. It takes
// the place of the activations. The columns of a tile lie apart, so that neighboring threads read
// neighboring rows of the weights.
template <int L1, int L2, int TM, int TN>
DEVICE void inputs_tile(const Memory& memory, int index) {
  constexpr Layer layer = LAYERS[L1];
  constexpr int across = layer.inputs / TN;
  const int row = index / across * TM, column = index % across;
  float tile[TM][TN] = {}, unused[TN];
  multiply<TM, TN, layer.outputs, true, true, layer.outputs, layer.outputs, across>(
      tile, unused, false, buffer_of<layer.to>(memory), memory.weights + layer.kernel, row, column);
  if constexpr (L2 >= 0) {
    constexpr Layer other = LAYERS[L2];
    multiply<TM, TN, other.outputs, true, true, other.outputs, other.outputs, across>(
        tile, unused, false, buffer_of<other.to>(memory), memory.weights + other.kernel, row,
        column);
  }
  float* place = buffer_of<layer.from>(memory);
  UNROLL for (int m = 0; m < TM; ++m) {
    UNROLL for (int n = 0; n < TN; ++n) {
      float* h = place + at<layer.inputs>(row + m, column + n * across);
      *h = *h > 0.0f ? tile[m][n] : 0.0f;
    }
  }
}

template <int S>
DEVICE void forward(const Memory& memory) {
  constexpr int first = STAGES[S][0], second = STAGES[S][1];
  constexpr Tile tile = best_tile<FORWARD, first, second>();
  constexpr int size = tile.rows * tile.columns;
  constexpr int mine = BATCH * LAYERS[first].outputs / size;
  PHASE {
    for (int i = tid; i < mine; i += THREADS) {
      forward_tile<first, tile.rows, tile.columns>(memory, i);
    }
    if constexpr (second >= 0) {
      constexpr int others = BATCH * LAYERS[second].outputs / size;
      for (int i = (tid + THREADS - mine % THREADS) % THREADS; i < others; i += THREADS) {
        forward_tile<second, tile.rows, tile.columns>(memory, i);
      }
    }
  }
}

template <int S>
DEVICE void backward(const Memory& memory) {
  constexpr int first = STAGES[S][0], second = STAGES[S][1];
  {
    constexpr Tile tile = best_tile<WEIGHTS, first, second>();
    constexpr int size = tile.rows * tile.columns;
    constexpr int mine = LAYERS[first].inputs * LAYERS[first].outputs / size;
    PHASE {
      float squares = 0.0f;
      for (int i = tid; i < mine; i += THREADS) {
        squares += weights_tile<first, tile.rows, tile.columns>(memory, i);
      }
      if constexpr (second >= 0) {
        constexpr int others = LAYERS[second].inputs * LAYERS[second].outputs / size;
        for (int i = (tid + THREADS - mine % THREADS) % THREADS; i < others; i += THREADS) {
          squares += weights_tile<second, tile.rows, tile.columns>(memory, i);
        }
      }
      memory.partial[tid] += squares;
    }
  }
  constexpr bool joined = second >= 0 && LAYERS[first].from == LAYERS[second < 0 ? 0 : second].from;
  if constexpr (LAYERS[first].from != 0 || (second >= 0 && !joined)) {
    constexpr Tile tile = best_tile<INPUTS, first, joined ? -1 : second>();
    constexpr int size = tile.rows * tile.columns;
    constexpr int mine = BATCH * LAYERS[first].inputs / size;
    PHASE {
      for (int i = tid; i < mine; i += THREADS) {
        inputs_tile<first, joined ? second : -1, tile.rows, tile.columns>(memory, i);
      }
      if constexpr (second >= 0 && !joined) {
        constexpr int others = BATCH * LAYERS[second].inputs / size;
        for (int i = (tid + THREADS - mine % THREADS) % THREADS; i < others; i += THREADS) {
          inputs_tile<second, -1, tile.rows, tile.columns>(memory, i);
        }
      }
    }
  }
}

template <int S>
DEVICE void all_forward(const Memory& memory) {
  if constexpr (S < N_STAGES) {
    forward<S>(memory);
    all_forward<S + 1>(memory);
  }
}

template <int S>
DEVICE void all_backward(const Memory& memory) {
  if constexpr (S >= 0) {
    backward<S>(memory);
    all_backward<S - 1>(memory);
  }
}
