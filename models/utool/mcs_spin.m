-- shoal: verdict=holds
-- shoal: set N=5 verdict=holds
--
-- A list-based spin lock as it looks when the list is forgotten: every process
-- spins on a flag of its own, and the holder of the lock unlocks some process
-- that waits. `q` counts those who want the lock or have it. After the program
-- of figure 1 of Emerson and Wahl (CHARME 2005), whose lines 4 and 5 are one
-- step here: as printed, the test and the reset are two, and two processes can
-- get in.
--
-- The paper's point is that `nonempty` matters at line 1 only and `locked` at
-- line 3 only: `shoal explain` shows it.

const
  N: 4;

type
  process: scalarset(N);
  line: 0..7;

var
  pc: array [process] of line;
  nonempty: array [process] of boolean;
  locked: array [process] of boolean;
  q: 0..N;

startstate "lock free"
begin
  for i: process do
    pc[i] := 0;
    nonempty[i] := false;
    locked[i] := false;
  end;
  q := 0;
end;

ruleset i: process do

  rule "0 ask"
    pc[i] = 0
  ==>
    nonempty[i] := q > 0;
    q := q + 1;
    pc[i] := 1;
  end;

  rule "1 is somebody there?"
    pc[i] = 1
  ==>
    if nonempty[i] then pc[i] := 2; else pc[i] := 4; end;
  end;

  rule "2 lock"
    pc[i] = 2
  ==>
    locked[i] := true;
    pc[i] := 3;
  end;

  rule "3 spin"
    pc[i] = 3 & !locked[i]
  ==>
    pc[i] := 4;
  end;

  rule "4 last one leaves"
    pc[i] = 4 & q = 1
  ==>
    q := 0;
    pc[i] := 0;
  end;

  rule "4 others wait"
    pc[i] = 4 & q > 1
  ==>
    pc[i] := 6;
  end;

  ruleset j: process do
    rule "6 unlock one"
      pc[i] = 6 & pc[j] = 3 & locked[j]
    ==>
      locked[j] := false;
      pc[i] := 7;
    end;
  end;

  rule "7 leave"
    pc[i] = 7
  ==>
    q := q - 1;
    pc[i] := 0;
  end;

end;

invariant "mutual exclusion"
  forall i: process do forall j: process do
    i = j | !(pc[i] = 4 & pc[j] = 4)
  end end;

-- Who waits can always still get in (without fairness, not all of them must).
ctl "access stays possible" forall i: process do AG (pc[i] = 3 -> EF pc[i] = 4) end;

-- If somebody wants the lock, somebody gets it.
ctl "somebody gets in"
  AG ((exists i: process do pc[i] != 0 end) -> AF exists i: process do pc[i] = 4 end);
