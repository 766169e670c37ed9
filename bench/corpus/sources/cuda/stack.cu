//! compiler nvcc
// The stack at run time: alloca, deep recursion with large frames.
extern "C" __global__ void dynamic_stack(int n, int *out) {
    int *room = (int *)__builtin_alloca(n * sizeof(int));
    for (int i = 0; i < n; i++) room[i] = out[i];
    for (int i = 0; i < n; i++) out[i] = room[n - 1 - i];
}

__device__ __noinline__ int ackermann(int m, int n) {
    volatile int frame[24];
    frame[n % 24] = m;
    if (m == 0) return n + 1;
    return ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1)) + frame[n % 24] - m;
}

extern "C" __global__ void recursing(int *out) { out[threadIdx.x] = ackermann(2, threadIdx.x); }
