"""In:  a graph of TensorFlow, as a file or bytes (GraphDef, binary or text).
Out: `torch.fx.GraphModule`.
"""
