# SPDX-License-Identifier: Apache-2.0
"""The table of known pixel formats: data only, one line for each format.

Names follow GStreamer and VA-API and list bytes in the order of memory: BGRX is blue, green,
red, padding. DRM codes are from the kernel's drm_fourcc.h, which names a pixel's bytes from the
highest to the lowest instead (its XRGB8888, "XR24", is BGRX here). Where both use one word for
two layouts, the word has the meaning it has in FFmpeg and GStreamer: AYUV is alpha first in
memory, and DRM's and VA-API's AYUV is VUYA.

All elements are little-endian.
Left out: formats whose elements are not whole bytes (one-bit images, v210, NV12_10LE40), palettes
and Bayer patterns.
"""

from typing import Literal, NamedTuple

__all__ = ["ROWS", "SAMPLINGS", "Row"]

SAMPLINGS = {
    "444": (0, 0),
    "440": (0, 1),
    "422": (1, 0),
    "420": (1, 1),
    "411": (2, 0),
    "410": (2, 2),
}
"""log2 of the horizontal and vertical subsampling of chroma."""


class Row(NamedTuple):
    """One format.

    planes: one word for each plane in the order of memory, one letter for each component.
    sampling: of the planes that hold nothing but u and v; all others have full resolution.
    packing: "word": all components of a pixel share one element, low bits first;
        "pair": the letters describe two neighbouring pixels (packed 4:2:2).
    """

    name: str
    planes: str
    sampling: str = "444"
    dtype: str = "uint8"
    bits: int = 8
    shift: int = 0
    packing: Literal["", "word", "pair"] = ""
    ffmpeg: str | None = None
    drm: str | None = None
    also: str = ""


U8, U16, U32, F16, F32 = "uint8", "uint16", "uint32", "float16", "float32"

