//! least sm_80
// Matrix products: naive, tiled, tiled in registers, by tensor cores (wmma and mma), with asynchronous copies.
#include <cuda_fp16.h>
#include <mma.h>
#include <cuda_pipeline.h>

extern "C" __global__ void naive(const float *a, const float *b, float *c, int m, int n, int k) {
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || col >= n) return;
    float sum = 0;
    for (int i = 0; i < k; i++) sum += a[row * k + i] * b[i * n + col];
    c[row * n + col] = sum;
}

extern "C" __global__ void tiled(const float *a, const float *b, float *c, int m, int n, int k) {
    __shared__ float left[16][16], right[16][17];
    int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    float sum = 0;
    for (int tile = 0; tile < k; tile += 16) {
        left[threadIdx.y][threadIdx.x] = row < m && tile + threadIdx.x < k ? a[row * k + tile + threadIdx.x] : 0;
        right[threadIdx.y][threadIdx.x] = col < n && tile + threadIdx.y < k ? b[(tile + threadIdx.y) * n + col] : 0;
        __syncthreads();
        for (int i = 0; i < 16; i++) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && col < n) c[row * n + col] = sum;
}

// 64 x 64 a block of 256 threads, 4 x 4 a thread, 8 terms at once.
extern "C" __global__ void __launch_bounds__(256) in_registers(const float *a, const float *b, float *c, int n, int k) {
    __shared__ float left[8][64];
    __shared__ float4 right[8][16];
    int t = threadIdx.x, tx = t % 16, ty = t / 16;
    float sum[4][4] = {};
    a += blockIdx.y * 64 * k;
    b += blockIdx.x * 64;
    for (int tile = 0; tile < k; tile += 8) {
        if (t < 128) {
            float4 v = *reinterpret_cast<const float4 *>(&a[t / 2 * k + tile + t % 2 * 4]);
            left[t % 2 * 4][t / 2] = v.x;
            left[t % 2 * 4 + 1][t / 2] = v.y;
            left[t % 2 * 4 + 2][t / 2] = v.z;
            left[t % 2 * 4 + 3][t / 2] = v.w;
        } else {
            int u = t - 128;
            right[u / 16][u % 16] = *reinterpret_cast<const float4 *>(&b[(tile + u / 16) * n + u % 16 * 4]);
        }
        __syncthreads();
        #pragma unroll
        for (int i = 0; i < 8; i++) {
            float4 x = *reinterpret_cast<const float4 *>(&left[i][ty * 4]), y = right[i][tx];
            float xs[4] = {x.x, x.y, x.z, x.w}, ys[4] = {y.x, y.y, y.z, y.w};
            for (int r = 0; r < 4; r++)
                for (int s = 0; s < 4; s++) sum[r][s] = fmaf(xs[r], ys[s], sum[r][s]);
        }
        __syncthreads();
    }
    for (int r = 0; r < 4; r++)
        *reinterpret_cast<float4 *>(&c[(blockIdx.y * 64 + ty * 4 + r) * n + blockIdx.x * 64 + tx * 4]) =
            make_float4(sum[r][0], sum[r][1], sum[r][2], sum[r][3]);
}

extern "C" __global__ void by_wmma(const half *a, const half *b, float *c, int n, int k) {
    using namespace nvcuda::wmma;
    fragment<matrix_a, 16, 16, 16, half, row_major> x;
    fragment<matrix_b, 16, 16, 16, half, col_major> y;
    fragment<accumulator, 16, 16, 16, float> sum;
    fill_fragment(sum, 0.0f);
    int warp = threadIdx.x / 32, row = blockIdx.y * 16, col = (blockIdx.x * 2 + warp) * 16;
    for (int i = 0; i < k; i += 16) {
        load_matrix_sync(x, a + row * k + i, k);
        load_matrix_sync(y, b + col * k + i, k);
        mma_sync(sum, x, y, sum);
    }
    for (int i = 0; i < sum.num_elements; i++) sum.x[i] *= 0.5f;
    store_matrix_sync(c + row * n + col, sum, n, mem_row_major);
}

extern "C" __global__ void by_wmma_bytes(const signed char *a, const signed char *b, int *c) {
    using namespace nvcuda::wmma;
    fragment<matrix_a, 32, 8, 16, signed char, row_major> x;
    fragment<matrix_b, 32, 8, 16, signed char, col_major> y;
    fragment<accumulator, 32, 8, 16, int> sum;
    load_matrix_sync(sum, c, 8, mem_row_major);
    load_matrix_sync(x, a, 16);
    load_matrix_sync(y, b, 16);
    mma_sync(sum, x, y, sum);
    store_matrix_sync(c, sum, 8, mem_row_major);
}

