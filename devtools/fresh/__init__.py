# SPDX-License-Identifier: Apache-2.0
"""The set-ups on machines that have nothing yet.

A used machine hides what a set-up forgets, by packages that another one installed, pip's cache, and
settings of the user. Here a pristine Debian, made with debootstrap, holds only what a row of the
table names.
"""
