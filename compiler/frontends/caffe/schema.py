"""Messages of Caffe's networks and weights, with the fields that a converter reads.

Source: caffe.proto of BVLC/caffe; of its branch for SSD (weiliu89) the layers of detectors. Layers that forks alone
have are read from text, for which the numbers of their fields do not matter.
"""

from __future__ import annotations

from ..message_classes import message_classes

# Packed numbers are as bytes are, and so are read without an object for each.
_BLOB = """
message BlobShape { repeated int64 dim = 1; }
message Blob {
  int32 num = 1; int32 channels = 2; int32 height = 3; int32 width = 4;
  bytes data = 5; BlobShape shape = 7; bytes double_data = 8;
}
"""

_KINDS_OF_V1 = """
  enum Kind {
    NONE = 0; ACCURACY = 1; BNLL = 2; CONCAT = 3; CONVOLUTION = 4; DATA = 5; DROPOUT = 6; EUCLIDEAN_LOSS = 7;
    FLATTEN = 8; HDF5_DATA = 9; HDF5_OUTPUT = 10; IM2COL = 11; IMAGE_DATA = 12; INFOGAIN_LOSS = 13; INNER_PRODUCT = 14;
    LRN = 15; MULTINOMIAL_LOGISTIC_LOSS = 16; POOLING = 17; RELU = 18; SIGMOID = 19; SOFTMAX = 20; SOFTMAX_LOSS = 21;
    SPLIT = 22; TANH = 23; WINDOW_DATA = 24; ELTWISE = 25; POWER = 26; SIGMOID_CROSS_ENTROPY_LOSS = 27;
    HINGE_LOSS = 28; MEMORY_DATA = 29; ARGMAX = 30; THRESHOLD = 31; DUMMY_DATA = 32; SLICE = 33; MVN = 34; ABSVAL = 35;
    SILENCE = 36; CONTRASTIVE_LOSS = 37; EXP = 38; DECONVOLUTION = 39;
  }
"""

