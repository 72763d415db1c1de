// Columns of windows -> kernel images: a block of threads computes one window's image.
//
// Tiles of pairs stay in registers from their products to their channels, and are written twice,
// as they are and mirrored. A squared distance is the sum of two squares minus twice a product; a
// window for which that leaves too few digits is marked, and computed again by exact.cu.
//
// Defined on compilation: LENGTH, WARPS, N_CHANNELS and the channels' places (-1: not wanted).

#include "median.cuh"
#include "plane.cuh"
#include "products.cuh"

// The sum of two squares may be at most this many times the sum of their squared distance and the
// scale, 2 sigma^2.
constexpr float MOST_LOST = 8.0f;
constexpr float LEAST_SCALE = 1e-30f, LARGEST_SCALE = 1e30f;

constexpr float LOG_2 = 0.6931471805599453f;

// Resident blocks per multiprocessor that the use of registers should allow.
constexpr int RESIDENT = WARPS == 1 ? 12 : WARPS <= 4 ? 20 / WARPS : WARPS <= 8 ? 2 : 1;

template <Kind KIND>
__device__ void write_cosines(float* to, const Staged& staged, const Tiles& tiles,
                              const Numbers& products, Plane& plane) {
    float* here = plane.open(to);
#pragma unroll
    for (int i = 0; i < TILES; ++i) {
        const Sides inverses(staged.inverses[KIND], tiles, i);
        float tile[4];
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            const float cosine = products[i][e] * inverses.rows[e / 2] * inverses.columns[e % 2];
            tile[e] = __saturatef(fmaf(0.5f, cosine, 0.5f));
        }
        tiles.write<PITCH>(here, i, tile);
    }
    tiles.write_diagonal<PITCH>(here, 1.0f);
    plane.close(to);
}

// Write log distances; return their scale sigma.
template <Kind KIND>
__device__ double write_logarithms(float* to, Staged& staged, const Tiles& tiles,
                                   const Numbers& products, Plane& plane, Median& median) {
    Numbers far;
#pragma unroll
    for (int i = 0; i < TILES; ++i) {
        const Sides squares(staged.squares[KIND], tiles, i);
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            const float both = squares.rows[e / 2] + squares.columns[e % 2];
            far[i][e] = fmaxf(fmaf(-2.0f, products[i][e], both), 0.0f);
            if (!tiles.is_pair(i, e)) far[i][e] = __int_as_float(NO_PAIR);
        }
    }
    const double sigma = median.of<false>(far, 0);
    const float scale = 2.0f * float(sigma * sigma);
    const float factor = __fdividef(1.0f, scale);
    float* here = plane.open(to);
    bool is_lost = !(scale > LEAST_SCALE && scale < LARGEST_SCALE);
#pragma unroll
    for (int i = 0; i < TILES; ++i) {
        const Sides squares(staged.squares[KIND], tiles, i);
        float tile[4];
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            const float both = squares.rows[e / 2] + squares.columns[e % 2];
            const float most = fmaf(MOST_LOST, far[i][e], MOST_LOST * scale);
            if (!Tiles::is_none(i, e)) is_lost |= both > most;
            asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(tile[e]) : "f"(fmaf(far[i][e], factor, 1.0f)));
            tile[e] *= LOG_2;
        }
        tiles.write<PITCH>(here, i, tile);
    }
    tiles.write_diagonal<PITCH>(here, 0.0f);
    plane.close(to);
    if (is_lost) staged.is_lost = true;
    return sigma;
}

// Write the wanted channels of a kind, and the scale of its log distances if ``scale`` is given.
template <Kind KIND, int COS, int LOG>
__device__ void write_channels(float* out, Staged& staged, const Tiles& tiles,
                               const Columns& columns, Plane& plane, Median& median,
                               double* scale = nullptr) {
    if (COS < 0 && LOG < 0) return;
    Numbers products;
    fill_products<KIND>(staged, tiles, columns, products);
    if (COS >= 0) write_cosines<KIND>(out + COS * LENGTH * LENGTH, staged, tiles, products, plane);
    if (LOG < 0) return;
    float* to = out + LOG * LENGTH * LENGTH;
    const double sigma = write_logarithms<KIND>(to, staged, tiles, products, plane, median);
    if (scale && threadIdx.x == 0) *scale = sigma;
}

extern "C" __global__ void __launch_bounds__(32 * WARPS, RESIDENT)
    image(const float* values, const int* counts, int* is_left, float* out, double* sigmas,
          int width) {
    __shared__ Staged staged;
    __shared__ Plane plane;
    __shared__ Parts parts;
    const long long window = blockIdx.x;
    const Columns columns{values + window * width * LENGTH, counts[window]};
    out += window * N_CHANNELS * LENGTH * LENGTH;
    const Tiles tiles;
    Median median{parts, tiles.warp, 0};
    if (threadIdx.x == 0) staged.is_lost = false;
    if (columns.count <= DEPTH) staged.stage(tiles, columns);
    __syncthreads();
    write_channels<STATES, COS_G, -1>(out, staged, tiles, columns, plane, median);
    write_channels<CENTRED, -1, LOG_G>(out, staged, tiles, columns, plane, median, sigmas + window);
    write_channels<DIFFERENCES, COS_DELTA, LOG_DELTA>(out, staged, tiles, columns, plane, median);
    write_channels<SIZES, COS_ABS, LOG_ABS>(out, staged, tiles, columns, plane, median);
    __syncthreads();
    if (threadIdx.x == 0) is_left[window] = staged.is_lost;
}
