-- shoal: verdict=holds full=16
-- shoal: set N=4 verdict=holds full=16
--
-- A trap for symmetry reduction: a false alarm.
--
-- The loop `for i: thing do last := i end` is legal Murphi, but its result
-- depends on the order of the loop: it picks the greatest member, always the
-- same one. A scalarset declared like this is not symmetric, whatever its
-- declaration promises, and the tools of old believe the declaration.
--
-- Here two variables pick the last member and two the first. In truth all
-- pickers of a kind agree, so both invariants hold and there are just 16
-- states. A tool that renames members between two picks sees them disagree.
-- Whichever member it prefers as the representative, it cannot be both the
-- first and the last, so one of the two invariants fails.
--
-- Symmetric: nothing, in spite of the declaration. A tool should say so and
-- search without reduction (or refuse), hence no number of orbits above.
-- Checked: two pickers of a kind agree.

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

invariant "last is last"
  isundefined(last1) | isundefined(last2) | last1 = last2;

invariant "first is first"
  isundefined(first1) | isundefined(first2) | first1 = first2;