ROWS: tuple[Row, ...] = (
    # YUV, luma plane and one plane of interleaved chroma
    Row("NV12", "y uv", "420", U8, 8, ffmpeg="nv12", drm="NV12"),
    Row("NV21", "y vu", "420", U8, 8, ffmpeg="nv21", drm="NV21"),
    Row("NV16", "y uv", "422", U8, 8, ffmpeg="nv16", drm="NV16"),
    Row("NV61", "y vu", "422", U8, 8, drm="NV61"),
    Row("NV24", "y uv", "444", U8, 8, ffmpeg="nv24", drm="NV24"),
    Row("NV42", "y vu", "444", U8, 8, ffmpeg="nv42", drm="NV42"),
    Row("P010", "y uv", "420", U16, 10, 6, ffmpeg="p010le", drm="P010", also="P010_10LE"),
    Row("P012", "y uv", "420", U16, 12, 4, ffmpeg="p012le", drm="P012", also="P012_LE"),
    Row("P016", "y uv", "420", U16, 16, ffmpeg="p016le", drm="P016", also="P016_LE"),
    Row("P210", "y uv", "422", U16, 10, 6, ffmpeg="p210le", drm="P210"),
    Row("P212", "y uv", "422", U16, 12, 4, ffmpeg="p212le"),
    Row("P216", "y uv", "422", U16, 16, ffmpeg="p216le"),
    Row("P410", "y uv", "444", U16, 10, 6, ffmpeg="p410le"),
    Row("P412", "y uv", "444", U16, 12, 4, ffmpeg="p412le"),
    Row("P416", "y uv", "444", U16, 16, ffmpeg="p416le"),
    Row("AV12", "y uv a", "420", U8, 8),
    # YUV, three planes, 8 bits
    Row("I420", "y u v", "420", U8, 8, ffmpeg="yuv420p", drm="YU12", also="IYUV YU12 yuvj420p"),
    Row("YV12", "y v u", "420", U8, 8, drm="YV12"),
    Row("I422", "y u v", "422", U8, 8, ffmpeg="yuv422p", drm="YU16", also="Y42B 422H yuvj422p"),
    Row("YV16", "y v u", "422", U8, 8, drm="YV16"),
    Row("I440", "y u v", "440", U8, 8, ffmpeg="yuv440p", also="422V yuvj440p"),
    Row("I444", "y u v", "444", U8, 8, ffmpeg="yuv444p", drm="YU24", also="Y444 444P yuvj444p"),
    Row("YV24", "y v u", "444", U8, 8, drm="YV24"),
    Row("I411", "y u v", "411", U8, 8, ffmpeg="yuv411p", drm="YU11", also="Y41B 411P yuvj411p"),
    Row("I410", "y u v", "410", U8, 8, ffmpeg="yuv410p", drm="YUV9", also="YUV9"),
    Row("YVU9", "y v u", "410", U8, 8, drm="YVU9"),
    # YUV, three planes, more bits (standing low unless said otherwise)
    Row("I420_9", "y u v", "420", U16, 9, ffmpeg="yuv420p9le"),
    Row("I420_10", "y u v", "420", U16, 10, 0, "", "yuv420p10le", "S010", "I420_10LE I010"),
    Row("I420_12", "y u v", "420", U16, 12, ffmpeg="yuv420p12le", drm="S012", also="I420_12LE"),
    Row("I420_14", "y u v", "420", U16, 14, ffmpeg="yuv420p14le"),
    Row("I420_16", "y u v", "420", U16, 16, ffmpeg="yuv420p16le", drm="S016"),
    Row("I422_9", "y u v", "422", U16, 9, ffmpeg="yuv422p9le"),
    Row("I422_10", "y u v", "422", U16, 10, ffmpeg="yuv422p10le", drm="S210", also="I422_10LE"),
    Row("I422_12", "y u v", "422", U16, 12, ffmpeg="yuv422p12le", drm="S212", also="I422_12LE"),
    Row("I422_14", "y u v", "422", U16, 14, ffmpeg="yuv422p14le"),
    Row("I422_16", "y u v", "422", U16, 16, ffmpeg="yuv422p16le", drm="S216"),
    Row("I440_10", "y u v", "440", U16, 10, ffmpeg="yuv440p10le"),
    Row("I440_12", "y u v", "440", U16, 12, ffmpeg="yuv440p12le"),
    Row("I444_9", "y u v", "444", U16, 9, ffmpeg="yuv444p9le"),
    Row("I444_10", "y u v", "444", U16, 10, ffmpeg="yuv444p10le", drm="S410", also="Y444_10LE"),
    Row("I444_12", "y u v", "444", U16, 12, ffmpeg="yuv444p12le", drm="S412", also="Y444_12LE"),
    Row("I444_14", "y u v", "444", U16, 14, ffmpeg="yuv444p14le"),
    Row("I444_16", "y u v", "444", U16, 16, ffmpeg="yuv444p16le", drm="S416", also="Y444_16LE"),
    Row("Q410", "y u v", "444", U16, 10, 6, ffmpeg="yuv444p10msble", drm="Q410"),
    Row("Q412", "y u v", "444", U16, 12, 4, ffmpeg="yuv444p12msble"),
    # YUV, three planes and alpha
    Row("A420", "y u v a", "420", U8, 8, ffmpeg="yuva420p"),
    Row("A420_9", "y u v a", "420", U16, 9, ffmpeg="yuva420p9le"),
    Row("A420_10", "y u v a", "420", U16, 10, ffmpeg="yuva420p10le", also="A420_10LE"),
    Row("A420_16", "y u v a", "420", U16, 16, ffmpeg="yuva420p16le", also="A420_16LE"),
    Row("A422", "y u v a", "422", U8, 8, ffmpeg="yuva422p"),
    Row("A422_9", "y u v a", "422", U16, 9, ffmpeg="yuva422p9le"),
    Row("A422_10", "y u v a", "422", U16, 10, ffmpeg="yuva422p10le", also="A422_10LE"),
    Row("A422_12", "y u v a", "422", U16, 12, ffmpeg="yuva422p12le", also="A422_12LE"),
    Row("A422_16", "y u v a", "422", U16, 16, ffmpeg="yuva422p16le", also="A422_16LE"),
    Row("A444", "y u v a", "444", U8, 8, ffmpeg="yuva444p"),
    Row("A444_9", "y u v a", "444", U16, 9, ffmpeg="yuva444p9le"),
    Row("A444_10", "y u v a", "444", U16, 10, ffmpeg="yuva444p10le", also="A444_10LE"),
    Row("A444_12", "y u v a", "444", U16, 12, ffmpeg="yuva444p12le", also="A444_12LE"),
    Row("A444_16", "y u v a", "444", U16, 16, ffmpeg="yuva444p16le", also="A444_16LE"),
    # YUV, packed 4:2:2
    Row("YUY2", "yuyv", packing="pair", ffmpeg="yuyv422", drm="YUYV", also="YUYV"),
    Row("YVYU", "yvyu", packing="pair", ffmpeg="yvyu422", drm="YVYU"),
    Row("UYVY", "uyvy", packing="pair", ffmpeg="uyvy422", drm="UYVY"),
    Row("VYUY", "vyuy", packing="pair", drm="VYUY"),
    Row("Y210", "yuyv", "444", U16, 10, 6, "pair", ffmpeg="y210le", drm="Y210"),
    Row("Y212", "yuyv", "444", U16, 12, 4, "pair", ffmpeg="y212le", drm="Y212", also="Y212_LE"),
    Row("Y216", "yuyv", "444", U16, 16, 0, "pair", ffmpeg="y216le", drm="Y216", also="Y216_LE"),
    # YUV, packed 4:4:4
    Row("V308", "yuv", drm="VU24"),
    Row("IYU2", "uyv"),
    Row("VYU444", "vyu", ffmpeg="vyu444"),
    Row("AYUV", "ayuv", ffmpeg="ayuv"),
    Row("VUYA", "vuya", ffmpeg="vuya", drm="AYUV"),
    Row("VUYX", "vuyx", ffmpeg="vuyx", drm="XYUV"),
    Row("UYVA", "uyva", ffmpeg="uyva"),
    Row("AYUV64", "ayuv", "444", U16, 16, ffmpeg="ayuv64le", also="AYUV64_LE"),
    Row("Y410", "uyva", "444", U32, 10, 0, "word", drm="Y410"),
    Row("XV30", "uyvx", "444", U32, 10, 0, "word", ffmpeg="xv30le", drm="XV30"),
    Row("V30X", "xuyv", "444", U32, 10, 2, "word", ffmpeg="v30xle"),
    Row("Y412", "uyva", "444", U16, 12, 4, drm="Y412", also="Y412_LE"),
    Row("XV36", "uyvx", "444", U16, 12, 4, ffmpeg="xv36le", drm="XV36"),
    Row("Y416", "uyva", "444", U16, 16, drm="Y416", also="Y416_LE"),
    Row("XV48", "uyvx", "444", U16, 16, ffmpeg="xv48le", drm="XV48"),
    # Gray
    Row("GRAY8", "y", ffmpeg="gray", drm="R8", also="Y800 Y8 GREY"),
    Row("GRAY9", "y", "444", U16, 9, ffmpeg="gray9le"),
    Row("GRAY10", "y", "444", U16, 10, ffmpeg="gray10le", also="GRAY10_LE16"),
    Row("GRAY12", "y", "444", U16, 12, ffmpeg="gray12le"),
    Row("GRAY14", "y", "444", U16, 14, ffmpeg="gray14le"),
    Row("GRAY16", "y", "444", U16, 16, ffmpeg="gray16le", drm="R16", also="GRAY16_LE Y16"),
    Row("GRAY32", "y", "444", U32, 32, ffmpeg="gray32le"),
    Row("GRAYF16", "y", "444", F16, 16, ffmpeg="grayf16le"),
    Row("GRAYF32", "y", "444", F32, 32, ffmpeg="grayf32le"),
    Row("YA8", "ya", ffmpeg="ya8", also="gray8a"),
    Row("YA16", "ya", "444", U16, 16, ffmpeg="ya16le"),
    Row("YAF16", "ya", "444", F16, 16, ffmpeg="yaf16le"),
    Row("YAF32", "ya", "444", F32, 32, ffmpeg="yaf32le"),
    # RGB, packed bytes
    Row("RGB", "rgb", ffmpeg="rgb24", drm="BG24", also="RGB3"),
    Row("BGR", "bgr", ffmpeg="bgr24", drm="RG24", also="BGR3"),
    Row("RGBA", "rgba", ffmpeg="rgba", drm="AB24"),
    Row("BGRA", "bgra", ffmpeg="bgra", drm="AR24"),
    Row("ARGB", "argb", ffmpeg="argb", drm="BA24"),
    Row("ABGR", "abgr", ffmpeg="abgr", drm="RA24"),
    Row("RGBX", "rgbx", ffmpeg="rgb0", drm="XB24"),
    Row("BGRX", "bgrx", ffmpeg="bgr0", drm="XR24"),
    Row("XRGB", "xrgb", ffmpeg="0rgb", drm="BX24"),
    Row("XBGR", "xbgr", ffmpeg="0bgr", drm="RX24"),
    # RGB, packed, more bits
    Row("RGB48", "rgb", "444", U16, 16, ffmpeg="rgb48le"),
    Row("BGR48", "bgr", "444", U16, 16, ffmpeg="bgr48le"),
    Row("RGBA64", "rgba", "444", U16, 16, ffmpeg="rgba64le", drm="AB48", also="RGBA64_LE"),
    Row("BGRA64", "bgra", "444", U16, 16, ffmpeg="bgra64le", drm="AR48", also="BGRA64_LE"),
    Row("ARGB64", "argb", "444", U16, 16, also="ARGB64_LE"),
    Row("ABGR64", "abgr", "444", U16, 16, also="ABGR64_LE"),
    Row("RGB96", "rgb", "444", U32, 32, ffmpeg="rgb96le"),
    Row("RGBA128", "rgba", "444", U32, 32, ffmpeg="rgba128le"),
    Row("RGBF16", "rgb", "444", F16, 16, ffmpeg="rgbf16le"),
    Row("RGBAF16", "rgba", "444", F16, 16, ffmpeg="rgbaf16le", drm="AB4H"),
    Row("BGRAF16", "bgra", "444", F16, 16, drm="AR4H"),
    Row("RGBF32", "rgb", "444", F32, 32, ffmpeg="rgbf32le"),
    Row("BGRF32", "bgr", "444", F32, 32),
    Row("RGBAF32", "rgba", "444", F32, 32, ffmpeg="rgbaf32le"),
    # RGB, a pixel in one word
    Row("RGB565", "bgr", "444", U16, 6, 0, "word", ffmpeg="rgb565le", drm="RG16", also="RGB16"),
    Row("BGR565", "rgb", "444", U16, 6, 0, "word", ffmpeg="bgr565le", drm="BG16", also="BGR16"),
    Row("RGB555", "bgrx", "444", U16, 5, 0, "word", ffmpeg="rgb555le", drm="XR15", also="RGB15"),
    Row("BGR555", "rgbx", "444", U16, 5, 0, "word", ffmpeg="bgr555le", drm="XB15", also="BGR15"),
    Row("RGB444", "bgrx", "444", U16, 4, 0, "word", ffmpeg="rgb444le", drm="XR12"),
    Row("BGR444", "rgbx", "444", U16, 4, 0, "word", ffmpeg="bgr444le", drm="XB12"),
    Row("X2RGB10", "bgrx", "444", U32, 10, 0, "word", "x2rgb10le", "XR30", "BGR10x2_LE"),
    Row("X2BGR10", "rgbx", "444", U32, 10, 0, "word", "x2bgr10le", "XB30", "RGB10x2_LE"),
    Row("BGR10A2", "bgra", "444", U32, 10, 0, "word", drm="AR30", also="BGR10A2_LE"),
    Row("RGB10A2", "rgba", "444", U32, 10, 0, "word", drm="AB30", also="RGB10A2_LE"),
    # RGB, planar
    Row("RGBP", "r g b"),
    Row("BGRP", "b g r"),
    Row("RGBP16", "r g b", "444", U16, 16),
    Row("BGRP16", "b g r", "444", U16, 16),
    Row("RGBPF16", "r g b", "444", F16, 16),
    Row("BGRPF16", "b g r", "444", F16, 16),
    Row("RGBPF32", "r g b", "444", F32, 32),
    Row("BGRPF32", "b g r", "444", F32, 32),
    Row("GBRP", "g b r", ffmpeg="gbrp", also="GBR"),
    Row("GBRP9", "g b r", "444", U16, 9, ffmpeg="gbrp9le"),
    Row("GBRP10", "g b r", "444", U16, 10, ffmpeg="gbrp10le", also="GBR_10LE"),
    Row("GBRP12", "g b r", "444", U16, 12, ffmpeg="gbrp12le", also="GBR_12LE"),
    Row("GBRP14", "g b r", "444", U16, 14, ffmpeg="gbrp14le"),
    Row("GBRP16", "g b r", "444", U16, 16, ffmpeg="gbrp16le", also="GBR_16LE"),
    Row("GBRP10MSB", "g b r", "444", U16, 10, 6, ffmpeg="gbrp10msble"),
    Row("GBRP12MSB", "g b r", "444", U16, 12, 4, ffmpeg="gbrp12msble"),
    Row("GBRPF16", "g b r", "444", F16, 16, ffmpeg="gbrpf16le"),
    Row("GBRPF32", "g b r", "444", F32, 32, ffmpeg="gbrpf32le"),
    Row("GBRAP", "g b r a", ffmpeg="gbrap", also="GBRA"),
    Row("GBRAP10", "g b r a", "444", U16, 10, ffmpeg="gbrap10le", also="GBRA_10LE"),
    Row("GBRAP12", "g b r a", "444", U16, 12, ffmpeg="gbrap12le", also="GBRA_12LE"),
    Row("GBRAP14", "g b r a", "444", U16, 14, ffmpeg="gbrap14le"),
    Row("GBRAP16", "g b r a", "444", U16, 16, ffmpeg="gbrap16le"),
    Row("GBRAP32", "g b r a", "444", U32, 32, ffmpeg="gbrap32le"),
    Row("GBRAPF16", "g b r a", "444", F16, 16, ffmpeg="gbrapf16le"),
    Row("GBRAPF32", "g b r a", "444", F32, 32, ffmpeg="gbrapf32le"),
)
