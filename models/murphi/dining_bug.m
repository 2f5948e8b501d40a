-- shoal: verdict=violated property="deadlock" depth=5
-- shoal: set N=3 verdict=violated property="deadlock" depth=3
--
-- Dining philosophers, with a seeded bug.
--
-- Same table as in dining.m: fork i lies to the left of philosopher i, fork
-- i+1 to the right, and forks are taken and put back one at a time.
-- The bug: every philosopher follows the same sensible rule, and that is the
-- trouble.
--
-- Symmetric: nothing that a scalarset could express (a ring, not a set).
--
-- Checked: as in dining.m. The invariants hold; the philosophers starve.

const
  N: 5;                                  -- philosophers, and forks

type
  seat: 0..N-1;
  number: 0..N;
  activity: enum { Thinking, OneFork, Eating, Leaving };

var
  doing: array [seat] of activity;
  taken: array [seat] of boolean;        -- the forks

function right_of(s: seat): seat;
begin
  return (s + 1) % N;
end;

function first_fork(s: seat): seat;
begin
  return s;
end;

function second_fork(s: seat): seat;
begin
  return right_of(s);
end;

-- How many philosophers hold fork f.
function holders(f: seat): number;
var n: number;
begin
  n := 0;
  for s: seat do
    if (first_fork(s) = f & (doing[s] = OneFork | doing[s] = Eating)) |
       (second_fork(s) = f & (doing[s] = Eating | doing[s] = Leaving)) then
      n := n + 1;
    end;
  end;
  return n;
end;

startstate "all think"
begin
  for s: seat do
    doing[s] := Thinking;
    taken[s] := false;
  end;
end;

ruleset s: seat do

  rule "take the first fork"
    doing[s] = Thinking & !taken[first_fork(s)]
  ==>
  begin
    taken[first_fork(s)] := true;
    doing[s] := OneFork;
  end;

  rule "take the second fork"
    doing[s] = OneFork & !taken[second_fork(s)]
  ==>
  begin
    taken[second_fork(s)] := true;
    doing[s] := Eating;
  end;

  rule "put the first fork back"
    doing[s] = Eating
  ==>
  begin
    taken[first_fork(s)] := false;
    doing[s] := Leaving;
  end;

  rule "put the second fork back"
    doing[s] = Leaving
  ==>
  begin
    taken[second_fork(s)] := false;
    doing[s] := Thinking;
  end;

end;

invariant "neighbours do not eat together"
  forall s: seat do
    doing[s] = Eating -> doing[right_of(s)] != Eating
  end;

invariant "a taken fork has one holder"
  forall f: seat do
    (taken[f] -> holders(f) = 1) & (!taken[f] -> holders(f) = 0)
  end;
