# SPDX-License-Identifier: Apache-2.0
"""The element of pipelines: openvino.infer (`_infer`).

`_requests` has its models, with their requests and batches, `_second_stage` runs them on regions of
frames, and `_results` adds to frames and regions what came of it.
"""
