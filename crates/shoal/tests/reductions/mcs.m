-- The MCS queue lock with pointers, as a process template: ten modes, fifteen transitions.
-- A pointer is a process or `Null`. Processes swap themselves with the tail of the queue.

const
  N: 3;

type
  Proc: scalarset(N);
  Nil: enum { Null };
  Pointer: union { Proc, Nil };
  Mode: 0..9;

var
  mode: array [Proc] of Mode;
  next: array [Proc] of Pointer;
  prev: array [Proc] of Pointer;
  locked: array [Proc] of boolean;         -- true: permission to enter
  L: Pointer;                              -- the tail

startstate
begin
  for p: Proc do
    mode[p] := 0;
    next[p] := Null;
    prev[p] := Null;
    locked[p] := false;
  end;
  L := Null;
end;

ruleset p: Proc do
  rule "prepare" mode[p] = 0 ==>
  begin
    next[p] := Null; prev[p] := p; mode[p] := 1;
  end;
  rule "swap with the tail" mode[p] = 1 ==>
  var old: Pointer;
  begin
    old := prev[p]; prev[p] := L; L := old; mode[p] := 2;
  end;
  rule "nobody before" mode[p] = 2 & prev[p] = Null ==> begin mode[p] := 6; end;
  rule "somebody before" mode[p] = 2 & prev[p] != Null ==> begin mode[p] := 3; end;
  rule "no permission yet" mode[p] = 3 ==> begin locked[p] := false; mode[p] := 4; end;
  rule "link" mode[p] = 4 ==> begin next[prev[p]] := p; mode[p] := 5; end;
  rule "permission" mode[p] = 5 & locked[p] ==> begin mode[p] := 6; end;
  rule "spin for permission" mode[p] = 5 & !locked[p] ==> begin mode[p] := 5; end;
  rule "leave" mode[p] = 6 ==> begin mode[p] := 7; end;
  rule "nobody linked" mode[p] = 7 & next[p] = Null ==> begin mode[p] := 8; end;
  rule "somebody linked" mode[p] = 7 & next[p] != Null ==> begin mode[p] := 9; end;
  rule "nobody waits" mode[p] = 8 & L = p ==> begin L := Null; mode[p] := 0; end;
  rule "linked late" mode[p] = 8 & L != p & next[p] != Null ==> begin mode[p] := 9; end;
  rule "spin for the link" mode[p] = 8 & L != p & next[p] = Null ==> begin mode[p] := 8; end;
  rule "pass on" mode[p] = 9 ==> begin locked[next[p]] := true; mode[p] := 0; end;
end;

invariant "mutual exclusion"
  forall p: Proc do forall q: Proc do
    p = q | mode[p] < 6 | mode[q] < 6
  end end;
