# SPDX-License-Identifier: Apache-2.0
"""The part of libva's C interface that is used here, as its headers declare it.

Sources: va/va.h, va/va_drmcommon.h, va/va_drm.h, va/va_x11.h and va/va_backend.h of libva 2.17.
The names are the headers' names.
"""
