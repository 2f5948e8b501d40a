-- The cycle of cycle.red in Murphi, to be compared with Rumur: local variables are arrays over a scalarset, and as
-- Rumur has no unions, one more node is NULL.

-- shoal: set M=4 verdict=holds

const M: 4;

type Node: scalarset(M + 1);

var
  nil: Node;
  mode: array [Node] of 0..1;
  L: Node;
  next: array [Node] of Node;
  prev: array [Node] of Node;

ruleset n: Node do startstate "start"
begin
  nil := n;
  L := n;
  for p: Node do
    next[p] := n;
    prev[p] := n;
    mode[p] := 0;
  end;
end; end;

ruleset p: Node do
  rule "0 to 1" p != nil & mode[p] = 0 & L = nil ==>
  begin next[p] := p; prev[p] := p; L := p; mode[p] := 1;
  end;

  rule "0 to 1" p != nil & mode[p] = 0 & L != nil ==>
  begin next[p] := next[L]; prev[p] := L; prev[next[p]] := p; next[L] := p; L := p; mode[p] := 1;
  end;

  rule "1 to 0" p != nil & mode[p] = 1 & next[p] = p ==>
  begin L := nil; mode[p] := 0;
  end;

  rule "1 to 0" p != nil & mode[p] = 1 & next[p] != p & L = p ==>
  begin next[prev[p]] := next[p]; prev[next[p]] := prev[p]; L := prev[p]; mode[p] := 0;
  end;

  rule "1 to 0" p != nil & mode[p] = 1 & next[p] != p & L != p ==>
  begin next[prev[p]] := next[p]; prev[next[p]] := prev[p]; mode[p] := 0;
  end;
end;

invariant "the cycle is not lost"
  !(L = nil & exists p: Node do p != nil & mode[p] = 1 end);
