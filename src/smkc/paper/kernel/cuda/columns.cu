// Observations of windows -> their states, for the buckets that occur: one block of threads per
// window.
//
// One thread adds up a row's observations of one stream, one after another, so that sums have a
// fixed order. They are copied to shared memory first, where neighbouring threads find those of
// neighbouring rows next to each other.
//
// Defined on compilation: LENGTH, the ROWS of a window that are processed at a time, and the
// sketch's BUCKETS, PRESENCE, SATURATE, NORMALISE, SLOPE, LIMIT and ROOM.

constexpr int STREAMS = PRESENCE ? 2 : 1;
constexpr int THREADS = STREAMS * ROWS;
constexpr int WORDS = (BUCKETS + 31) / 32;  // 32-bit words of flags per stream

// Observations per row copied, and columns summed, at a time.
constexpr int ACROSS = ROWS > 128 ? 8 : 16, DEPTH = ROWS > 128 ? 16 : 32;

struct Observed {  // a recording's observations by row, and each variable's packed hashes
    const long long* indptr;
    const int* codes;
    const float* values;
    const int* hashes;
};

struct Row {  // offset of its first observation from the window's first; number of observations
    int begin, n;
};

struct Shared {
    Row rows[ROWS];
    int hashes[ACROSS][ROWS + 1];
    float values[ACROSS][ROWS + 1];
    float sums[DEPTH][ROWS];
    unsigned occurs[STREAMS * WORDS];
    unsigned char ranks[STREAMS][BUCKETS];  // rank of a bucket among those that occur
};

__device__ int bucket_of(int hash, int stream) { return hash >> 16 * stream & 0xff; }
__device__ float sign_of(int hash, int stream) {
    return hash >> (16 * stream + 8) & 1 ? -1.0f : 1.0f;
}

// One window, and one thread's part of it.
struct Window {
    Shared& shared;
    const Observed& observed;
    long long start, begin;  // the window's first row, and that row's first observation
    int stream, row;         // the thread's stream, and its row in the current segment
    Row own;

    // Move to the ROWS rows from ``segment`` on.
    __device__ void turn_to(int segment) {
        own = {0, 0};
        if (segment + row < LENGTH) {
            const long long at = start + segment + row;
            own.begin = int(observed.indptr[at] - begin);
            own.n = int(observed.indptr[at + 1] - begin) - own.begin;
        }
        __syncthreads();
        if (stream == 0) shared.rows[row] = own;
        __syncthreads();
    }

    // Copy ACROSS observations per row, from ``first`` on, to shared memory. Adjacent threads copy
    // adjacent observations of one row.
    __device__ void lay_down(int first) {
        __syncthreads();
        const int i = threadIdx.x % ACROSS;
        for (int r = threadIdx.x / ACROSS; r < ROWS; r += THREADS / ACROSS) {
            if (first + i >= shared.rows[r].n) continue;
            const long long at = begin + shared.rows[r].begin + first + i;
            shared.hashes[i][r] = observed.hashes[observed.codes[at]];
            shared.values[i][r] = observed.values[at];
        }
        __syncthreads();
    }

    // Mark buckets that occur. Most are marked already by another row, so check before writing.
    __device__ void mark(int first) {
        for (int i = 0; i < min(ACROSS, own.n - first); ++i) {
            const int bucket = bucket_of(shared.hashes[i][row], stream);
            volatile unsigned* word = &shared.occurs[stream * WORDS + bucket / 32];
            if (!(*word >> bucket % 32 & 1)) atomicOr((unsigned*)word, 1u << bucket % 32);
        }
    }

    __device__ void rank() {
        for (int i = threadIdx.x; i < STREAMS * BUCKETS; i += THREADS) {
            const int bucket = i % BUCKETS;
            const unsigned* words = &shared.occurs[i / BUCKETS * WORDS];
            int before = __popc(words[bucket / 32] & ((1u << bucket % 32) - 1));
            for (int j = 0; j < bucket / 32; ++j) before += __popc(words[j]);
            shared.ranks[i / BUCKETS][bucket] = before;
        }
    }

    // Add the copied observations to the sums of the DEPTH columns from ``column`` on.
    __device__ void add(int first, int column, float scale, float weight) {
        for (int i = 0; i < min(ACROSS, own.n - first); ++i) {
            const int hash = shared.hashes[i][row];
            const int at = shared.ranks[stream][bucket_of(hash, stream)] - column;
            const float amount = stream ? weight : shared.values[i][row] * scale;
            if (at >= 0 && at < DEPTH) shared.sums[at][row] += sign_of(hash, stream) * amount;
        }
    }

    __device__ void write(float* out, int segment, int depth) {
        for (int i = threadIdx.x; i < depth * ROWS; i += THREADS) {
            const float sum = fminf(fmaxf(shared.sums[0][i] / ROOM, -LIMIT), LIMIT);
            const int step = segment + i % ROWS;
            if (step < LENGTH) out[i / ROWS * LENGTH + step] = sum;
        }
    }
};

extern "C" __global__ void __launch_bounds__(THREADS)
    columns(const long long* indptr, const int* codes, const float* values, const int* hashes,
            const long long* starts, float* out, int* counts) {
    __shared__ Shared shared;
    const Observed observed{indptr, codes, values, hashes};
    const long long start = starts[blockIdx.x];
    const int stream = threadIdx.x / ROWS;
    Window window{shared, observed, start, indptr[start], stream, int(threadIdx.x % ROWS), {0, 0}};
    if (threadIdx.x < STREAMS * WORDS) shared.occurs[threadIdx.x] = 0;
    int end = 0;
    for (int segment = 0; segment < LENGTH; segment += ROWS) {
        window.turn_to(segment);
        for (end = 0; __syncthreads_or(end < window.own.n); end += ACROSS) {
            window.lay_down(end);
            window.mark(end);
        }
    }
    const bool is_down = LENGTH <= ROWS && end <= ACROSS;  // all observations are copied already
    int n_columns = 0, n_before = 0;                       // of both streams; before this stream
    for (int i = 0; i < STREAMS * WORDS; ++i) {
        n_columns += __popc(shared.occurs[i]);
        if (i < stream * WORDS) n_before += __popc(shared.occurs[i]);
    }
    window.rank();
    if (threadIdx.x == 0) counts[blockIdx.x] = n_columns;

    out += (long long)blockIdx.x * 2 * BUCKETS * LENGTH;
    for (int segment = 0; segment < LENGTH; segment += ROWS) {
        if (!is_down) window.turn_to(segment);
        // In double precision, as on the CPU; with one number per row this costs little.
        const int n = window.own.n;
        const float scale = NORMALISE ? ROOM * float(1.0 / sqrt(double(max(n, 1)))) : ROOM;
        const double weight = (SATURATE ? fmin(SLOPE * n, 1.0) : SLOPE * n) * double(scale);
        for (int column = 0; column < n_columns; column += DEPTH) {
            __syncthreads();
            for (int i = threadIdx.x; i < DEPTH * ROWS; i += THREADS) shared.sums[0][i] = 0.0f;
            __syncthreads();
            for (int first = 0; __syncthreads_or(first < n); first += ACROSS) {
                if (!is_down) window.lay_down(first);
                window.add(first, column - n_before, scale, float(weight));
            }
            __syncthreads();
            window.write(out + column * LENGTH, segment, min(DEPTH, n_columns - column));
        }
    }
}
