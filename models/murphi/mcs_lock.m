-- shoal: verdict=holds states=158 full=893
-- shoal: set N=4 verdict=holds states=734 full=15920
--
-- The MCS queue lock (Mellor-Crummey and Scott).
--
-- Waiting threads form a linked list. `tail` points to the last of them. A
-- thread appends itself by an atomic swap of `tail`, links itself behind its
-- predecessor and spins on its own flag. To release the lock it passes it to
-- its successor; if it sees none it tries to reset `tail` by an atomic
-- compare-and-swap, and if that fails it waits for the late successor to
-- finish linking itself.
--
-- Symmetric: the threads. A queue node belongs to its thread, so a pointer is
-- a thread name, and nil is the undefined value.
--
-- Checked: mutual exclusion, a few facts about the pointers, and that no
-- lock is ever lost (no deadlock).

const
  N: 3;                                  -- threads

type
  thread: scalarset(N);
  place: enum {
    Idle,         -- outside
    Swap,         -- own node is ready
    Arm,          -- has a predecessor, sets its flag
    Link,         -- tells the predecessor
    Spin,         -- waits for the flag to fall
    Critical,
    Release,      -- looks for a successor
    Unhook,       -- saw none: compare-and-swap on tail
    Linger,       -- a successor has swapped but has not linked itself yet
    Pass          -- hands the lock over
  };

var
  pc: array [thread] of place;
  tail: thread;                          -- nil: lock free
  next: array [thread] of thread;
  pred: array [thread] of thread;        -- a local variable of each thread
  blocked: array [thread] of boolean;

startstate "lock free"
begin
  undefine tail;
  undefine next;
  undefine pred;
  for t: thread do
    pc[t] := Idle;
    blocked[t] := false;
  end;
end;

ruleset t: thread do

  rule "prepare the node"
    pc[t] = Idle
  ==>
  begin
    undefine next[t];
    pc[t] := Swap;
  end;

  rule "swap the tail"
    pc[t] = Swap
  ==>
  begin
    if isundefined(tail) then
      pc[t] := Critical;
    else
      pred[t] := tail;
      pc[t] := Arm;
    end;
    tail := t;
  end;

  rule "set the flag"
    pc[t] = Arm
  ==>
  begin
    blocked[t] := true;
    pc[t] := Link;
  end;

  rule "link behind the predecessor"
    pc[t] = Link
  ==>
  begin
    next[pred[t]] := t;
    undefine pred[t];
    pc[t] := Spin;
  end;

  rule "stop spinning"
    pc[t] = Spin & !blocked[t]
  ==>
  begin
    pc[t] := Critical;
  end;

  rule "leave"
    pc[t] = Critical
  ==>
  begin
    pc[t] := Release;
  end;

  rule "look for a successor"
    pc[t] = Release
  ==>
  begin
    if isundefined(next[t]) then
      pc[t] := Unhook;
    else
      pc[t] := Pass;
    end;
  end;

  rule "reset the tail"
    pc[t] = Unhook
  ==>
  begin
    if tail = t then
      undefine tail;
      pc[t] := Idle;
    else
      pc[t] := Linger;
    end;
  end;

  rule "see the late successor"
    pc[t] = Linger & !isundefined(next[t])
  ==>
  begin
    pc[t] := Pass;
  end;

  rule "pass the lock on"
    pc[t] = Pass
  ==>
  begin
    blocked[next[t]] := false;
    pc[t] := Idle;
  end;

end;

invariant "mutual exclusion"
  forall t: thread do forall u: thread do
    t != u & pc[t] = Critical -> pc[u] != Critical
  end end;

invariant "a held lock has a tail"
  (exists t: thread do pc[t] != Idle & pc[t] != Swap end)
    -> !isundefined(tail);

invariant "nobody points to itself"
  forall t: thread do
    (isundefined(next[t]) | next[t] != t) &
    (isundefined(pred[t]) | pred[t] != t)
  end;

-- (The pointer of an idle thread is stale.)
invariant "at most one successor points to a node"
  forall t: thread do forall u: thread do
    t = u | pc[t] = Idle | pc[u] = Idle |
    isundefined(next[t]) | isundefined(next[u]) | next[t] != next[u]
  end end;
