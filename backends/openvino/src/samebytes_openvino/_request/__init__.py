# SPDX-License-Identifier: Apache-2.0
"""Requests that run a model, and hold what was set on them, of which OpenVINO keeps nothing.

A tensor goes to a port in these steps: `_checks` compare it with the port, `_placing` finds the
memory in which the plugin can use it, by the rules of `_placement`, and `_bindings` gives it to
OpenVINO and holds it. `_inference` runs what is bound, `_outputs` are the results.
"""
