-- shoal: verdict=holds states=39 full=168
-- shoal: set READERS=4 WRITERS=3 verdict=holds states=65 full=780
--
-- Readers and writers with two semaphores (Courtois, Heymans and Parnas).
--
-- Readers count themselves under `mutex`. The first one in takes `room` for
-- all of them, while it still holds `mutex`; the last one out gives it back.
-- A writer simply takes `room`. Readers may starve writers, but nobody ever
-- disturbs a writer.
--
-- Symmetric: the readers and, independently, the writers.
--
-- Checked: a writer is alone, the count is right, the semaphore `room` is
-- taken exactly while somebody is inside, and absence of deadlock.

const
  READERS: 3;
  WRITERS: 2;

type
  reader: scalarset(READERS);
  writer: scalarset(WRITERS);
  number: 0..READERS;
  reader_place: enum {
    Away,
    CountIn,      -- holds mutex, about to count itself in
    TakeRoom,     -- holds mutex, is the first and waits for the room
    Reading,
    CountOut      -- holds mutex, about to count itself out
  };
  writer_place: enum { Off, Waiting, Writing };

var
  r: array [reader] of reader_place;
  w: array [writer] of writer_place;
  mutex: boolean;                        -- true: taken
  room: boolean;                         -- true: taken
  count: number;

function readers_counted(): number;
var n: number;
begin
  n := 0;
  for i: reader do
    if r[i] = TakeRoom | r[i] = Reading | r[i] = CountOut then
      n := n + 1;
    end;
  end;
  return n;
end;

startstate "nobody there"
begin
  for i: reader do
    r[i] := Away;
  end;
  for j: writer do
    w[j] := Off;
  end;
  mutex := false;
  room := false;
  count := 0;
end;

ruleset i: reader do

  rule "reader comes"
    r[i] = Away & !mutex
  ==>
  begin
    mutex := true;
    r[i] := CountIn;
  end;

  rule "reader counts itself in"
    r[i] = CountIn
  ==>
  begin
    count := count + 1;
    if count = 1 then
      r[i] := TakeRoom;
    else
      mutex := false;
      r[i] := Reading;
    end;
  end;

  rule "first reader takes the room"
    r[i] = TakeRoom & !room
  ==>
  begin
    room := true;
    mutex := false;
    r[i] := Reading;
  end;

  rule "reader is done"
    r[i] = Reading & !mutex
  ==>
  begin
    mutex := true;
    r[i] := CountOut;
  end;

  rule "reader counts itself out"
    r[i] = CountOut
  ==>
  begin
    count := count - 1;
    if count = 0 then
      room := false;
    end;
    mutex := false;
    r[i] := Away;
  end;

end;

ruleset j: writer do

  rule "writer comes"
    w[j] = Off
  ==>
  begin
    w[j] := Waiting;
  end;

  rule "writer takes the room"
    w[j] = Waiting & !room
  ==>
  begin
    room := true;
    w[j] := Writing;
  end;

  rule "writer is done"
    w[j] = Writing
  ==>
  begin
    room := false;
    w[j] := Off;
  end;

end;

invariant "writers exclude each other"
  forall j: writer do forall k: writer do
    j != k & w[j] = Writing -> w[k] != Writing
  end end;

invariant "writers exclude readers"
  forall j: writer do forall i: reader do
    w[j] = Writing -> r[i] != Reading & r[i] != CountOut
  end end;

invariant "the count is right"
  count = readers_counted();

invariant "the room is taken while in use"
  (exists i: reader do r[i] = Reading | r[i] = CountOut end) |
  (exists j: writer do w[j] = Writing end)
    -> room;
