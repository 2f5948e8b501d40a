-- shoal: verdict=holds states=36 full=516
-- shoal: set N=5 verdict=holds states=55 full=3255
-- shoal: set N=6 verdict=holds states=78 full=23478
--
-- The ticket lock.
--
-- A thread draws a ticket with an atomic fetch-and-add and waits until the
-- display shows its number; leaving, it advances the display. Numbers are
-- taken modulo N: with N threads no two tickets that are out at the same
-- time can be confused.
--
-- Symmetric: the threads (but not the tickets, which are counted).
--
-- Checked: mutual exclusion, tickets that are out are different, the tickets
-- out are exactly those between the display and the roll, no deadlock.

const
  N: 4;                                  -- threads

type
  thread: scalarset(N);
  ticket: 0..N-1;
  number: 0..N;
  place: enum { Idle, Waiting, Critical };

var
  pc: array [thread] of place;
  mine: array [thread] of ticket;        -- undefined when idle
  roll: ticket;                          -- the next ticket to be drawn
  display: ticket;                       -- the ticket being served

function waiting_or_in(): number;
var n: number;
begin
  n := 0;
  for t: thread do
    if pc[t] != Idle then
      n := n + 1;
    end;
  end;
  return n;
end;

startstate "lock free"
begin
  for t: thread do
    pc[t] := Idle;
    undefine mine[t];
  end;
  roll := 0;
  display := 0;
end;

ruleset t: thread do

  rule "draw a ticket"
    pc[t] = Idle
  ==>
  begin
    mine[t] := roll;
    roll := (roll + 1) % N;
    pc[t] := Waiting;
  end;

  rule "see the own number"
    pc[t] = Waiting & mine[t] = display
  ==>
  begin
    pc[t] := Critical;
  end;

  rule "leave"
    pc[t] = Critical
  ==>
  begin
    display := (display + 1) % N;
    undefine mine[t];
    pc[t] := Idle;
  end;

end;

invariant "mutual exclusion"
  forall t: thread do forall u: thread do
    t != u & pc[t] = Critical -> pc[u] != Critical
  end end;

invariant "tickets differ"
  forall t: thread do forall u: thread do
    t != u & pc[t] != Idle & pc[u] != Idle -> mine[t] != mine[u]
  end end;

invariant "no ticket is missing"
  (display + waiting_or_in()) % N = roll;
