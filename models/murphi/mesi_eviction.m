-- shoal: set CACHES=2 verdict=holds states=458 full=1814
-- shoal: set CACHES=3 VALUES=1 verdict=holds states=2102 full=11694
--
-- A directory protocol with the states M, E, S and I in which clean copies
-- are dropped in silence and dirty ones are handed from owner to owner.
--
-- A cache that reads a line nobody has gets it exclusively (E), may write it
-- without asking (M), and may as well drop it without a word as long as it is
-- clean. So the directory does not know what its owner still has: it forwards
-- the next request there, and an owner that has the line sends it on to the
-- cache that asked, or says that it has nothing; then the memory is good
-- enough. Only a written copy is given back (PutM).
--
-- All messages to a node lie in one bag; which of them the directory must not
-- take while it serves is told by their virtual channel. Sharers are an array
-- of truth values, and whether there are any is found by a loop that is left
-- early.
--
-- Symmetric: the caches and, independently, the data values.
--
-- Checked: one writer or many readers; every copy holds the value written
-- last; no bag overflows.

const
  CACHES: 3;
  VALUES: 2;
  ROOM: CACHES + 2;

type
  cache: scalarset(CACHES);
  value: scalarset(VALUES);
  home: enum { Directory };
  node: union { cache, home };
  channel: enum { Request, Forward, Response };
  kind: enum { GetS, GetM, PutM,
               FwdGetS, FwdGetM, Inv, PutAck,
               Data, DataE, InvAck, WriteBack, NoData, Done };
  message: record
    kind: kind;
    vc: channel;
    src: node;
    asker: node;
    acks: 0..CACHES;
    data: value;
  end;
  cache_state: enum { I, IS, IM, S, SM, E, M, MI, II };
  home_state: enum { HI, HS, HX };

var
  state: array [cache] of cache_state;
  data: array [cache] of value;
  got: array [cache] of boolean;         -- data came, acknowledgements are due
  due: array [cache] of -CACHES..CACHES;
  net: array [node] of multiset [ROOM] of message;
  -- the directory
  home_is: home_state;
  owner: node;                           -- undefined, if no cache is
  shared_by: array [cache] of boolean;
  served: node;                          -- undefined, if nobody is
  settling: boolean;                     -- an owner has still to answer
  memory: value;
  -- for the properties only
  latest: value;

procedure send(var m: message; dst: node; vc: channel);
begin
  m.vc := vc;
  assert multisetcount(k: net[dst], true) < ROOM "a bag has room";
  multisetadd(m, net[dst]);
end;

procedure say(what: kind; src: node; dst: node; vc: channel);
var m: message;
begin
  undefine m;
  m.kind := what;
  m.src := src;
  send(m, dst, vc);
end;

procedure give(what: kind; src: node; dst: node; v: value; acks: 0..CACHES);
var m: message;
begin
  undefine m;
  m.kind := what;
  m.src := src;
  m.data := v;
  m.acks := acks;
  send(m, dst, Response);
end;

function is_shared(): boolean;
begin
  for c: cache do
    if shared_by[c] then return true; end;
  end;
  return false;
end;

-- Invalidates all copies but that of the cache that asks; how many they are.
function invalidate(asker: cache): 0..CACHES;
var
  m: message;
  sent: 0..CACHES;
begin
  undefine m;
  m.kind := Inv;
  sent := 0;
  for n: node do
    if ismember(n, cache) & n != asker then
      if shared_by[n] then
        m.src := Directory;
        m.asker := asker;
        send(m, n, Forward);
        sent := sent + 1;
      end;
    end;
  end;
  for c: cache do shared_by[c] := false; end;
  return sent;
end;

procedure forward(what: kind; asker: cache);
var m: message;
begin
  undefine m;
  m.kind := what;
  m.src := Directory;
  m.asker := asker;
  send(m, owner, Forward);
  settling := true;
end;

-- The directory serves a request.
procedure serve(m: message);
var sent: 0..CACHES;
begin
  served := m.src;
  switch m.kind
  case GetS:
    if home_is = HX & owner != m.src then
      forward(FwdGetS, m.src);
      shared_by[owner] := true;
      shared_by[m.src] := true;
      undefine owner;
      home_is := HS;
    elsif home_is = HS & is_shared() then
      give(Data, Directory, m.src, memory, 0);
      shared_by[m.src] := true;
    else
      give(DataE, Directory, m.src, memory, 0);
      owner := m.src;
      home_is := HX;
    end;
  case GetM:
    if home_is = HX & owner != m.src then
      forward(FwdGetM, m.src);
    else
      sent := invalidate(m.src);
      give(Data, Directory, m.src, memory, sent);
    end;
    owner := m.src;
    home_is := HX;
  case PutM:
    if home_is = HX & owner = m.src then
      memory := m.data;
      undefine owner;
      home_is := HI;
    else
      shared_by[m.src] := false;
    end;
    say(PutAck, Directory, m.src, Forward);
    undefine served;
  else
    error "no request";
  end;
