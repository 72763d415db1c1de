// The median of numbers in the registers of threads, by selection without sorting.
//
// A bracket around the wanted number is narrowed by counting how many numbers are at or below a
// probe, until the wanted number is the first or the last in the bracket. Non-negative floats are
// ordered like their bit patterns.

#pragma once
#include "tiles.cuh"

constexpr int NO_PAIR = 0x7f800000;  // bits of infinity, which marks places without a pair
constexpr int TINY = 27 << 23;       // bits of 2^-100: below, counting by multiply-add is inexact
constexpr int HALVE_EVERY = 4;       // every 4th probe halves the bracket, the others interpolate

using Parts = int[2][3][WARPS];  // results exchanged between warps, in two alternating buffers

struct Median {
    Parts& parts;
    int warp, turn;

    // Return the median of distances, given their squares, without the ``n_skipped`` smallest. If
    // the median's square is below TINY, return 0 unless IS_SMALL.
    template <bool IS_SMALL>
    __device__ double of(const Numbers& squares, int n_skipped) {
        constexpr int LEAST = IS_SMALL ? -1 : TINY;
        const int wanted = n_skipped + (PAIRS - n_skipped + 1) / 2;
        const Ends range = ends(squares);
        int lo = range.least - 1, hi = range.largest, below = 0, upto = PAIRS;
        for (int step = 0; upto != wanted && below != wanted - 1 && hi > LEAST && hi - lo > 1;
             ++step) {
            float share = __fdividef(float(wanted - below), float(upto - below));
            share = fminf(fmaxf(share, 1.0f / 64), 1.0f - 1.0f / 64);
            if (step % HALVE_EVERY == HALVE_EVERY - 1) share = 0.5f;
            const int even = lo + int(float(hi - lo) * share);
            const int probe = max(min(even, hi - 1), max(lo + 1, LEAST));
            const int count = n_upto<IS_SMALL>(squares, probe);
            if (count >= wanted) hi = probe, upto = count;
            else lo = probe, below = count;
        }
        if (hi <= LEAST) return 0.0;
        if (upto != wanted && hi - lo > 1)
            hi = around(squares, lo).least, upto = n_upto<IS_SMALL>(squares, hi);
        const Ends middle = around(squares, hi);
        // Whether the two middle numbers are equal, or there is only one.
        const bool is_twice = upto > n_skipped + (PAIRS - n_skipped) / 2;
        const float one = __int_as_float(middle.largest), next = __int_as_float(middle.least);
        return 0.5 * ((double)sqrtf(one) + (double)sqrtf(is_twice ? one : next));
    }

    template <bool IS_SMALL>
    __device__ int n_upto(const Numbers& squares, int probe) {
        float counts[2] = {0.0f, 0.0f};
        // Count 1 for each number below the next float after the probe: the difference is
        // multiplied by a factor that takes the smallest possible difference to 1 or more, and
        // clamped to [0, 1]. This way the multiply-add units do the counting.
        const float after = __int_as_float(probe + 1);
        const float much = __int_as_float(min(278 - ((probe + 1) >> 23), 254) << 23);
#pragma unroll
        for (int i = 0; i < TILES; ++i)
            for (int e = 0; e < 4; ++e) {
                if (Tiles::is_none(i, e)) continue;
                if (IS_SMALL) counts[e % 2] += __float_as_int(squares[i][e]) <= probe;
                else counts[e % 2] += __saturatef(fmaf(-much, squares[i][e], much * after));
            }
        const int count = __reduce_add_sync(~0u, int(counts[0] + counts[1]));
        if (WARPS == 1) return count;
        const int lane = threadIdx.x % 32;
        auto& told = parts[turn ^= 1][0];
        if (lane == 0) told[warp] = count;
        __syncthreads();
        return __reduce_add_sync(~0u, lane < WARPS ? told[lane] : 0);
    }

  private:
    struct Ends {
        int largest, least;
    };

    __device__ Ends ends(const Numbers& squares) {
        int largest = 0, least = NO_PAIR;
#pragma unroll
        for (int i = 0; i < TILES; ++i)
            for (int e = 0; e < 4; ++e) {
                if (Tiles::is_none(i, e)) continue;
                const int bits = __float_as_int(squares[i][e]);
                largest = max(largest, Tiles::may_be_none(i, e) && bits == NO_PAIR ? 0 : bits);
                least = min(least, bits);
            }
        return told(largest, least);
    }

    // Return the largest number at or below a probe, and the smallest above it.
    __device__ Ends around(const Numbers& squares, int probe) {
        unsigned less = ~0u, more = ~0u;  // a number on the other side wraps around
#pragma unroll
        for (int i = 0; i < TILES; ++i)
            for (int e = 0; e < 4; ++e) {
                if (Tiles::is_none(i, e)) continue;
                less = min(less, unsigned(probe - __float_as_int(squares[i][e])));
                more = min(more, unsigned(__float_as_int(squares[i][e]) - probe - 1));
            }
        const int largest = less > unsigned(probe) ? -1 : probe - int(less);
        return told(largest, more > NO_PAIR ? NO_PAIR : int(more) + probe + 1);
    }

    __device__ Ends told(int largest, int least) {
        largest = __reduce_max_sync(~0u, largest);
        least = __reduce_min_sync(~0u, least);
        if (WARPS == 1) return {largest, least};
        const int lane = threadIdx.x % 32, from = lane < WARPS ? lane : 0;
        auto& told = parts[turn ^= 1];
        if (lane == 0) told[1][warp] = largest, told[2][warp] = least;
        __syncthreads();
        return {__reduce_max_sync(~0u, told[1][from]), __reduce_min_sync(~0u, told[2][from])};
    }
};
