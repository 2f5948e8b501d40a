-- shoal: verdict=holds states=7 full=20
-- shoal: set N=4 verdict=holds states=9 full=48
-- shoal: set N=any verdict=holds
--
-- Mutual exclusion by a lock that is handed over.
--
-- A process that wants the lock says so. The lock, while it is free, goes to
-- one that wants it. Who gives it up frees it, or passes it on to another
-- that waits, so that the lock is never seen free in between.
--
-- Symmetric: the processes.
--
-- Checked: mutual exclusion, the holder is the one inside, no deadlock. That
-- some process is inside whenever the lock is taken is a fact about somebody:
-- for any number of processes it is shown by what the holder looks like.

const
  N: 3;                                  -- processes

type
  process: scalarset(N);
  place: enum { Away, Waits, Inside };

var
  at: array [process] of place;
  holder: process;                       -- undefined: the lock is free

function is_free(): boolean;
begin
  return isundefined(holder);
end;

startstate "everybody is away"
begin
  for p: process do
    at[p] := Away;
  end;
  undefine holder;
end;

ruleset p: process do

  rule "want the lock"
    at[p] = Away
  ==>
  begin
    at[p] := Waits;
  end;

  rule "take the free lock"
    at[p] = Waits & is_free()
  ==>
  begin
    holder := p;
    at[p] := Inside;
  end;

  rule "free the lock"
    at[p] = Inside
  ==>
  begin
    undefine holder;
    at[p] := Away;
  end;

end;

ruleset p: process; next: process do
  rule "pass the lock on"
    at[p] = Inside & at[next] = Waits
  ==>
  begin
    holder := next;
    at[next] := Inside;
    at[p] := Away;
  end;
end;

invariant "mutual exclusion"
  forall p: process do forall q: process do
    p != q & at[p] = Inside -> at[q] != Inside
  end end;

invariant "who is inside holds the lock"
  forall p: process do
    at[p] = Inside -> !is_free() & holder = p
  end;

invariant "a lock that is taken has somebody inside"
  is_free() | at[holder] = Inside;
