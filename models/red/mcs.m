-- The lock of mcs.red in Murphi, to be compared with Rumur: local variables are arrays over a scalarset, and as
-- Rumur has no unions, one more node is NULL.

-- shoal: set M=3 verdict=holds

const M: 3;

type Node: scalarset(M + 1);

var
  nil: Node;
  mode: array [Node] of 0..9;
  L: Node;
  next: array [Node] of Node;
  prev: array [Node] of Node;
  locked: array [Node] of 0..1;

ruleset n: Node do startstate "start"
begin
  nil := n;
  L := n;
  for p: Node do
    next[p] := n;
    prev[p] := n;
    locked[p] := 0;
    mode[p] := 0;
  end;
end; end;

ruleset p: Node do
  rule "0 to 1" p != nil & mode[p] = 0 ==>
  begin next[p] := nil; prev[p] := p; mode[p] := 1;
  end;

  rule "1 to 2" p != nil & mode[p] = 1 ==>
  begin prev[p] := L; L := p; mode[p] := 2;
  end;

  rule "2 to 6" p != nil & mode[p] = 2 & prev[p] = nil ==>
  begin mode[p] := 6;
  end;

  rule "2 to 3" p != nil & mode[p] = 2 & prev[p] != nil ==>
  begin mode[p] := 3;
  end;

  rule "3 to 4" p != nil & mode[p] = 3 ==>
  begin locked[p] := 0; mode[p] := 4;
  end;

  rule "4 to 5" p != nil & mode[p] = 4 ==>
  begin next[prev[p]] := p; mode[p] := 5;
  end;

  rule "5 to 6" p != nil & mode[p] = 5 & locked[p] = 1 ==>
  begin mode[p] := 6;
  end;

  rule "5 to 5" p != nil & mode[p] = 5 & locked[p] = 0 ==>
  begin
  end;

  rule "6 to 7" p != nil & mode[p] = 6 ==>
  begin mode[p] := 7;
  end;

  rule "7 to 8" p != nil & mode[p] = 7 & next[p] = nil ==>
  begin mode[p] := 8;
  end;

  rule "7 to 9" p != nil & mode[p] = 7 & next[p] != nil ==>
  begin mode[p] := 9;
  end;

  rule "8 to 0" p != nil & mode[p] = 8 & L = p ==>
  begin L := nil; mode[p] := 0;
  end;

  rule "8 to 9" p != nil & mode[p] = 8 & L != p & next[p] != nil ==>
  begin mode[p] := 9;
  end;

  rule "8 to 8" p != nil & mode[p] = 8 & L != p & next[p] = nil ==>
  begin
  end;

  rule "9 to 0" p != nil & mode[p] = 9 ==>
  begin locked[next[p]] := 1; mode[p] := 0;
  end;
end;

invariant "mutual exclusion"
  forall p: Node do forall q: Node do p != nil & q != nil & p != q -> !(mode[p] >= 6 & mode[p] <= 9 & mode[q] >= 6 & mode[q] <= 9) end end;
