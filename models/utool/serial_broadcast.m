-- shoal: set SERIAL=0 verdict=holds
-- shoal: set SERIAL=1 verdict=violated property="all comes to 2"
--
-- Why a broadcast must not be taken one element after another in all cases.
--
-- Three parts act on a number that they share: the first makes 1 of 0, the
-- second 0 of 1, the third 2 of both. Each is idempotent, and a loop over all
-- three leaves 2 in whatever order they come. Taken as steps of their own until
-- nothing changes any more, the first two can go on for ever and keep the third
-- waiting: the two models differ in what is inevitable.

const SERIAL: 1;

type part: enum { first, second, third };

var
  number: 0..2;
  begun: boolean;

function after(p: part; n: 0..2): 0..2;
begin
  if p = first & n = 0 then return 1; end;
  if p = second & n = 1 then return 0; end;
  if p = third then return 2; end;
  return n;
end;

startstate number := 0; begun := false; end;

rule "begin" !begun ==> begun := true; end;

rule "all at once" SERIAL = 0 & begun & number != 2 ==>
  for p: part do number := after(p, number); end;
end;

ruleset p: part do
  rule "one of them" SERIAL = 1 & begun & after(p, number) != number ==> number := after(p, number); end;
end;

rule "again" number = 2 ==> number := 0; begun := false; end;

ctl "all comes to 2" AF number = 2;
