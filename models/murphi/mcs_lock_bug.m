-- shoal: verdict=violated property="deadlock" depth=17
-- shoal: set N=2 verdict=violated property="deadlock" depth=13
--
-- The MCS queue lock, with a seeded bug.
--
-- Same algorithm as in mcs_lock.m: threads queue up in a linked list, each
-- spins on a flag of its own and is woken by its predecessor.
-- The bug: two steps of the slow path of taking the lock are the wrong way
-- round. Most schedules do not notice.
--
-- Symmetric: the threads; pointers are thread names, nil is undefined.
--
-- Checked: mutual exclusion (which survives) and absence of deadlock.

const
  N: 3;                                  -- threads

type
  thread: scalarset(N);
  place: enum {
    Idle,         -- outside
    Swap,         -- own node is ready
    Link,         -- has a predecessor, tells it
    Arm,          -- sets its flag
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
      pc[t] := Link;
    end;
    tail := t;
  end;

  rule "link behind the predecessor"
    pc[t] = Link
  ==>
  begin
    next[pred[t]] := t;
    undefine pred[t];
    pc[t] := Arm;
  end;

  rule "set the flag"
    pc[t] = Arm
  ==>
  begin
    blocked[t] := true;
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
