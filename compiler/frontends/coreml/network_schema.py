"""Messages of neural networks.

Source: NeuralNetwork.proto of Core ML's specification. Messages of the same fields are one here; layers that are not
taken are empty.
"""

from __future__ import annotations

_NETWORK = """
message NeuralNetwork {
  repeated NeuralNetworkLayer layers = 1; repeated NeuralNetworkPreprocessing preprocessing = 2;
  int32 arrayInputShapeMapping = 5; int32 imageInputShapeMapping = 6;
  StringVector stringClassLabels = 100; Int64Vector int64ClassLabels = 101; string labelProbabilityLayerName = 200;
}
message StringVector { repeated string vector = 1; }
message Int64Vector { repeated int64 vector = 1; }
message NeuralNetworkPreprocessing { string featureName = 1; ImageScaler scaler = 10; MeanImage meanImage = 11; }
message ImageScaler {
  float channelScale = 10; float blueBias = 20; float greenBias = 21; float redBias = 22; float grayBias = 30;
}
message MeanImage { repeated float meanImage = 1; }
message TensorRank { uint32 rank = 1; repeated int64 dimValue = 2; }
"""

NETWORK = (
    _NETWORK
    + """
message NeuralNetworkLayer {
  string name = 1; repeated string input = 2; repeated string output = 3; repeated TensorRank inputTensor = 4;
  ConvolutionParams convolution = 100; PoolingParams pooling = 120; ActivationParams activation = 130;
  InnerProductParams innerProduct = 140; EmbeddingParams embedding = 150; BatchnormParams batchnorm = 160;
  MeanVarianceNormalizeParams mvn = 165; L2NormalizeParams l2normalize = 170; Empty softmax = 175;
  LRNParams lrn = 180; CropParams crop = 190; PaddingParams padding = 200; UpsampleParams upsample = 210;
  ResizeBilinearParams resizeBilinear = 211; Empty cropResize = 212; UnaryFunctionParams unary = 220;
  Alpha add = 230; Alpha multiply = 231; Empty average = 240; ScaleParams scale = 245;
  BiasParams bias = 250; Empty max = 260; Empty min = 261; DotProductParams dot = 270; ReduceParams reduce = 280;
  LoadConstantParams loadConstant = 290; ReshapeParams reshape = 300; ModeParams flatten = 301;
  PermuteParams permute = 310; ConcatParams concat = 320; SplitParams split = 330; RepeatParams sequenceRepeat = 340;
  ReorganizeDataParams reorganizeData = 345; SliceParams slice = 350; SimpleRecurrentParams simpleRecurrent = 400;
  GRUParams gru = 410; UniDirectionalLSTMParams uniDirectionalLSTM = 420;
  BiDirectionalLSTMParams biDirectionalLSTM = 430; Empty custom = 500; Empty copy = 600; BranchParams branch = 605;
  LoopParams loop = 615; Empty loopBreak = 620; Empty loopContinue = 625; RangeStaticParams rangeStatic = 635;
  Empty rangeDynamic = 640; ClipParams clip = 660; Empty ceil = 665; Empty floor = 670; Empty sign = 680;
  Empty round = 685; Empty exp2 = 700; Empty sin = 710; Empty cos = 715; Empty tan = 720; Empty asin = 730;
  Empty acos = 735; Empty atan = 740; Empty sinh = 750; Empty cosh = 755; Empty tanh = 760; Empty asinh = 770;
  Empty acosh = 775; Empty atanh = 780; Empty erf = 790; ModeParams gelu = 795; Alpha equal = 815;
  Alpha notEqual = 820; ComparisonParams lessThan = 825; ComparisonParams lessEqual = 827;
  ComparisonParams greaterThan = 830; ComparisonParams greaterEqual = 832; Empty logicalOr = 840;
  Empty logicalXor = 845; Empty logicalNot = 850; Empty logicalAnd = 855; Empty modBroadcastable = 865;
  Empty minBroadcastable = 870; Empty maxBroadcastable = 875; Empty addBroadcastable = 880;
  Empty powBroadcastable = 885; Empty divideBroadcastable = 890; Empty floorDivBroadcastable = 895;
  Empty multiplyBroadcastable = 900; Empty subtractBroadcastable = 905; TileParams tile = 920;
  AxisParams stack = 925; AxisParams gather = 930; ScatterParams scatter = 935; Empty gatherND = 940;
  ScatterNDParams scatterND = 945; AxisParams softmaxND = 950; AxisParams gatherAlongAxis = 952;
  ScatterParams scatterAlongAxis = 954; ReverseParams reverse = 960;
  Empty reverseSeq = 965; SplitNDParams splitND = 975;
  ConcatNDParams concatND = 980; TransposeParams transpose = 985; SliceStaticParams sliceStatic = 995;
  Empty sliceDynamic = 1000; SlidingWindowsParams slidingWindows = 1005; TopKParams topK = 1015;
  ArgParams argMin = 1020; ArgParams argMax = 1025; EmbeddingNDParams embeddingND = 1040;
  BatchedMatMulParams batchedMatmul = 1045; Empty getShape = 1065; LoadConstantParams loadConstantND = 1070;
  ValueParams fillLike = 1080; FillStaticParams fillStatic = 1085; ValueParams fillDynamic = 1090;
  Empty broadcastToLike = 1100; BroadcastToStaticParams broadcastToStatic = 1105; Empty broadcastToDynamic = 1110;
  SqueezeParams squeeze = 1120; ExpandDimsParams expandDims = 1125; AxisParams flattenTo2D = 1130;
  Empty reshapeLike = 1135; ShapeParams reshapeStatic = 1140; Empty reshapeDynamic = 1145;
  ShapeParams rankPreservingReshape = 1150; ConstantPaddingParams constantPad = 1155;
  Empty randomNormalLike = 1170; Empty randomNormalStatic = 1175; Empty randomNormalDynamic = 1180;
  Empty randomUniformLike = 1190; Empty randomUniformStatic = 1195; Empty randomUniformDynamic = 1200;
  Empty randomBernoulliLike = 1210; Empty randomBernoulliStatic = 1215; Empty randomBernoulliDynamic = 1220;
  Empty categoricalDistribution = 1230; ReduceAxesParams reduceL1 = 1250; ReduceAxesParams reduceL2 = 1255;
  ReduceAxesParams reduceMax = 1260; ReduceAxesParams reduceMin = 1265; ReduceAxesParams reduceSum = 1270;
  ReduceAxesParams reduceProd = 1275; ReduceAxesParams reduceMean = 1280; ReduceAxesParams reduceLogSum = 1285;
  ReduceAxesParams reduceSumSquare = 1290; ReduceAxesParams reduceLogSumExp = 1295; Empty whereNonZero = 1313;
  MatrixBandPartParams matrixBandPart = 1315; TriangularParams lowerTriangular = 1320;
  TriangularParams upperTriangular = 1325; Empty whereBroadcastable = 1330;
  LayerNormalizationParams layerNormalization = 1350; SuppressionParams NonMaximumSuppression = 1400;
  OneHotParams oneHot = 1450; CumSumParams cumSum = 1455; AlphaBeta clampedReLU = 1460;
  ArgSortParams argSort = 1461; Pooling3DParams pooling3d = 1465; GlobalPooling3DParams globalPooling3d = 1466;
  SliceBySizeParams sliceBySize = 1470; Convolution3DParams convolution3d = 1471;
}
message SuppressionParams {
  float iouThreshold = 1; float scoreThreshold = 2; uint64 maxBoxes = 3; bool perClassSuppression = 4;
}
message ScatterParams { int64 axis = 1; int32 mode = 2; }
message ScatterNDParams { int32 mode = 1; }
message BranchParams { NeuralNetwork ifBranch = 1; NeuralNetwork elseBranch = 2; }
message LoopParams {
  uint64 maxLoopIterations = 1; string conditionVar = 2; NeuralNetwork conditionNetwork = 3;
  NeuralNetwork bodyNetwork = 4;
}
message RepeatParams { uint64 nRepetitions = 1; }
message EdgeSizes { uint64 startEdgeSize = 1; uint64 endEdgeSize = 2; }
message BorderAmounts { repeated EdgeSizes borderAmounts = 10; }
message ValidPadding { BorderAmounts paddingAmounts = 1; }
message SamePadding { int32 asymmetryMode = 1; }
message LinearQuantizationParams { repeated float scale = 1; repeated float bias = 2; }
message LookUpTableQuantizationParams { repeated float floatValue = 1; }
message QuantizationParams {
  uint64 numberOfBits = 1; LinearQuantizationParams linearQuantization = 101;
  LookUpTableQuantizationParams lookupTableQuantization = 102;
}
message WeightParams {
  repeated float floatValue = 1; bytes float16Value = 2; bytes rawValue = 30; QuantizationParams quantization = 40;
}
message ConvolutionParams {
  uint64 outputChannels = 1; uint64 kernelChannels = 2; uint64 nGroups = 10; repeated uint64 kernelSize = 20;
  repeated uint64 stride = 30; repeated uint64 dilationFactor = 40; ValidPadding valid = 50; SamePadding same = 51;
  bool isDeconvolution = 60; bool hasBias = 70; WeightParams weights = 90; WeightParams bias = 91;
  repeated uint64 outputShape = 100;
}
message ValidCompletePadding { repeated uint64 paddingAmounts = 10; }
message PoolingParams {
  int32 type = 1; repeated uint64 kernelSize = 10; repeated uint64 stride = 20; ValidPadding valid = 30;
  SamePadding same = 31; ValidCompletePadding includeLastPixel = 32; bool avgPoolExcludePadding = 50;
  bool globalPooling = 60;
}
message AlphaBeta { float alpha = 1; float beta = 2; }
message Alpha { float alpha = 1; }
message ActivationPReLU { WeightParams alpha = 1; }
message ActivationParametricSoftplus { WeightParams alpha = 1; WeightParams beta = 2; }
message ActivationParams {
  AlphaBeta linear = 5; Empty ReLU = 10; Alpha leakyReLU = 15;
  Alpha thresholdedReLU = 20; ActivationPReLU PReLU = 25; Empty tanh = 30;
  AlphaBeta scaledTanh = 31; Empty sigmoid = 40; AlphaBeta sigmoidHard = 41;
  Alpha ELU = 50; Empty softsign = 60; Empty softplus = 70;
  ActivationParametricSoftplus parametricSoftplus = 71;
}
message InnerProductParams {
  uint64 inputChannels = 1; uint64 outputChannels = 2; bool hasBias = 10; WeightParams weights = 20;
  WeightParams bias = 21;
}
message EmbeddingParams {
  uint64 inputDim = 1; uint64 outputChannels = 2; bool hasBias = 10; WeightParams weights = 20;
  WeightParams bias = 21;
}
message BatchnormParams {
  uint64 channels = 1; bool computeMeanVar = 5; bool instanceNormalization = 6; float epsilon = 10;
  WeightParams gamma = 15; WeightParams beta = 16; WeightParams mean = 17; WeightParams variance = 18;
}
message MeanVarianceNormalizeParams { bool acrossChannels = 1; bool normalizeVariance = 2; float epsilon = 3; }
message L2NormalizeParams { float epsilon = 1; }
message LRNParams { float alpha = 1; float beta = 2; uint64 localSize = 3; float k = 4; }
message CropParams { BorderAmounts cropAmounts = 1; repeated uint64 offset = 5; }
message ValueParams { float value = 1; }
message PaddingParams {
  ValueParams constant = 1; Empty reflection = 2; Empty replication = 3; BorderAmounts paddingAmounts = 10;
}
message UpsampleParams {
  repeated uint64 scalingFactor = 1; repeated float fractionalScalingFactor = 7; int32 mode = 5;
  int32 linearUpsampleMode = 6;
}
message SamplingMode { int32 samplingMethod = 1; }
message ResizeBilinearParams { repeated uint64 targetSize = 1; SamplingMode mode = 2; }
message UnaryFunctionParams { int32 type = 1; float alpha = 2; float epsilon = 3; float shift = 4; float scale = 5; }
message ScaleParams {
  repeated uint64 shapeScale = 1; WeightParams scale = 2; bool hasBias = 3; repeated uint64 shapeBias = 4;
  WeightParams bias = 5;
}
message BiasParams { repeated uint64 shape = 1; WeightParams bias = 2; }
message DotProductParams { bool cosineSimilarity = 1; }
message ReduceParams { int32 mode = 1; float epsilon = 2; int32 axis = 3; }
message LoadConstantParams { repeated uint64 shape = 1; WeightParams data = 2; }
message ReshapeParams { repeated int64 targetShape = 1; int32 mode = 2; }
message ModeParams { int32 mode = 1; }
message PermuteParams { repeated uint64 axis = 1; }
message ConcatParams { bool sequenceConcat = 100; }
message SplitParams { uint64 nOutputs = 1; }
message ReorganizeDataParams { int32 mode = 1; uint64 blockSize = 2; }
message SliceParams { int64 startIndex = 1; int64 endIndex = 2; uint64 stride = 3; int32 axis = 4; }
message SimpleRecurrentParams {
  uint64 inputVectorSize = 1; uint64 outputVectorSize = 2; ActivationParams activation = 10;
  bool sequenceOutput = 15; bool hasBiasVector = 20; WeightParams weightMatrix = 30;
  WeightParams recursionMatrix = 31; WeightParams biasVector = 32; bool reverseInput = 100;
}
message GRUParams {
  uint64 inputVectorSize = 1; uint64 outputVectorSize = 2; repeated ActivationParams activations = 10;
  bool sequenceOutput = 15; bool hasBiasVectors = 20; WeightParams updateGateWeightMatrix = 30;
  WeightParams resetGateWeightMatrix = 31; WeightParams outputGateWeightMatrix = 32;
  WeightParams updateGateRecursionMatrix = 50; WeightParams resetGateRecursionMatrix = 51;
  WeightParams outputGateRecursionMatrix = 52; WeightParams updateGateBiasVector = 70;
  WeightParams resetGateBiasVector = 71; WeightParams outputGateBiasVector = 72; bool reverseInput = 100;
}
message LSTMParams {
  bool sequenceOutput = 10; bool hasBiasVectors = 20; bool forgetBias = 30; bool hasPeepholeVectors = 40;
  bool coupledInputAndForgetGate = 50; float cellClipThreshold = 60;
}
message LSTMWeightParams {
  WeightParams inputGateWeightMatrix = 1; WeightParams forgetGateWeightMatrix = 2;
  WeightParams blockInputWeightMatrix = 3; WeightParams outputGateWeightMatrix = 4;
  WeightParams inputGateRecursionMatrix = 20; WeightParams forgetGateRecursionMatrix = 21;
  WeightParams blockInputRecursionMatrix = 22; WeightParams outputGateRecursionMatrix = 23;
  WeightParams inputGateBiasVector = 40; WeightParams forgetGateBiasVector = 41;
  WeightParams blockInputBiasVector = 42; WeightParams outputGateBiasVector = 43;
  WeightParams inputGatePeepholeVector = 60; WeightParams forgetGatePeepholeVector = 61;
  WeightParams outputGatePeepholeVector = 62;
}
message UniDirectionalLSTMParams {
  uint64 inputVectorSize = 1; uint64 outputVectorSize = 2; repeated ActivationParams activations = 10;
  LSTMParams params = 15; LSTMWeightParams weightParams = 20; bool reverseInput = 100;
}
message BiDirectionalLSTMParams {
  uint64 inputVectorSize = 1; uint64 outputVectorSize = 2; repeated ActivationParams activationsForwardLSTM = 10;
  repeated ActivationParams activationsBackwardLSTM = 11; LSTMParams params = 15;
  repeated LSTMWeightParams weightParams = 20;
}
message RangeStaticParams { float endValue = 1; float startValue = 2; float stepSizeValue = 3; }
message ClipParams { float minVal = 1; float maxVal = 2; }
message ComparisonParams { float alpha = 2; }
message TileParams { repeated uint64 reps = 1; }
message AxisParams { int64 axis = 1; }
message ReverseParams { repeated bool reverseDim = 1; }
message SplitNDParams { int64 axis = 1; uint64 numSplits = 2; repeated uint64 splitSizes = 3; }
message ConcatNDParams { int64 axis = 1; bool interleave = 2; }
message TransposeParams { repeated uint64 axes = 1; }
message SliceStaticParams {
  repeated int64 beginIds = 1; repeated bool beginMasks = 2; repeated int64 endIds = 3; repeated bool endMasks = 4;
  repeated int64 strides = 5; repeated bool squeezeMasks = 6;
}
message SlidingWindowsParams { int64 axis = 1; uint64 windowSize = 2; uint64 step = 3; }
message TopKParams { int64 axis = 1; uint64 K = 2; bool useBottomK = 3; }
message ArgParams { int64 axis = 1; bool removeDim = 2; }
message EmbeddingNDParams {
  uint64 vocabSize = 1; uint64 embeddingSize = 2; bool hasBias = 3; WeightParams weights = 20;
  WeightParams bias = 21;
}
message BatchedMatMulParams {
  bool transposeA = 1; bool transposeB = 2; uint64 weightMatrixFirstDimension = 5;
  uint64 weightMatrixSecondDimension = 6; bool hasBias = 7; WeightParams weights = 8; WeightParams bias = 9;
}
message FillStaticParams { float value = 1; repeated uint64 targetShape = 2; }
message BroadcastToStaticParams { repeated uint64 targetShape = 1; }
message SqueezeParams { repeated int64 axes = 1; bool squeezeAll = 2; }
message ExpandDimsParams { repeated int64 axes = 1; }
message ShapeParams { repeated int64 targetShape = 1; }
message ConstantPaddingParams { float value = 1; repeated uint64 padAmounts = 2; bool padToGivenOutputSizeMode = 3; }
message ReduceAxesParams { repeated int64 axes = 1; bool keepDims = 2; bool reduceAll = 3; }
message MatrixBandPartParams { int64 numLower = 1; int64 numUpper = 2; }
message TriangularParams { int64 k = 1; }
message LayerNormalizationParams {
  repeated int64 normalizedShape = 1; float eps = 2; WeightParams gamma = 3; WeightParams beta = 4;
}
message OneHotParams { uint64 oneHotVectorSize = 1; int64 axis = 2; float onValue = 3; float offValue = 4; }
message CumSumParams { int64 axis = 1; bool excludeFinalSum = 2; bool reverse = 3; }
message ArgSortParams { int64 axis = 1; bool descending = 2; }
message Pooling3DParams {
  int32 type = 1; int32 kernelDepth = 2; int32 kernelHeight = 3; int32 kernelWidth = 4; int32 strideDepth = 5;
  int32 strideHeight = 6; int32 strideWidth = 7; int32 paddingType = 15; int32 customPaddingFront = 8;
  int32 customPaddingBack = 9; int32 customPaddingTop = 10; int32 customPaddingBottom = 11;
  int32 customPaddingLeft = 12; int32 customPaddingRight = 13; bool countExcludePadding = 14;
}
message GlobalPooling3DParams { int32 type = 1; }
message SliceBySizeParams { int64 size = 2; int64 axis = 3; }
message Convolution3DParams {
  int32 outputChannels = 1; int32 inputChannels = 2; int32 nGroups = 10; int32 kernelDepth = 20;
  int32 kernelHeight = 21; int32 kernelWidth = 22; int32 strideDepth = 31; int32 strideHeight = 32;
  int32 strideWidth = 33; int32 dilationDepth = 40; int32 dilationHeight = 41; int32 dilationWidth = 42;
  bool hasBias = 50; WeightParams weights = 60; WeightParams bias = 61; int32 paddingType = 70;
  int32 customPaddingFront = 80; int32 customPaddingBack = 81; int32 customPaddingTop = 82;
  int32 customPaddingBottom = 83; int32 customPaddingLeft = 84; int32 customPaddingRight = 85;
  bool isDeconvolution = 86; repeated uint64 outputShape = 87;
}
"""
)
