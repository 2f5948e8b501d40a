-- shoal: verdict=holds states=64 full=408
-- shoal: set R=5 W=4 verdict=holds states=153 full=5936
--
-- Readers and writers who share some data, with priority for writers: a reader
-- comes in only if no writer is there or waits.
--
-- Symmetric: the readers and, independently, the writers. Nobody is named, so
-- it is enough to count who is where (--engine counters).

const
  R: 3;                                  -- readers
  W: 3;                                  -- writers

type
  reader: scalarset(R);
  writer: scalarset(W);
  reader_place: enum { Out, Queueing, Reading };
  writer_place: enum { Off, Waiting, Writing, Closing };

var
  r: array [reader] of reader_place;
  w: array [writer] of writer_place;

startstate "nobody there"
begin
  for i: reader do r[i] := Out; end;
  for j: writer do w[j] := Off; end;
end;

ruleset i: reader do

  rule "reader queues"
    r[i] = Out
  ==>
    r[i] := Queueing;
  end;

  rule "reader comes in"
    r[i] = Queueing & forall j: writer do w[j] = Off end
  ==>
    r[i] := Reading;
  end;

  rule "reader leaves"
    r[i] = Reading
  ==>
    r[i] := Out;
  end;

end;

ruleset j: writer do

  rule "writer waits"
    w[j] = Off
  ==>
    w[j] := Waiting;
  end;

  rule "writer comes in"
    w[j] = Waiting &
    forall i: reader do r[i] != Reading end &
    forall k: writer do w[k] != Writing & w[k] != Closing end
  ==>
    w[j] := Writing;
  end;

  rule "writer is done"
    w[j] = Writing
  ==>
    w[j] := Closing;
  end;

  rule "writer leaves"
    w[j] = Closing
  ==>
    w[j] := Off;
  end;

end;

invariant "writers exclude each other"
  forall j: writer do forall k: writer do
    j = k |
    !((w[j] = Writing | w[j] = Closing) & (w[k] = Writing | w[k] = Closing))
  end end;

invariant "writers exclude readers"
  forall j: writer do forall i: reader do
    !((w[j] = Writing | w[j] = Closing) & r[i] = Reading)
  end end;
