PACK_MIN = 16
MUTABLE_NAMES = frozenset()
def describe(value): return None
def make(name, parts): raise ValueError(name)
def refresh(value, parts): raise ValueError
def pack(values): return None
def unpack(data): raise ValueError
