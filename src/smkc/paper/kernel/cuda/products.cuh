// Columns of a window -> products of all pairs of its time steps, on tensor cores.
//
// Each number is split into two TensorFloat-32 numbers, so that a product loses only its last bits.

#pragma once
#include "tiles.cuh"

constexpr int DEPTH = LENGTH > 128 ? 8 : 32;             // columns multiplied at a time
constexpr int STRIDE = DEPTH == 8 ? DEPTH : DEPTH + 8;  // so that lanes read different banks

// Positive squares below this are close to the smallest float32 numbers, where digits are lost.
constexpr float LEAST_SQUARE = 1e-30f;

// States; states minus a central state, which keeps distances the same but makes products small;
// differences to the previous step; absolute differences.
enum Kind { STATES, CENTRED, DIFFERENCES, SIZES };

struct Columns {  // columns of one window, in global memory
    const float* values;
    int count;

    __device__ Columns from(int first) const { return {values + first * LENGTH, count - first}; }
};

struct Staged {  // DEPTH of these columns, in shared memory
    float states[SIDE * STRIDE];
    float differences[SIDE * STRIDE];
    float middle[DEPTH];
    float squares[4][SIDE];   // squared norms, for each kind
    float inverses[4][SIDE];  // 1 / norms; 0 for 0
    bool is_lost;             // whether any number has too few digits left

    __device__ void stage(const Tiles& tiles, const Columns& columns) {
        const int first = 8 * tiles.warp + tiles.group;  // the thread's first time step
#pragma unroll
        for (int k = 2 * tiles.turn; k < DEPTH; k += 8)
            for (int step = first; step < SIDE; step += 8 * WARPS) {
                bring(columns, k, step);
                bring(columns, k + 1, step);
            }
        asm volatile("cp.async.wait_all;" ::: "memory");
        __syncthreads();
#pragma unroll
        for (int k = 2 * tiles.turn; k < DEPTH; k += 8)
            for (int step = first; step < SIDE; step += 8 * WARPS) {
                const int last = step > 0 && step < LENGTH ? step - 1 : step;
                const float2 own = *(const float2*)&states[step * STRIDE + k];
                const float2 other = *(const float2*)&states[last * STRIDE + k];
                *(float2*)&differences[step * STRIDE + k] = {own.x - other.x, own.y - other.y};
            }
        for (int k = threadIdx.x; k < DEPTH; k += 32 * WARPS) {
            // Median of three time steps, so that one outlier does not matter.
            const float a = states[LENGTH / 4 * STRIDE + k], b = states[LENGTH / 2 * STRIDE + k];
            const float c = states[LENGTH * 3 / 4 * STRIDE + k];
            middle[k] = fmaxf(fminf(a, b), fminf(fmaxf(a, b), c));
        }
    }

    // Start an asynchronous copy of one number; 0 where there is none.
    __device__ void bring(const Columns& columns, int k, int step) {
        const bool is_there = k < columns.count && (SIDE == LENGTH || step < LENGTH);
        const float* from = columns.values + k * LENGTH + step;  // not read unless is_there
        const unsigned to = __cvta_generic_to_shared(&states[step * STRIDE + k]);
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from),
                     "r"(is_there ? 4 : 0)
                     : "memory");
    }

    // Call ``use(number of columns)`` for every DEPTH columns; stage them first if they do not all
    // fit at once.
    template <class Use>
    __device__ void each(const Tiles& tiles, const Columns& columns, Use use) {
        for (int first = 0; first < columns.count; first += DEPTH) {
            if (columns.count > DEPTH) {
                __syncthreads();
                stage(tiles, columns.from(first));
                __syncthreads();
            }
            use(min(DEPTH, columns.count - first));
        }
    }
};

// ---------------------------------------------------------------------- tensor cores

struct Split {  // the TensorFloat-32 parts of two numbers, and their remainders
    unsigned high[2], low[2];
};

template <Kind KIND>
__device__ Split fragment(const Staged& staged, int step, int k, float2 middle) {
    const float* from = KIND < DIFFERENCES ? staged.states : staged.differences;
    float2 z = *(const float2*)&from[step * STRIDE + k];
    if (KIND == CENTRED) z = {z.x - middle.x, z.y - middle.y};
    if (KIND == SIZES) z = {fabsf(z.x), fabsf(z.y)};
    const unsigned x = __float_as_uint(z.x) & 0xffffe000u, y = __float_as_uint(z.y) & 0xffffe000u;
    const float rest_x = z.x - __uint_as_float(x), rest_y = z.y - __uint_as_float(y);
    return {{x, y}, {__float_as_uint(rest_x), __float_as_uint(rest_y)}};
}

__device__ void multiply(float (&sums)[4], const unsigned (&upper)[2], const unsigned (&lower)[2],
                         const unsigned (&other)[2]) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(upper[0]), "r"(lower[0]), "r"(upper[1]), "r"(lower[1]), "r"(other[0]), "r"(other[1]));
}

template <Kind KIND>
__device__ void add_products(const Staged& staged, const Tiles& tiles, Numbers& sums, int depth) {
    for (int first = 0; first < depth; first += 8) {
        const int k = first + 2 * tiles.turn;
        const float2 middle = *(const float2*)&staged.middle[k];
        Split upper, lower;
#pragma unroll
        for (int i = 0; i < TILES; ++i) {
            if (i % OF_BLOCK == 0 || Tiles::is_shared(i)) {
                upper = fragment<KIND>(staged, tiles.row(i, 0), k, middle);
                lower = fragment<KIND>(staged, tiles.row(i, 2), k, middle);
            }
            const int step = tiles.first_column(i) + tiles.group;
            const Split other = fragment<KIND>(staged, step, k, middle);
            multiply(sums[i], upper.low, lower.low, other.high);
            multiply(sums[i], upper.high, lower.high, other.low);
            multiply(sums[i], upper.high, lower.high, other.high);
        }
    }
}

// Set sums to products, and store the squares on the diagonal.
template <Kind KIND>
__device__ void fill_products(Staged& staged, const Tiles& tiles, const Columns& columns,
                              Numbers& sums) {
#pragma unroll
    for (int i = 0; i < TILES; ++i)
        for (int e = 0; e < 4; ++e) sums[i][e] = 0.0f;
    staged.each(tiles, columns,
                [&](int depth) { add_products<KIND>(staged, tiles, sums, depth); });
    if (tiles.group / 2 == tiles.turn)
#pragma unroll
        for (int i = 0; i < 2 * EACH; ++i) {
            const int tile = i / 2 * OF_BLOCK + i % 2, e = i % 2 * 2;
            const float square = tiles.group % 2 ? sums[tile][e + 1] : sums[tile][e];
            const int step = tiles.row(tile, e);
            staged.squares[KIND][step] = square;
            staged.inverses[KIND][step] = square > 0.0f ? rsqrtf(square) : 0.0f;
            if (square > 0.0f && square < LEAST_SQUARE) staged.is_lost = true;
        }
    __syncthreads();
}
