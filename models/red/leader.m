-- The election of leader.red in Murphi, to be compared with Rumur: local variables are arrays over a scalarset, and as
-- Rumur has no unions, one more node is NULL.

-- shoal: set M=4 verdict=violated

const M: 4;

type Node: scalarset(M + 1);

var
  nil: Node;
  mode: array [Node] of 0..1;
  respond_id: Node;
  parent: array [Node] of Node;

ruleset n: Node do startstate "start"
begin
  nil := n;
  respond_id := n;
  for p: Node do
    parent[p] := n;
    mode[p] := 0;
  end;
end; end;

ruleset p: Node do
  rule "0 to 1" p != nil & mode[p] = 0 ==>
  begin parent[p] := nil; mode[p] := 1;
  end;

  rule "1 to 1" p != nil & mode[p] = 1 & respond_id = nil & parent[p] = nil ==>
  begin respond_id := p;
  end;

  rule "1 to 1" p != nil & mode[p] = 1 & respond_id != nil & respond_id != p & parent[p] = nil ==>
  begin parent[p] := respond_id; respond_id := nil;
  end;
end;

invariant "there is a root"
  exists p: Node do p != nil & (mode[p] = 0 | parent[p] = nil) end;
