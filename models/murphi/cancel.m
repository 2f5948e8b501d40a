-- shoal: verdict=holds
-- shoal: set N=3 verdict=holds
--
-- Asking work to end: what Shoal's own `Cancel` does, as seen by the threads that use it.
--
-- There is a handle for the whole of the work and one for a part of it. A
-- thread may ask for the end through either, and is told whether it was the
-- first to do so; or it may look whether the work of a handle is to end. Each
-- call takes effect at one moment between its beginning and its return, which
-- is all that a user may rely on (it is linearisable).
--
-- The example `bridge` of the crate shoal-report holds the real thing against
-- this model: tests made from it are run on the implementation, and logs of
-- threads that use the implementation are checked to be its behaviours.
--
-- Checked: one caller alone is told to be the first, whoever is told so has
-- ended it, no deadlock; and that the two goals can be reached.

const
  N: 2;                                  -- threads

type
  thread: scalarset(N);
  handle: enum { Whole, Part };
  operation: enum { Cancel, Look };

var
  ended: array [handle] of boolean;
  first: array [handle] of boolean;      -- somebody was told to be the first
  busy: array [thread] of operation;     -- undefined: the thread does something else
  on: array [thread] of handle;
  result: array [thread] of boolean;     -- undefined: the call has not taken effect yet

startstate
  for h: handle do
    ended[h] := false;
    first[h] := false;
  end;
end;

ruleset t: thread; o: operation; h: handle do
  rule "call" isundefined(busy[t]) ==>
    busy[t] := o;
    on[t] := h;
  end;
end;

ruleset t: thread do
  rule "take effect" !isundefined(busy[t]) & isundefined(result[t]) ==>
    if busy[t] = Cancel then
      result[t] := !ended[on[t]];
      ended[on[t]] := true;
    else
      result[t] := ended[on[t]] | ended[Whole];
    end;
  end;
end;

ruleset t: thread; r: boolean do
  rule "return" !isundefined(result[t]) & result[t] = r ==>
    if busy[t] = Cancel & r then
      assert "one is the first" !first[on[t]];
      first[on[t]] := true;
    end;
    undefine busy[t];
    undefine on[t];
    undefine result[t];
  end;
end;

invariant "whoever was the first has ended it"
  forall h: handle do first[h] -> ended[h] end;

cover "both are ended, each by its own call"
  ended[Whole] & ended[Part] & first[Whole] & first[Part];
cover "a part is ended through the whole"
  exists t: thread do
    !isundefined(result[t]) & busy[t] = Look & on[t] = Part & result[t] & !ended[Part]
  end;
