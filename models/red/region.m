-- The region of region.red in Murphi, to be compared with Rumur: local variables are arrays over a scalarset, and as
-- Rumur has no unions, one more node is NULL.

-- shoal: set M=3 verdict=violated

const M: 3;

type Node: scalarset(M + 1);

var
  nil: Node;
  mode: array [Node] of 0..18;
  mutex_head: Node;
  mutex_tail: Node;
  first_delay_head: Node;
  first_delay_tail: Node;
  second_delay_head: Node;
  second_delay_tail: Node;
  first_count: 0..M;
  second_count: 0..M;
  mutex: 0..M + 1;
  first_delay: 0..M + 1;
  second_delay: 0..M + 1;
  next: array [Node] of Node;
  prev: array [Node] of Node;
  go: array [Node] of 0..1;

ruleset n: Node do startstate "start"
begin
  nil := n;
  mutex_head := n;
  mutex_tail := n;
  first_delay_head := n;
  first_delay_tail := n;
  second_delay_head := n;
  second_delay_tail := n;
  first_count := 0;
  second_count := 0;
  mutex := 1;
  first_delay := 0;
  second_delay := 0;
  for p: Node do
    next[p] := n;
    prev[p] := n;
    go[p] := 0;
    mode[p] := 0;
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

  rule "1 to 14" p != nil & mode[p] = 1 ==>
  begin mode[p] := 14;
  end;

  rule "1 to 2" p != nil & mode[p] = 1 ==>
  begin mode[p] := 2;
  end;

  rule "2 to 3" p != nil & mode[p] = 2 ==>
  begin first_count := first_count + 1; mode[p] := 3;
  end;

  rule "3 to 4" p != nil & mode[p] = 3 & second_count > 0 ==>
  begin mode[p] := 4;
  end;

  rule "3 to 5" p != nil & mode[p] = 3 & second_count = 0 ==>
  begin mode[p] := 5;
  end;

  rule "4 to 6" p != nil & mode[p] = 4 & second_delay_head = nil ==>
  begin second_delay := second_delay + 1; mode[p] := 6;
  end;

  rule "4 to 6" p != nil & mode[p] = 4 & second_delay_head != nil & second_delay_head = second_delay_tail ==>
  begin go[second_delay_head] := 1; second_delay_head := nil; second_delay_tail := nil; mode[p] := 6;
  end;

  rule "4 to 6" p != nil & mode[p] = 4 & second_delay_head != nil & second_delay_head != second_delay_tail ==>
  begin go[second_delay_head] := 1; prev[next[second_delay_head]] := nil; second_delay_head := next[second_delay_head]; mode[p] := 6;
  end;

  rule "5 to 6" p != nil & mode[p] = 5 & mutex_head = nil ==>
  begin mutex := mutex + 1; mode[p] := 6;
  end;

  rule "5 to 6" p != nil & mode[p] = 5 & mutex_head != nil & mutex_head = mutex_tail ==>
  begin go[mutex_head] := 1; mutex_head := nil; mutex_tail := nil; mode[p] := 6;
  end;

  rule "5 to 6" p != nil & mode[p] = 5 & mutex_head != nil & mutex_head != mutex_tail ==>
  begin go[mutex_head] := 1; prev[next[mutex_head]] := nil; mutex_head := next[mutex_head]; mode[p] := 6;
  end;

  rule "6 to 7" p != nil & mode[p] = 6 & go[p] = 0 & first_delay_head != p & prev[p] = nil & first_delay > 0 ==>
  begin first_delay := first_delay - 1; mode[p] := 7;
  end;

  rule "6 to 6" p != nil & mode[p] = 6 & go[p] = 0 & first_delay_head != p & prev[p] = nil & first_delay = 0 & first_delay_tail = nil ==>
  begin first_delay_head := p; first_delay_tail := p; next[p] := nil;
  end;

  rule "6 to 6" p != nil & mode[p] = 6 & go[p] = 0 & first_delay_head != p & prev[p] = nil & first_delay = 0 & first_delay_tail != nil ==>
  begin prev[p] := first_delay_tail; next[p] := nil; next[first_delay_tail] := p; first_delay_tail := p;
  end;

  rule "6 to 7" p != nil & mode[p] = 6 & go[p] = 1 ==>
  begin go[p] := 0; mode[p] := 7;
  end;

  rule "7 to 8" p != nil & mode[p] = 7 ==>
  begin first_count := first_count - 1; mode[p] := 8;
  end;

  rule "8 to 9" p != nil & mode[p] = 8 ==>
  begin second_count := second_count + 1; mode[p] := 9;
  end;

  rule "9 to 10" p != nil & mode[p] = 9 & first_count > 0 ==>
  begin mode[p] := 10;
  end;

  rule "9 to 11" p != nil & mode[p] = 9 & first_count = 0 ==>
  begin mode[p] := 11;
  end;

  rule "10 to 12" p != nil & mode[p] = 10 & first_delay_head = nil ==>
  begin first_delay := first_delay + 1; mode[p] := 12;
  end;

  rule "10 to 12" p != nil & mode[p] = 10 & first_delay_head != nil & first_delay_head = first_delay_tail ==>
  begin go[first_delay_head] := 1; first_delay_head := nil; first_delay_tail := nil; mode[p] := 12;
  end;

  rule "10 to 12" p != nil & mode[p] = 10 & first_delay_head != nil & first_delay_head != first_delay_tail ==>
  begin go[first_delay_head] := 1; prev[next[first_delay_head]] := nil; first_delay_head := next[first_delay_head]; mode[p] := 12;
  end;

  rule "11 to 12" p != nil & mode[p] = 11 & second_delay_head = nil ==>
  begin second_delay := second_delay + 1; mode[p] := 12;
  end;

  rule "11 to 12" p != nil & mode[p] = 11 & second_delay_head != nil & second_delay_head = second_delay_tail ==>
  begin go[second_delay_head] := 1; second_delay_head := nil; second_delay_tail := nil; mode[p] := 12;
  end;

  rule "11 to 12" p != nil & mode[p] = 11 & second_delay_head != nil & second_delay_head != second_delay_tail ==>
  begin go[second_delay_head] := 1; prev[next[second_delay_head]] := nil; second_delay_head := next[second_delay_head]; mode[p] := 12;
  end;

  rule "12 to 13" p != nil & mode[p] = 12 & go[p] = 0 & second_delay_head != p & prev[p] = nil & second_delay > 0 ==>
  begin second_delay := second_delay - 1; mode[p] := 13;
  end;

  rule "12 to 12" p != nil & mode[p] = 12 & go[p] = 0 & second_delay_head != p & prev[p] = nil & second_delay = 0 & second_delay_tail = nil ==>
  begin second_delay_head := p; second_delay_tail := p; next[p] := nil;
  end;

  rule "12 to 12" p != nil & mode[p] = 12 & go[p] = 0 & second_delay_head != p & prev[p] = nil & second_delay = 0 & second_delay_tail != nil ==>
  begin prev[p] := second_delay_tail; next[p] := nil; next[second_delay_tail] := p; second_delay_tail := p;
  end;

  rule "12 to 13" p != nil & mode[p] = 12 & go[p] = 1 ==>
  begin go[p] := 0; mode[p] := 13;
  end;

  rule "13 to 1" p != nil & mode[p] = 13 ==>
  begin second_count := second_count - 1; mode[p] := 1;
  end;

  rule "14 to 15" p != nil & mode[p] = 14 ==>
  begin mode[p] := 15;
  end;

  rule "15 to 16" p != nil & mode[p] = 15 & first_count > 0 ==>
  begin mode[p] := 16;
  end;

  rule "15 to 17" p != nil & mode[p] = 15 & first_count = 0 & second_count > 0 ==>
  begin mode[p] := 17;
  end;

  rule "15 to 18" p != nil & mode[p] = 15 & first_count = 0 & second_count = 0 ==>
  begin mode[p] := 18;
  end;

  rule "16 to 0" p != nil & mode[p] = 16 & first_delay_head = nil ==>
  begin first_delay := first_delay + 1; mode[p] := 0;
  end;

  rule "16 to 0" p != nil & mode[p] = 16 & first_delay_head != nil & first_delay_head = first_delay_tail ==>
  begin go[first_delay_head] := 1; first_delay_head := nil; first_delay_tail := nil; mode[p] := 0;
  end;

  rule "16 to 0" p != nil & mode[p] = 16 & first_delay_head != nil & first_delay_head != first_delay_tail ==>
  begin go[first_delay_head] := 1; prev[next[first_delay_head]] := nil; first_delay_head := next[first_delay_head]; mode[p] := 0;
  end;

  rule "17 to 0" p != nil & mode[p] = 17 & second_delay_head = nil ==>
  begin second_delay := second_delay + 1; mode[p] := 0;
  end;

  rule "17 to 0" p != nil & mode[p] = 17 & second_delay_head != nil & second_delay_head = second_delay_tail ==>
  begin go[second_delay_head] := 1; second_delay_head := nil; second_delay_tail := nil; mode[p] := 0;
  end;

  rule "17 to 0" p != nil & mode[p] = 17 & second_delay_head != nil & second_delay_head != second_delay_tail ==>
  begin go[second_delay_head] := 1; prev[next[second_delay_head]] := nil; second_delay_head := next[second_delay_head]; mode[p] := 0;
  end;

  rule "18 to 0" p != nil & mode[p] = 18 & mutex_head = nil ==>
  begin mutex := mutex + 1; mode[p] := 0;
  end;

  rule "18 to 0" p != nil & mode[p] = 18 & mutex_head != nil & mutex_head = mutex_tail ==>
  begin go[mutex_head] := 1; mutex_head := nil; mutex_tail := nil; mode[p] := 0;
  end;

  rule "18 to 0" p != nil & mode[p] = 18 & mutex_head != nil & mutex_head != mutex_tail ==>
  begin go[mutex_head] := 1; prev[next[mutex_head]] := nil; mutex_head := next[mutex_head]; mode[p] := 0;
  end;
end;

invariant "one in the region"
  forall p: Node do forall q: Node do p != nil & q != nil & p != q -> !(mode[p] = 14 & mode[q] = 14) end end;
