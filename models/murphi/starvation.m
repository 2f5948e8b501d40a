-- shoal: verdict=violated property="every process that wants the lock gets it" depth=6
-- shoal: set N=4 verdict=violated
-- shoal: set FIFO=1 verdict=holds
-- shoal: set FIFO=1 N=4 verdict=holds
--
-- A lock that anyone may take, and the same lock with a queue.
--
-- Without the queue (FIFO = 0) a process that wants the lock can be passed
-- over for ever: the counterexample is a loop in which another process takes
-- and gives back the lock again and again. With the queue no process is
-- passed over, as long as whoever has the lock gives it back: that is the
-- fairness constraint.
--
-- Symmetric: the processes. The property is about each process, so one of
-- them is followed and the others stay interchangeable.

const
  N: 3;                                  -- processes
  FIFO: 0;                               -- 1: the lock is given in order

type
  process: scalarset(N);
  number: 0..N;
  place: enum { Idle, Waiting, Critical };

var
  pc: array [process] of place;
  before: array [process] of number;     -- how many wait before it, in order

function waiting(): number;
var n: number;
begin
  n := 0;
  for p: process do
    if pc[p] = Waiting then
      n := n + 1;
    end;
  end;
  return n;
end;

startstate
begin
  for p: process do
    pc[p] := Idle;
    before[p] := 0;
  end;
end;

ruleset p: process do
  rule "want"
    pc[p] = Idle
  ==>
  begin
    if FIFO = 1 then
      before[p] := waiting();
    end;
    pc[p] := Waiting;
  end;

  rule "take"
    pc[p] = Waiting & before[p] = 0 & forall q: process do pc[q] != Critical end
  ==>
  begin
    pc[p] := Critical;
    for q: process do
      if pc[q] = Waiting & before[q] > 0 then
        before[q] := before[q] - 1;
      end;
    end;
  end;

  rule "give back"
    pc[p] = Critical
  ==>
  begin
    pc[p] := Idle;
  end;
end;

invariant "mutual exclusion"
  forall p: process; q: process do
    p != q -> !(pc[p] = Critical & pc[q] = Critical)
  end;

fairness "the lock is given back"
  forall p: process do pc[p] != Critical end;

fairness "someone who waits is served, or nobody waits"
  exists p: process do pc[p] = Critical end | forall p: process do pc[p] != Waiting end;

ltl "every process that wants the lock gets it"
  forall p: process do
    [] (pc[p] = Waiting -> <> pc[p] = Critical)
  end;

ltl "the lock is taken only by who waited"
  forall p: process do
    pc[p] = Waiting release pc[p] != Critical
  end;

ltl "nobody leaves a place but by the next one"
  forall p: process do
    always (pc[p] = Idle -> (pc[p] = Idle until pc[p] = Waiting) | [] pc[p] = Idle)
  end;
