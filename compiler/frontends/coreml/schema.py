"""Classes of the messages that a Core ML model consists of.

Source: Model.proto, FeatureTypes.proto and MIL.proto of Core ML's specification. Enums are declared as integers, kinds
of models that are not read as bytes.
"""

from __future__ import annotations

from ..message_classes import message_classes
from .classical_schema import CLASSICAL, CLASSICAL_FIELDS
from .network_schema import NETWORK

UNREAD_KINDS = {
    "bayesianProbitRegressor": 304,
    "kNearestNeighborsClassifier": 404,
    "itemSimilarityRecommender": 501,
    "customModel": 555,
    "linkedModel": 556,
    "classConfidenceThresholding": 560,
    "dictVectorizer": 603,
    "categoricalMapping": 606,
    "identity": 900,
    "textClassifier": 2000,
    "wordTagger": 2001,
    "visionFeaturePrint": 2002,
    "soundAnalysisPreprocessing": 2003,
    "gazetteer": 2004,
    "wordEmbedding": 2005,
    "audioFeaturePrint": 2006,
    "serializedModel": 3000,
}
"""Kinds of models that are not taken, by name with the number of the field."""

NETWORKS = ("neuralNetwork", "neuralNetworkClassifier", "neuralNetworkRegressor")
PIPELINES = ("pipeline", "pipelineClassifier", "pipelineRegressor")

_MODEL = f"""
message Model {{
  int32 specificationVersion = 1; ModelDescription description = 2;
  NeuralNetwork neuralNetworkRegressor = 303; NeuralNetwork neuralNetworkClassifier = 403;
  NeuralNetwork neuralNetwork = 500; Program mlProgram = 502;
  TypedPipeline pipelineClassifier = 200; TypedPipeline pipelineRegressor = 201; Pipeline pipeline = 202;
  {CLASSICAL_FIELDS}
  {" ".join(f"bytes {name} = {number};" for name, number in UNREAD_KINDS.items())}
}}
message Pipeline {{ repeated Model models = 1; repeated string names = 2; }}
message TypedPipeline {{ Pipeline pipeline = 1; }}
message ModelDescription {{
  repeated Feature input = 1; repeated Feature output = 10; repeated Feature state = 13;
  string predictedFeatureName = 11; string predictedProbabilitiesName = 12;
  repeated FunctionDescription functions = 20; string defaultFunctionName = 21; Metadata metadata = 100;
}}
message FunctionDescription {{
  string name = 1; repeated Feature input = 2; repeated Feature output = 3; repeated Feature state = 6;
  string predictedFeatureName = 4; string predictedProbabilitiesName = 5;
}}
message Metadata {{
  string shortDescription = 1; string versionString = 2; string author = 3; string license = 4;
  map<string, string> userDefined = 100;
}}
message Feature {{ string name = 1; string shortDescription = 2; FeatureType type = 3; }}
message FeatureType {{
  Empty int64Type = 1; Empty doubleType = 2; Empty stringType = 3; ImageFeatureType imageType = 4;
  ArrayFeatureType multiArrayType = 5; Empty dictionaryType = 6; Empty sequenceType = 7; Empty stateType = 8;
  bool isOptional = 1000;
}}
message Empty {{ }}
message SizeRange {{ uint64 lowerBound = 1; int64 upperBound = 2; }}
message ImageFeatureType {{
  int64 width = 1; int64 height = 2; int32 colorSpace = 3;
  ImageSizes enumeratedSizes = 21; ImageSizeRange imageSizeRange = 31;
}}
message ImageSizes {{ repeated ImageSize sizes = 1; }}
message ImageSize {{ uint64 width = 1; uint64 height = 2; }}
message ImageSizeRange {{ SizeRange widthRange = 1; SizeRange heightRange = 2; }}
message ArrayFeatureType {{
  repeated int64 shape = 1; int32 dataType = 2; EnumeratedShapes enumeratedShapes = 21; ShapeRange shapeRange = 31;
}}
message EnumeratedShapes {{ repeated Shape shapes = 1; }}
message Shape {{ repeated int64 shape = 1; }}
message ShapeRange {{ repeated SizeRange sizeRanges = 1; }}
"""

_PROGRAM = """
message Program {
  int64 version = 1; map<string, Function> functions = 2; string docString = 3; map<string, Value> attributes = 4;
}
message Function { repeated Named inputs = 1; string opset = 2; map<string, Block> block_specializations = 3; }
message Block { repeated Named inputs = 1; repeated string outputs = 2; repeated Operation operations = 3; }
message Operation {
  string type = 1; map<string, Argument> inputs = 2; repeated Named outputs = 3; repeated Block blocks = 4;
  map<string, Value> attributes = 5;
}
message Argument { repeated Binding arguments = 1; }
message Binding { string name = 1; Value value = 2; }
message Named { string name = 1; ValueType type = 2; }
message ValueType {
  TensorType tensorType = 1; ListType listType = 2; TupleType tupleType = 3; Empty dictionaryType = 4;
  Empty stateType = 5;
}
message ListType { ValueType type = 1; Dimension length = 2; }
message TupleType { repeated ValueType types = 1; }
message TensorType { int32 dataType = 1; int64 rank = 2; repeated Dimension dimensions = 3; }
message Dimension { ConstantDimension constant = 1; Empty unknown = 2; }
message ConstantDimension { uint64 size = 1; }
message Value { ValueType type = 2; Immediate immediateValue = 3; BlobFile blobFileValue = 5; }
message Immediate { TensorValue tensor = 1; Values tuple = 2; Values list = 3; }
message Values { repeated Value values = 1; }
message BlobFile { string fileName = 1; uint64 offset = 2; }
message TensorValue {
  Floats floats = 1; Ints ints = 2; Bools bools = 3; Strings strings = 4; LongInts longInts = 5; Doubles doubles = 6;
  Bytes bytes = 7;
}
message Floats { repeated float values = 1; }
message Ints { repeated int32 values = 1; }
message Bools { repeated bool values = 1; }
message Strings { repeated string values = 1; }
message LongInts { repeated int64 values = 1; }
message Doubles { repeated double values = 1; }
message Bytes { bytes values = 1; }
"""

MESSAGES = message_classes("webnn_compile.coreml", _MODEL + _PROGRAM + NETWORK + CLASSICAL)
"""Classes by the names of messages."""
