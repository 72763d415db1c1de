// Assignment of the pairs of a window's time steps to threads: blocks of 16 steps are distributed
// over warps, and tiles of 16 x 8 pairs contain each pair once. LENGTH and WARPS are defined on
// compilation.

#pragma once

constexpr int BLOCKS = (LENGTH + 15) / 16;
constexpr int SIDE = 16 * BLOCKS;
constexpr int EACH = BLOCKS / WARPS;  // blocks per warp
constexpr int OF_BLOCK = BLOCKS + 1;  // tiles per block
constexpr int TILES = EACH * OF_BLOCK;
constexpr int PAIRS = LENGTH * (LENGTH - 1) / 2;

using Numbers = float[TILES][4];  // a thread's numbers per tile: 2 rows, 8 apart, x 2 columns

// The tiles of a block: 2 on the diagonal, of its own time steps with each other; then those of its
// own steps with the following blocks, wrapping around at the end. If BLOCKS is even, a block and
// the opposite one have 2 tiles in common, and each takes 1 of them.
struct Tiles {
    int warp, group, turn;  // warp; a thread's first row in a tile; its pair of columns

    __device__ Tiles()
        : warp(threadIdx.x / 32), group(threadIdx.x % 32 / 4), turn(threadIdx.x % 4) {}

    __device__ static constexpr bool is_shared(int i) {
        return BLOCKS % 2 == 0 && i % OF_BLOCK == BLOCKS;
    }

    __device__ int block(int i) const { return warp + i / OF_BLOCK * WARPS; }

    __device__ int first_row(int i) const {
        const bool is_second = is_shared(i) && block(i) >= BLOCKS / 2;
        return 16 * (is_second ? block(i) - BLOCKS / 2 : block(i));
    }

    __device__ int first_column(int i) const {
        if (is_shared(i)) return first_row(i) + 8 * BLOCKS + (block(i) >= BLOCKS / 2 ? 8 : 0);
        const int other = block(i) + i % OF_BLOCK / 2;
        return 16 * (other < BLOCKS ? other : other - BLOCKS) + i % OF_BLOCK % 2 * 8;
    }

    __device__ int row(int i, int e) const { return first_row(i) + group + 8 * (e / 2); }
    __device__ int column(int i, int e) const { return first_column(i) + 2 * turn + e % 2; }

    // Whether no thread has a pair there, because it is below the diagonal.
    __device__ static constexpr bool is_none(int i, int e) {
        return i % OF_BLOCK == 0 && e >= 2;
    }

    __device__ static constexpr bool is_crossed(int i, int e) {  // by the diagonal
        return (i % OF_BLOCK == 0 && e < 2) || (i % OF_BLOCK == 1 && e >= 2);
    }

    __device__ static constexpr bool may_be_none(int i, int e) {
        return SIDE != LENGTH || is_crossed(i, e);
    }

    __device__ bool is_pair(int i, int e) const {
        if (is_none(i, e)) return false;
        const bool is_there = SIDE == LENGTH || (row(i, e) < LENGTH && column(i, e) < LENGTH);
        return is_there && (!is_crossed(i, e) || group < 2 * turn + e % 2);
    }

    // Write a tile at its place and, mirrored, at the transposed place.
    template <int PITCH>
    __device__ void write(float* to, int i, const float (&tile)[4]) const {
        float* here = to + row(i, 0) * PITCH + column(i, 0);
        float* mirrored = to + column(i, 0) * PITCH + row(i, 0);
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            if (!is_pair(i, e)) continue;
            const bool has_twin = LENGTH % 2 == 0 && i % OF_BLOCK >= 2;  // the next is a pair
            if (!has_twin) here[8 * (e / 2) * PITCH + e % 2] = tile[e];
            else if (e % 2 == 0) *(float2*)(here + 8 * (e / 2) * PITCH) = {tile[e], tile[e + 1]};
            mirrored[8 * (e / 2) + e % 2 * PITCH] = tile[e];
        }
    }

    template <int PITCH>
    __device__ void write_diagonal(float* to, float own) const {
        for (int i = threadIdx.x; i < LENGTH; i += 32 * WARPS) to[i * (PITCH + 1)] = own;
    }
};

// The values per time step that belong to a thread's rows and columns in one tile.
struct Sides {
    float rows[2], columns[2];

    __device__ Sides(const float* of_steps, const Tiles& tiles, int i) {
        const float2 two = *(const float2*)(of_steps + tiles.column(i, 0));
        rows[0] = of_steps[tiles.row(i, 0)], rows[1] = of_steps[tiles.row(i, 2)];
        columns[0] = two.x, columns[1] = two.y;
    }
};
