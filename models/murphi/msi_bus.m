-- shoal: verdict=holds states=104 full=952
-- shoal: set N=4 verdict=holds states=219 full=5546
-- shoal: set N=any verdict=holds
--
-- MSI cache coherence on a snooping bus.
--
-- Each cache holds one line in state M (modified), S (shared) or I (invalid).
-- A cache that misses puts a request up; the arbiter gives it the bus. While
-- a transaction is on the bus, a modified copy elsewhere is first written
-- back to memory by its owner; then the transaction completes: the other
-- caches keep or lose their copies and the requester reads memory. A copy may
-- be evicted at any time when its cache does not hold the bus.
--
-- Symmetric: the caches and, independently, the data values.
--
-- Checked: single writer or many readers; every copy is the value written
-- last, and so is memory when no copy is modified; no deadlock.

const
  N: 3;                                  -- caches
  VALUES: 2;                             -- data values

type
  cache_id: scalarset(N);
  value: scalarset(VALUES);
  line_state: enum { I, S, M };
  wish: enum { NoWish, Read, Write };
  line: record
    state: line_state;
    data: value;                         -- undefined in state I
    want: wish;
  end;

var
  cache: array [cache_id] of line;
  master: cache_id;                      -- holds the bus; undefined: bus free
  memory: value;
  latest: value;                         -- for the properties only

procedure invalidate(var l: line);
begin
  l.state := I;
  undefine l.data;
end;

procedure fill(var l: line; s: line_state);
begin
  l.state := s;
  l.data := memory;
  l.want := NoWish;
end;

function on_bus(c: cache_id): boolean;
begin
  return !isundefined(master) & master = c;
end;

ruleset v: value do
  startstate "caches empty, memory holds v"
  begin
    for c: cache_id do
      invalidate(cache[c]);
      cache[c].want := NoWish;
    end;
    undefine master;
    memory := v;
    latest := v;
  end;
end;

ruleset c: cache_id do

  rule "read miss"
    cache[c].state = I & cache[c].want = NoWish
  ==>
  begin
    cache[c].want := Read;
  end;

  rule "write miss"
    cache[c].state != M & cache[c].want = NoWish
  ==>
  begin
    cache[c].want := Write;
  end;

  rule "get the bus"
    isundefined(master) & cache[c].want != NoWish
  ==>
  begin
    master := c;
  end;

  rule "write back for somebody else"
    !isundefined(master) & master != c & cache[c].state = M
  ==>
  begin
    memory := cache[c].data;
    cache[c].state := S;
  end;

  rule "complete a read"
    on_bus(c) & cache[c].want = Read &
    forall d: cache_id do cache[d].state != M end
  ==>
  begin
    fill(cache[c], S);
    undefine master;
  end;

  rule "complete a write"
    on_bus(c) & cache[c].want = Write &
    forall d: cache_id do cache[d].state != M end
  ==>
  begin
    for d: cache_id do
      if d != c then
        invalidate(cache[d]);
      end;
    end;
    fill(cache[c], M);
    undefine master;
  end;

  rule "evict"
    !on_bus(c) & cache[c].state != I
  ==>
  begin
    if cache[c].state = M then
      memory := cache[c].data;
    end;
    invalidate(cache[c]);
  end;

end;

ruleset c: cache_id; v: value do
  rule "store"
    cache[c].state = M
  ==>
  begin
    cache[c].data := v;
    latest := v;
  end;
end;

invariant "single writer or many readers"
  forall c: cache_id do forall d: cache_id do
    c != d & cache[c].state = M -> cache[d].state = I
  end end;

invariant "copies are fresh"
  forall c: cache_id do
    cache[c].state != I -> cache[c].data = latest
  end;

invariant "memory is fresh unless modified elsewhere"
  memory = latest | exists c: cache_id do cache[c].state = M end;
