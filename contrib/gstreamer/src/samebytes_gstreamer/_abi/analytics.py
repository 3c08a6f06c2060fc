# SPDX-License-Identifier: Apache-2.0
"""libgstanalytics-1.0.so.0, of gst-plugins-bad: results of analysis on buffers."""

from __future__ import annotations

from ctypes import (
    POINTER,
    Structure,
    c_char_p,
    c_float,
    c_int,
    c_size_t,
    c_uint,
    c_uint8,
    c_uint64,
    c_void_p,
)

from .gstreamer import GstMeta

__all__ = [
    "ANALYTICS",
    "ANY_RELATION",
    "GST_ANALYTICS_KEYPOINT_DIMENSIONS_2D",
    "GST_ANALYTICS_REL_TYPE_CONTAIN",
    "GST_ANALYTICS_REL_TYPE_IS_PART_OF",
    "GST_ANALYTICS_REL_TYPE_N_TO_N",
    "GST_ANALYTICS_REL_TYPE_RELATE_TO",
    "GST_SEGMENTATION_TYPE_INSTANCE",
    "GST_SEGMENTATION_TYPE_SEMANTIC",
    "KEYPOINTS",
    "ORIENTED",
    "RELATION_META_API_NAME",
    "SEGMENTATION",
    "TENSORS",
    "TENSOR_META_API_NAME",
    "GstAnalyticsMtd",
    "GstAnalyticsRelationMeta",
    "GstTensor",
    "GstTensorMeta",
]

RELATION_META_API_NAME = b"GstAnalyticsRelationMetaAPI"
"""gst/analytics/gstanalyticsmeta.c: the name of the API type."""

TENSOR_META_API_NAME = b"GstTensorMetaAPI"
"""gst/analytics/gsttensormeta.c: the name of the API type."""

GST_ANALYTICS_REL_TYPE_IS_PART_OF = 1 << 1
GST_ANALYTICS_REL_TYPE_CONTAIN = 1 << 2
GST_ANALYTICS_REL_TYPE_RELATE_TO = 1 << 3
GST_ANALYTICS_REL_TYPE_N_TO_N = 1 << 4
ANY_RELATION = 2**31 - 1
"""gst/analytics/gstanalyticsmeta.h: GstAnalyticsRelTypes."""


GST_SEGMENTATION_TYPE_SEMANTIC = 0
GST_SEGMENTATION_TYPE_INSTANCE = 1
"""gst/analytics/gstanalyticssegmentationmtd.h: GstSegmentationType."""


GST_ANALYTICS_KEYPOINT_DIMENSIONS_2D = 2
"""gst/analytics/gstanalyticskeypointmtd.h: GstAnalyticsKeypointDimensions."""


class GstAnalyticsMtd(Structure):
    """gst/analytics/gstanalyticsmeta.h: one result, by its number in a meta."""

    _fields_ = [("id", c_uint), ("meta", c_void_p)]


class GstAnalyticsRelationMeta(Structure):
    """gst/analytics/gstanalyticsmeta.c: its other fields are private."""

    _fields_ = [("meta", GstMeta)]


class GstTensorMeta(Structure):
    """gst/analytics/gsttensormeta.h: `tensors` is an array of GstTensor*."""

    _fields_ = [("meta", GstMeta), ("num_tensors", c_size_t), ("tensors", POINTER(c_void_p))]


class GstTensor(Structure):
    """gst/analytics/gsttensor.h: its dimensions, gsize, follow it."""

    _fields_ = [
        ("id", c_uint),
        ("layout", c_int),
        ("data_type", c_int),
        ("data", c_void_p),
        ("dims_order", c_int),
        ("num_dims", c_size_t),
    ]


_MTD = POINTER(GstAnalyticsMtd)
_INT, _FLOAT, _UINT64 = POINTER(c_int), POINTER(c_float), POINTER(c_uint64)
_UINT, _BYTES = POINTER(c_uint), POINTER(c_uint8)

