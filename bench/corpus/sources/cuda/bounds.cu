// Launch bounds, weak and aliased names, unusual labels, unrolling hints, loops of every shape, big switches.
extern "C" __global__ void __launch_bounds__(256) one_bound(int *a) { a[threadIdx.x] = 1; }
extern "C" __global__ void __launch_bounds__(256, 4) two_bounds(int *a) { a[threadIdx.x] = 2; }
extern "C" __global__ void __maxnreg__(40) few_registers(int *a) { a[threadIdx.x] = 3; }
#if __CUDA_ARCH__ >= 900
extern "C" __global__ void __block_size__((64, 2, 1)) blocks_of_64(int *a) { a[threadIdx.x] = 3; }
extern "C" __global__ void __launch_bounds__(128, 2, 4) three_bounds(int *a) { a[threadIdx.x] = 4; }
extern "C" __global__ void __cluster_dims__(2, 2, 1) clusters(int *a) { a[threadIdx.x] = 5; }
extern "C" __global__ void __block_size__((128, 1, 1), (2, 1, 1)) clusters_of_blocks(int *a) { a[threadIdx.x] = 5; }
#endif
extern "C" __device__ __attribute__((weak)) __noinline__ int weak_function(int x) { return x + 1; }
template <typename T> __device__ __noinline__ T instantiated(T x) { return x * x; }
__device__ __attribute__((weak)) int weak_variable = 5;
extern "C" __global__ void _1(int *_) { _[0] = weak_function(_[1]) + weak_variable + instantiated(_[2]) + instantiated(2.5f); }

extern "C" __global__ void loops(const int *in, int *out, int n) {
    int s = 0;
#pragma unroll 1
    for (int i = 0; i < n; i++) s += in[i];
#pragma unroll
    for (int i = 0; i < 9; i++) s ^= in[i];
#pragma unroll 4
    for (int i = n; i > 0; i -= 3) { if (in[i] == 7) continue; if (in[i] < 0) break; s *= in[i]; }
    do { s >>= 1; } while (s > 100);
    while (in[s & 7] != s) { s++; if (s == n) goto out_of_here; }
out_of_here:
    switch (s) {
        case 0: s = in[7]; break;     case 1: s = in[6] * 2; break; case 2: s += in[5]; break; case 3: s -= in[9]; break;
        case 4: s = in[3] / 7; break; case 5: s ^= 0x55; break;     case 6: s = ~s; break;     case 7: s = in[s] << 3; break;
        case 8: s = n; break;         case 9: s = -n; break;        case 10: s = in[n]; break; case 11: s = n % 13; break;
        default: s = 99;
    }
    out[threadIdx.x] = s;
}
