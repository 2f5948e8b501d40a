-- shoal: verdict=holds states=9 full=26
-- shoal: set N=4 verdict=holds states=11 full=56
-- shoal: set N=any verdict=holds
--
-- MOESI cache coherence, without data.
--
-- Each cache holds one line: M (modified: the only copy, and memory is
-- stale), O (owned: others may have shared copies, and this one answers for
-- memory), E (exclusive: the only copy, and memory is fresh), S (shared) or I
-- (invalid). Transactions on the bus are atomic. A read miss is filled by
-- whoever owns the line, who keeps owning it; a write first invalidates every
-- other copy. A copy may be given up at any time; one that answers for memory
-- is written back then.
--
-- Symmetric: the caches.
--
-- Checked: who may write has the only copy, at most one cache answers for
-- memory, no deadlock.

const
  N: 3;                                  -- caches

type
  cache: scalarset(N);
  line: enum { M, O, E, S, I };

var
  state: array [cache] of line;

function is_copy(l: line): boolean;
begin
  return l != I;
end;

function answers(l: line): boolean;
begin
  return l = M | l = O;
end;

function nobody_has_a_copy(): boolean;
begin
  return forall d: cache do !is_copy(state[d]) end;
end;

startstate "caches empty"
begin
  for c: cache do
    state[c] := I;
  end;
end;

ruleset c: cache do

  rule "read, nobody has it"
    state[c] = I & nobody_has_a_copy()
  ==>
  begin
    state[c] := E;
  end;

  rule "read what others have"
    state[c] = I & !nobody_has_a_copy()
  ==>
  begin
    for d: cache do
      if state[d] = M then
        state[d] := O;
      elsif state[d] = E then
        state[d] := S;
      end;
    end;
    state[c] := S;
  end;

  rule "write what nobody else has"
    state[c] = E
  ==>
  begin
    state[c] := M;
  end;

  rule "write"
    state[c] != M & state[c] != E
  ==>
  begin
    for d: cache do
      state[d] := I;
    end;
    state[c] := M;
  end;

  rule "give up a clean copy"
    state[c] = E | state[c] = S
  ==>
  begin
    state[c] := I;
  end;

  rule "write back"
    answers(state[c])
  ==>
  begin
    state[c] := I;
  end;

end;

invariant "who may write has the only copy"
  forall c: cache do forall d: cache do
    c != d & (state[c] = M | state[c] = E) -> !is_copy(state[d])
  end end;

invariant "one answers for memory at most"
  forall c: cache do forall d: cache do
    c != d & answers(state[c]) -> !answers(state[d])
  end end;
