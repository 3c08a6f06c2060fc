# SPDX-License-Identifier: Apache-2.0
"""Requests that run a model, and hold what was set on them, of which OpenVINO keeps nothing.

A tensor comes to a port in four steps: `wrap` makes it one of samebytes', `place` finds the memory
in which the plugin uses it (`_placing`), after the checks and by the rules of `_binding`; then it
is given to OpenVINO, and held (`_bindings`). `_inference` runs what is bound, OpenVINO reports the
end through `_callbacks`, and `_outputs` are the results.
"""
