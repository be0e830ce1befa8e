"""Worlds of classes and functions whose results come from unexpected places.

Subclasses of numbers and texts, protocols, metaclasses, exceptions, empty cells, defaults that are added and
removed.

Each row: a name, the statements that make the world (with a function `f`), the statement that changes it.
"""

from __future__ import annotations

from tests.capture.worlds.registry import WORLDS, World, with_globals

ROWS: list[tuple[str, str, str]] = [
    ("default_appears",
     "def g(x, k): return x + k\ndef f():\n  try: return g(X)\n  except TypeError as e: return X, str(e)",
     "g.__defaults__ = (3,)"),
    ("default_shifts", "def g(x, k=1): return x + k\ndef f(): return g(X)", "g.__defaults__ = (1, 5)"),
    ("keyword_default_appears",
     "def g(x, *, k): return x + k\ndef f():\n  try: return g(X)\n  except TypeError as e: return X, str(e)",
     "g.__kwdefaults__ = {'k': 3}"),
    ("keyword_default_added",
     "def g(x, *, j=1, k): return x + k\ndef f():\n  try: return g(X)\n"
     "  except TypeError as e: return X, str(e)", "g.__kwdefaults__['k'] = 3"),
    ("empty_cell_of_callee_filled",
     "def mk():\n  def g(x): return x + k\n  return g\n  k = 1\ng = mk()\ndef f():\n  try: return g(X)\n"
     "  except NameError as e: return X, str(e)", "g.__closure__[0].cell_contents = 5"),
    ("empty_cell_filled",
     "def mk():\n  def g():\n    y = X + 1\n    try: return y + k\n"
     "    except NameError as e: return y, str(e)\n  return g\n  k = 1\nf = mk()",
     "f.__closure__[0].cell_contents = 5"),
    ("metaclass_reads_its_own_way",
     "class M(type):\n  @property\n  def k(c): return 3\nclass A(metaclass=M): pass\ndef f(): return X + A.k",
     "M.__getattribute__ = lambda c, n: 5"),
    ("metaclass_of_a_base_replaced",
     "import abc\nclass P(abc.ABC): pass\nclass A(P): pass\nclass M(abc.ABCMeta):\n"
     "  def __instancecheck__(c, o): return False\na = A()\ndef f(): return X + isinstance(a, P)",
     "P.__class__ = M"),
    ("protocol_member_appears",
     "import typing\n@typing.runtime_checkable\nclass P(typing.Protocol):\n  x: int\nclass A: pass\na = A()\n"
     "def f(): return X + isinstance(a, P)", "a.x = 1"),
    ("protocol_member_goes",
     "import typing\n@typing.runtime_checkable\nclass P(typing.Protocol):\n  x: int\nclass A: pass\n"
     "a = A(); a.x = 1\ndef f(): return X + isinstance(a, (int, P))", "del a.x"),
    ("protocol_member_made_in_the_frame",
     "import typing\n@typing.runtime_checkable\nclass P(typing.Protocol):\n  x: int\nclass A: pass\n"
     "def f():\n  a = A()\n  if K: a.x = 1\n  return X + isinstance(a, P)\nK = 0", "K = 1"),
    ("text_of_an_exception",
     "class E(Exception): pass\ndef f():\n  try: raise E('m')\n"
     "  except E as e: return X + 1, str(e), repr(e)",
     "E.__str__ = lambda s: 'other'"),
    ("representation_of_an_exception",
     "class E(Exception): pass\ndef f():\n  try: raise E('m')\n  except E as e: return X + 1, repr(e)",
     "E.__repr__ = lambda s: 'other'"),
    ("percent_of_an_object",
     "class A:\n  def __repr__(s): return 'r'\na = A()\ndef f():\n  try: return X + 1, '%r' % a, '%s' % a\n"
     "  except TypeError as e: return X, str(e)", "A.__str__ = lambda s: 's'"),
    ("sequence_times_an_object",
     "class A: pass\na = A()\ndef f():\n  try: return X + len([1] * a)\n"
     "  except TypeError as e: return X, str(e)", "A.__index__ = lambda s: 3"),
    ("addition_of_an_int_of_its_own",
     "class I(int): pass\nk = I(2)\ndef f(): return X + 1, k + 1, -k, k == 2", "I.__add__ = lambda s, o: 9"),
    ("comparison_of_an_int_of_its_own", "class I(int): pass\nk = I(2)\ndef f(): return X + (k == 2), k < 3",
     "I.__lt__ = lambda s, o: False"),
    ("sign_of_an_int_of_its_own", "class I(int): pass\nk = I(2)\ndef f(): return X + -k",
     "I.__neg__ = lambda s: 7"),
    ("product_of_a_tensor_and_an_int_of_its_own",
     "class I(int): pass\nk = I(2)\ndef f(): return X * k, X + k, k * X", "I.__rmul__ = lambda s, o: 8"),
    ("product_of_a_float_of_its_own_and_a_tensor",
     "class F(float): pass\nk = F(2)\ndef f(): return X * k, k * X, k * 2", "F.__mul__ = lambda s, o: 8.0"),
    ("rounding_of_a_float_of_its_own",
     "class F(float): pass\nk = F(2.5)\ndef f(): return X + math.floor(k) + int(k)",
     "F.__floor__ = lambda s: 40"),
    ("float_of_its_own_with_a_handler",
     "class F(float): pass\nk = F(2.5)\ndef f():\n  r = X * k\n  return X + 1 if isinstance(r, str) else r",
     "F.__torch_function__ = classmethod(lambda c, fn, t, a=(), k=None: 'handled')"),
    ("equality_of_a_text_of_its_own",
     "class S(str): pass\nk = S('abc')\ndef f(): return X + 1, k == 'abc', k + 'd', k.upper()",
     "S.__eq__ = lambda s, o: 5"),
    ("str_of_a_text_of_its_own",
     "class S(str): pass\nk = S('abc')\n"
     "def f(): return X + 1, f'{k}', f'{k!s:>5}', '%s' % k, str(k), '{}'.format(k)",
     "S.__str__ = lambda s: 's'"),
    ("format_of_a_text_of_its_own",
     "class S(str): pass\nk = S('abc')\ndef f(): return X + 1, f'{k}', f'{k:>5}', '{}'.format(k)",
     "S.__format__ = lambda s, spec: 'f'"),
    ("str_of_an_int_of_its_own",
     "class I(int): pass\nk = I(7)\ndef f(): return X + 1, f'{k}', f'{k:3d}', '%s' % k, str(k)",
     "I.__str__ = lambda s: 's'"),
    ("str_gives_a_text_of_a_class",
     "class S(str): pass\nclass A:\n  def __str__(s): return 'q'\na = A()\n"
     "def f(): return X + 1, type(str(a)).__name__, type(f'{a}').__name__", "A.__str__ = lambda s: S('q')"),
    ("method_of_a_dict_of_its_own",
     "class D(dict): pass\nd = D(a=1)\ndef f(): return X + d.get('a'), D(b=2).get('b')",
     "D.get = lambda s, k: 40"),
    ("method_of_a_list_of_its_own",
     "class L(list): pass\ndef f():\n  l = L([1]); l.append(2)\n  return X + len(l)",
     "L.append = lambda s, v: None"),
    ("operators_of_an_object_of_the_frame",
     "class A: pass\n"
     "def f(): return X + (1 if A() else 2) + (A() == A()), callable(A()), getattr(A(), 'z', 4)",
     "A.__bool__ = lambda s: False; A.__eq__ = lambda s, o: True; A.__call__ = len; A.__getattr__ = lambda "
     "s, n: 9"),
    ("keywords_of_a_partial",
     "import functools\ndef g(*a, **k): return X + sum(a) + sum(k.values())\n"
     "p = functools.partial(g, 1, k=2)\ndef f(): return p(3), p.keywords is p.keywords, p.args",
     "p.keywords['k'] = 5"),
    ("keywords_of_a_partial_changed_in_the_frame",
     "import functools\ndef g(k): return X + k\np = functools.partial(g, k=2)\ndef f():\n  a = p()\n"
     "  p.keywords['k'] = K\n  return a, p(), p.keywords\nK = 3", "K = 4"),
    ("attribute_of_a_partial",
     "import functools\np = functools.partial(torch.add, 1)\ndef f(): return p(X), getattr(p, 'extra', 0)",
     "p.extra = 5"),
    ("set_popped_elsewhere", "S = {1, 2, 3}\ndef f():\n  y = X + (k := S.pop())\n  S.add(k)\n  return y",
     "S.add(S.pop())"),
    ("set_popped_empty", "S = {1, 2, 3, 4, 5, 6, 7, 8}\ndef f(): return X + S.pop(), list(S)",
     "S.pop(); S.add(90)"),
    ("subclass_appears", "class A: pass\nclass B(A): pass\ndef f(): return X + len(A.__subclasses__())",
     "class C(A): pass"),
    ("subclass_replaced",
     "class A: pass\nclass B(A): k = 1\ndef f(): return X + sum(c.k for c in A.__subclasses__())",
     "import gc\ndel B\ngc.collect()\nclass B(A): k = 5"),
    ("bases_replaced", "class A: pass\nclass B: pass\nclass C(A): pass\n"
     "def f(): return X + 1, C.__bases__[0].__name__, C.__base__.__name__", "C.__bases__ = (B,)"),
    ("order_of_lookup_changes", "class A: pass\nclass B(A): pass\nclass C(A): pass\n"
     "def f(): return X + len(C.__mro__), [c.__name__ for c in C.mro()]", "C.__bases__ = (B,)"),
    ("bases_change_below_one_order", "class A: pass\nclass B(A): pass\nclass C(B, A): pass\n"
     "def f(): return X + len(C.__bases__)", "C.__bases__ = (B,)"),
    ("class_renamed", "class A: pass\ndef f(): return X + 1, str(A), repr([A])", "A.__qualname__ = 'Other'"),
    ("class_moved", "class A: pass\ndef f(): return X + 1, f'{A}'", "A.__module__ = 'elsewhere'"),
    ("text_of_a_metaclass", "class M(type):\n  def __repr__(c): return 'm'\nclass A(metaclass=M): pass\n"
     "def f(): return X + 1, str(A)", "M.__str__ = lambda c: 's'"),
    ("function_renamed", "def g(): pass\ndef f(): return X + 1, str(g)[:20]", "g.__qualname__ = 'other'"),
    ("function_replaced_in_a_text",
     "def g(): pass\nsame = g\ndef f(): return X + 1, str(g) == str(same), repr([g])[:12]",
     "def g(): pass"),
    ("default_of_a_named_tuple", "import collections\nP = collections.namedtuple('P', 'a b', defaults=[1])\n"
     "def f(): return X + P(1).b, P(2)", "P.__new__.__defaults__ = (7,)"),
    ("field_defaults_of_a_named_tuple",
     "import collections\nP = collections.namedtuple('P', 'a b', defaults=[1])\n"
     "def f(): return X + P(1).b, P._field_defaults", "P._field_defaults['b'] = 9"),
    ("make_of_a_named_tuple", "import collections\nP = collections.namedtuple('P', 'a b')\np = P(1, 2)\n"
     "def f(): return X + 1, p._make([3, 4]), p._replace(a=9)",
     "P._make = classmethod(lambda c, v: ('made', *v))"),
    ("replace_of_a_named_tuple", "import collections\nP = collections.namedtuple('P', 'a b')\np = P(1, 2)\n"
     "def f(): return X + p._replace(a=9)[0]", "P._replace = lambda s, **k: (50,)"),
    ("dict_of_a_named_tuple", "import collections\nP = collections.namedtuple('P', 'a b')\np = P(1, 2)\n"
     "def f(): return X + len(p._asdict())", "P._asdict = lambda s: {}"),
    ("new_of_a_named_tuple", "import collections\nP = collections.namedtuple('P', 'a b')\n"
     "def f(): return X + P(1, 2)[0]", "P.__new__ = lambda c, *v: tuple.__new__(c, (40, 50))"),
    ("fields_of_a_named_tuple", "import collections\nP = collections.namedtuple('P', 'a b')\n"
     "def f(): return X + len(P._fields), P(1, 2)._asdict()", "P._fields = ('a', 'c')"),
]  # fmt: skip

for name, source, change in ROWS:
    WORLDS.append(World(name, lambda source=source, change=change: with_globals(source, change)))
