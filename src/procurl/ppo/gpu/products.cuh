// Threads, matrices in shared memory, and tiles of their products.
//
// Matrices are filled up with zeros to a multiple of four rows and columns, and a row takes an odd
// number of groups of four (`wide`), so that threads of a warp read different banks.

#pragma once

#include <math.h>

#include "shape.h"

#ifdef __CUDACC__
#define DEVICE __device__ __forceinline__
#define PHASE for (int tid = threadIdx.x, once = 1; once; once = 0, __syncthreads())
#define UNROLL _Pragma("unroll")
using Four = float4;
DEVICE float root(float x) { return __fsqrt_rn(x); }
DEVICE float ratio_of(float x, float y) { return __fdividef(x, y); }
#else
#define DEVICE inline
#define PHASE for (int tid = 0; tid < THREADS; ++tid)
#define UNROLL
struct alignas(16) Four { float x, y, z, w; };
inline float root(float x) { return sqrtf(x); }
inline float ratio_of(float x, float y) { return x / y; }
#endif

// The distance between rows of W numbers.
constexpr int wide(int w) { return w / 4 % 2 ? w : w + 4; }

// The index of row r and column c in a matrix with rows of W numbers.
template <int W>
DEVICE int at(int r, int c) {
  return r * wide(W) + c;
}

DEVICE Four load_four(const float* p) { return *reinterpret_cast<const Four*>(p); }
DEVICE void store_four(float* p, Four v) { *reinterpret_cast<Four*>(p) = v; }

// The sum of f(x) over N numbers, a multiple of four.
template <int N, typename Function>
DEVICE float sum_of(const float* numbers, Function f) {
  Four sum = {0.0f, 0.0f, 0.0f, 0.0f};
  for (int i = 0; i < N; i += 4) {
    const Four v = load_four(numbers + i);
    sum.x += f(v.x), sum.y += f(v.y), sum.z += f(v.z), sum.w += f(v.w);
  }
  return (sum.x + sum.y) + (sum.z + sum.w);
}

struct Itself {
  DEVICE float operator()(float x) const { return x; }
};

// block[k][i] = four steps k of the summed index, T rows or columns i. With ALONG the summed index
// runs along the rows of the matrix, which are APART rows apart, otherwise down its columns.
template <int T, bool ALONG, int W, int APART>
DEVICE void load_block(float (&block)[4][T], const float* matrix, int first, int k) {
  if constexpr (ALONG) {
    UNROLL for (int i = 0; i < T; ++i) {
      const Four v = load_four(matrix + at<W>(first + i * APART, k));
      block[0][i] = v.x, block[1][i] = v.y, block[2][i] = v.z, block[3][i] = v.w;
    }
  } else {
    UNROLL for (int j = 0; j < 4; ++j) {
      if constexpr (T % 4 == 0) {
        UNROLL for (int i = 0; i < T; i += 4) {
          const Four v = load_four(matrix + at<W>(k + j, first + i));
          block[j][i] = v.x, block[j][i + 1] = v.y, block[j][i + 2] = v.z, block[j][i + 3] = v.w;
        }
      } else {
        UNROLL for (int i = 0; i < T; ++i) block[j][i] = matrix[at<W>(k + j, first + i)];
      }
    }
  }
}

// Adds a TM × TN tile of the product of a and b, summed over K, to `tile`; `columns` gets the sums
// of the columns of b if `summed`. Columns of the tile are APART columns apart.
template <int TM, int TN, int K, bool A_ALONG, bool B_ALONG, int WA, int WB, int APART = 1>
DEVICE void multiply(float (&tile)[TM][TN], float (&columns)[TN], bool summed, const float* a,
                     const float* b, int row, int column) {
#ifdef __CUDACC__
#pragma unroll 2
#endif
  for (int k = 0; k < K; k += 4) {
    float x[4][TM], y[4][TN];
    load_block<TM, A_ALONG, WA, 1>(x, a, row, k);
    load_block<TN, B_ALONG, WB, APART>(y, b, column, k);
    UNROLL for (int j = 0; j < 4; ++j) {
      UNROLL for (int m = 0; m < TM; ++m) {
        UNROLL for (int n = 0; n < TN; ++n) tile[m][n] = fmaf(x[j][m], y[j][n], tile[m][n]);
      }
      if (summed) {
        UNROLL for (int n = 0; n < TN; ++n) columns[n] += y[j][n];
      }
    }
  }
}

// The three products of a layer.
enum Product { FORWARD, WEIGHTS, INPUTS };

// The shape of the tiles that threads compute.
struct Tile { int rows, columns; };

template <Product P, int L>
constexpr int rows_of() {
  return P == WEIGHTS ? LAYERS[L].inputs : BATCH;
}

template <Product P, int L>
constexpr int columns_of() {
  return P == INPUTS ? LAYERS[L].inputs : LAYERS[L].outputs;
}

// Cycles that a warp needs for four steps of the summed index: multiplications or loads.
constexpr int cost_of(Tile t) {
  const int loads = 4 * (t.rows + t.columns), products = t.rows * t.columns;
  return loads > products ? loads : products;
}

// The cheapest tiles for one or two products of the same kind that are made side by side.
template <Product P, int L1, int L2>
constexpr Tile best_tile() {
  constexpr Tile all[] = {{8, 8}, {8, 4}, {4, 4}, {2, 4}, {1, 4}};
  Tile best = all[4];
  int lowest = 1 << 30;
  for (Tile t : all) {
    int tiles = rows_of<P, L1>() * columns_of<P, L1>() / (t.rows * t.columns);
    bool fits = rows_of<P, L1>() % t.rows == 0 && columns_of<P, L1>() % t.columns == 0;
    if constexpr (L2 >= 0) {
      tiles += rows_of<P, L2>() * columns_of<P, L2>() / (t.rows * t.columns);
      fits = fits && rows_of<P, L2>() % t.rows == 0 && columns_of<P, L2>() % t.columns == 0;
    }
    const int cost = (tiles + THREADS - 1) / THREADS * cost_of(t);
    if (fits && cost < lowest) best = t, lowest = cost;
  }
  return best;
}
