-- shoal: verdict=holds states=3044 full=65536
-- shoal: set N=3 verdict=holds states=104 full=512
--
-- Orbit counting: directed graphs with loops, or binary relations.
--
-- A boolean matrix over one scalarset, every entry can be flipped. The
-- states are the 2^(N*N) relations on N elements; the orbits are the
-- relations up to renaming: 2, 10, 104, 3044, 291968, ... (OEIS A000595).
--
-- Symmetric: the elements. Checked: nothing but the count.

const
  N: 4;

type
  element: scalarset(N);

var
  related: array [element] of array [element] of boolean;

startstate "empty relation"
begin
  for a: element do
    for b: element do
      related[a][b] := false;
    end;
  end;
end;

ruleset a: element; b: element do
  rule "flip"
    true
  ==>
  begin
    related[a][b] := !related[a][b];
  end;
end;
