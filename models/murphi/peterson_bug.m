-- shoal: verdict=violated property="mutual exclusion" depth=14
-- shoal: set N=2 verdict=violated property="mutual exclusion" depth=8
--
-- Peterson's filter lock for N processes, with a seeded bug.
--
-- Same algorithm as in peterson.m: climb N-1 levels, at each of them announce
-- the level, name yourself the victim, and wait for the way to be free.
-- The bug is a classic of porting this lock to machines with weak memory: two
-- writes that look independent do not come in the order the proof needs.
--
-- Symmetric: the processes.
--
-- Checked: as in peterson.m. Mutual exclusion fails, for two processes too.

const
  N: 3;                                  -- processes

type
  process: scalarset(N);
  height: 0..N-1;                        -- 0: not interested
  level: 1..N-1;
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

  rule "become the victim"
    pc[p] = Announce
  ==>
  begin
    victim[goal[p]] := p;
    pc[p] := Yield;
  end;

  rule "announce the level"
    pc[p] = Yield
  ==>
  begin
    at[p] := goal[p];
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
