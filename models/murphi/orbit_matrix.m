-- shoal: verdict=holds states=218 full=4096
-- shoal: set N=3 verdict=holds states=16 full=64
--
-- Orbit counting: directed graphs without loops.
--
-- A boolean matrix over one scalarset, every entry off the diagonal can be
-- flipped. The states are the directed graphs on N labelled nodes, 2^(N(N-1))
-- of them; the orbits are the directed graphs up to isomorphism: 1, 3, 16,
-- 218, 9608, ... (OEIS A000273). Rows and columns move together, which is
-- where reductions that sort by row contents merge too little.
--
-- Symmetric: the nodes. Checked: nothing but the count.

const
  N: 4;

type
  node: scalarset(N);

var
  edge: array [node] of array [node] of boolean;

startstate "no edges"
begin
  for a: node do
    for b: node do
      edge[a][b] := false;
    end;
  end;
end;

ruleset a: node; b: node do
  rule "flip"
    a != b
  ==>
  begin
    edge[a][b] := !edge[a][b];
  end;
end;

invariant "no loops"
  forall a: node do !edge[a][a] end;
