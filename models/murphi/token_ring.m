-- shoal: verdict=holds states=1200 full=1200
-- shoal: set N=5 verdict=holds states=20365 full=20365
--
-- Dijkstra's self-stabilising token ring with K states for each machine.
--
-- Machine 0 is privileged when it agrees with the last machine, and moves by
-- counting up; any other machine is privileged when it differs from its left
-- neighbour, and moves by copying it. From whatever state the ring is in, it
-- comes down to exactly one privilege (the token), and stays there.
--
-- The model first lets faults write anything anywhere, then lets the ring
-- run. Moves made before the ring is stable are counted, and the counter has
-- a limit that must never be reached: so an invariant proves convergence.
--
-- Symmetric: nothing that a scalarset could express (positions and values
-- are used with arithmetic).
--
-- Checked: there is always a privilege (hence no deadlock), a stable ring
-- stays stable, and every run becomes stable within a number of moves.

const
  N: 4;                                  -- machines
  K: N;                                  -- states of a machine
  LIMIT: 2 * N * N;                      -- moves until stable, generously

type
  machine: 0..N-1;
  value: 0..K-1;
  number: 0..N;

var
  x: array [machine] of value;
  faulty: boolean;                       -- faults still happen
  stable: boolean;                       -- has been seen with one token only
  moves: 0..LIMIT;                       -- since the faults, until stable

function privileged(m: machine): boolean;
begin
  if m = 0 then
    return x[0] = x[N - 1];
  end;
  return x[m] != x[m - 1];
end;

function tokens(): number;
var n: number;
begin
  n := 0;
  for m: machine do
    if privileged(m) then
      n := n + 1;
    end;
  end;
  return n;
end;

startstate "all zero, faults begin"
begin
  for m: machine do
    x[m] := 0;
  end;
  faulty := true;
  stable := false;
  moves := 0;
end;

ruleset m: machine; v: value do
  rule "fault"
    faulty
  ==>
  begin
    x[m] := v;
  end;
end;

rule "faults end"
  faulty
==>
begin
  faulty := false;
  stable := tokens() = 1;
end;

ruleset m: machine do
  rule "move"
    !faulty & privileged(m)
  ==>
  begin
    if m = 0 then
      x[0] := (x[0] + 1) % K;
    else
      x[m] := x[m - 1];
    end;
    if !stable then
      if tokens() = 1 then
        stable := true;
        moves := 0;
      else
        moves := moves + 1;
      end;
    end;
  end;
end;

invariant "there is a token"
  tokens() >= 1;

invariant "closure"
  stable -> tokens() = 1;

invariant "convergence"
  moves < LIMIT;
