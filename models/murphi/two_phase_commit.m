-- shoal: verdict=holds states=855 full=4229
-- shoal: set N=4 verdict=holds states=3951 full=66177
-- shoal: set N=any verdict=holds
--
-- Two-phase commit: one coordinator, N participants.
--
-- The coordinator asks everybody to vote. A participant that votes yes has
-- given away its right to abort and must wait for the outcome. If all vote
-- yes the coordinator commits; on a no, or when it loses patience, it aborts.
-- It tells everybody the outcome, collects the acknowledgements, and the next
-- transaction begins. Each participant has a one-place inbox and a one-place
-- outbox.
--
-- Symmetric: the participants.
--
-- Checked: all participants that decide agree; nobody commits unless all were
-- prepared; participants follow the coordinator; absence of deadlock.

const
  N: 3;                                  -- participants

type
  participant: scalarset(N);
  coordinator_state: enum { Resting, Collecting, Committing, Aborting };
  participant_state: enum { Working, Prepared, Committed, Aborted };
  to_participant: enum { NoMail, AskVote, DoCommit, DoAbort };
  to_coordinator: enum { NoReply, Yes, No, Ack };

var
  coordinator: coordinator_state;
  agreed: array [participant] of boolean;   -- its yes has arrived
  told: array [participant] of boolean;     -- the outcome is on its way
  finished: array [participant] of boolean; -- its acknowledgement has arrived
  state: array [participant] of participant_state;
  inbox: array [participant] of to_participant;
  outbox: array [participant] of to_coordinator;

procedure new_transaction();
begin
  coordinator := Resting;
  for p: participant do
    agreed[p] := false;
    told[p] := false;
    finished[p] := false;
    state[p] := Working;
    inbox[p] := NoMail;
    outbox[p] := NoReply;
  end;
end;

startstate "first transaction"
begin
  new_transaction();
end;

-- The coordinator

rule "ask for votes"
  coordinator = Resting
==>
begin
  for p: participant do
    inbox[p] := AskVote;
  end;
  coordinator := Collecting;
end;

rule "decide to commit"
  coordinator = Collecting & forall p: participant do agreed[p] end
==>
begin
  coordinator := Committing;
end;

rule "lose patience"
  coordinator = Collecting & exists p: participant do !agreed[p] end
==>
begin
  coordinator := Aborting;
end;

rule "next transaction"
  forall p: participant do finished[p] end
==>
begin
  new_transaction();
end;

ruleset p: participant do

  rule "receive a vote"
    outbox[p] = Yes | outbox[p] = No
  ==>
  begin
    if coordinator = Collecting then
      if outbox[p] = Yes then
        agreed[p] := true;
      else
        coordinator := Aborting;
      end;
    end;
    outbox[p] := NoReply;
  end;

  rule "send the outcome"
    (coordinator = Committing | coordinator = Aborting) &
    !told[p] & inbox[p] = NoMail
  ==>
  begin
    if coordinator = Committing then
      inbox[p] := DoCommit;
    else
      inbox[p] := DoAbort;
    end;
    told[p] := true;
  end;

  rule "receive an acknowledgement"
    outbox[p] = Ack
  ==>
  begin
    outbox[p] := NoReply;
    finished[p] := true;
  end;

end;

-- The participants

ruleset p: participant do

  rule "vote yes"
    inbox[p] = AskVote & state[p] = Working & outbox[p] = NoReply
  ==>
  begin
    inbox[p] := NoMail;
    outbox[p] := Yes;
    state[p] := Prepared;
  end;

  rule "vote no"
    inbox[p] = AskVote & state[p] != Prepared & outbox[p] = NoReply
  ==>
  begin
    inbox[p] := NoMail;
    outbox[p] := No;
    state[p] := Aborted;
  end;

  rule "abort alone"
    state[p] = Working
  ==>
  begin
    state[p] := Aborted;
  end;

  rule "learn of the commit"
    inbox[p] = DoCommit & outbox[p] = NoReply
  ==>
  begin
    inbox[p] := NoMail;
    outbox[p] := Ack;
    state[p] := Committed;
  end;

  rule "learn of the abort"
    inbox[p] = DoAbort & outbox[p] = NoReply
  ==>
  begin
    inbox[p] := NoMail;
    outbox[p] := Ack;
    state[p] := Aborted;
  end;

end;

invariant "all agree"
  forall p: participant do forall q: participant do
    state[p] = Committed -> state[q] != Aborted
  end end;

invariant "nobody commits before all are prepared"
  forall p: participant do forall q: participant do
    state[p] = Committed -> state[q] = Prepared | state[q] = Committed
  end end;

invariant "participants follow the coordinator"
  forall p: participant do
    state[p] = Committed -> coordinator = Committing
  end;
