// Textures and surfaces through objects: every dimension and kind of fetch.
extern "C" __global__ void fetched(cudaTextureObject_t t, float4 *out, int4 *ints, float x) {
    out[0] = tex1D<float4>(t, x); out[1] = tex2D<float4>(t, x, 1.f); out[2] = tex3D<float4>(t, x, 1.f, 2.f);
    out[3] = tex1DLayered<float4>(t, x, 3); out[4] = tex2DLayered<float4>(t, x, 1.f, 3); out[5] = texCubemap<float4>(t, x, 1.f, 2.f);
    out[6] = texCubemapLayered<float4>(t, x, 1.f, 2.f, 4);
    out[7] = tex1DLod<float4>(t, x, 2.f); out[8] = tex2DLod<float4>(t, x, 1.f, 2.f); out[9] = tex3DLod<float4>(t, x, 1.f, 2.f, 3.f);
    out[10] = tex1DGrad<float4>(t, x, 1.f, 2.f); out[11] = tex2DGrad<float4>(t, x, 1.f, float2{1, 2}, float2{3, 4});
    out[12] = tex3DGrad<float4>(t, x, 1.f, 2.f, float4{1, 2, 3, 4}, float4{5, 6, 7, 8});
    out[13] = tex2Dgather<float4>(t, x, 1.f, 0); out[14] = tex2Dgather<float4>(t, x, 1.f, 2);
    out[15].x = tex1Dfetch<float>(t, 5); out[15].y = tex2D<float>(t, x, x);
    ints[0] = tex1Dfetch<int4>(t, 7); ints[1].x = tex2D<int2>(t, x, x).y + tex3D<unsigned>(t, x, x, x) + tex1D<unsigned char>(t, x) + tex2D<short>(t, x, x);
    out[16] = tex2DLayeredLod<float4>(t, x, 1.f, 2, 3.f);
}

extern "C" __global__ void stored(cudaSurfaceObject_t s, int4 *ints, float2 *f) {
    ints[0] = surf1Dread<int4>(s, 16); ints[1].x = surf2Dread<int>(s, 4, 2); f[0] = surf3Dread<float2>(s, 8, 2, 3);
    ints[2].y = surf1DLayeredread<unsigned char>(s, 3, 1); ints[3].x = surf2DLayeredread<short2>(s, 3, 1, 4, cudaBoundaryModeClamp).x;
    ints[4].x = surfCubemapread<int>(s, 4, 2, 1); ints[4].y = surf2Dread<int>(s, 4, 2, cudaBoundaryModeZero);
    surf1Dwrite(ints[5], s, 16); surf2Dwrite(f[1], s, 8, 3); surf3Dwrite(ints[6].x, s, 4, 3, 2, cudaBoundaryModeZero);
    surf1DLayeredwrite((char)3, s, 1, 2); surf2DLayeredwrite((short)3, s, 2, 2, 1, cudaBoundaryModeTrap);
    surf2Dwrite(7LL, s, 8, 3, cudaBoundaryModeClamp);
}

extern "C" __global__ void asked(cudaTextureObject_t t, unsigned long long s, unsigned *out) {
    asm("txq.width.b32 %0, [%1];" : "=r"(out[0]) : "l"(t));
    asm("txq.height.b32 %0, [%1];" : "=r"(out[1]) : "l"(t));
    asm("txq.channel_data_type.b32 %0, [%1];" : "=r"(out[2]) : "l"(t));
    asm("suq.width.b32 %0, [%1];" : "=r"(out[3]) : "l"(s));
    asm("suq.channel_order.b32 %0, [%1];" : "=r"(out[4]) : "l"(s));
}
