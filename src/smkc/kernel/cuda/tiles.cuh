// How the pairs of a window's time steps are shared out: a warp for each block of sixteen steps, and
// tiles of 16 x 8 pairs in which each pair is once. LENGTH is defined by whoever compiles it.

#pragma once

constexpr int BLOCKS = (LENGTH + 15) / 16;
constexpr int SIDE = 16 * BLOCKS;
constexpr int TILES = BLOCKS + 1;  // a warp's
constexpr int PAIRS = LENGTH * (LENGTH - 1) / 2;

using Numbers = float[TILES][4];  // a thread's of each tile: two rows eight apart, two columns

// A warp's tiles: two on the diagonal, of its own time steps; then those of its own with the blocks
// that follow, around the end. If BLOCKS is even, a block and its opposite have one tile each of the
// two that they share.
struct Tiles {
    int warp, group, turn;  // a thread's first row within a tile, and its pair of columns

    __device__ Tiles()
        : warp(threadIdx.x / 32), group(threadIdx.x % 32 / 4), turn(threadIdx.x % 4) {}

    __device__ static constexpr bool is_shared(int i) { return BLOCKS % 2 == 0 && i == BLOCKS; }

    __device__ int first_row(int i) const {
        return 16 * (is_shared(i) && warp >= BLOCKS / 2 ? warp - BLOCKS / 2 : warp);
    }

    __device__ int first_column(int i) const {
        if (is_shared(i)) return first_row(i) + 8 * BLOCKS + (warp >= BLOCKS / 2 ? 8 : 0);
        const int block = warp + i / 2;
        return 16 * (block < BLOCKS ? block : block - BLOCKS) + i % 2 * 8;
    }

    __device__ int row(int i, int e) const { return first_row(i) + group + 8 * (e / 2); }
    __device__ int column(int i, int e) const { return first_column(i) + 2 * turn + e % 2; }

    // Whether no thread has a pair there: below the diagonal.
    __device__ static constexpr bool is_none(int i, int e) { return i == 0 && e >= 2; }

    __device__ static constexpr bool is_crossed(int i, int e) {  // by the diagonal
        return (i == 0 && e < 2) || (i == 1 && e >= 2);
    }

    __device__ static constexpr bool may_be_none(int i, int e) {
        return SIDE != LENGTH || is_crossed(i, e);
    }

    __device__ bool is_pair(int i, int e) const {
        if (is_none(i, e)) return false;
        const bool is_there = SIDE == LENGTH || (row(i, e) < LENGTH && column(i, e) < LENGTH);
        return is_there && (!is_crossed(i, e) || group < 2 * turn + e % 2);
    }

    // Write a tile where its rows are and, mirrored, where its columns are.
    __device__ void write(float* to, int i, const float (&tile)[4]) const {
        float* here = to + row(i, 0) * LENGTH + column(i, 0);
        float* mirrored = to + column(i, 0) * LENGTH + row(i, 0);
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            if (!is_pair(i, e)) continue;
            const bool has_twin = LENGTH % 2 == 0 && i >= 2;  // the next is a pair just as well
            if (!has_twin) here[8 * (e / 2) * LENGTH + e % 2] = tile[e];
            else if (e % 2 == 0) *(float2*)(here + 8 * (e / 2) * LENGTH) = {tile[e], tile[e + 1]};
            mirrored[8 * (e / 2) + e % 2 * LENGTH] = tile[e];
        }
    }

    __device__ void write_diagonal(float* to, float own) const {
        if (threadIdx.x < LENGTH) to[threadIdx.x * (LENGTH + 1)] = own;
    }
};

// What a thread needs of its rows' and columns' time steps, for one tile.
struct Sides {
    float rows[2], columns[2];

    __device__ Sides(const float* of_steps, const Tiles& tiles, int i) {
        const float2 two = *(const float2*)(of_steps + tiles.column(i, 0));
        rows[0] = of_steps[tiles.row(i, 0)], rows[1] = of_steps[tiles.row(i, 2)];
        columns[0] = two.x, columns[1] = two.y;
    }
};