_PARAMETERS = """
enum Phase { TRAIN = 0; TEST = 1; }
message Rule {
  Phase phase = 1; int32 min_level = 2; int32 max_level = 3; repeated string stage = 4; repeated string not_stage = 5;
}
message Input { repeated BlobShape shape = 1; }
message MemoryData { uint32 batch_size = 1; uint32 channels = 2; uint32 height = 3; uint32 width = 4; }
message ArgMax { bool out_max_val = 1; uint32 top_k = 2 [default = 1]; int32 axis = 3; }
message BatchNorm { bool use_global_stats = 1; float eps = 3 [default = 1e-5]; bool scale_bias = 7; }
message Broadcast { int32 axis = 1 [default = 1]; int32 num_axes = 2 [default = 1]; bool bias_term = 4; }
message Clip { float min = 1; float max = 2; }
message Concat { uint32 concat_dim = 1 [default = 1]; int32 axis = 2 [default = 1]; }
message Convolution {
  uint32 num_output = 1; bool bias_term = 2 [default = true];
  repeated uint32 pad = 3; repeated uint32 kernel_size = 4; uint32 group = 5 [default = 1];
  repeated uint32 stride = 6; repeated uint32 dilation = 18;
  uint32 pad_h = 9; uint32 pad_w = 10; uint32 kernel_h = 11; uint32 kernel_w = 12; uint32 stride_h = 13;
  uint32 stride_w = 14; int32 axis = 16 [default = 1];
}
message Crop { int32 axis = 1 [default = 2]; repeated uint32 offset = 2; }
message Suppression { float nms_threshold = 1 [default = 0.3]; int32 top_k = 2; float eta = 3 [default = 1.0]; }
enum CodeType { CORNER = 1; CENTER_SIZE = 2; CORNER_SIZE = 3; }
message DetectionOutput {
  uint32 num_classes = 1; bool share_location = 2 [default = true]; int32 background_label_id = 3;
  Suppression nms_param = 4; CodeType code_type = 6 [default = CORNER]; int32 keep_top_k = 7 [default = -1];
  bool variance_encoded_in_target = 8; float confidence_threshold = 9;
}
message Eltwise {
  enum Operation { PROD = 0; SUM = 1; MAX = 2; MIN = 3; }
  Operation operation = 1 [default = SUM]; repeated float coeff = 2;
}
message Elu { float alpha = 1 [default = 1]; }
message Embed { uint32 num_output = 1; uint32 input_dim = 2; bool bias_term = 3 [default = true]; }
message Affine { float base = 1 [default = -1]; float scale = 2 [default = 1]; float shift = 3; }
message Flatten { int32 axis = 1 [default = 1]; int32 end_axis = 2 [default = -1]; }
message InnerProduct {
  uint32 num_output = 1; bool bias_term = 2 [default = true]; int32 axis = 5 [default = 1]; bool transpose = 6;
}
message Interp {
  int32 height = 1; int32 width = 2; int32 zoom_factor = 3 [default = 1]; int32 shrink_factor = 4 [default = 1];
  int32 pad_beg = 5; int32 pad_end = 6;
}
message Lrn {
  enum Region { ACROSS_CHANNELS = 0; WITHIN_CHANNEL = 1; }
  uint32 local_size = 1 [default = 5]; float alpha = 2 [default = 1]; float beta = 3 [default = 0.75];
  Region norm_region = 4 [default = ACROSS_CHANNELS]; float k = 5 [default = 1];
}
message Mvn { bool normalize_variance = 1 [default = true]; bool across_channels = 2; float eps = 3 [default = 1e-9]; }
message Normalize {
  bool across_spatial = 1 [default = true]; bool channel_shared = 3 [default = true]; float eps = 4 [default = 1e-10];
}
message Permute { repeated uint32 order = 1; }
message Parameter { BlobShape shape = 1; }
message Pooling {
  enum Method { MAX = 0; AVE = 1; STOCHASTIC = 2; }
  enum Rounding { CEIL = 0; FLOOR = 1; }
  Method pool = 1 [default = MAX]; uint32 kernel_size = 2; uint32 stride = 3 [default = 1]; uint32 pad = 4;
  uint32 kernel_h = 5; uint32 kernel_w = 6; uint32 stride_h = 7; uint32 stride_w = 8; uint32 pad_h = 9;
  uint32 pad_w = 10; bool global_pooling = 12; bool ceil_mode = 1001 [default = true];
  Rounding round_mode = 13 [default = CEIL];
}
message Power { float power = 1 [default = 1]; float scale = 2 [default = 1]; float shift = 3; }
message PRelu { bool channel_shared = 2; }
message PriorBox {
  repeated float min_size = 1; repeated float max_size = 2; repeated float aspect_ratio = 3;
  bool flip = 4 [default = true]; bool clip = 5; repeated float variance = 6; uint32 img_size = 7; uint32 img_h = 8;
  uint32 img_w = 9; float step = 10; float step_h = 11; float step_w = 12; float offset = 13 [default = 0.5];
}
message Reduction {
  enum Operation { SUM = 1; ASUM = 2; SUMSQ = 3; MEAN = 4; }
  Operation operation = 1 [default = SUM]; int32 axis = 2; float coeff = 3 [default = 1];
}
message Relu { float negative_slope = 1; }
message Reshape { BlobShape shape = 1; int32 axis = 2; int32 num_axes = 3 [default = -1]; }
message ShuffleChannel { uint32 group = 1 [default = 1]; }
message Slice { uint32 slice_dim = 1 [default = 1]; repeated uint32 slice_point = 2; int32 axis = 3 [default = 1]; }
message Softmax { int32 axis = 2 [default = 1]; }
message Swish { float beta = 1 [default = 1]; }
message Threshold { float threshold = 1; }
message Tile { int32 axis = 1 [default = 1]; int32 tiles = 2; }
message Upsample { float scale = 1 [default = 2]; uint32 upsample_h = 2; uint32 upsample_w = 3; }
"""

