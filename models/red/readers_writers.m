-- The readers and writers of readers_writers.red in Murphi, to be compared with Rumur: local variables are arrays over a scalarset, and as
-- Rumur has no unions, one more node is NULL.

-- shoal: set M=4 verdict=holds

const M: 4;

type Node: scalarset(M + 1);

var
  nil: Node;
  mode: array [Node] of 0..13;
  mutex_head: Node;
  mutex_tail: Node;
  wrt_head: Node;
  wrt_tail: Node;
  mutex: 0..15;
  wrt: 0..15;
  readcount: 0..(M + 1) / 2;
  next: array [Node] of Node;
  prev: array [Node] of Node;
  go: array [Node] of 0..1;

ruleset n: Node do startstate "start"
  var left: 0..M;
begin
  nil := n;
  left := (M + 1) / 2;          -- so many begin in the first mode; which ones does not matter
  mutex_head := n;
  mutex_tail := n;
  wrt_head := n;
  wrt_tail := n;
  mutex := 1;
  wrt := 1;
  readcount := 0;
  for p: Node do
    next[p] := n;
    prev[p] := n;
    go[p] := 0;
    if p != n & left > 0 then mode[p] := 0; left := left - 1;
    elsif p != n then mode[p] := 11;
    else mode[p] := 0; end;
  end;
end; end;

