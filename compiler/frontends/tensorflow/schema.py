"""Messages of TensorFlow's files: the fields that are read.

Source: tensorflow/core/framework/{graph,node_def,attr_value,tensor,tensor_shape,types,function,op_def}.proto and
tensorflow/core/protobuf/{saved_model,meta_graph,saver,tensor_bundle,trackable_object_graph}.proto of TensorFlow 2.21.
"""

from __future__ import annotations

from ..message_classes import message_classes

_SCHEMA = """
message GraphDef { repeated NodeDef node = 1; FunctionDefLibrary library = 2; }
message NodeDef { string name = 1; string op = 2; repeated string input = 3; map<string, AttrValue> attr = 5; }
message AttrValue {
  ListValue list = 1; bytes s = 2; int64 i = 3; float f = 4; bool b = 5; DataType type = 6;
  TensorShapeProto shape = 7; TensorProto tensor = 8; NameAttrList func = 10;
}
message ListValue {
  repeated bytes s = 2; repeated int64 i = 3; repeated float f = 4; repeated bool b = 5; repeated DataType type = 6;
  repeated TensorShapeProto shape = 7;
}
message NameAttrList { string name = 1; }
message TensorShapeProto { repeated Dim dim = 2; bool unknown_rank = 3; }
message Dim { int64 size = 1; }
message TensorProto {
  DataType dtype = 1; TensorShapeProto tensor_shape = 2; bytes tensor_content = 4; repeated float float_val = 5;
  repeated double double_val = 6; repeated int32 int_val = 7; repeated bytes string_val = 8;
  repeated int64 int64_val = 10; repeated bool bool_val = 11; repeated int32 half_val = 13;
  repeated uint32 uint32_val = 16; repeated uint64 uint64_val = 17;
}
message FunctionDefLibrary { repeated FunctionDef function = 1; }
message FunctionDef { OpDef signature = 1; repeated NodeDef node_def = 3; map<string, string> ret = 4; }
message OpDef { string name = 1; repeated ArgDef input_arg = 2; repeated ArgDef output_arg = 3; }
message ArgDef { string name = 1; DataType type = 3; }
message SavedModel { int64 saved_model_schema_version = 1; repeated MetaGraphDef meta_graphs = 2; }
message MetaGraphDef {
  MetaInfoDef meta_info_def = 1; GraphDef graph_def = 2; map<string, SignatureDef> signature_def = 5;
}
message MetaInfoDef { repeated string tags = 4; string tensorflow_version = 5; }
message SignatureDef {
  map<string, TensorInfo> inputs = 1; map<string, TensorInfo> outputs = 2; string method_name = 3;
}
message TensorInfo { string name = 1; DataType dtype = 2; TensorShapeProto tensor_shape = 3; }
message BundleHeaderProto { int32 num_shards = 1; int32 endianness = 2; }
message BundleEntryProto {
  DataType dtype = 1; TensorShapeProto shape = 2; int32 shard_id = 3; int64 offset = 4; int64 size = 5;
  repeated TensorSliceProto slices = 7;
}
message TensorSliceProto { bytes unread = 1000; }
message TrackableObjectGraph { repeated TrackableObject nodes = 1; }
message TrackableObject { repeated SerializedTensor attributes = 2; }
message SerializedTensor { string name = 1; string full_name = 2; string checkpoint_key = 3; }
enum DataType {
  DT_INVALID = 0; DT_FLOAT = 1; DT_DOUBLE = 2; DT_INT32 = 3; DT_UINT8 = 4; DT_INT16 = 5; DT_INT8 = 6; DT_STRING = 7;
  DT_COMPLEX64 = 8; DT_INT64 = 9; DT_BOOL = 10; DT_QINT8 = 11; DT_QUINT8 = 12; DT_QINT32 = 13; DT_BFLOAT16 = 14;
  DT_QINT16 = 15; DT_QUINT16 = 16; DT_UINT16 = 17; DT_COMPLEX128 = 18; DT_HALF = 19; DT_RESOURCE = 20; DT_VARIANT = 21;
  DT_UINT32 = 22; DT_UINT64 = 23;
}
"""

CLASSES = message_classes("webnn_compile.tensorflow", _SCHEMA)

_TYPES = CLASSES["TensorProto"].DESCRIPTOR.fields_by_name["dtype"].enum_type.values_by_number


def type_name(number: int) -> str:
    """The name of a DataType in lower case, such as "float"."""
    return str(_TYPES[number].name).removeprefix("DT_").lower()