_BY_BOTH = (
    ("ArgMax", "argmax_param", 103, 23),
    ("Concat", "concat_param", 104, 9),
    ("Convolution", "convolution_param", 106, 10),
    ("Eltwise", "eltwise_param", 110, 24),
    ("Affine", "exp_param", 111, 41),
    ("InnerProduct", "inner_product_param", 117, 17),
    ("Lrn", "lrn_param", 118, 18),
    ("MemoryData", "memory_data_param", 119, 22),
    ("Mvn", "mvn_param", 120, 34),
    ("Pooling", "pooling_param", 121, 19),
    ("Power", "power_param", 122, 21),
    ("Relu", "relu_param", 123, 30),
    ("Softmax", "softmax_param", 125, 39),
    ("Slice", "slice_param", 126, 31),
    ("Threshold", "threshold_param", 128, 25),
)
"""Parameters of layers: message, field, its number in a layer of today and in one of version 1."""

_BY_LAYERS_OF_TODAY = (
    ("PRelu", "prelu_param", 131),
    ("Reshape", "reshape_param", 133),
    ("Affine", "log_param", 134),
    ("Flatten", "flatten_param", 135),
    ("Reduction", "reduction_param", 136),
    ("Embed", "embed_param", 137),
    ("Tile", "tile_param", 138),
    ("BatchNorm", "batch_norm_param", 139),
    ("Elu", "elu_param", 140),
    ("Broadcast", "bias_param", 141),
    ("Broadcast", "scale_param", 142),
    ("Input", "input_param", 143),
    ("Crop", "crop_param", 144),
    ("Parameter", "parameter_param", 145),
    ("Swish", "swish_param", 147),
    ("Clip", "clip_param", 148),
    ("Permute", "permute_param", 202),
    ("PriorBox", "prior_box_param", 203),
    ("DetectionOutput", "detection_output_param", 204),
    ("Normalize", "norm_param", 206),
    ("Interp", "interp_param", 30001),
    ("Upsample", "upsample_param", 30002),
    ("ShuffleChannel", "shuffle_channel_param", 30003),
)

_LAYER = """
message Layer {
  string name = 1; string type = 2; repeated string bottom = 3; repeated string top = 4;
  repeated Blob blobs = 7; repeated Rule include = 8; repeated Rule exclude = 9;
"""
_LAYER_OF_V1 = """
message OldLayer {
  repeated string bottom = 2; repeated string top = 3; string name = 4; Kind type = 5; repeated Blob blobs = 6;
  repeated Rule include = 32; repeated Rule exclude = 33; LayerOfV0 layer = 1;
"""
_NET = """
message LayerOfV0 { string name = 1; }
message Net {
  string name = 1; repeated OldLayer layers = 2; repeated string input = 3; repeated int32 input_dim = 4;
  repeated BlobShape input_shape = 8; repeated Layer layer = 100;
}
"""

_CLASSES = message_classes(
    "caffe_networks",
    "".join(
        [
            _BLOB,
            _PARAMETERS,
            _LAYER,
            *(f"{m} {name} = {number};" for m, name, number, _ in _BY_BOTH),
            *(f"{m} {name} = {number};" for m, name, number in _BY_LAYERS_OF_TODAY),
            "}",
            _LAYER_OF_V1,
            _KINDS_OF_V1,
            *(f"{m} {name} = {number};" for m, name, _, number in _BY_BOTH),
            "}",
            _NET,
        ]
    ),
)

Net = _CLASSES["Net"]
"""A network: its layers with their parameters, and blobs where it is of a file of weights."""

NetOfWeights = message_classes(
    "caffe_weights",
    f"""{_BLOB}
    message Layer {{ string name = 1; string type = 2; repeated Blob blobs = 7; }}
    message OldLayer {{ string name = 4; repeated Blob blobs = 6; }}
    message Net {{ string name = 1; repeated OldLayer layers = 2; repeated Layer layer = 100; }}""",
)["Net"]
"""The weights of a network by layer: forks, whose parameters differ, agree on these fields."""
