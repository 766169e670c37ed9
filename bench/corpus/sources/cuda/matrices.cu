//! without debug optimised_debug
// wmma through mma.h: every type that the target has.
#include <mma.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
using namespace nvcuda::wmma;

template <int M, int N, int K, typename A, typename C, typename LA = row_major, typename LB = col_major>
__device__ void multiplied(const A *a, const A *b, C *c, unsigned ld) {
    fragment<matrix_a, M, N, K, A, LA> fa;
    fragment<matrix_b, M, N, K, A, LB> fb;
    fragment<accumulator, M, N, K, C> fc;
    fill_fragment(fc, C(0));
    for (int k = 0; k < 64; k += K) {
        load_matrix_sync(fa, a + k, ld);
        load_matrix_sync(fb, b + k, ld);
        mma_sync(fc, fa, fb, fc);
    }
    store_matrix_sync(c, fc, ld, mem_row_major);
    load_matrix_sync(fc, c, ld, mem_col_major);
    store_matrix_sync(c + 256, fc, ld, mem_col_major);
}

extern "C" __global__ void half_matrices(const __half *a, const __half *b, float *f, __half *h) {
    multiplied<16, 16, 16>(a, b, f, 64); multiplied<32, 8, 16>(a, b, f + 512, 64); multiplied<8, 32, 16>(a, b, h, 64);
    multiplied<16, 16, 16, __half, __half, col_major, row_major>(a, b, h + 512, 64);
}

extern "C" __global__ void byte_matrices(const signed char *a, const unsigned char *u, int *c) {
    multiplied<16, 16, 16>(a, a + 99, c, 64); multiplied<32, 8, 16>(u, u, c + 512, 64);
}

extern "C" __global__ void shared_matrices(const __half *a, float *out) {
    __shared__ __half tile[256];
    for (int i = threadIdx.x; i < 256; i += 32) tile[i] = a[i];
    __syncthreads();
    multiplied<16, 16, 16>(tile, tile, out, 16);
}

#if __CUDA_ARCH__ >= 800
extern "C" __global__ void newer_matrices(const __nv_bfloat16 *b, const float *f, const double *d, float *c, double *e) {
    multiplied<16, 16, 16>(b, b, c, 64); multiplied<8, 8, 4>(d, d, e, 64);
    fragment<matrix_a, 16, 16, 8, precision::tf32, row_major> fa;
    fragment<matrix_b, 16, 16, 8, precision::tf32, col_major> fb;
    fragment<accumulator, 16, 16, 8, float> fc;
    fill_fragment(fc, 1.f);
    load_matrix_sync(fa, f, 8); load_matrix_sync(fb, f, 8);
    for (int i = 0; i < fa.num_elements; i++) fa.x[i] = __float_to_tf32(fa.x[i]);
    mma_sync(fc, fa, fb, fc);
    store_matrix_sync(c, fc, 16, mem_row_major);
}
#endif

extern "C" __global__ void bit_matrices(const unsigned *a, int *c) {
    fragment<matrix_a, 8, 8, 128, experimental::precision::b1, row_major> fa;
    fragment<matrix_b, 8, 8, 128, experimental::precision::b1, col_major> fb;
    fragment<accumulator, 8, 8, 128, int> fc;
    load_matrix_sync(fa, a, 128); load_matrix_sync(fb, a, 128); fill_fragment(fc, 0);
    bmma_sync(fc, fa, fb, fc);
    store_matrix_sync(c, fc, 8, mem_row_major);
}