ANALYTICS = {
    # gst/analytics/gstanalyticsmeta.h
    "gst_buffer_add_analytics_relation_meta": (c_void_p, c_void_p),
    "gst_buffer_get_analytics_relation_meta": (c_void_p, c_void_p),
    "gst_analytics_relation_get_length": (c_size_t, c_void_p),
    "gst_analytics_relation_meta_get_mtd": (c_int, c_void_p, c_uint, c_size_t, _MTD),
    "gst_analytics_relation_meta_get_direct_related": (
        c_int, c_void_p, c_uint, c_int, c_size_t, POINTER(c_void_p), _MTD,
    ),
    "gst_analytics_relation_meta_get_relation": (c_int, c_void_p, c_uint, c_uint),
    "gst_analytics_relation_meta_set_relation": (c_int, c_void_p, c_int, c_uint, c_uint),
    "gst_analytics_mtd_get_mtd_type": (c_size_t, _MTD),
    "gst_analytics_mtd_type_get_name": (c_char_p, c_size_t),
    # gst/analytics/gstanalyticsobjectdetectionmtd.h
    "gst_analytics_od_mtd_get_mtd_type": (c_size_t,),
    "gst_analytics_od_mtd_get_obj_type": (c_uint, _MTD),
    "gst_analytics_od_mtd_get_location": (c_int, _MTD, _INT, _INT, _INT, _INT, _FLOAT),
    "gst_analytics_relation_meta_add_od_mtd": (
        c_int, c_void_p, c_uint, c_int, c_int, c_int, c_int, c_float, _MTD,
    ),
    # gst/analytics/gstanalyticsclassificationmtd.h
    "gst_analytics_cls_mtd_get_mtd_type": (c_size_t,),
    "gst_analytics_cls_mtd_get_length": (c_size_t, _MTD),
    "gst_analytics_cls_mtd_get_level": (c_float, _MTD, c_size_t),
    "gst_analytics_cls_mtd_get_quark": (c_uint, _MTD, c_size_t),
    "gst_analytics_relation_meta_add_one_cls_mtd": (c_int, c_void_p, c_float, c_uint, _MTD),
    # gst/analytics/gstanalyticsobjecttrackingmtd.h
    "gst_analytics_tracking_mtd_get_mtd_type": (c_size_t,),
    "gst_analytics_tracking_mtd_get_info": (c_int, _MTD, _UINT64, _UINT64, _UINT64, _INT),
    "gst_analytics_relation_meta_add_tracking_mtd": (c_int, c_void_p, c_uint64, c_uint64, _MTD),
}  # fmt: skip

TENSORS = {
    # gst/analytics/gsttensor.h and gst/analytics/gsttensormeta.h, since 1.26
    "gst_tensor_new_simple": (
        c_void_p, c_uint, c_int, c_void_p, c_int, c_size_t, POINTER(c_size_t),
    ),
    "gst_tensor_copy": (c_void_p, c_void_p),
    "gst_buffer_add_tensor_meta": (c_void_p, c_void_p),
    "gst_buffer_get_tensor_meta": (c_void_p, c_void_p),
    "gst_tensor_meta_set": (None, c_void_p, c_uint, c_void_p),
}  # fmt: skip

ORIENTED = {
    # gst/analytics/gstanalyticsobjectdetectionmtd.h, since 1.26
    "gst_analytics_od_mtd_get_oriented_location": (
        c_int, _MTD, _INT, _INT, _INT, _INT, _FLOAT, _FLOAT,
    ),
    "gst_analytics_relation_meta_add_oriented_od_mtd": (
        c_int, c_void_p, c_uint, c_int, c_int, c_int, c_int, c_float, c_float, _MTD,
    ),
}  # fmt: skip

SEGMENTATION = {
    # gst/analytics/gstanalyticssegmentationmtd.h, since 1.26
    "gst_analytics_segmentation_mtd_get_mtd_type": (c_size_t,),
    "gst_analytics_segmentation_mtd_get_mask": (c_void_p, _MTD, _INT, _INT, _UINT, _UINT),
    "gst_analytics_segmentation_mtd_get_region_count": (c_size_t, _MTD),
    "gst_analytics_segmentation_mtd_get_region_id": (c_uint, _MTD, c_size_t),
    "gst_analytics_relation_meta_add_segmentation_mtd": (
        c_int, c_void_p, c_void_p, c_int, c_size_t, _UINT, c_int, c_int, c_uint, c_uint, _MTD,
    ),
    # gst/analytics/gstanalyticsclassificationmtd.h
    "gst_analytics_relation_meta_add_cls_mtd": (c_int, c_void_p, c_size_t, _FLOAT, _UINT, _MTD),
}  # fmt: skip

KEYPOINTS = {
    # gst/analytics/gstanalyticsmeta.h
    "gst_analytics_mtd_get_mtd_type": (c_size_t, _MTD),
    "gst_analytics_mtd_get_semantic_tag": (c_void_p, _MTD),  # since 1.30, as what follows
    # gst/analytics/gstanalyticsgroupmtd.h
    "gst_analytics_group_mtd_get_mtd_type": (c_size_t,),
    "gst_analytics_group_mtd_get_member_count": (c_size_t, _MTD),
    "gst_analytics_group_mtd_get_member": (c_int, _MTD, c_size_t, _MTD),
    # gst/analytics/gstanalyticskeypointmtd.h
    "gst_analytics_keypoint_mtd_get_mtd_type": (c_size_t,),
    "gst_analytics_keypoint_mtd_get_position": (c_int, _MTD, _INT, _INT, _INT, _INT),
    "gst_analytics_keypoint_mtd_get_confidence": (c_int, _MTD, _FLOAT),
    "gst_analytics_relation_meta_add_keypoints_group": (
        c_int, c_void_p, c_char_p, c_int, c_size_t, _INT, c_size_t, _FLOAT, _BYTES, c_size_t,
        _INT, _MTD,
    ),
}  # fmt: skip
