-- shoal: set CPUS=2 DEVICES=1 VALUES=1 verdict=holds states=2107 full=4055
-- shoal: set CPUS=1 DEVICES=2 VALUES=1 verdict=holds states=1292 full=2420
--
-- Two levels of caches, of two kinds.
--
-- Processors have caches with the states M, S and I below a cluster (a shared
-- second-level cache that is their directory). Accelerators have caches that
-- are valid or not and write through. The root is the directory of the
-- cluster and of the accelerators, and keeps the memory.
--
-- Cluster and root serve one request each at a time, until who asked says that
-- it is done. What the root asks of the cluster is answered while the cluster
-- itself waits for the root, or the two would wait for each other.
--
-- All nodes are one union type, with a bag of messages for each virtual
-- channel of a node. Who has a copy is a bag of nodes, too, at both levels.
--
-- Symmetric: processors, accelerators, and data values.
--
-- Checked: a processor that may write has the only copy; every copy holds the
-- value written last; nobody waits for ever.

const
  CPUS: 2;
  DEVICES: 2;
  VALUES: 2;
  ROOM: CPUS + DEVICES + 1;

type
  cpu: scalarset(CPUS);
  device: scalarset(DEVICES);
  value: scalarset(VALUES);
  hub: enum { Cluster, Root };
  node: union { cpu, device, hub };
  channel: enum { Up, Down, Back };      -- requests, demands, responses
  kind: enum { Read, Write, WriteThrough,
               Share, Invalidate,
               Grant, Ack, Done };
  message: record
    kind: kind;
    src: node;
    data: value;                         -- with Grant, WriteThrough, some Acks
  end;
  cpu_state: enum { I, IS, IM, S, M };
  device_state: enum { Invalid, Waiting, Valid, Writing };
  level: enum { None, Shared, Owned };
  phase: enum { Idle, Asking, Collecting, Granting };
  holders: multiset [CPUS + DEVICES + 1] of node;

var
  cpu_is: array [cpu] of cpu_state;
  cpu_data: array [cpu] of value;
  device_is: array [device] of device_state;
  device_data: array [device] of value;
  net: array [channel] of array [node] of multiset [ROOM] of message;
  -- the cluster
  has: level;                            -- what the root has granted
  l2: value;
  below: holders;                        -- processors with copies
  owner: node;                           -- the one that may write, if any
  l2_phase: phase;
  request: message;                      -- that is served
  demand: message;                       -- of the root
  l2_due: 0..CPUS;
  -- the root
  memory: value;
  around: holders;                       -- accelerators and the cluster
  owned: boolean;                        -- by the cluster
  root_phase: phase;
  root_request: message;
  root_due: 0..DEVICES + 1;
  -- for the properties only
  latest: value;

procedure send(ch: channel; dst: node; m: message);
begin
  assert multisetcount(k: net[ch][dst], true) < ROOM "a channel has room";
  multisetadd(m, net[ch][dst]);
end;

procedure say(ch: channel; dst: node; what: kind; src: node);
var m: message;
begin
  undefine m;
  m.kind := what;
  m.src := src;
  send(ch, dst, m);
end;

procedure give(ch: channel; dst: node; what: kind; src: node; v: value);
var m: message;
begin
  undefine m;
  m.kind := what;
  m.src := src;
  m.data := v;
  send(ch, dst, m);
end;

function holds(var bag: holders; n: node): boolean;
begin
  return multisetcount(k: bag, bag[k] = n) != 0;
end;

procedure enter(var bag: holders; n: node);
begin
  if !holds(bag, n) then multisetadd(n, bag); end;
end;

procedure leave(var bag: holders; n: node);
begin
  if holds(bag, n) then multisetremovepred(k: bag, bag[k] = n); end;
end;

-- the cluster -----------------------------------------------------------------

-- Demands the copies of all processors but one; the message is filled in for
-- each of them.
procedure recall(var m: message; but: node);
begin
  for n: node do
    if ismember(n, cpu) & holds(below, n) & n != but then
      m.src := Cluster;
      send(Down, n, m);
      leave(below, n);
      l2_due := l2_due + 1;
    end;
  end;
end;

procedure grant();
begin
  l2_phase := Granting;
  give(Back, request.src, Grant, Cluster, l2);
  enter(below, request.src);
  if request.kind = Write then owner := request.src; end;
