// One channel of an image on its way to memory.
//
// Where it fits, it is put together in shared memory and copied from there: a tile's own rows are
// short, and memory likes long ones.

#pragma once
#include "tiles.cuh"

constexpr bool IS_GATHERED = LENGTH <= 64 && LENGTH % 4 == 0;
constexpr int PITCH = IS_GATHERED ? LENGTH + 4 : LENGTH;  // floats from a row to the next

struct Plane {
    alignas(16) float numbers[IS_GATHERED ? LENGTH * PITCH : 1];

    // Return where to write a channel; the one before has left.
    __device__ float* open(float* to) {
        if (!IS_GATHERED) return to;
        __syncthreads();
        return numbers;
    }

    __device__ void close(float* to) {
        if (!IS_GATHERED) return;
        constexpr int FOURS = LENGTH / 4;  // of a row
        __syncthreads();
        for (int i = threadIdx.x; i < LENGTH * FOURS; i += 32 * WARPS)
            ((float4*)to)[i] = *(const float4*)&numbers[i / FOURS * PITCH + i % FOURS * 4];
    }
};