ruleset p: Node do
  rule "0 to 1" p != nil & mode[p] = 0 & go[p] = 0 & mutex_head != p & prev[p] = nil & mutex > 0 ==>
  begin mutex := mutex - 1; mode[p] := 1;
  end;

  rule "0 to 0" p != nil & mode[p] = 0 & go[p] = 0 & mutex_head != p & prev[p] = nil & mutex = 0 & mutex_tail = nil ==>
  begin mutex_head := p; mutex_tail := p; next[p] := nil;
  end;

  rule "0 to 0" p != nil & mode[p] = 0 & go[p] = 0 & mutex_head != p & prev[p] = nil & mutex = 0 & mutex_tail != nil ==>
  begin prev[p] := mutex_tail; next[p] := nil; next[mutex_tail] := p; mutex_tail := p;
  end;

  rule "0 to 1" p != nil & mode[p] = 0 & go[p] = 1 ==>
  begin go[p] := 0; mode[p] := 1;
  end;

  rule "1 to 2" p != nil & mode[p] = 1 ==>
  begin readcount := readcount + 1; mode[p] := 2;
  end;

  rule "2 to 3" p != nil & mode[p] = 2 & readcount = 1 ==>
  begin mode[p] := 3;
  end;

  rule "2 to 4" p != nil & mode[p] = 2 & readcount != 1 ==>
  begin mode[p] := 4;
  end;

  rule "3 to 4" p != nil & mode[p] = 3 & go[p] = 0 & wrt_head != p & prev[p] = nil & wrt > 0 ==>
  begin wrt := wrt - 1; mode[p] := 4;
  end;

  rule "3 to 3" p != nil & mode[p] = 3 & go[p] = 0 & wrt_head != p & prev[p] = nil & wrt = 0 & wrt_tail = nil ==>
  begin wrt_head := p; wrt_tail := p; next[p] := nil;
  end;

  rule "3 to 3" p != nil & mode[p] = 3 & go[p] = 0 & wrt_head != p & prev[p] = nil & wrt = 0 & wrt_tail != nil ==>
  begin prev[p] := wrt_tail; next[p] := nil; next[wrt_tail] := p; wrt_tail := p;
  end;

  rule "3 to 4" p != nil & mode[p] = 3 & go[p] = 1 ==>
  begin go[p] := 0; mode[p] := 4;
  end;

  rule "4 to 5" p != nil & mode[p] = 4 & mutex_head = nil ==>
  begin mutex := mutex + 1; mode[p] := 5;
  end;

  rule "4 to 5" p != nil & mode[p] = 4 & mutex_head != nil & mutex_head = mutex_tail ==>
  begin go[mutex_head] := 1; mutex_head := nil; mutex_tail := nil; mode[p] := 5;
  end;

  rule "4 to 5" p != nil & mode[p] = 4 & mutex_head != nil & mutex_head != mutex_tail ==>
  begin go[mutex_head] := 1; prev[next[mutex_head]] := nil; mutex_head := next[mutex_head]; mode[p] := 5;
  end;

  rule "5 to 6" p != nil & mode[p] = 5 ==>
  begin mode[p] := 6;
  end;

  rule "6 to 7" p != nil & mode[p] = 6 & go[p] = 0 & mutex_head != p & prev[p] = nil & mutex > 0 ==>
  begin mutex := mutex - 1; mode[p] := 7;
  end;

  rule "6 to 6" p != nil & mode[p] = 6 & go[p] = 0 & mutex_head != p & prev[p] = nil & mutex = 0 & mutex_tail = nil ==>
  begin mutex_head := p; mutex_tail := p; next[p] := nil;
  end;

  rule "6 to 6" p != nil & mode[p] = 6 & go[p] = 0 & mutex_head != p & prev[p] = nil & mutex = 0 & mutex_tail != nil ==>
  begin prev[p] := mutex_tail; next[p] := nil; next[mutex_tail] := p; mutex_tail := p;
  end;

  rule "6 to 7" p != nil & mode[p] = 6 & go[p] = 1 ==>
  begin go[p] := 0; mode[p] := 7;
  end;

  rule "7 to 8" p != nil & mode[p] = 7 ==>
  begin readcount := readcount - 1; mode[p] := 8;
  end;

  rule "8 to 9" p != nil & mode[p] = 8 & readcount = 0 ==>
  begin mode[p] := 9;
  end;

  rule "8 to 10" p != nil & mode[p] = 8 & readcount != 0 ==>
  begin mode[p] := 10;
  end;

  rule "9 to 10" p != nil & mode[p] = 9 & wrt_head = nil ==>
  begin wrt := wrt + 1; mode[p] := 10;
  end;

  rule "9 to 10" p != nil & mode[p] = 9 & wrt_head != nil & wrt_head = wrt_tail ==>
  begin go[wrt_head] := 1; wrt_head := nil; wrt_tail := nil; mode[p] := 10;
  end;

  rule "9 to 10" p != nil & mode[p] = 9 & wrt_head != nil & wrt_head != wrt_tail ==>
  begin go[wrt_head] := 1; prev[next[wrt_head]] := nil; wrt_head := next[wrt_head]; mode[p] := 10;
  end;

  rule "10 to 0" p != nil & mode[p] = 10 & mutex_head = nil ==>
  begin mutex := mutex + 1; mode[p] := 0;
  end;

  rule "10 to 0" p != nil & mode[p] = 10 & mutex_head != nil & mutex_head = mutex_tail ==>
  begin go[mutex_head] := 1; mutex_head := nil; mutex_tail := nil; mode[p] := 0;
  end;

  rule "10 to 0" p != nil & mode[p] = 10 & mutex_head != nil & mutex_head != mutex_tail ==>
  begin go[mutex_head] := 1; prev[next[mutex_head]] := nil; mutex_head := next[mutex_head]; mode[p] := 0;
  end;

  rule "11 to 12" p != nil & mode[p] = 11 & go[p] = 0 & wrt_head != p & prev[p] = nil & wrt > 0 ==>
  begin wrt := wrt - 1; mode[p] := 12;
  end;

  rule "11 to 11" p != nil & mode[p] = 11 & go[p] = 0 & wrt_head != p & prev[p] = nil & wrt = 0 & wrt_tail = nil ==>
  begin wrt_head := p; wrt_tail := p; next[p] := nil;
  end;

  rule "11 to 11" p != nil & mode[p] = 11 & go[p] = 0 & wrt_head != p & prev[p] = nil & wrt = 0 & wrt_tail != nil ==>
  begin prev[p] := wrt_tail; next[p] := nil; next[wrt_tail] := p; wrt_tail := p;
  end;

  rule "11 to 12" p != nil & mode[p] = 11 & go[p] = 1 ==>
  begin go[p] := 0; mode[p] := 12;
  end;

  rule "12 to 13" p != nil & mode[p] = 12 ==>
  begin mode[p] := 13;
  end;

  rule "13 to 11" p != nil & mode[p] = 13 & wrt_head = nil ==>
  begin wrt := wrt + 1; mode[p] := 11;
  end;

  rule "13 to 11" p != nil & mode[p] = 13 & wrt_head != nil & wrt_head = wrt_tail ==>
  begin go[wrt_head] := 1; wrt_head := nil; wrt_tail := nil; mode[p] := 11;
  end;

  rule "13 to 11" p != nil & mode[p] = 13 & wrt_head != nil & wrt_head != wrt_tail ==>
  begin go[wrt_head] := 1; prev[next[wrt_head]] := nil; wrt_head := next[wrt_head]; mode[p] := 11;
  end;
end;

invariant "nobody reads while one writes"
  forall p: Node do forall q: Node do p != nil & q != nil -> !(mode[p] = 5 & mode[q] = 12) end end;

invariant "one writer"
  forall p: Node do forall q: Node do p != nil & q != nil & p != q -> !(mode[p] = 12 & mode[q] = 12) end end;
