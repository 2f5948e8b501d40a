-- shoal: verdict=holds states=292 full=1474
-- shoal: set N=4 verdict=holds states=487 full=6975
--
-- A lock server behind an unordered network that is a multiset.
--
-- Clients ask the server for a lock. The network delivers messages in any
-- order, and an impatient client may send its request again, so the same
-- message may be on its way several times: the network is a bag. The server
-- numbers nothing; when it grants to a client that does not wait any more
-- (the request was a duplicate), the client sends the lock straight back.
--
-- CMurphi only: `multiset`, `choose`, `multisetadd`, `multisetremove`,
-- `multisetcount` and `union`. Rumur does not accept this model; the numbers
-- above come from a separate enumerator, with the network as a true bag.
--
-- Symmetric: the clients, and the places of messages in the network. The
-- server is an enum member and joins the clients in a union.
--
-- Checked: mutual exclusion, exactly one copy of the lock exists, no message
-- goes to a wrong kind of node, no deadlock.

const
  N: 3;                                  -- clients
  NET: 4;                                -- messages the network can hold

type
  client: scalarset(N);
  role: enum { Server };
  node: union { client, role };
  kind: enum { Request, Grant, Release };
  place: enum { Idle, Waiting, Critical };
  message: record
    what: kind;
    from: node;
    dest: node;
  end;

var
  net: multiset [NET] of message;
  pc: array [client] of place;
  lock_here: boolean;                    -- the server has the lock

function room(): boolean;
begin
  return multisetcount(m: net, true) < NET;
end;

procedure send(what: kind; from: node; dest: node);
var msg: message;
begin
  msg.what := what;
  msg.from := from;
  msg.dest := dest;
  multisetadd(msg, net);
end;

startstate "lock at the server"
begin
  undefine net;
  for c: client do
    pc[c] := Idle;
  end;
  lock_here := true;
end;

ruleset c: client do

  rule "client asks"
    pc[c] = Idle & room()
  ==>
  begin
    send(Request, c, Server);
    pc[c] := Waiting;
  end;

  rule "client asks again"
    pc[c] = Waiting & room()
  ==>
  begin
    send(Request, c, Server);
  end;

  rule "client releases"
    pc[c] = Critical & room()
  ==>
  begin
    send(Release, c, Server);
    pc[c] := Idle;
  end;

end;

choose m: net do

  rule "server grants"
    net[m].what = Request & lock_here
  ==>
  var to_whom: node;
  begin
    to_whom := net[m].from;
    multisetremove(m, net);
    send(Grant, Server, to_whom);
    lock_here := false;
  end;

  rule "server takes the lock back"
    net[m].what = Release
  ==>
  begin
    multisetremove(m, net);
    lock_here := true;
  end;

end;

ruleset c: client do
  choose m: net do
    rule "client receives the lock"
      net[m].what = Grant & net[m].dest = c
    ==>
    begin
      multisetremove(m, net);
      if pc[c] = Waiting then
        pc[c] := Critical;
      else
        send(Release, c, Server);
      end;
    end;
  end;
end;

-- When the network is full of requests and somebody is critical, its release
-- would find no room; so a server that has given the lock away may lose a
-- request. The client will ask again.
choose m: net do
  rule "server is busy"
    net[m].what = Request & !lock_here
  ==>
  begin
    multisetremove(m, net);
  end;
end;

invariant "mutual exclusion"
  forall a: client do forall b: client do
    a != b & pc[a] = Critical -> pc[b] != Critical
  end end;

invariant "one lock"
  (lock_here ->
     multisetcount(m: net, net[m].what != Request) = 0 &
     forall c: client do pc[c] != Critical end) &
  (exists c: client do pc[c] = Critical end ->
     multisetcount(m: net, net[m].what != Request) = 0) &
  multisetcount(m: net, net[m].what != Request) <= 1;

invariant "messages go between a client and the server"
  multisetcount(m: net,
    (net[m].dest = Server & net[m].from = Server) |
    (net[m].dest != Server & net[m].from != Server)) = 0;
