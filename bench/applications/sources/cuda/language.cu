// The language: recursion, pointers to functions, virtual functions, printing, the heap, structures by value.

__device__ int ackermann(int m, int n) {
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

__device__ int hanoi(int n, int from, int to, unsigned *log) {
    if (n == 0) return 0;
    int moves = hanoi(n - 1, from, 6 - from - to, log);
    *log = *log * 31 + from * 4 + to;
    return moves + 1 + hanoi(n - 1, 6 - from - to, to, log);
}

__device__ bool odd(int n);
__device__ __noinline__ bool even(int n) { return n == 0 || odd(n - 1); }
__device__ __noinline__ bool odd(int n) { return n != 0 && even(n - 1); }

extern "C" __global__ void recursion(int *out, unsigned *logs) {
    int i = threadIdx.x;
    unsigned log = 0;
    out[i * 3] = ackermann(2, i % 4);
    out[i * 3 + 1] = hanoi(i % 5, 1, 3, &log);
    out[i * 3 + 2] = even(i);
    logs[i] = log;
}

typedef float (*Function)(float, float);
__device__ float plus(float a, float b) { return a + b; }
__device__ float minus(float a, float b) { return a - b; }
__device__ float times(float a, float b) { return a * b; }
__device__ Function functions[3] = {plus, minus, times};

extern "C" __global__ void by_pointer(const int *which, const float *a, const float *b, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = functions[which[i]](a[i], b[i]);
}

struct Shape {
    float scale;
    __device__ Shape(float s) : scale(s) {}
    __device__ virtual float area() const = 0;
    __device__ virtual float edge() const { return scale * area(); }
    __device__ virtual ~Shape() {}
};
struct Square : Shape {
    float side;
    __device__ Square(float s) : Shape(2), side(s) {}
    __device__ float area() const override { return side * side; }
};
struct Circle : Shape {
    float radius;
    __device__ Circle(float r) : Shape(3), radius(r) {}
    __device__ float area() const override { return 3 * radius * radius; }
    __device__ float edge() const override { return 6 * radius; }
};

extern "C" __global__ void shapes(const float *sizes, float *out) {
    int i = threadIdx.x;
    Shape *shape;
    if (i % 3 == 0) shape = new Square(sizes[i]);
    else shape = new Circle(sizes[i]);
    out[i * 2] = shape->area();
    out[i * 2 + 1] = shape->edge();
    delete shape;
}

extern "C" __global__ void printing(int n, float x) {
    int i = threadIdx.x;
    if (i < n) printf("thread %d of %s: %5.2f %c %#x %lld%%\n", i, "block", x * i, 'a' + i, i * 255, (long long)i << 40);
}

struct Item { int value; Item *next; };

extern "C" __global__ void lists(int *out, int n) {
    Item *head = nullptr;
    for (int i = 0; i < n + threadIdx.x % 3; i++) {
        Item *item = (Item *)malloc(sizeof(Item));
        item->value = i * threadIdx.x;
        item->next = head;
        head = item;
    }
    int sum = 0, place = 1;
    while (head) {
        sum += head->value * place++;
        Item *next = head->next;
        free(head);
        head = next;
    }
    out[threadIdx.x] = sum;
}

struct Settings {
    char letter;
    double factor;
    short shifts[5];
    struct { int low, high; } bounds;
};

extern "C" __global__ void by_value(Settings settings, const float *in, float *out, uchar3 color, longlong3 wide) {
    int i = threadIdx.x;
    float v = in[i] * (float)settings.factor + settings.shifts[i % 5];
    v = fminf(fmaxf(v, (float)settings.bounds.low), (float)settings.bounds.high);
    settings.shifts[i % 5] = 7;
    out[i] = v + settings.letter + color.y + (float)wide.z + settings.shifts[(i + 1) % 5];
}

__device__ int counter = 41;
__constant__ unsigned char text[] = "tables of characters";
__device__ const float matrix[2][3] = {{1, 2, 3}, {4, 5, 6}};
__device__ int *pointer_to_counter = &counter;

extern "C" __global__ void variables(int *out, float *floats) {
    static __shared__ int shared[4][8];
    int i = threadIdx.x;
    shared[i / 8][i % 8] = text[i % (sizeof(text) - 1)];
    __syncthreads();
    if (i == 0) atomicAdd(pointer_to_counter, 1);
    __syncthreads();
    out[i] = shared[3 - i / 8][7 - i % 8] + *(volatile int *)pointer_to_counter * 1000;
    floats[i] = matrix[i % 2][i % 3];
}

extern "C" __global__ void __launch_bounds__(32, 2) interpreter(const unsigned char *code, int n, int *out) {
    int stack[8], top = 0, x = threadIdx.x;
    for (int pc = 0; pc < n; pc++) {
        switch (code[pc] >> 4) {
        case 0: stack[top++] = code[pc] & 15; break;
        case 1: stack[top++] = x; break;
        case 2: top--; stack[top - 1] += stack[top]; break;
        case 3: top--; stack[top - 1] *= stack[top]; break;
        case 4: top--; stack[top - 1] -= stack[top]; break;
        case 5: stack[top] = stack[top - 1]; top++; break;
        case 6: if (stack[--top] & 1) pc += code[pc] & 15; break;
        case 7: { int keep = stack[top - 1]; stack[top - 1] = stack[top - 2]; stack[top - 2] = keep; } break;
        }
    }
    out[x] = stack[top - 1];
}

template <typename T, int N> struct Vector {
    T data[N];
    __device__ Vector operator+(const Vector &other) const { Vector r; for (int i = 0; i < N; i++) r.data[i] = data[i] + other.data[i]; return r; }
    template <typename F> __device__ Vector map(F f) const { Vector r; for (int i = 0; i < N; i++) r.data[i] = f(data[i]); return r; }
};

extern "C" __global__ void templates(const short *in, short *out, double *wide) {
    Vector<short, 3> a, b;
    for (int i = 0; i < 3; i++) {
        a.data[i] = in[threadIdx.x * 3 + i];
        b.data[i] = threadIdx.x;
    }
    int shift = threadIdx.x & 3;
    Vector<short, 3> c = (a + b).map([=](short v) { return (short)(v << shift); });
    Vector<double, 2> d = {{1.5, a.data[0] * 0.5}}, e = d.map([](double v) { return v * v; });
    for (int i = 0; i < 3; i++) out[threadIdx.x * 3 + i] = c.data[i];
    wide[threadIdx.x] = e.data[0] + e.data[1];
}

union Bits { float f; unsigned u; struct { unsigned fraction : 23, power : 8, sign : 1; } parts; };

extern "C" __global__ void punning(const float *in, unsigned *out) {
    Bits bits;
    bits.f = in[threadIdx.x];
    bits.parts.power += 1;
    bits.parts.sign ^= 1;
    out[threadIdx.x] = bits.u;
}
