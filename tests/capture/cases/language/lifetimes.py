"""Objects that nothing reads after a break live to the end of the function; weak references show it."""

from __future__ import annotations

import weakref

import torch

import capture
from tests.capture.cases.registry import case


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


@case(graphs=0, ops=0)
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


# --- weak references that the frame makes -----------------------------------------------------------------


@case(graphs=1, ops=2)
def weak_reference_called_while_a_local_holds_the_object(x):
    node = Node(3)
    node.itself = weakref.ref(node)
    reference = weakref.ref(x)
    return reference().sin() * node.itself().size, isinstance(reference, weakref.ref), reference() is x


@case(graphs=1, ops=1)
def weak_reference_to_an_argument_returned(x):
    reference = weakref.ref(x)
    return [reference], x + 1


@case(graphs=1, ops=1)
def weak_reference_to_a_temporary(x):
    reference = weakref.ref(Node())
    return x + (1 if reference() is None else 2)


@case(graphs=1, ops=1)
def weak_reference_out_of_a_function(x):
    def make():
        node = Node()
        return weakref.ref(node)

    return x + (1 if make()() is None else 2)


@case(graphs=1, ops=1)
def equal_weak_references(x):
    node = Node()
    one, other = weakref.ref(node), weakref.ref(node)
    return x + 1, one == other, one is other


DEAD = weakref.ref(Node())


@case(1, 1)
def dead_reference(x):
    found = DEAD()
    return x + 1 if found is None else x * found.size


@case(graphs=1, ops=1)
def weak_reference_to_what_the_frame_deleted(x):
    node = Node()
    reference = weakref.ref(node)
    y = x + 1
    del node
    return y, reference() is None


@case(graphs=2, ops=2)
def weak_reference_to_what_the_frame_replaced(x):
    node = Node()
    reference = weakref.ref(node)
    y = x + 1
    node = Node(5)
    return y * (2 if reference() is None else 3), node.size


def holding_a_node():
    node = Node()
    node.child = Node()
    return torch.ones(3), node


@case(graphs=1, ops=1, args=holding_a_node)
def weak_reference_to_what_an_attribute_held(x, node):
    y = x + 1
    reference = weakref.ref(node.child)
    node.child = None
    return y, reference() is None


def holding_a_reference():
    node = Node()
    node.child = Node()
    node.reference = weakref.ref(node.child)
    return torch.ones(3), node


@case(graphs=2, ops=2, args=holding_a_reference, fresh=True)
def weak_reference_of_an_object(x, node):
    y = x * node.reference().size
    node.child = None
    return y + 1 if node.reference() is None else y - 1


@case(graphs=1, ops=2, args=holding_a_reference, fresh=True)
def weak_reference_to_what_stays(x, node):
    node.size = 7
    return x * node.reference().size + 1