end;

-- The cluster goes on once no processor has anything left to answer.
procedure l2_goes_on();
begin
  if l2_due = 0 then
    if !isundefined(demand.kind) then
      if has = Owned then
        give(Back, Root, Ack, Cluster, l2);
      else
        say(Back, Root, Ack, Cluster);
      end;
      if demand.kind = Share then has := Shared; else has := None; undefine l2; end;
      undefine demand;
      if isundefined(request.kind) then
        l2_phase := Idle;
      else
        l2_phase := Asking;
      end;
    else
      grant();
    end;
  end;
end;

-- What must happen below before the request is granted.
procedure clear_the_way();
var m: message;
begin
  l2_phase := Collecting;
  undefine m;
  if request.kind = Write then
    m.kind := Invalidate;
    recall(m, request.src);
    undefine owner;
  elsif !isundefined(owner) then
    m.kind := Share;
    m.src := Cluster;
    send(Down, owner, m);
    l2_due := 1;
    undefine owner;
  end;
  l2_goes_on();
end;

procedure l2_serves(m: message);
begin
  request := m;
  if has = Owned | (has = Shared & m.kind = Read) then
    clear_the_way();
  else
    l2_phase := Asking;
    say(Up, Root, m.kind, Cluster);
  end;
end;

procedure l2_obeys(m: message);
var order: message;
begin
  assert has != None "the root asks only who has something";
  demand := m;
  l2_phase := Collecting;
  undefine order;
  if m.kind = Invalidate then
    order.kind := Invalidate;
    recall(order, Root);
    undefine owner;
  elsif !isundefined(owner) then
    order.kind := Share;
    order.src := Cluster;
    send(Down, owner, order);
    l2_due := 1;
    undefine owner;
  end;
  l2_goes_on();
end;

-- the root --------------------------------------------------------------------

procedure root_recalls(but: node);
var m: message;
begin
  undefine m;
  m.kind := Invalidate;
  for n: node do
    if holds(around, n) & n != but then
      m.src := Root;
      send(Down, n, m);
      leave(around, n);
      root_due := root_due + 1;
    end;
  end;
end;

procedure root_goes_on();
begin
  if root_due = 0 then
    root_phase := Granting;
    if root_request.kind = WriteThrough then
      memory := root_request.data;
      latest := memory;
    end;
    owned := root_request.kind = Write;
    enter(around, root_request.src);
    give(Back, root_request.src, Grant, Root, memory);
  end;
end;

procedure root_serves(m: message);
begin
  root_request := m;
  root_phase := Collecting;
  if m.kind != Read then
    root_recalls(m.src);
  elsif owned then
    say(Down, Cluster, Share, Root);
    root_due := 1;
  end;
  root_goes_on();
end;

startstate
begin
  for v: value do memory := v; end;
  latest := memory;
  for c: cpu do cpu_is[c] := I; undefine cpu_data[c]; end;
  for d: device do device_is[d] := Invalid; undefine device_data[d]; end;
  for ch: channel do for n: node do undefine net[ch][n]; end; end;
  has := None;
  undefine l2;
  undefine below;
  undefine owner;
  l2_phase := Idle;
  undefine request;
  undefine demand;
  l2_due := 0;
  undefine around;
  owned := false;
  root_phase := Idle;
  undefine root_request;
  root_due := 0;
end;

-- processors

ruleset c: cpu do
  rule "read" cpu_is[c] = I ==>
  begin
    cpu_is[c] := IS;
    say(Up, Cluster, Read, c);
  end;

  rule "ask to write" cpu_is[c] = I | cpu_is[c] = S ==>
  begin
    cpu_is[c] := IM;
    undefine cpu_data[c];
    say(Up, Cluster, Write, c);
  end;

  rule "drop" cpu_is[c] = S ==>
  begin
    cpu_is[c] := I;
    undefine cpu_data[c];
  end;

  ruleset v: value do
    rule "write" cpu_is[c] = M ==>
    begin
      cpu_data[c] := v;
      latest := v;
    end;
  end;

  choose k: net[Back][c] do
    rule "granted" true ==>
    begin
      cpu_data[c] := net[Back][c][k].data;
      multisetremove(k, net[Back][c]);
      if cpu_is[c] = IS then cpu_is[c] := S; else cpu_is[c] := M; end;
      say(Back, Cluster, Done, c);
    end;
  end;

  choose k: net[Down][c] do
    rule "obey the cluster" true ==>
    var what: kind;
    begin
      what := net[Down][c][k].kind;
      multisetremove(k, net[Down][c]);
      if cpu_is[c] = M then
        give(Back, Cluster, Ack, c, cpu_data[c]);
      else
        say(Back, Cluster, Ack, c);
      end;
      if cpu_is[c] = M | cpu_is[c] = S then
        if what = Share then
          cpu_is[c] := S;
        else
          cpu_is[c] := I;
          undefine cpu_data[c];
        end;
      end;
    end;
  end;
