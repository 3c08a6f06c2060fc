# SPDX-License-Identifier: Apache-2.0
"""Errors that say why there is no lab on this machine."""

from devtools.workspace import CommandError


class LabUnavailableError(CommandError):
    """The lab cannot run here; the message says what is missing."""


class MissingToolError(LabUnavailableError):
    """A program is missing that one command would install."""


class NoKernelError(LabUnavailableError):
    """The kernel cannot be had: the archive is out of reach, or no longer has it."""
