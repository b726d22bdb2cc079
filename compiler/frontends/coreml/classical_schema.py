"""Messages of the models that are no networks: trees, linear models, support vectors, and the preparation of features.

Source: TreeEnsemble.proto, GLMClassifier.proto, GLMRegressor.proto, SVM.proto, Scaler.proto, Imputer.proto,
Normalizer.proto, OneHotEncoder.proto, FeatureVectorizer.proto, ArrayFeatureExtractor.proto, NonMaximumSuppression.proto
and DataStructures.proto of Core ML's specification. A tree's classifier and regressor have the same fields but for the
labels.
"""

from __future__ import annotations

CLASSICAL_FIELDS = """
  GLMRegressor glmRegressor = 300; SupportVectorRegressor supportVectorRegressor = 301;
  TreeEnsemble treeEnsembleRegressor = 302; GLMClassifier glmClassifier = 400;
  SupportVectorClassifier supportVectorClassifier = 401; TreeEnsemble treeEnsembleClassifier = 402;
  OneHotEncoder oneHotEncoder = 600; Imputer imputer = 601; FeatureVectorizer featureVectorizer = 602;
  Scaler scaler = 604; Normalizer normalizer = 607; ArrayFeatureExtractor arrayFeatureExtractor = 609;
  NonMaximumSuppression nonMaximumSuppression = 610;
"""
"""Fields of `Model` with such a model."""

CLASSICAL = """
message DoubleVector { repeated double vector = 1; }
message TreeEnsemble {
  Trees treeEnsemble = 1; int32 postEvaluationTransform = 2;
  StringVector stringClassLabels = 100; Int64Vector int64ClassLabels = 101;
}
message Trees {
  repeated TreeNode nodes = 1; uint64 numPredictionDimensions = 2; repeated double basePredictionValue = 3;
}
message TreeNode {
  uint64 treeId = 1; uint64 nodeId = 2; int32 nodeBehavior = 3; uint64 branchFeatureIndex = 10;
  double branchFeatureValue = 11; uint64 trueChildNodeId = 12; uint64 falseChildNodeId = 13;
  bool missingValueTracksTrueChild = 14; repeated TreeEvaluation evaluationInfo = 20;
}
message TreeEvaluation { uint64 evaluationIndex = 1; double evaluationValue = 2; }
message GLMRow { repeated double value = 1; }
message GLMRegressor { repeated GLMRow weights = 1; repeated double offset = 2; int32 postEvaluationTransform = 3; }
message GLMClassifier {
  repeated GLMRow weights = 1; repeated double offset = 2; int32 postEvaluationTransform = 3; int32 classEncoding = 4;
  StringVector stringClassLabels = 100; Int64Vector int64ClassLabels = 101;
}
message RBFKernel { double gamma = 1; }
message PolyKernel { int32 degree = 1; double c = 2; double gamma = 3; }
message SigmoidKernel { double gamma = 1; double c = 2; }
message Kernel {
  Empty linearKernel = 1; RBFKernel rbfKernel = 2; PolyKernel polyKernel = 3; SigmoidKernel sigmoidKernel = 4;
}
message SparseNode { int32 index = 1; double value = 2; }
message SparseVector { repeated SparseNode nodes = 1; }
message SparseSupportVectors { repeated SparseVector vectors = 1; }
message DenseVector { repeated double values = 1; }
message DenseSupportVectors { repeated DenseVector vectors = 1; }
message Coefficients { repeated double alpha = 1; }
message SupportVectorRegressor {
  Kernel kernel = 1; SparseSupportVectors sparseSupportVectors = 2; DenseSupportVectors denseSupportVectors = 3;
  Coefficients coefficients = 4; double rho = 5;
}
message SupportVectorClassifier {
  Kernel kernel = 1; repeated int32 numberOfSupportVectorsPerClass = 2;
  SparseSupportVectors sparseSupportVectors = 3; DenseSupportVectors denseSupportVectors = 4;
  repeated Coefficients coefficients = 5; repeated double rho = 6; repeated double probA = 7;
  repeated double probB = 8; StringVector stringClassLabels = 100; Int64Vector int64ClassLabels = 101;
}
message Scaler { repeated double shiftValue = 1; repeated double scaleValue = 2; }
message Imputer {
  double imputedDoubleValue = 1; int64 imputedInt64Value = 2; string imputedStringValue = 3;
  DoubleVector imputedDoubleArray = 4; Int64Vector imputedInt64Array = 5; Empty imputedStringDictionary = 6;
  Empty imputedInt64Dictionary = 7; double replaceDoubleValue = 11; int64 replaceInt64Value = 12;
  string replaceStringValue = 13;
}
message Normalizer { int32 normType = 1; }
message OneHotEncoder {
  StringVector stringCategories = 1; Int64Vector int64Categories = 2; bool outputSparse = 10;
  int32 handleUnknown = 11;
}
message FeatureVectorizer { repeated InputColumn inputList = 1; }
message InputColumn { string inputColumn = 1; uint64 inputDimensions = 2; }
message ArrayFeatureExtractor { repeated uint64 extractIndex = 1; }
message NonMaximumSuppression {
  PickTop pickTop = 1; StringVector stringClassLabels = 100; Int64Vector int64ClassLabels = 101;
  double iouThreshold = 110; double confidenceThreshold = 111; string confidenceInputFeatureName = 200;
  string coordinatesInputFeatureName = 201; string iouThresholdInputFeatureName = 202;
  string confidenceThresholdInputFeatureName = 203; string confidenceOutputFeatureName = 210;
  string coordinatesOutputFeatureName = 211;
}
message PickTop { bool perClass = 1; }
"""
