# SPDX-License-Identifier: Apache-2.0
"""The set-ups on machines that have nothing yet.

A warm machine hides what a set-up forgets: packages that another installed, pip's cache, settings
of the user. Here a pristine Debian, made with debootstrap, holds what a row of the table says and
nothing else.
"""
