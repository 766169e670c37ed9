// Pieces of networks: softmax, layer norm, attention with an online softmax, activations, embeddings.
#include <cuda_fp16.h>
#include <cuda_bf16.h>

__device__ float warp_max(float v) {
    for (int d = 16; d; d /= 2) v = fmaxf(v, __shfl_xor_sync(~0u, v, d));
    return v;
}
__device__ float warp_sum(float v) {
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    return v;
}

extern "C" __global__ void softmax(const float *in, float *out, int n) {
    __shared__ float parts[4];
    const float *row = in + blockIdx.x * n;
    float most = -__int_as_float(0x7f800000), sum = 0;
    for (int i = threadIdx.x; i < n; i += 128) most = fmaxf(most, row[i]);
    most = warp_max(most);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = most;
    __syncthreads();
    most = fmaxf(fmaxf(parts[0], parts[1]), fmaxf(parts[2], parts[3]));
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += 128) sum += expf(row[i] - most);
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = parts[0] + parts[1] + parts[2] + parts[3];
    for (int i = threadIdx.x; i < n; i += 128) out[blockIdx.x * n + i] = __expf(row[i] - most) / sum;
}

extern "C" __global__ void layer_norm(const half *in, const half *scale, const half *shift, half *out, int n) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    const half2 *x = reinterpret_cast<const half2 *>(in + row * n);
    float sum = 0, squares = 0;
    for (int i = lane; i < n / 2; i += 32) {
        float2 v = __half22float2(x[i]);
        sum += v.x + v.y;
        squares += v.x * v.x + v.y * v.y;
    }
    sum = warp_sum(sum) / n;
    squares = warp_sum(squares) / n - sum * sum;
    float factor = rsqrtf(squares + 1e-5f);
    for (int i = lane; i < n / 2; i += 32) {
        float2 v = __half22float2(x[i]);
        half2 normal = __floats2half2_rn((v.x - sum) * factor, (v.y - sum) * factor);
        reinterpret_cast<half2 *>(out + row * n)[i] = __hfma2(normal, reinterpret_cast<const half2 *>(scale)[i], reinterpret_cast<const half2 *>(shift)[i]);
    }
}

// One query a thread, keys and values in tiles of shared memory.
extern "C" __global__ void attention(const float *q, const float *k, const float *v, float *out, int n, float scale) {
    const int D = 16;
    __shared__ float keys[32][D], values[32][D];
    int t = threadIdx.x, row = blockIdx.x * 32 + t;
    float query[D], sum[D] = {}, most = -1e30f, norm = 0;
    for (int d = 0; d < D; d++) query[d] = row < n ? q[row * D + d] * scale : 0;
    for (int tile = 0; tile < n; tile += 32) {
        __syncthreads();
        for (int i = t; i < 32 * D; i += 32) {
            bool there = tile + i / D < n;
            keys[i / D][i % D] = there ? k[tile * D + i] : 0;
            values[i / D][i % D] = there ? v[tile * D + i] : 0;
        }
        __syncthreads();
        for (int j = 0; j < 32 && tile + j < n; j++) {
            float p = 0;
            for (int d = 0; d < D; d++) p += query[d] * keys[j][d];
            float now = fmaxf(most, p), fix = expf(most - now), weight = expf(p - now);
            norm = norm * fix + weight;
            for (int d = 0; d < D; d++) sum[d] = sum[d] * fix + weight * values[j][d];
            most = now;
        }
    }
    if (row < n)
        for (int d = 0; d < D; d++) out[row * D + d] = sum[d] / norm;
}

extern "C" __global__ void activations(const __nv_bfloat16 *in, __nv_bfloat16 *out, float *gelu, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = __bfloat162float(in[i]);
    out[i] = __float2bfloat16(x / (1.0f + __expf(-x)));
    gelu[i] = 0.5f * x * (1.0f + erff(x * 0.70710678f));
}

extern "C" __global__ void embed(const int *ids, const float4 *table, float4 *out, int width) {
    for (int i = threadIdx.x; i < width; i += blockDim.x) {
        float4 a = __ldg(&table[ids[blockIdx.x] * width + i]);
        a.x *= 2; a.y *= 2; a.z *= 2; a.w *= 2;
        __stcs(&out[blockIdx.x * width + i], a);
    }
}

extern "C" __global__ void top_k(const float *in, float *values, int *where, int n, int k) {
    __shared__ float best[64];
    __shared__ int place[64];
    extern __shared__ float row[];
    int t = threadIdx.x;
    for (int i = t; i < n; i += 64) row[i] = in[blockIdx.x * n + i];
    __syncthreads();
    for (int round = 0; round < k; round++) {
        float v = -3e38f;
        int at = -1;
        for (int i = t; i < n; i += 64)
            if (row[i] > v) { v = row[i]; at = i; }
        best[t] = v;
        place[t] = at;
        __syncthreads();
        for (int half = 32; half; half /= 2) {
            if (t < half && (best[t + half] > best[t] || (best[t + half] == best[t] && place[t + half] < place[t]))) {
                best[t] = best[t + half];
                place[t] = place[t + half];
            }
            __syncthreads();
        }
        if (t == 0) {
            values[blockIdx.x * k + round] = best[0];
            where[blockIdx.x * k + round] = place[0];
            row[place[0]] = -3e38f;
        }
        __syncthreads();
    }
}
