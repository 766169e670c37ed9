// Dynamic programming, linear algebra in double, sparse matrices and graphs.
extern "C" __global__ void knapsack(const int *weights, const int *values, int n, int capacity, int *best) {
    __shared__ int room[2][256];
    int c = threadIdx.x;
    room[0][c] = 0;
    __syncthreads();
    for (int i = 0; i < n; i++) {
        int v = room[i & 1][c];
        if (c >= weights[i]) v = max(v, room[i & 1][c - weights[i]] + values[i]);
        room[1 - (i & 1)][c] = v;
        __syncthreads();
    }
    if (c == capacity) *best = room[n & 1][c];
}

// Diagonal after diagonal.
extern "C" __global__ void edit_distance(const char *a, int m, const char *b, int n, int *out) {
    __shared__ int line[3][130];
    int i = threadIdx.x;
    for (int d = 0; d <= m + n; d++) {
        int *now = line[d % 3], *last = line[(d + 2) % 3], *older = line[(d + 1) % 3];
        int j = d - i;
        if (i <= m && j >= 0 && j <= n) {
            int v;
            if (i == 0 || j == 0) v = i + j;
            else v = min(min(last[i - 1], last[i]) + 1, older[i - 1] + (a[i - 1] != b[j - 1]));
            now[i] = v;
            if (i == m && j == n) *out = v;
        }
        __syncthreads();
    }
}

// Gauss-Jordan with pivots, one block a matrix of n x n.
extern "C" __global__ void invert(double *matrices, double *inverses, int n) {
    extern __shared__ double a[];
    __shared__ int pivot;
    int t = threadIdx.x, w = 2 * n;
    for (int i = t; i < n * w; i += blockDim.x) {
        int r = i / w, c = i % w;
        a[i] = c < n ? matrices[blockIdx.x * n * n + r * n + c] : c - n == r;
    }
    for (int k = 0; k < n; k++) {
        __syncthreads();
        if (t == 0) {
            pivot = k;
            for (int r = k + 1; r < n; r++)
                if (fabs(a[r * w + k]) > fabs(a[pivot * w + k])) pivot = r;
        }
        __syncthreads();
        if (t < w && pivot != k) {
            double keep = a[k * w + t];
            a[k * w + t] = a[pivot * w + t];
            a[pivot * w + t] = keep;
        }
        __syncthreads();
        double by = 1.0 / a[k * w + k];
        __syncthreads();
        if (t < w) a[k * w + t] *= by;
        __syncthreads();
        for (int r = 0; r < n; r++) {
            double f = a[r * w + k];
            __syncthreads();
            if (r != k && t < w) a[r * w + t] -= f * a[k * w + t];
        }
    }
    __syncthreads();
    for (int i = t; i < n * n; i += blockDim.x) inverses[blockIdx.x * n * n + i] = a[i / n * w + n + i % n];
}

extern "C" __global__ void cholesky(double *a, int n) {
    int t = threadIdx.x;
    for (int k = 0; k < n; k++) {
        if (t == 0) a[k * n + k] = sqrt(a[k * n + k]);
        __syncthreads();
        for (int i = k + 1 + t; i < n; i += blockDim.x) a[i * n + k] /= a[k * n + k];
        __syncthreads();
        for (int i = k + 1 + t; i < n; i += blockDim.x)
            for (int j = k + 1; j <= i; j++) a[i * n + j] -= a[i * n + k] * a[j * n + k];
        __syncthreads();
    }
}

extern "C" __global__ void lu_solve(const double *systems, const double *sides, double *out) {
    const int n = 4;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double a[n][n], b[n];
    for (int r = 0; r < n; r++) {
        b[r] = sides[i * n + r];
        for (int c = 0; c < n; c++) a[r][c] = systems[(i * n + r) * n + c];
    }
    for (int k = 0; k < n; k++) {
        int p = k;
        for (int r = k + 1; r < n; r++) if (fabs(a[r][k]) > fabs(a[p][k])) p = r;
        for (int c = 0; c < n; c++) { double keep = a[k][c]; a[k][c] = a[p][c]; a[p][c] = keep; }
        double keep = b[k]; b[k] = b[p]; b[p] = keep;
        for (int r = k + 1; r < n; r++) {
            double f = a[r][k] / a[k][k];
            for (int c = k; c < n; c++) a[r][c] -= f * a[k][c];
            b[r] -= f * b[k];
        }
    }
    for (int r = n - 1; r >= 0; r--) {
        for (int c = r + 1; c < n; c++) b[r] -= a[r][c] * b[c];
        b[r] /= a[r][r];
        out[i * n + r] = b[r];
    }
}

extern "C" __global__ void sparse(const int *rows, const int *columns, const float *values, const float *x, float *y, int n) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 8, lane = threadIdx.x % 8;
    float sum = 0;
    if (row < n)
        for (int i = rows[row] + lane; i < rows[row + 1]; i += 8) sum += values[i] * __ldg(&x[columns[i]]);
    for (int d = 4; d; d /= 2) sum += __shfl_down_sync(~0u, sum, d, 8);
    if (row < n && lane == 0) y[row] = sum;
}

// Breadth first by one block: two queues in shared memory that change roles.
extern "C" __global__ void breadth_first(const int *starts, const int *edges, int *level, int from) {
    __shared__ int queue[2][128], size[2];
    int t = threadIdx.x;
    if (t == 0) {
        queue[0][0] = from;
        size[0] = 1;
        level[from] = 0;
    }
    __syncthreads();
    for (int depth = 0, now = 0; size[now] > 0; depth++, now = 1 - now) {
        if (t == 0) size[1 - now] = 0;
        __syncthreads();
        for (int i = t; i < size[now]; i += blockDim.x) {
            int u = queue[now][i];
            for (int e = starts[u]; e < starts[u + 1]; e++)
                if (atomicCAS(&level[edges[e]], -1, depth + 1) == -1) queue[1 - now][atomicAdd(&size[1 - now], 1)] = edges[e];
        }
        __syncthreads();
    }
}

__device__ int root_of(int *parent, int i) {
    int p = *(volatile int *)&parent[i];
    while (p != i) {
        i = p;
        p = *(volatile int *)&parent[i];
    }
    return i;
}

// Union by atomics: the greater root hangs below the smaller.
extern "C" __global__ void components(int *parent, const int2 *edges, int m, int *roots, int n, unsigned *done) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < m) {
        int a = root_of(parent, edges[i].x), b = root_of(parent, edges[i].y);
        while (a != b) {
            if (a > b) { int keep = a; a = b; b = keep; }
            int old = atomicCAS(&parent[b], b, a);
            if (old == b) break;
            a = root_of(parent, a);
            b = root_of(parent, old);
        }
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(done, 1u);
        while (*(volatile unsigned *)done < gridDim.x) { }
        __threadfence();
    }
    __syncthreads();
    if (i < n) roots[i] = root_of(parent, i);
}
