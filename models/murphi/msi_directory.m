-- shoal: set CACHES=2 verdict=holds states=502 full=1990
-- shoal: set CACHES=3 VALUES=1 verdict=holds states=2298 full=12870
--
-- A directory protocol with the states M, S and I on a network that keeps no
-- order.
--
-- Caches ask the directory for a copy to read (GetS) or to write (GetM), and
-- give a written copy back (PutM); a copy that was only read is dropped in
-- silence. The directory serves one request at a time, until the cache that
-- asked says that it is done. Copies that are in the way are invalidated, and
-- those caches acknowledge to the cache that asked; an owner sends its data
-- there as well. Requests, what the directory forwards, and responses travel
-- on virtual channels of their own, each of them an unordered bag at the node
-- it leads to.
--
-- The text is written as protocol generators write it: nodes are a union of
-- caches and the directory, sharers a multiset, and a message that is sent to
-- many is a `var` parameter that every round of a loop fills in again.
--
-- Symmetric: the caches and, independently, the data values. The start puts
-- some value into memory, and it does not matter which.
--
-- Checked: one writer or many readers; every copy, and the memory while no
-- cache owns the line, holds the value written last; no channel overflows.

const
  CACHES: 3;
  VALUES: 2;
  ROOM: 4;                               -- of a channel at a node

type
  cache: scalarset(CACHES);
  value: scalarset(VALUES);
  home: enum { Directory };
  node: union { cache, home };
  channel: enum { Requests, Forwards, Responses };
  kind: enum { GetS, GetM, PutM,         -- requests
               FwdGetS, FwdGetM, Inv, PutAck,
               Data, InvAck, WriteBack, Done };
  count: 0..CACHES;
  message: record
    kind: kind;
    src: node;
    asker: cache;                        -- of what is forwarded
    acks: count;                         -- with Data: how many to wait for
    data: value;
  end;
  cache_state: enum { I, IS, IM, S, SM, M, MI, SI, II };
  line: record
    state: cache_state;
    data: value;
    got_data: boolean;                   -- while waiting for M
    acks: -CACHES..CACHES;               -- still to come
  end;
  home_state: enum { HI, HS, HM };

var
  caches: array [cache] of line;
  net: array [channel] of array [node] of multiset [ROOM] of message;
  -- the directory
  state: home_state;
  owner: node;                           -- the directory, if no cache is
  sharers: multiset [CACHES] of node;
  serving: boolean;
  asker: node;                           -- undefined unless serving
  wants_data: boolean;                   -- an owner will write back
  memory: value;
  -- for the properties only
  latest: value;

procedure send(ch: channel; dst: node; m: message);
begin
  assert multisetcount(k: net[ch][dst], true) < ROOM "a channel has room";
  multisetadd(m, net[ch][dst]);
end;

procedure blank(var m: message; what: kind; from: node);
begin
  undefine m;
  m.kind := what;
  m.src := from;
end;

procedure send_data(dst: cache; from: node; acks: count; data: value);
var m: message;
begin
  blank(m, Data, from);
  m.acks := acks;
  m.data := data;
  send(Responses, dst, m);
end;

procedure send_plain(ch: channel; dst: node; what: kind; from: node);
var m: message;
begin
  blank(m, what, from);
  send(ch, dst, m);
end;

-- sharers

function is_sharer(n: node): boolean;
begin
  return multisetcount(k: sharers, sharers[k] = n) > 0;
end;

procedure add_sharer(n: node);
begin
  if !is_sharer(n) then multisetadd(n, sharers); end;
end;

procedure drop_sharer(n: node);
begin
  if is_sharer(n) then multisetremovepred(k: sharers, sharers[k] = n); end;
end;

-- Sends a message to all sharers but one, and says how many they are.
procedure multicast(var m: message; but: cache; var sent: count);
begin
  sent := 0;
  for n: node do
    if ismember(n, cache) & n != but then
      if is_sharer(n) then
        m.src := Directory;
        m.asker := but;
        send(Forwards, n, m);
        sent := sent + 1;
      end;
    end;
  end;
end;

procedure serve(c: cache);
begin
  serving := true;
  asker := c;
end;

procedure serve_get_s(c: cache);
var m: message;
begin
  serve(c);
  if state = HM then
    blank(m, FwdGetS, Directory);
    m.asker := c;
    wants_data := true;
    send(Forwards, owner, m);
    add_sharer(owner);
    owner := Directory;
  else
    send_data(c, Directory, 0, memory);
  end;
  add_sharer(c);
  state := HS;
end;

procedure serve_get_m(c: cache);
var
  m: message;
  sent: count;
begin
  serve(c);
  if state = HM then
    blank(m, FwdGetM, Directory);
    m.asker := c;
    send(Forwards, owner, m);
  else
    blank(m, Inv, Directory);
    multicast(m, c, sent);
    send_data(c, Directory, sent, memory);
  end;
  undefine sharers;
  owner := c;
  state := HM;
end;

