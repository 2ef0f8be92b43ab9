"""Name the array types, one per kind of entry, of any shape."""

import numpy as np
from numpy.typing import NDArray

BoolArray = NDArray[np.bool_]
Float32Array = NDArray[np.float32]
Float64Array = NDArray[np.float64]
Int8Array = NDArray[np.int8]
Int32Array = NDArray[np.int32]
Int64Array = NDArray[np.int64]
IntegerArray = NDArray[np.integer]
ObjectArray = NDArray[np.object_]
UInt64Array = NDArray[np.uint64]
