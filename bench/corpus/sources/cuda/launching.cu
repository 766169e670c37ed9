//! compiler nvcc
//! flags -rdc=true
// Kernels that launch kernels: the device runtime as external functions.
__global__ void child(int *a, double b, char c) { a[threadIdx.x] = (int)b + c; }

extern "C" __global__ void parent(int *a, int depth) {
    if (threadIdx.x == 0) {
        child<<<3, 64>>>(a, 2.5, 'x');
        child<<<dim3(2, 2), 32, 128, cudaStreamFireAndForget>>>(a, -1.0, 'y');
        if (cudaGetLastError() != cudaSuccess) a[0] = -1;
        int device = 0;
        cudaGetDevice(&device);
        a[1] = device;
    }
    if (depth > 0) parent<<<1, 1>>>(a, depth - 1);
}
