// One channel of an image, before it is written to global memory.
//
// If it fits, it is assembled in shared memory and copied from there: the rows of a tile are short,
// and global memory is faster to write in long rows.

#pragma once
#include "tiles.cuh"

constexpr bool IS_GATHERED = LENGTH <= 64 && LENGTH % 4 == 0;
constexpr int PITCH = IS_GATHERED ? LENGTH + 4 : LENGTH;  // floats from one row to the next

struct Plane {
    alignas(16) float numbers[IS_GATHERED ? LENGTH * PITCH : 1];

    // Return where to write a channel, once the previous one has been copied.
    __device__ float* open(float* to) {
        if (!IS_GATHERED) return to;
        __syncthreads();
        return numbers;
    }

    __device__ void close(float* to) {
        if (!IS_GATHERED) return;
        constexpr int FOURS = LENGTH / 4;  // float4 per row
        __syncthreads();
        for (int i = threadIdx.x; i < LENGTH * FOURS; i += 32 * WARPS)
            ((float4*)to)[i] = *(const float4*)&numbers[i / FOURS * PITCH + i % FOURS * 4];
    }
};
