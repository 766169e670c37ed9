// Locks, queues and barriers of a program's own making.
struct Node { int next; int value; };

// A spin lock taken by one thread of each warp at a time.
__device__ int lock_word = 0;

extern "C" __global__ void spin_lock(int *counter, int *log) {
    bool done = false;
    while (!done) {
        if (atomicCAS(&lock_word, 0, 1) == 0) {
            __threadfence();
            int c = *(volatile int *)counter;
            *(volatile int *)counter = c + 1;
            log[c] = blockIdx.x * blockDim.x + threadIdx.x;
            __threadfence();
            atomicExch(&lock_word, 0);
            done = true;
        }
    }
}

extern "C" __global__ void ticket_lock(unsigned *tickets, int *order) {
    if (threadIdx.x % 8) return;
    unsigned mine = atomicAdd(&tickets[0], 1u);
    while (*(volatile unsigned *)&tickets[1] != mine) { }
    __threadfence();
    order[0] = order[0] * 3 + 1;
    __threadfence();
    atomicAdd(&tickets[1], 1u);
}

// Treiber's stack by a compare-and-swap of index and count in 64 bits.
extern "C" __global__ void stack(unsigned long long *head, Node *nodes, int *popped, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    nodes[i].value = i * i;
    unsigned long long old = *(volatile unsigned long long *)head;
    for (;;) {
        *(volatile int *)&nodes[i].next = (int)(unsigned)old;
        __threadfence();
        unsigned long long wanted = (old >> 32) + 1 << 32 | (unsigned)i, seen = atomicCAS(head, old, wanted);
        if (seen == old) break;
        old = seen;
    }
    old = *(volatile unsigned long long *)head;
    for (;;) {
        __threadfence();
        int next = *(volatile int *)&nodes[(unsigned)old].next;
        unsigned long long wanted = (old >> 32) + 1 << 32 | (unsigned)next, seen = atomicCAS(head, old, wanted);
        if (seen == old) break;
        old = seen;
    }
    __threadfence();
    popped[i] = nodes[(unsigned)old].value;
}

// All blocks meet, round after round: a generation counter and the last one's arrival.
__device__ unsigned arrived = 0;
__device__ volatile unsigned generation = 0;

__device__ void meet() {
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned now = generation;
        __threadfence();
        if (atomicAdd(&arrived, 1u) == gridDim.x - 1) {
            __threadfence();
            arrived = 0;
            __threadfence();
            generation = now + 1;
        } else {
            while (generation == now) { }
        }
        __threadfence();
    }
    __syncthreads();
}

extern "C" __global__ void jacobi(float *a, float *b, int n, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int r = 0; r < rounds; r++) {
        if (i < n) b[i] = 0.5f * (a[i ? i - 1 : n - 1] + a[i + 1 < n ? i + 1 : 0]);
        meet();
        float *keep = a;
        a = b;
        b = keep;
    }
}

// Warps that make and warps that use, through two named barriers for each of two rooms.
extern "C" __global__ void producer_consumer(const int *in, int *out, int rounds) {
    __shared__ int room[2][64];
    int t = threadIdx.x;
    if (t < 64) {
        for (int r = 0; r < rounds; r++) {
            if (r >= 2) asm volatile("bar.sync %0, 128;" ::"r"(3 + r % 2) : "memory");
            room[r % 2][t] = in[r * 64 + t] * 2;
            asm volatile("bar.arrive %0, 128;" ::"r"(1 + r % 2) : "memory");
        }
    } else {
        int sum = 0;
        for (int r = 0; r < rounds; r++) {
            asm volatile("bar.sync %0, 128;" ::"r"(1 + r % 2) : "memory");
            sum += room[r % 2][127 - t];
            if (r + 2 < rounds) asm volatile("bar.arrive %0, 128;" ::"r"(3 + r % 2) : "memory");
        }
        out[t - 64] = sum;
    }
}

extern "C" __global__ void voting_barriers(const int *in, int *out) {
    int v = in[threadIdx.x];
    int counted = __syncthreads_count(v & 1), all = __syncthreads_and(v >= 0), any = __syncthreads_or(v == 77);
    if (threadIdx.x == 0) {
        out[0] = counted;
        out[1] = all != 0;
        out[2] = any != 0;
    }
}

// A flag between blocks: data, fence, flag; the reader waits, fences and reads.
extern "C" __global__ void hand_over(int *data, volatile int *flags, int *out) {
    int b = blockIdx.x, t = threadIdx.x;
    if (b > 0) {
        if (t == 0) {
            while (flags[b - 1] == 0) { }
            __threadfence();
        }
        __syncthreads();
    }
    int v = b > 0 ? data[(b - 1) * 32 + t] : t;
    data[b * 32 + t] = v * 2 + 1;
    __threadfence();
    __syncthreads();
    if (t == 0) flags[b] = 1;
    if (b == gridDim.x - 1) out[t] = v;
}

// Warps exchange through shared memory with no more than __syncwarp.
extern "C" __global__ void within_warps(const int *in, int *out, int rounds) {
    __shared__ int room[128];
    int t = threadIdx.x, base = t & ~31, lane = t & 31;
    room[t] = in[t];
    __syncwarp();
    for (int r = 0; r < rounds; r++) {
        int left = room[base + (lane + 31 & 31)], right = room[base + (lane + 1 & 31)];
        __syncwarp();
        room[t] = left - right + r;
        __syncwarp();
    }
    out[t] = room[t];
}