end;

procedure complete(c: cache; now: cache_state);
begin
  state[c] := now;
  got[c] := false;
  due[c] := 0;
  say(Done, c, Directory, Response);
end;

procedure lose(c: cache; now: cache_state);
begin
  state[c] := now;
  undefine data[c];
end;

-- An owner passes the line on, if it still has it.
procedure pass_on(c: cache; m: message);
begin
  if state[c] = E | state[c] = M | state[c] = MI then
    give(Data, c, m.asker, data[c], 0);
    if m.kind = FwdGetS then
      give(WriteBack, c, Directory, data[c], 0);
      if state[c] = MI then lose(c, II); else state[c] := S; end;
    else
      say(WriteBack, c, Directory, Response);
      if state[c] = MI then lose(c, II); else lose(c, I); end;
    end;
  else
    say(NoData, c, Directory, Response);
  end;
end;

procedure take(c: cache; m: message);
begin
  switch m.kind
  case Inv:
    say(InvAck, c, m.asker, Response);
    if state[c] = S then lose(c, I); end;
    if state[c] = SM then lose(c, IM); end;
  case FwdGetS: pass_on(c, m);
  case FwdGetM: pass_on(c, m);
  case PutAck: lose(c, I);
  case InvAck:
    due[c] := due[c] - 1;
    if got[c] & due[c] = 0 then complete(c, M); end;
  case DataE:
    data[c] := m.data;
    complete(c, E);
  case Data:
    data[c] := m.data;
    if state[c] = IS then
      complete(c, S);
    else
      got[c] := true;
      due[c] := due[c] + m.acks;
      if due[c] = 0 then complete(c, M); end;
    end;
  else
    error "not for a cache";
  end;
end;

startstate
begin
  for v: value do memory := v; end;
  latest := memory;
  for c: cache do
    state[c] := I;
    undefine data[c];
    got[c] := false;
    due[c] := 0;
    shared_by[c] := false;
  end;
  for n: node do undefine net[n]; end;
  home_is := HI;
  undefine owner;
  undefine served;
  settling := false;
end;

ruleset c: cache do
  rule "ask to read" state[c] = I ==>
  begin
    state[c] := IS;
    say(GetS, c, Directory, Request);
  end;

  rule "ask to write" state[c] = I | state[c] = S ==>
  begin
    if state[c] = S then state[c] := SM; else state[c] := IM; end;
    say(GetM, c, Directory, Request);
  end;

  ruleset v: value do
    rule "write" state[c] = E | state[c] = M ==>
    begin
      state[c] := M;
      data[c] := v;
      latest := v;
    end;
  end;

  rule "drop in silence" state[c] = S | state[c] = E ==>
  begin
    lose(c, I);
  end;

  rule "give back" state[c] = M ==>
  var m: message;
  begin
    state[c] := MI;
    undefine m;
    m.kind := PutM;
    m.src := c;
    m.data := data[c];
    send(m, Directory, Request);
  end;

  choose k: net[c] do
    rule "take" true ==>
    var m: message;
    begin
      m := net[c][k];
      multisetremove(k, net[c]);
      take(c, m);
    end;
  end;
end;

choose k: net[Directory] do
  rule "serve" net[Directory][k].vc = Request & isundefined(served) ==>
  var m: message;
  begin
    m := net[Directory][k];
    multisetremove(k, net[Directory]);
    serve(m);
  end;

  rule "settle" net[Directory][k].vc = Response & settling ==>
  var m: message;
  begin
    m := net[Directory][k];
    if m.kind = WriteBack | m.kind = NoData then
      multisetremove(k, net[Directory]);
      settling := false;
      if m.kind = NoData then
        shared_by[m.src] := false;
        give(Data, Directory, served, memory, 0);
      elsif !isundefined(m.data) then
        memory := m.data;
      end;
    end;
  end;

  rule "end of service" net[Directory][k].kind = Done & !settling ==>
  begin
    multisetremove(k, net[Directory]);
    undefine served;
  end;
end;

invariant "one writer or many readers"
  forall c: cache do forall d: cache do
    c != d & (state[c] = M | state[c] = E) ->
      state[d] != M & state[d] != E & state[d] != S & state[d] != SM
  end end;

invariant "copies hold the value written last"
  forall c: cache do
    state[c] = M | state[c] = E | state[c] = S | state[c] = SM
      -> data[c] = latest
  end;

invariant "memory holds the value written last"
  isundefined(served) & home_is != HX -> memory = latest;
