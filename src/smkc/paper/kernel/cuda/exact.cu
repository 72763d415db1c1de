// Columns of windows -> kernel images from differences of states, for the windows for which
// products leave too few digits; other windows are skipped. See image.cu.

#include "median.cuh"
#include "products.cuh"

constexpr float LARGEST = 3.0e38f;  // a little below the largest float32

__device__ float staged_at(const Staged& staged, Kind kind, int step, int k) {
    const float* from = kind < DIFFERENCES ? staged.states : staged.differences;
    const float z = from[step * STRIDE + k];
    return kind == SIZES ? fabsf(z) : z;
}

// Set sums to products, or to squared distances.
__device__ void compare(Staged& staged, const Tiles& tiles, const Columns& columns,
                                Kind kind, bool is_distance, Numbers& sums) {
    for (int i = 0; i < TILES; ++i)
        for (int e = 0; e < 4; ++e) sums[i][e] = 0.0f;
    staged.each(tiles, columns, [&](int depth) {
        for (int i = 0; i < TILES; ++i)
            for (int e = 0; e < 4; ++e)
                for (int k = 0; k < depth; ++k) {
                    const float a = staged_at(staged, kind, tiles.row(i, e), k);
                    const float b = staged_at(staged, kind, tiles.column(i, e), k);
                    const float x = is_distance ? a - b : a;
                    sums[i][e] = fmaf(x, is_distance ? x : b, sums[i][e]);
                }
    });
}

__device__ float inverse_root(float square) {
    return square > 0.0f ? 1.0f / sqrtf(square) : 0.0f;
}

__device__ void write_cosines(float* to, Staged& staged, const Tiles& tiles,
                                      const Columns& columns, Kind kind) {
    Numbers sums;
    compare(staged, tiles, columns, kind, false, sums);
    if (tiles.group / 2 == tiles.turn)
        for (int i = 0; i < 2 * EACH; ++i) {
            const int tile = i / 2 * OF_BLOCK + i % 2, e = i % 2 * 2;
            staged.inverses[kind][tiles.row(tile, e)] =
                inverse_root(sums[tile][e + tiles.group % 2]);
        }
    __syncthreads();
    for (int i = 0; i < TILES; ++i) {
        const Sides inverses(staged.inverses[kind], tiles, i);
        float tile[4];
        for (int e = 0; e < 4; ++e) {
            const float cosine = sums[i][e] * inverses.rows[e / 2] * inverses.columns[e % 2];
            tile[e] = __saturatef(0.5f + 0.5f * cosine);
        }
        tiles.write<LENGTH>(to, i, tile);
    }
}

// As on the CPU: if the median is 0, the median of the positive distances; 0 if there are none.
__device__ double scale_of(Median& median, const Numbers& squares) {
    const int n_zero = median.n_upto<true>(squares, 0);
    if (n_zero == PAIRS) return 0.0;
    return median.of<true>(squares, n_zero > PAIRS / 2 ? n_zero : 0);
}

__device__ double write_logarithms(float* to, Staged& staged, const Tiles& tiles,
                                           const Columns& columns, Kind kind, Median& median) {
    Numbers far;
    compare(staged, tiles, columns, kind, true, far);
    for (int i = 0; i < TILES; ++i)
        for (int e = 0; e < 4; ++e)
            if (!tiles.is_pair(i, e)) far[i][e] = __int_as_float(NO_PAIR);
    const double sigma = scale_of(median, far);
    const float factor = sigma == 0.0 ? 0.0f : float(fmin(0.5 / (sigma * sigma), (double)LARGEST));
    for (int i = 0; i < TILES; ++i) {
        float tile[4];
        for (int e = 0; e < 4; ++e) tile[e] = log1pf(fminf(far[i][e] * factor, LARGEST));
        tiles.write<LENGTH>(to, i, tile);
    }
    return sigma;
}

__device__ double write_channels(float* out, Staged& staged, const Tiles& tiles,
                                 const Columns& columns, Kind kind, int cos, int log,
                                 Median& median) {
    if (cos >= 0)
        write_cosines(out + cos * LENGTH * LENGTH, staged, tiles, columns, kind);
    if (log < 0) return 0.0;
    return write_logarithms(out + log * LENGTH * LENGTH, staged, tiles, columns, kind, median);
}

extern "C" __global__ void __launch_bounds__(32 * WARPS)
    exact(const float* values, const int* counts, const int* is_left, float* out, double* sigmas,
          int width) {
    const long long window = blockIdx.x;
    if (!is_left[window]) return;
    __shared__ Staged staged;
    __shared__ Parts parts;
    const Columns columns{values + window * width * LENGTH, counts[window]};
    out += window * N_CHANNELS * LENGTH * LENGTH;
    const Tiles tiles;
    Median median{parts, tiles.warp, 0};
    if (columns.count <= DEPTH) {
        staged.stage(tiles, columns);
        __syncthreads();
    }
    const double sigma =
        write_channels(out, staged, tiles, columns, STATES, COS_G, LOG_G, median);
    write_channels(out, staged, tiles, columns, DIFFERENCES, COS_DELTA, LOG_DELTA, median);
    write_channels(out, staged, tiles, columns, SIZES, COS_ABS, LOG_ABS, median);
    if (LOG_G >= 0 && threadIdx.x == 0) sigmas[window] = sigma;
}
