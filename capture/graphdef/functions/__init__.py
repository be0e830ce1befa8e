"""In:  tensors, sizes.
Out: what an operator of TensorFlow gives, where no function of torch does the same. Graphs call them.
"""
