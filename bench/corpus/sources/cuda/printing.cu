// printf, assert-like traps, clocks, special registers, in-kernel allocation.
extern "C" __device__ int printf(const char *, ...);
#ifdef __CUDACC_RTC__
extern "C" __device__ void *malloc(decltype(sizeof(0)));
extern "C" __device__ void free(void *);
#endif

extern "C" __global__ void shown(const float *x, const char *text) {
    int i = threadIdx.x;
    printf("nothing to say\n");
    printf("%d %f %lld %c %p %s 100%%\n", i, x[i], (long long)i << 40, 'c', (void *)x, text);
    printf("\ttabs, \"quotes\", back\\slash, \x01 and \xff\n");
}

extern "C" __global__ void special_registers(unsigned *out, long long *times) {
    out[0] = threadIdx.x + threadIdx.y * blockDim.x + threadIdx.z * blockDim.y + blockIdx.x * gridDim.x + blockIdx.y + blockIdx.z
           + gridDim.y + gridDim.z + blockDim.z + warpSize;
    times[0] = clock64(); times[1] = clock(); times[2] = (long long)out;
    unsigned a, b, c, d, e, g, h;
    unsigned long long t;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(a));
    asm volatile("mov.u32 %0, %%warpid; mov.u32 %1, %%nwarpid;" : "=r"(b), "=r"(c));
    asm volatile("{\n\t.reg .u32 t;\n\tmov.u32 t, %%smid;\n\tadd.u32 %0, t, 1;\n}" : "=r"(d));
    asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(e));
    asm volatile("mov.u32 %0, %%dynamic_smem_size;" : "=r"(g));
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    asm volatile("mov.u32 %0, %%envreg3;" : "=r"(h));
    out[1] = a + b + c + d + e + g + h + (unsigned)t;
}

extern "C" __global__ void allocated(int n, int **out) {
    int *p = (int *)malloc(n * sizeof(int));
    if (!p) { __trap(); }
    for (int i = 0; i < n; i++) p[i] = i;
    *out = p;
    if (n & 1) free(p);
}
