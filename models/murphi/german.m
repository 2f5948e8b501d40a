-- shoal: verdict=holds states=4813 full=53298
-- shoal: set N=2 verdict=holds states=795 full=3156
-- shoal: set N=any verdict=holds
--
-- Directory cache coherence in the style of Steven German's exercise.
--
-- Clients ask the home node for a shared or an exclusive copy of one memory
-- line. The home serves one request at a time: if the request conflicts with
-- copies that are out, it recalls them and waits for the acknowledgements;
-- then it grants. Between the home and each client there are three one-place
-- channels: requests, orders (grants and recalls) and acknowledgements. An
-- owner that is recalled sends the line's value back with its
-- acknowledgement.
--
-- Symmetric: the clients and, independently, the data values.
--
-- Checked: an exclusive copy is the only copy; every valid copy, and the
-- memory when there is no owner, holds the value written last.

const
  N: 3;                                  -- clients
  VALUES: 2;                             -- data values

type
  client: scalarset(N);
  value: scalarset(VALUES);
  copy_state: enum { Invalid, Shared, Exclusive };
  request_kind: enum { NoRequest, WantShared, WantExclusive };
  order_kind: enum { NoOrder, GrantShared, GrantExclusive, Recall };
  copy: record
    state: copy_state;
    data: value;                         -- undefined when invalid
  end;
  order_message: record
    kind: order_kind;
    data: value;                         -- in grants only
  end;
  ack_message: record
    present: boolean;
    data: value;                         -- from an owner only
  end;

var
  -- the clients
  cache: array [client] of copy;
  -- the channels
  request: array [client] of request_kind;
  order: array [client] of order_message;
  ack: array [client] of ack_message;
  -- the home
  serving: request_kind;                 -- NoRequest: idle
  requester: client;                     -- undefined: idle
  has_copy: array [client] of boolean;
  to_recall: array [client] of boolean;
  owned: boolean;                        -- the copy that is out is exclusive
  memory: value;
  -- for the properties only
  latest: value;

function must_recall(): boolean;
begin
  return serving = WantExclusive | (serving = WantShared & owned);
end;

procedure finish();
begin
  serving := NoRequest;
  undefine requester;
  for c: client do
    to_recall[c] := false;
  end;
end;

ruleset v: value do
  startstate "memory holds v"
  begin
    for c: client do
      cache[c].state := Invalid;
      undefine cache[c].data;
      request[c] := NoRequest;
      order[c].kind := NoOrder;
      undefine order[c].data;
      ack[c].present := false;
      undefine ack[c].data;
      has_copy[c] := false;
    end;
    owned := false;
    memory := v;
    latest := v;
    finish();
  end;
end;

ruleset c: client do

  rule "client asks for a shared copy"
    request[c] = NoRequest & cache[c].state = Invalid
  ==>
  begin
    request[c] := WantShared;
  end;

  rule "client asks for an exclusive copy"
    request[c] = NoRequest & cache[c].state != Exclusive
  ==>
  begin
    request[c] := WantExclusive;
  end;

  rule "home takes a request"
    serving = NoRequest & request[c] != NoRequest
  ==>
  begin
    serving := request[c];
    requester := c;
    request[c] := NoRequest;
    for d: client do
      to_recall[d] := has_copy[d];
    end;
  end;

  rule "home recalls a copy"
    must_recall() & to_recall[c] & order[c].kind = NoOrder
  ==>
  begin
    order[c].kind := Recall;
    to_recall[c] := false;
  end;

  rule "client gives its copy up"
    order[c].kind = Recall & !ack[c].present
  ==>
  begin
    ack[c].present := true;
    if cache[c].state = Exclusive then
      ack[c].data := cache[c].data;
    end;
    cache[c].state := Invalid;
    undefine cache[c].data;
    order[c].kind := NoOrder;
  end;

  rule "home takes an acknowledgement"
    ack[c].present
  ==>
  begin
    if owned then
      memory := ack[c].data;
      owned := false;
    end;
    has_copy[c] := false;
    ack[c].present := false;
    undefine ack[c].data;
  end;

  rule "client receives a shared copy"
    order[c].kind = GrantShared
  ==>
  begin
    cache[c].state := Shared;
    cache[c].data := order[c].data;
    order[c].kind := NoOrder;
    undefine order[c].data;
  end;

  rule "client receives an exclusive copy"
    order[c].kind = GrantExclusive
  ==>
  begin
    cache[c].state := Exclusive;
    cache[c].data := order[c].data;
    order[c].kind := NoOrder;
    undefine order[c].data;
  end;

end;

rule "home grants a shared copy"
  serving = WantShared & !owned & order[requester].kind = NoOrder
==>
begin
  order[requester].kind := GrantShared;
  order[requester].data := memory;
  has_copy[requester] := true;
  finish();
end;

rule "home grants an exclusive copy"
  serving = WantExclusive & order[requester].kind = NoOrder &
  forall c: client do !has_copy[c] end
==>
begin
  order[requester].kind := GrantExclusive;
  order[requester].data := memory;
  has_copy[requester] := true;
  owned := true;
  finish();
end;

ruleset c: client; v: value do
  rule "client writes"
    cache[c].state = Exclusive
  ==>
  begin
    cache[c].data := v;
    latest := v;
  end;
end;

invariant "an exclusive copy is alone"
  forall c: client do forall d: client do
    c != d & cache[c].state = Exclusive -> cache[d].state = Invalid
  end end;

invariant "copies are fresh"
  forall c: client do
    cache[c].state != Invalid -> cache[c].data = latest
  end;

invariant "memory is fresh"
  !owned -> memory = latest;
