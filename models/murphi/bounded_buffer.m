-- shoal: verdict=holds states=206 full=402
-- shoal: set PRODUCERS=3 CONSUMERS=3 CAP=4 verdict=holds states=1180 full=4220
-- shoal: set CAP=3 verdict=holds states=477 full=915
--
-- Producers and consumers around a bounded buffer, with a monitor lock.
--
-- The buffer is a ring in an array. A worker takes the lock; if the buffer is
-- full (or empty) it goes to sleep and gives the lock back, otherwise it puts
-- (or takes) one item, wakes all sleepers of the other kind and leaves. Who
-- was woken must take the lock and look again.
--
-- To check the order without numbering the items, two of them are marked
-- (Wolper's data independence): at some time a First goes in, some time later
-- a Second, and all other items are Plain.
--
-- Symmetric: the producers and, independently, the consumers.
--
-- Checked: first in, first out; no marked item is lost or doubled; unused
-- cells are empty; and no lost wakeup (which would be a deadlock).

const
  PRODUCERS: 2;
  CONSUMERS: 2;
  CAP: 2;                                -- cells of the buffer

type
  producer: scalarset(PRODUCERS);
  consumer: scalarset(CONSUMERS);
  slot: 0..CAP-1;
  level: 0..CAP;
  item: enum { Plain, First, Second };
  progress: 0..2;                        -- marked items so far
  buffer: record
    cell: array [slot] of item;          -- undefined where empty
    head: slot;
    count: level;
  end;
  place: enum { Outside, Inside, Asleep };

var
  b: buffer;
  locked: boolean;
  p_at: array [producer] of place;
  c_at: array [consumer] of place;
  put_in: progress;                      -- 1: First is in, 2: Second too
  taken_out: progress;

function is_full(q: buffer): boolean;
begin
  return q.count = CAP;
end;

function is_empty(q: buffer): boolean;
begin
  return q.count = 0;
end;

function occupied(q: buffer; s: slot): boolean;
begin
  return (s + CAP - q.head) % CAP < q.count;
end;

procedure append(var q: buffer; x: item);
begin
  q.cell[(q.head + q.count) % CAP] := x;
  q.count := q.count + 1;
end;

procedure remove(var q: buffer; var x: item);
begin
  x := q.cell[q.head];
  undefine q.cell[q.head];
  q.head := (q.head + 1) % CAP;
  q.count := q.count - 1;
end;

-- Moves the counter on if the marked item x is the next one due.
procedure note(var seen: progress; x: item);
begin
  switch x
  case First:
    assert seen = 0 "First comes first and once";
    seen := 1;
  case Second:
    assert seen = 1 "Second comes second and once";
    seen := 2;
  end;
end;

function may_put(x: item): boolean;
begin
  return x = Plain | (x = First & put_in = 0) | (x = Second & put_in = 1);
end;

startstate "buffer empty"
begin
  undefine b;
  b.head := 0;
  b.count := 0;
  locked := false;
  for p: producer do
    p_at[p] := Outside;
  end;
  for c: consumer do
    c_at[c] := Outside;
  end;
  put_in := 0;
  taken_out := 0;
end;

ruleset p: producer do

  rule "producer takes the lock"
    p_at[p] = Outside & !locked
  ==>
  begin
    locked := true;
    p_at[p] := Inside;
  end;

  rule "producer goes to sleep"
    p_at[p] = Inside & is_full(b)
  ==>
  begin
    locked := false;
    p_at[p] := Asleep;
  end;

end;

ruleset p: producer; x: item do
  rule "producer puts an item"
    p_at[p] = Inside & !is_full(b) & may_put(x)
  ==>
  begin
    append(b, x);
    note(put_in, x);
    for c: consumer do
      if c_at[c] = Asleep then
        c_at[c] := Outside;
      end;
    end;
    locked := false;
    p_at[p] := Outside;
  end;
end;

ruleset c: consumer do

  rule "consumer takes the lock"
    c_at[c] = Outside & !locked
  ==>
  begin
    locked := true;
    c_at[c] := Inside;
  end;

  rule "consumer goes to sleep"
    c_at[c] = Inside & is_empty(b)
  ==>
  begin
    locked := false;
    c_at[c] := Asleep;
  end;

  rule "consumer takes an item"
    c_at[c] = Inside & !is_empty(b)
  ==>
  var x: item;
  begin
    remove(b, x);
    note(taken_out, x);
    for p: producer do
      if p_at[p] = Asleep then
        p_at[p] := Outside;
      end;
    end;
    locked := false;
    c_at[c] := Outside;
  end;

end;

invariant "nothing comes out that did not go in"
  taken_out <= put_in;

invariant "marked items are in the buffer or out"
  (put_in >= 1 & taken_out = 0 ->
     exists s: slot do occupied(b, s) & b.cell[s] = First end) &
  (put_in = 2 & taken_out <= 1 ->
     exists s: slot do occupied(b, s) & b.cell[s] = Second end);

invariant "empty cells are empty"
  forall s: slot do
    (occupied(b, s) & !isundefined(b.cell[s])) |
    (!occupied(b, s) & isundefined(b.cell[s]))
  end;

invariant "the lock has one holder"
  !locked ->
    (forall p: producer do p_at[p] != Inside end) &
    (forall c: consumer do c_at[c] != Inside end);
