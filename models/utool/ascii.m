-- shoal: verdict=holds
--
-- The second example of Emerson and Wahl (CHARME 2005): a process reads a number
-- and prints it in some base, and as a character if it is one. `base` is a
-- constant once it is set, `a` matters at lines 3 and 4 only, and at line 4 it is
-- one of 96 printable characters: of 5,120 local states 355 are left (`shoal
-- explain`).

const
  N: 1;
  LEAST: 32;                             -- the least printable character

type
  process: scalarset(N);
  line: 0..4;
  base_type: enum { Binary, Octal, Decimal, Hexadecimal };
  byte: 0..255;

var
  pc: array [process] of line;
  base: array [process] of base_type;
  a: array [process] of byte;
  printed: boolean;

startstate
begin
  for i: process do
    pc[i] := 0;
    undefine base[i];
    undefine a[i];
  end;
  printed := false;
end;

ruleset i: process do
  rule "0 choose the least character" pc[i] = 0 ==> pc[i] := 1; end;
  rule "1 choose a base" pc[i] = 1 ==> base[i] := Hexadecimal; pc[i] := 2; end;
  ruleset input: byte do
    rule "2 read" pc[i] = 2 ==> a[i] := input; pc[i] := 3; end;
  end;
  rule "3 is it printable?"
    pc[i] = 3
  ==>
    if LEAST <= a[i] & a[i] < LEAST + 96 then pc[i] := 4; else pc[i] := 0; end;
  end;
  rule "4 print"
    pc[i] = 4
  ==>
    printed := base[i] = Hexadecimal & a[i] >= LEAST;
    pc[i] := 0;
  end;
end;
