-- shoal: verdict=violated property="not both pairs agree" depth=4
-- shoal: set N=4 verdict=violated property="not both pairs agree" depth=4
--
-- A trap for symmetry reduction: a missed error.
--
-- The counterpart of symmetry_trap.m, where the loops over a scalarset are
-- explained. Two variables pick the first member of the scalarset and two the
-- last one. The invariant claims that never both pairs agree; in truth they
-- always do once all four are picked. A tool that believes the declaration
-- and renames members between the picks makes one of the pairs disagree, and
-- reports that all is well (unless it happens to prefer representatives that
-- keep the first member first and the last one last).
--
-- Symmetric: nothing, in spite of the declaration.
-- Checked: the (false) claim that not both pairs agree.

const
  N: 3;

type
  thing: scalarset(N);

var
  last1, last2: thing;                   -- undefined until picked
  first1, first2: thing;

procedure forget();
begin
  undefine last1;
  undefine last2;
  undefine first1;
  undefine first2;
end;

procedure pick_last(var x: thing);
begin
  for i: thing do
    x := i;
  end;
end;

procedure pick_first(var x: thing);
begin
  for i: thing do
    if isundefined(x) then
      x := i;
    end;
  end;
end;

startstate "nothing picked"
begin
  forget();
end;

rule "pick last, once"
  isundefined(last1)
==>
begin
  pick_last(last1);
end;

rule "pick last, twice"
  isundefined(last2)
==>
begin
  pick_last(last2);
end;

rule "pick first, once"
  isundefined(first1)
==>
begin
  pick_first(first1);
end;

rule "pick first, twice"
  isundefined(first2)
==>
begin
  pick_first(first2);
end;

rule "start again"
  true
==>
begin
  forget();
end;

invariant "not both pairs agree"
  isundefined(last1) | isundefined(last2) | last1 != last2 |
  isundefined(first1) | isundefined(first2) | first1 != first2;
