-- shoal: verdict=holds states=30 full=2932
-- shoal: set N=4 verdict=holds states=55 full=77125
-- shoal: set N=any verdict=holds
--
-- The CLH queue lock (Craig; Landin and Hagersten).
--
-- A thread owns one queue node. To take the lock it marks its node busy,
-- swaps it into `tail`, and spins on the node that was there before. To
-- release the lock it clears its own node's mark; it then keeps its
-- predecessor's node for the next time. So nodes wander between the threads,
-- and there is one more node than there are threads.
--
-- Symmetric: the threads and, independently, the nodes. Threads pick their
-- first node when they are born, so that no pairing of threads and nodes is
-- built in; the spare node in the tail is any node.
--
-- Checked: mutual exclusion, no node has two owners, no deadlock.

const
  N: 3;                                  -- threads

type
  thread: scalarset(N);
  node: scalarset(N + 1);
  number: 0..N;
  place: enum { Unborn, Idle, Swap, Spin, Critical };

var
  pc: array [thread] of place;
  own: array [thread] of node;           -- undefined until born
  watched: array [thread] of node;       -- undefined unless queueing
  busy: array [node] of boolean;
  tail: node;

-- The number of threads whose node this is.
function owners(n: node): number;
var k: number;
begin
  k := 0;
  for t: thread do
    if !isundefined(own[t]) & own[t] = n then
      k := k + 1;
    end;
  end;
  return k;
end;

function watched_by_somebody(n: node): boolean;
begin
  return exists t: thread do
    !isundefined(watched[t]) & watched[t] = n
  end;
end;

ruleset spare: node do
  startstate "lock free"
  begin
    for t: thread do
      pc[t] := Unborn;
      undefine own[t];
      undefine watched[t];
    end;
    for n: node do
      busy[n] := false;
    end;
    tail := spare;
  end;
end;

ruleset t: thread; n: node do
  rule "be born with a fresh node"
    pc[t] = Unborn & owners(n) = 0 & tail != n & !watched_by_somebody(n)
  ==>
  begin
    own[t] := n;
    pc[t] := Idle;
  end;
end;

ruleset t: thread do

  rule "mark the node busy"
    pc[t] = Idle
  ==>
  begin
    busy[own[t]] := true;
    pc[t] := Swap;
  end;

  rule "swap the tail"
    pc[t] = Swap
  ==>
  begin
    watched[t] := tail;
    tail := own[t];
    pc[t] := Spin;
  end;

  rule "stop spinning"
    pc[t] = Spin & !busy[watched[t]]
  ==>
  begin
    pc[t] := Critical;
  end;

  rule "leave"
    pc[t] = Critical
  ==>
  begin
    busy[own[t]] := false;
    own[t] := watched[t];
    undefine watched[t];
    pc[t] := Idle;
  end;

end;

invariant "mutual exclusion"
  forall t: thread do forall u: thread do
    t != u & pc[t] = Critical -> pc[u] != Critical
  end end;

invariant "no node has two owners"
  forall n: node do owners(n) <= 1 end;
