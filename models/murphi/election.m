-- shoal: verdict=holds states=281 full=1602
-- shoal: set TERMS=3 verdict=holds states=2164 full=12796
-- shoal: set N=2 verdict=holds states=25 full=47
--
-- Leader election by terms and votes, as in Raft.
--
-- A server that hears nothing starts a new term, votes for itself and asks
-- the others. A server votes at most once in a term, moves to any later term
-- it hears of, and forgets its vote only then. Ballots travel slowly and may
-- arrive when the candidate has moved on; such ballots are thrown away. A
-- candidate with a majority leads, and tells the others. A leader may fall
-- back (it crashes and restarts; term and vote are on disk). When all servers
-- have used up the last term the history starts again, so that the model is
-- finite without ever ending.
--
-- Symmetric: the servers. A vote is a server name, undefined for no vote.
--
-- Checked: one leader in a term at most; a ballot that was counted is still
-- its voter's vote, as long as the voter is in that term; no deadlock.

const
  N: 3;                                  -- servers
  TERMS: 2;

type
  server: scalarset(N);
  term_number: 0..TERMS;
  number: 0..N;
  role_kind: enum { Follower, Candidate, Leader };

var
  role: array [server] of role_kind;
  term: array [server] of term_number;
  vote: array [server] of server;
  -- ballot[c][v]: the term of a ballot on its way from v to c; 0: none
  ballot: array [server] of array [server] of term_number;
  -- counted[c][v]: candidate c has v's ballot
  counted: array [server] of array [server] of boolean;

function votes(c: server): number;
var n: number;
begin
  n := 0;
  for v: server do
    if counted[c][v] then
      n := n + 1;
    end;
  end;
  return n;
end;

procedure forget_ballots(c: server);
begin
  for v: server do
    counted[c][v] := false;
  end;
end;

-- s hears of term t from somebody.
procedure catch_up(s: server; t: term_number);
begin
  if t > term[s] then
    term[s] := t;
    role[s] := Follower;
    undefine vote[s];
    forget_ballots(s);
  end;
end;

procedure begin_history();
begin
  for s: server do
    role[s] := Follower;
    term[s] := 0;
    undefine vote[s];
    for v: server do
      ballot[s][v] := 0;
    end;
    forget_ballots(s);
  end;
end;

startstate "nobody leads"
begin
  begin_history();
end;

rule "history starts again"
  forall s: server do term[s] = TERMS end
==>
begin
  begin_history();
end;

ruleset s: server do

  rule "time out"
    role[s] != Leader & term[s] < TERMS
  ==>
  begin
    term[s] := term[s] + 1;
    role[s] := Candidate;
    vote[s] := s;
    forget_ballots(s);
    counted[s][s] := true;
  end;

  rule "win"
    role[s] = Candidate & 2 * votes(s) > N
  ==>
  begin
    role[s] := Leader;
    forget_ballots(s);
  end;

  rule "restart"
    role[s] = Leader
  ==>
  begin
    role[s] := Follower;
  end;

end;

ruleset c: server; v: server do

  rule "vote for a candidate"
    c != v & role[c] = Candidate & ballot[c][v] = 0 &
    (term[c] > term[v] | (term[c] = term[v] & isundefined(vote[v])))
  ==>
  begin
    catch_up(v, term[c]);
    vote[v] := c;
    ballot[c][v] := term[c];
  end;

  rule "ballot arrives"
    ballot[c][v] != 0
  ==>
  begin
    if role[c] = Candidate & ballot[c][v] = term[c] then
      counted[c][v] := true;
    end;
    ballot[c][v] := 0;
  end;

  rule "hear from the leader"
    c != v & role[c] = Leader &
    (term[c] > term[v] | (term[c] = term[v] & role[v] = Candidate))
  ==>
  begin
    catch_up(v, term[c]);
    role[v] := Follower;
    forget_ballots(v);
  end;

end;

invariant "one leader in a term"
  forall a: server do forall b: server do
    a != b & role[a] = Leader & role[b] = Leader -> term[a] != term[b]
  end end;

invariant "ballots are honest"
  forall c: server do forall v: server do
    counted[c][v] & term[v] = term[c] ->
      !isundefined(vote[v]) & vote[v] = c
  end end;