procedure serve_put_m(c: cache; data: value);
begin
  if state = HM & owner = c then
    memory := data;
    owner := Directory;
    state := HI;
  else
    -- Too late: another cache has been served from this copy.
    drop_sharer(c);
    if state = HS & multisetcount(k: sharers, true) = 0 then state := HI; end;
  end;
  send_plain(Forwards, c, PutAck, Directory);
end;

-- the caches

procedure done(c: cache; got: cache_state);
begin
  caches[c].state := got;
  caches[c].got_data := false;
  caches[c].acks := 0;
  send_plain(Responses, Directory, Done, c);
end;

procedure done_if_complete(c: cache);
begin
  if caches[c].got_data & caches[c].acks = 0 then done(c, M); end;
end;

procedure lose(c: cache);
begin
  undefine caches[c].data;
end;

-- A cache gets what the directory forwards.
procedure forwarded(c: cache; m: message);
var answer: message;
begin
  alias own: caches[c] do
    switch m.kind
    case Inv:
      blank(answer, InvAck, c);
      send(Responses, m.asker, answer);
      switch own.state
      case S: own.state := I; lose(c);
      case SM: own.state := IM; lose(c);
      case SI: own.state := II; lose(c);
      end;
    case FwdGetS:
      send_data(m.asker, c, 0, own.data);
      blank(answer, WriteBack, c);
      answer.data := own.data;
      send(Responses, Directory, answer);
      if own.state = M then
        own.state := S;
      else
        assert own.state = MI "only an owner is asked";
        own.state := SI;
      end;
    case FwdGetM:
      send_data(m.asker, c, 0, own.data);
      if own.state = M then
        own.state := I;
      else
        assert own.state = MI "only an owner is asked";
        own.state := II;
      end;
      lose(c);
    case PutAck:
      own.state := I;
      lose(c);
    else
      error "a message on the wrong channel";
    end;
  end;
end;

-- A cache gets a response.
procedure responded(c: cache; m: message);
begin
  alias own: caches[c] do
    switch m.kind
    case InvAck:
      own.acks := own.acks - 1;
      done_if_complete(c);
    case Data:
      own.data := m.data;
      if own.state = IS then
        done(c, S);
      else
        own.got_data := true;
        own.acks := own.acks + m.acks;
        done_if_complete(c);
      end;
    else
      error "a message on the wrong channel";
    end;
  end;
end;

startstate
begin
  for v: value do memory := v; end;
  latest := memory;
  for c: cache do
    undefine caches[c];
    caches[c].state := I;
    caches[c].got_data := false;
    caches[c].acks := 0;
  end;
  for ch: channel do for n: node do undefine net[ch][n]; end; end;
  state := HI;
  owner := Directory;
  undefine sharers;
  serving := false;
  wants_data := false;
  undefine asker;
end;

ruleset c: cache do
  alias own: caches[c] do
    rule "ask to read" own.state = I ==>
    begin
      own.state := IS;
      send_plain(Requests, Directory, GetS, c);
    end;

    rule "ask to write" own.state = I | own.state = S ==>
    begin
      if own.state = S then own.state := SM; else own.state := IM; end;
      send_plain(Requests, Directory, GetM, c);
    end;

    ruleset v: value do
      rule "write" own.state = M ==>
      begin
        own.data := v;
        latest := v;
      end;
    end;

    rule "drop" own.state = S ==>
    begin
      own.state := I;
      lose(c);
    end;

    rule "give back" own.state = M ==>
    var m: message;
    begin
      own.state := MI;
      blank(m, PutM, c);
      m.data := own.data;
      send(Requests, Directory, m);
    end;
  end;

  choose k: net[Forwards][c] do
    rule "take what is forwarded" true ==>
    var m: message;
    begin
      m := net[Forwards][c][k];
      multisetremove(k, net[Forwards][c]);
      forwarded(c, m);
    end;
  end;

  choose k: net[Responses][c] do
    rule "take a response" true ==>
    var m: message;
    begin
      m := net[Responses][c][k];
      multisetremove(k, net[Responses][c]);
      responded(c, m);
    end;
  end;
end;

choose k: net[Requests][Directory] do
  rule "serve" !serving ==>
  var m: message;
  begin
    m := net[Requests][Directory][k];
    multisetremove(k, net[Requests][Directory]);
    switch m.kind
    case GetS: serve_get_s(m.src);
    case GetM: serve_get_m(m.src);
    case PutM: serve_put_m(m.src, m.data);
    end;
  end;
end;

choose k: net[Responses][Directory] do
  rule "end of service" true ==>
  var m: message;
  begin
    m := net[Responses][Directory][k];
    multisetremove(k, net[Responses][Directory]);
    if m.kind = WriteBack then
      memory := m.data;
      wants_data := false;
    else
      undefine asker;
    end;
    if isundefined(asker) & !wants_data then serving := false; end;
  end;
end;

invariant "one writer or many readers"
  forall c: cache do forall d: cache do
    c != d & caches[c].state = M ->
      caches[d].state != M & caches[d].state != S & caches[d].state != SM
  end end;

invariant "copies hold the value written last"
  forall c: cache do
    caches[c].state = M | caches[c].state = S | caches[c].state = SM
      -> caches[c].data = latest
  end;

invariant "memory holds the value written last"
  !serving & state != HM -> memory = latest;
