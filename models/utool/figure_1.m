-- shoal: set N=2 verdict=holds
--
-- The program of figure 1 of Emerson and Wahl (CHARME 2005), line by line. It
-- shows live variables: `nonempty` matters at line 1 only and `locked` at line 3
-- only, so of 32 local states 10 are left (`shoal explain`). It is no lock: with
-- three processes, lines 4 and 5 let two of them in. mcs_spin.m has a lock.

const
  N: 2;

type
  process: scalarset(N);
  line: 0..7;

var
  pc: array [process] of line;
  nonempty: array [process] of boolean;
  locked: array [process] of boolean;
  q: 0..N;

startstate
begin
  for i: process do
    pc[i] := 0;
    nonempty[i] := false;
    locked[i] := false;
  end;
  q := 0;
end;

ruleset i: process do
  rule "0" pc[i] = 0 ==> nonempty[i] := q > 0; q := q + 1; pc[i] := 1; end;
  rule "1" pc[i] = 1 ==> if nonempty[i] then pc[i] := 2; else pc[i] := 4; end; end;
  rule "2" pc[i] = 2 ==> locked[i] := true; pc[i] := 3; end;
  rule "3" pc[i] = 3 & !locked[i] ==> pc[i] := 4; end;
  rule "4" pc[i] = 4 ==> if q = 1 then pc[i] := 5; else pc[i] := 6; end; end;
  rule "5" pc[i] = 5 ==> q := 0; pc[i] := 0; end;
  ruleset j: process do
    rule "6" pc[i] = 6 & pc[j] = 3 ==> locked[j] := false; pc[i] := 7; end;
  end;
  rule "7" pc[i] = 7 & q > 0 ==> q := q - 1; pc[i] := 0; end;
end;