// ldmatrix and mma.m16n8k16 by hand: 16 x 8 a warp.
extern "C" __global__ void by_mma(const half *a, const half *b, float *c, int n, int k) {
    __shared__ __align__(16) half left[16][24], right[8][24];
    int lane = threadIdx.x;
    float d[4] = {};
    for (int tile = 0; tile < k; tile += 16) {
        for (int i = lane; i < 32; i += 32)
            *reinterpret_cast<uint4 *>(&left[i / 2][i % 2 * 8]) =
                *reinterpret_cast<const uint4 *>(&a[(blockIdx.y * 16 + i / 2) * k + tile + i % 2 * 8]);
        if (lane < 16)
            *reinterpret_cast<uint4 *>(&right[lane / 2][lane % 2 * 8]) =
                *reinterpret_cast<const uint4 *>(&b[(blockIdx.x * 8 + lane / 2) * k + tile + lane % 2 * 8]);
        __syncwarp();
        unsigned x[4], y[2];
        unsigned from = (unsigned)__cvta_generic_to_shared(&left[lane % 16][lane / 16 * 8]);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(from) : "memory");
        from = (unsigned)__cvta_generic_to_shared(&right[lane % 8][lane / 8 % 2 * 8]);
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                     : "=r"(y[0]), "=r"(y[1]) : "r"(from) : "memory");
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
        __syncwarp();
    }
    int row = blockIdx.y * 16 + lane / 4, col = blockIdx.x * 8 + lane % 4 * 2;
    *reinterpret_cast<float2 *>(&c[row * n + col]) = make_float2(d[0], d[1]);
    *reinterpret_cast<float2 *>(&c[(row + 8) * n + col]) = make_float2(d[2], d[3]);
}

// Two stages of cp.async: the next tile comes while this one is worked on.
extern "C" __global__ void double_buffered(const float *a, const float *b, float *c, int n, int k) {
    __shared__ __align__(16) float left[2][16][16], right[2][16][16];
    int t = threadIdx.x, r = t / 16, s = t % 16, tiles = k / 16;
    auto fetch = [&](int stage, int tile) {
        if (t < 64)
            __pipeline_memcpy_async(&left[stage][t / 4][t % 4 * 4], &a[(blockIdx.y * 16 + t / 4) * k + tile * 16 + t % 4 * 4], 16);
        else if (t < 128)
            __pipeline_memcpy_async(&right[stage][t / 4 - 16][t % 4 * 4],
                                    &b[(tile * 16 + t / 4 - 16) * n + blockIdx.x * 16 + t % 4 * 4], 16);
        __pipeline_commit();
    };
    float sum = 0;
    fetch(0, 0);
    for (int tile = 0; tile < tiles; tile++) {
        if (tile + 1 < tiles) {
            fetch(1 - tile % 2, tile + 1);
            __pipeline_wait_prior(1);
        } else {
            __pipeline_wait_prior(0);
        }
        __syncthreads();
        for (int i = 0; i < 16; i++) sum += left[tile % 2][r][i] * right[tile % 2][i][s];
        __syncthreads();
    }
    c[(blockIdx.y * 16 + r) * n + blockIdx.x * 16 + s] = sum;
}

extern "C" __global__ void bytes_by_dp4a(const int *a, const int *b, int *c, unsigned *u, int n, int words) {
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (col >= n) return;
    int sum = 0;
    unsigned other = 0;
    for (int i = 0; i < words; i++) {
        sum = __dp4a(a[row * words + i], b[col * words + i], sum);
        other = __dp4a((unsigned)a[row * words + i], (unsigned)b[col * words + i], other);
        other = __dp2a_lo((unsigned)a[row * words + i], (unsigned)b[col * words + i], other);
        sum = __dp2a_hi(a[row * words + i], b[col * words + i], sum);
    }
    c[row * n + col] = sum;
    u[row * n + col] = other;
}

extern "C" __global__ void doubles_by_tensor(const double *a, const double *b, double *c) {
    using namespace nvcuda::wmma;
    fragment<matrix_a, 8, 8, 4, double, row_major> x;
    fragment<matrix_b, 8, 8, 4, double, row_major> y;
    fragment<accumulator, 8, 8, 4, double> sum;
    fill_fragment(sum, 0.0);
    for (int k = 0; k < 16; k += 4) {
        load_matrix_sync(x, a + k, 16);
        load_matrix_sync(y, b + k * 8, 8);
        mma_sync(sum, x, y, sum);
    }
    store_matrix_sync(c, sum, 8, mem_col_major);
}
