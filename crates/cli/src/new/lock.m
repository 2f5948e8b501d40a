-- A lock that processes take and give back.
--
--   shoal check lock.m                 decides every property for 3 processes
--   shoal check lock.m --set N=any     ... and for any number of them
--   shoal sim lock.m --interactive     walks through it by hand

const N: 3;
type process: scalarset(N);          -- processes are all alike

var
  lock: boolean;                     -- whether somebody holds it
  inside: array [process] of boolean;

startstate begin
  lock := false;
  for p: process do inside[p] := false; end;
end;

ruleset p: process do
  rule "enter" !lock & !inside[p] ==> begin lock := true; inside[p] := true; end;
  rule "leave" inside[p] ==> begin inside[p] := false; lock := false; end;
end;

invariant "one at most is inside"
  forall p: process do forall q: process do inside[p] & inside[q] -> p = q end end;
