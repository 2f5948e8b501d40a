-- shoal: verdict=holds states=174 full=894
-- shoal: set N=4 verdict=holds states=969 full=18165
--
-- Peterson's filter lock for N processes.
--
-- To enter, a process climbs N-1 levels. At each level it first announces
-- the level, then makes itself the victim of that level, and waits until
-- either nobody else stands at this level or above, or somebody else has
-- become the victim. At least one process is held back at every level, so at
-- most one gets through all of them. The two announcements are separate
-- steps; the test of the waiting condition is one atomic step.
--
-- Symmetric: the processes. `victim` holds a process name; it is undefined
-- until the first process comes by, which keeps the start state symmetric.
--
-- Checked: mutual exclusion, the counting argument behind the filter, and
-- that the system never gets stuck.

const
  N: 3;                                  -- processes

type
  process: scalarset(N);
  height: 0..N-1;                        -- 0: not interested
  level: 1..N-1;
  number: 0..N;
  place: enum { Idle, Announce, Yield, Wait, Critical };

var
  pc: array [process] of place;
  at: array [process] of height;         -- the level a process has announced
  goal: array [process] of level;        -- the level it is working on
  victim: array [level] of process;

function others_ahead(p: process): boolean;
begin
  return exists q: process do q != p & at[q] >= goal[p] end;
end;

-- How many processes have passed level l or stand in front of its filter.
function crowd(l: level): number;
var n: number;
begin
  n := 0;
  for p: process do
    if at[p] > l | pc[p] = Critical then
      n := n + 1;
    end;
  end;
  return n;
end;

startstate "everybody idle"
begin
  for p: process do
    pc[p] := Idle;
    at[p] := 0;
    goal[p] := 1;
  end;
  undefine victim;
end;

ruleset p: process do

  rule "become interested"
    pc[p] = Idle
  ==>
  begin
    goal[p] := 1;
    pc[p] := Announce;
  end;

  rule "announce the level"
    pc[p] = Announce
  ==>
  begin
    at[p] := goal[p];
    pc[p] := Yield;
  end;

  rule "become the victim"
    pc[p] = Yield
  ==>
  begin
    victim[goal[p]] := p;
    pc[p] := Wait;
  end;

  rule "pass the filter"
    pc[p] = Wait & (victim[goal[p]] != p | !others_ahead(p))
  ==>
  begin
    if goal[p] = N - 1 then
      pc[p] := Critical;
    else
      goal[p] := goal[p] + 1;
      pc[p] := Announce;
    end;
  end;

  rule "leave"
    pc[p] = Critical
  ==>
  begin
    at[p] := 0;
    goal[p] := 1;
    pc[p] := Idle;
  end;

end;

invariant "mutual exclusion"
  forall p: process do forall q: process do
    p != q & pc[p] = Critical -> pc[q] != Critical
  end end;

invariant "each level holds one back"
  forall l: level do crowd(l) <= N - l end;
