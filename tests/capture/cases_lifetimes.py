"""Objects that nothing reads behind a break live to the end of the function, as weak references and finalizers find out."""

from __future__ import annotations

import weakref

import torch

import capture
from tests.capture.registry import case


class Node:
    def __init__(self, size=2):
        self.size = size


@case(graphs=1, ops=1)
def weak_reference_to_a_new_object(x):
    node = Node(3)
    reference = weakref.ref(node)
    return x * reference().size


@case(graphs=2, ops=2)
def weak_reference_across_a_break(x):
    node = Node()
    reference = weakref.ref(node)
    x = x + 1
    capture.graph_break()
    return x + (reference() is not None)


@case(graphs=2, ops=2)
def weak_dictionary(x):
    known = weakref.WeakValueDictionary()
    node = Node()
    known["a"] = node
    x = x + 1
    capture.graph_break()
    capture.graph_break()
    return x + len(known)


@case(graphs=2, ops=2)
def finalizer(x):
    events = []

    class Noisy:
        def __del__(self):
            events.append("end")

    noisy = Noisy()
    x = x + 1
    capture.graph_break()
    events.append("behind the break")
    return x + 1, events


def held_by_the_frame_alone():
    node = Node()
    return torch.ones(3), weakref.ref(node), node


@case(graphs=2, ops=2, args=held_by_the_frame_alone, fresh=True)
def argument(x, reference, node):
    x = x + 1
    capture.graph_break()
    return x + (reference() is not None)
