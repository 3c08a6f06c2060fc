# SPDX-License-Identifier: Apache-2.0
"""The part of Level Zero's C interface that is used here, as its headers declare it.

Sources: level_zero/ze_api.h and level_zero/loader/ze_loader.h of libze-dev 1.8, and for what is
newer the Level Zero specification, core programming guide. The names are the headers' names.
"""