end;

-- accelerators

ruleset d: device do
  rule "load" device_is[d] = Invalid ==>
  begin
    device_is[d] := Waiting;
    say(Up, Root, Read, d);
  end;

  ruleset v: value do
    rule "store" device_is[d] = Invalid | device_is[d] = Valid ==>
    begin
      device_is[d] := Writing;
      undefine device_data[d];
      give(Up, Root, WriteThrough, d, v);
    end;
  end;

  choose k: net[Back][d] do
    rule "device granted" true ==>
    begin
      device_data[d] := net[Back][d][k].data;
      multisetremove(k, net[Back][d]);
      device_is[d] := Valid;
      say(Back, Root, Done, d);
    end;
  end;

  choose k: net[Down][d] do
    rule "obey the root" true ==>
    begin
      multisetremove(k, net[Down][d]);
      say(Back, Root, Ack, d);
      if device_is[d] = Valid then
        device_is[d] := Invalid;
        undefine device_data[d];
      end;
    end;
  end;
end;

-- the cluster

choose k: net[Up][Cluster] do
  rule "cluster serves" l2_phase = Idle ==>
  var m: message;
  begin
    m := net[Up][Cluster][k];
    multisetremove(k, net[Up][Cluster]);
    l2_serves(m);
  end;
end;

choose k: net[Down][Cluster] do
  rule "cluster obeys" l2_phase = Idle | l2_phase = Asking ==>
  var m: message;
  begin
    m := net[Down][Cluster][k];
    multisetremove(k, net[Down][Cluster]);
    l2_obeys(m);
  end;
end;

choose k: net[Back][Cluster] do
  rule "cluster hears" true ==>
  var m: message;
  begin
    m := net[Back][Cluster][k];
    multisetremove(k, net[Back][Cluster]);
    switch m.kind
    case Grant:
      l2 := m.data;
      if request.kind = Write then has := Owned; else has := Shared; end;
      say(Back, Root, Done, Cluster);
      clear_the_way();
    case Ack:
      if !isundefined(m.data) then l2 := m.data; end;
      l2_due := l2_due - 1;
      l2_goes_on();
    case Done:
      undefine request;
      l2_phase := Idle;
    end;
  end;
end;

-- the root

choose k: net[Up][Root] do
  rule "root serves" root_phase = Idle ==>
  var m: message;
  begin
    m := net[Up][Root][k];
    multisetremove(k, net[Up][Root]);
    root_serves(m);
  end;
end;

choose k: net[Back][Root] do
  rule "root hears" true ==>
  var m: message;
  begin
    m := net[Back][Root][k];
    multisetremove(k, net[Back][Root]);
    if m.kind = Ack then
      if !isundefined(m.data) then memory := m.data; end;
      root_due := root_due - 1;
      root_goes_on();
    else
      undefine root_request;
      root_phase := Idle;
    end;
  end;
end;

invariant "a writer has the only copy"
  forall c: cpu do
    cpu_is[c] = M ->
      (forall e: cpu do c != e -> cpu_is[e] != M & cpu_is[e] != S end) &
      (forall d: device do device_is[d] != Valid end)
  end;

invariant "copies hold the value written last"
  (forall c: cpu do cpu_is[c] = S | cpu_is[c] = M -> cpu_data[c] = latest end) &
  (forall d: device do device_is[d] = Valid -> device_data[d] = latest end);

invariant "memory holds the value written last"
  !owned & root_phase = Idle -> memory = latest;
