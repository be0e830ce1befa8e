"""In:  a captured graph and its inputs.
Out: where a backend's results are further from the truth than eager's, and a script that shows it.
"""
