-- shoal: verdict=holds states=321 full=321
-- shoal: set N=3 MAX=3 verdict=holds states=4597 full=4597
--
-- Lamport's bakery with a bounded roll of tickets.
--
-- A customer enters the doorway, looks at all tickets held, takes one more
-- than the greatest, and then waits for each other customer in turn: first
-- until that one is out of the doorway, then until it has no ticket or a
-- later one. Looking and taking are two steps, so two customers may hold the
-- same number; the one with the smaller name goes first. If the roll is used
-- up, the customer goes home and comes back later.
--
-- Symmetric: nothing. Names are compared with `<`, so the customers are a
-- range and not a scalarset.
--
-- Checked: mutual exclusion, that the customer served has the first ticket,
-- and absence of deadlock.

const
  N: 2;                                  -- customers
  MAX: 4;                                -- the last ticket of the roll

type
  customer: 1..N;
  ticket: 0..MAX;                        -- 0: none
  place: enum { Outside, Look, Take, Doorway, Queue, Served };

var
  pc: array [customer] of place;
  in_doorway: array [customer] of boolean;
  held: array [customer] of ticket;
  drawn: array [customer] of ticket;     -- local: the ticket to be taken
  facing: array [customer] of customer;  -- local: the one being waited for

function greatest(): ticket;
var m: ticket;
begin
  m := 0;
  for c: customer do
    if held[c] > m then
      m := held[c];
    end;
  end;
  return m;
end;

-- c goes before d
function before(c: customer; d: customer): boolean;
begin
  return held[c] < held[d] | (held[c] = held[d] & c < d);
end;

startstate "shop empty"
begin
  for c: customer do
    pc[c] := Outside;
    in_doorway[c] := false;
    held[c] := 0;
    drawn[c] := 0;
    facing[c] := 1;
  end;
end;

ruleset c: customer do

  rule "enter the doorway"
    pc[c] = Outside
  ==>
  begin
    in_doorway[c] := true;
    pc[c] := Look;
  end;

  rule "look at the tickets"
    pc[c] = Look & greatest() < MAX
  ==>
  begin
    drawn[c] := greatest() + 1;
    pc[c] := Take;
  end;

  rule "find the roll used up"
    pc[c] = Look & greatest() = MAX
  ==>
  begin
    in_doorway[c] := false;
    pc[c] := Outside;
  end;

  rule "take a ticket"
    pc[c] = Take
  ==>
  begin
    held[c] := drawn[c];
    drawn[c] := 0;
    in_doorway[c] := false;
    facing[c] := 1;
    pc[c] := Doorway;
  end;

  rule "see the other out of the doorway"
    pc[c] = Doorway & !in_doorway[facing[c]]
  ==>
  begin
    pc[c] := Queue;
  end;

  rule "go before the other"
    pc[c] = Queue &
    (facing[c] = c | held[facing[c]] = 0 | before(c, facing[c]))
  ==>
  begin
    if facing[c] = N then
      facing[c] := 1;
      pc[c] := Served;
    else
      facing[c] := facing[c] + 1;
      pc[c] := Doorway;
    end;
  end;

  rule "leave"
    pc[c] = Served
  ==>
  begin
    held[c] := 0;
    pc[c] := Outside;
  end;

end;

invariant "mutual exclusion"
  forall c: customer do forall d: customer do
    c != d & pc[c] = Served -> pc[d] != Served
  end end;

invariant "first come, first served"
  forall c: customer do forall d: customer do
    c != d & pc[c] = Served & held[d] != 0 -> before(c, d)
  end end;
