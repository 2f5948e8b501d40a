-- shoal: verdict=holds states=10 full=37
-- shoal: set N=4 verdict=holds states=14 full=103
--
-- A test-and-set lock, with the properties that only Rumur's dialect has:
-- `assume`, `cover` and `liveness`. CMurphi does not accept this model.
--
-- A thread that wants the lock spins until an atomic test-and-set finds it
-- free. It may lose patience and go away again.
--
--   assume    prunes: states in which all threads contend at once are left
--             out of the search.
--   cover     must be true in at least one reachable state: it shows that
--             the model is not vacuously correct.
--   liveness  from every reachable state a state can be reached in which it
--             is true (not: will be).
--
-- Symmetric: the threads.

const
  N: 3;                                  -- threads

type
  thread: scalarset(N);
  place: enum { Idle, Spinning, Critical };

var
  pc: array [thread] of place;
  held: boolean;
  last: thread;                          -- the last holder; undefined: none

startstate "lock free"
begin
  for t: thread do
    pc[t] := Idle;
  end;
  held := false;
  undefine last;
end;

ruleset t: thread do

  rule "want the lock"
    pc[t] = Idle
  ==>
  begin
    pc[t] := Spinning;
  end;

  rule "lose patience"
    pc[t] = Spinning
  ==>
  begin
    pc[t] := Idle;
  end;

  rule "test and set"
    pc[t] = Spinning & !held
  ==>
  begin
    held := true;
    last := t;
    pc[t] := Critical;
  end;

  rule "release"
    pc[t] = Critical
  ==>
  begin
    held := false;
    pc[t] := Idle;
  end;

end;

assume "somebody rests"
  exists t: thread do pc[t] = Idle end;

invariant "mutual exclusion"
  forall t: thread do forall u: thread do
    t != u & pc[t] = Critical -> pc[u] != Critical
  end end;

invariant "the holder is the last one"
  forall t: thread do
    pc[t] = Critical -> held & !isundefined(last) & last = t
  end;

cover "there is contention"
  exists t: thread do exists u: thread do
    pc[t] = Critical & pc[u] = Spinning
  end end;

cover "the last holder comes back while another waits"
  !isundefined(last) & pc[last] = Spinning & !held;

liveness "the lock can always be free again"
  !held;

liveness "the lock can always be taken"
  held;
