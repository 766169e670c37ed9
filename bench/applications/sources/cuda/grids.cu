// Images and grids: transposes, stencils with halos, convolution with a constant table, life, colours, resizing.
extern "C" __global__ void transpose(const float *in, float *out, int width, int height) {
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < width && y + j < height) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < height && y + j < width) out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

extern "C" __global__ void transpose_bytes(const uchar4 *in, uchar4 *out) {
    // 4x4 bytes a thread, by byte permutation
    const unsigned *rows = reinterpret_cast<const unsigned *>(in) + threadIdx.x * 4;
    unsigned a = rows[0], b = rows[1], c = rows[2], d = rows[3];
    unsigned low0 = __byte_perm(a, b, 0x5140), low1 = __byte_perm(c, d, 0x5140);
    unsigned high0 = __byte_perm(a, b, 0x7362), high1 = __byte_perm(c, d, 0x7362);
    uint4 result = {__byte_perm(low0, low1, 0x5410), __byte_perm(low0, low1, 0x7632),
                    __byte_perm(high0, high1, 0x5410), __byte_perm(high0, high1, 0x7632)};
    reinterpret_cast<uint4 *>(out)[threadIdx.x] = result;
}

#define RADIUS 3
__constant__ float weights[2 * RADIUS + 1] = {0.25f, -0.5f, 1.0f, 2.0f, 1.0f, -0.5f, 0.25f};

extern "C" __global__ void stencil_1d(const float *in, float *out, int n) {
    __shared__ float room[128 + 2 * RADIUS];
    int i = blockIdx.x * 128 + threadIdx.x, t = threadIdx.x + RADIUS;
    room[t] = i < n ? in[i] : 0.0f;
    if (threadIdx.x < RADIUS) {
        room[t - RADIUS] = i >= RADIUS ? in[i - RADIUS] : 0.0f;
        room[t + 128] = i + 128 < n ? in[i + 128] : 0.0f;
    }
    __syncthreads();
    float sum = 0;
    #pragma unroll
    for (int k = -RADIUS; k <= RADIUS; k++) sum += weights[k + RADIUS] * room[t + k];
    if (i < n) out[i] = sum;
}

extern "C" __global__ void stencil_2d(const double *in, double *out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    double here = in[y * width + x];
    if (x > 0 && y > 0 && x < width - 1 && y < height - 1)
        here += 0.125 * (in[y * width + x - 1] + in[y * width + x + 1] + in[(y - 1) * width + x] + in[(y + 1) * width + x]
                         - 4 * in[y * width + x]);
    out[y * width + x] = here;
}

// Marches through planes, holding three of them in registers.
extern "C" __global__ void stencil_3d(const float *in, float *out, int depth) {
    __shared__ float plane[10][18];
    int x = threadIdx.x, y = threadIdx.y, width = 16, height = 8;
    float below = 0, here = in[y * width + x], above;
    for (int i = y * 16 + x; i < 180; i += 128) (&plane[0][0])[i] = 0;
    for (int z = 0; z < depth; z++) {
        above = z + 1 < depth ? in[((z + 1) * height + y) * width + x] : 0;
        __syncthreads();
        plane[y + 1][x + 1] = here;
        __syncthreads();
        out[(z * height + y) * width + x] = above + below + plane[y][x + 1] + plane[y + 2][x + 1] + plane[y + 1][x]
                                            + plane[y + 1][x + 2] - 6 * here;
        below = here;
        here = above;
    }
}

__constant__ short kernel_2d[5][5] = {{1, 4, 6, 4, 1}, {4, 16, 24, 16, 4}, {6, 24, 36, 24, 6}, {4, 16, 24, 16, 4}, {1, 4, 6, 4, 1}};

extern "C" __global__ void convolve(const unsigned char *in, unsigned char *out, int width, int height) {
    __shared__ unsigned char tile[20][20];
    int left = blockIdx.x * 16 - 2, top = blockIdx.y * 16 - 2;
    for (int y = threadIdx.y; y < 20; y += 16)
        for (int x = threadIdx.x; x < 20; x += 16)
            tile[y][x] = in[min(max(top + y, 0), height - 1) * width + min(max(left + x, 0), width - 1)];
    __syncthreads();
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y, sum = 128;
    for (int j = 0; j < 5; j++)
        for (int i = 0; i < 5; i++) sum += kernel_2d[j][i] * tile[threadIdx.y + j][threadIdx.x + i];
    if (x < width && y < height) out[y * width + x] = sum >> 8;
}

// Rounds of the game of life on a torus, all in shared memory.
extern "C" __global__ void life(unsigned char *cells, int rounds) {
    __shared__ unsigned char world[2][16][16];
    int x = threadIdx.x, y = threadIdx.y, now = 0;
    world[0][y][x] = cells[y * 16 + x];
    for (int r = 0; r < rounds; r++) {
        __syncthreads();
        int around = 0;
        for (int j = -1; j <= 1; j++)
            for (int i = -1; i <= 1; i++)
                if (i || j) around += world[now][(y + j) & 15][(x + i) & 15];
        bool alive = around == 3 || (around == 2 && world[now][y][x]);
        now ^= 1;
        world[now][y][x] = alive;
    }
    cells[y * 16 + x] = world[now][y][x];
}

extern "C" __global__ void grey(const uchar3 *in, unsigned char *out, float *luma, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uchar3 p = in[i];
    out[i] = (77 * p.x + 150 * p.y + 29 * p.z + 128) >> 8;
    luma[i] = __saturatef((0.299f * p.x + 0.587f * p.y + 0.114f * p.z) / 255.0f);
}

extern "C" __global__ void hsv(const uchar4 *in, float4 *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uchar4 p = in[i];
    int most = max(max(p.x, p.y), p.z), least = min(min(p.x, p.y), p.z), range = most - least;
    float h = 0;
    if (range) {
        if (most == p.x) h = (float)(p.y - p.z) / range + (p.y < p.z ? 6 : 0);
        else if (most == p.y) h = (float)(p.z - p.x) / range + 2;
        else h = (float)(p.x - p.y) / range + 4;
    }
    out[i] = make_float4(h, most ? (float)range / most : 0, most / 255.0f, p.w / 255.0f);
}

extern "C" __global__ void resize(const float *in, int w, int h, float *out, int to_w, int to_h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= to_w || y >= to_h) return;
    float fx = fmaxf((x + 0.5f) * ((float)w / to_w) - 0.5f, 0.0f), fy = fmaxf((y + 0.5f) * ((float)h / to_h) - 0.5f, 0.0f);
    int x0 = (int)fx, y0 = (int)fy, x1 = min(x0 + 1, w - 1), y1 = min(y0 + 1, h - 1);
    fx -= x0;
    fy -= y0;
    float upper = __ldg(in + y0 * w + x0) * (1 - fx) + __ldg(in + y0 * w + x1) * fx;
    float lower = __ldg(in + y1 * w + x0) * (1 - fx) + __ldg(in + y1 * w + x1) * fx;
    out[y * to_w + x] = upper * (1 - fy) + lower * fy;
}

// The table of sums of all rectangles from the corner: rows by one block, then columns.
extern "C" __global__ void integral(const unsigned char *in, unsigned *out) {
    int t = threadIdx.x;
    unsigned sum = 0;
    for (int x = 0; x < 32; x++) out[t * 32 + x] = sum += in[t * 32 + x];
    __syncthreads();
    sum = 0;
    for (int y = 0; y < 32; y++) out[y * 32 + t] = sum += out[y * 32 + t];
}
