-- shoal: verdict=holds
-- shoal: set N=6 verdict=holds
--
-- A bridge carries data from an input port to an output port and works on them
-- in between. Processes take data from the output port. If the output port is
-- full, the bridge stands still and no process is ready, all processes are told
-- to break off what they do and be ready: a broadcast, so that the port is not
-- full again at once. After the third example of Emerson and Wahl (CHARME
-- 2005), which prints no text of its model.

const
  N: 4;                                  -- processes
  ROOM: 2;                               -- data that a port can hold

type
  process: scalarset(N);
  what: enum { Ready, Taking, Working, Sleeping };
  level: 0..ROOM;

var
  does: array [process] of what;
  told: array [process] of boolean;      -- has been interrupted
  fresh: array [process] of boolean;     -- has new data
  input: level;
  output: level;
  carrying: boolean;
  checked: boolean;                      -- the data carried have been worked on

startstate "empty ports"
begin
  for p: process do
    does[p] := Ready;
    told[p] := false;
    fresh[p] := false;
  end;
  input := 0;
  output := 0;
  carrying := false;
  checked := false;
end;

rule "data arrive"
  input < ROOM
==>
  input := input + 1;
end;

rule "bridge picks up"
  input > 0 & !carrying
==>
  input := input - 1;
  carrying := true;
  checked := false;
end;

rule "bridge works on the data"
  carrying & !checked
==>
  checked := true;
end;

rule "bridge delivers"
  carrying & checked & output < ROOM
==>
  output := output + 1;
  carrying := false;
  checked := false;
end;

ruleset p: process do

  rule "take"
    does[p] = Ready & output > 0
  ==>
    output := output - 1;
    does[p] := Taking;
    told[p] := false;
  end;

  rule "begin to work"
    does[p] = Taking
  ==>
    does[p] := Working;
    fresh[p] := true;
  end;

  rule "fall asleep"
    does[p] = Working & !told[p]
  ==>
    does[p] := Sleeping;
    fresh[p] := false;
  end;

  rule "finish"
    does[p] = Working
  ==>
    does[p] := Ready;
    fresh[p] := false;
  end;

  rule "wake up"
    does[p] = Sleeping
  ==>
    does[p] := Ready;
  end;

end;

rule "break off and be ready"
  output = ROOM & carrying & checked & forall p: process do does[p] != Ready end
==>
  for p: process do
    if does[p] = Working | does[p] = Sleeping then
      does[p] := Ready;
      told[p] := true;
      fresh[p] := false;
    end;
  end;
end;

-- Nothing is written where something lies already: ports never hold too much.
invariant "nothing is overwritten"
  input <= ROOM & output <= ROOM;

ctl "a full port can be relieved within three steps"
  AG (output = ROOM -> (EX output < ROOM | EX EX output < ROOM | EX EX EX output < ROOM));

ctl "a full port does not stay full for ever"
  AG (output = ROOM -> EF output = 0);
