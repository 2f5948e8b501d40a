-- shoal: verdict=holds states=47 full=3125
-- shoal: set N=6 verdict=holds states=130 full=46656
-- shoal: set N=4 verdict=holds states=19 full=256
--
-- Orbit counting: maps of a set into itself, as pointers.
--
-- An array indexed by a scalarset with values of the same scalarset; every
-- entry can be set to anything. The states are the N^N maps; the orbits are
-- the functional graphs up to isomorphism: 1, 3, 7, 19, 47, 130, ... (OEIS
-- A001372). The search starts from the identity map, which is symmetric and
-- needs no undefined entries.
--
-- Symmetric: the elements. Checked: nothing but the count.

const
  N: 5;

type
  element: scalarset(N);

var
  next: array [element] of element;

startstate "identity"
begin
  for a: element do
    next[a] := a;
  end;
end;

ruleset a: element; b: element do
  rule "redirect"
    true
  ==>
  begin
    next[a] := b;
  end;
end;
