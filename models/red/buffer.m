-- The bounded buffer of buffer.red in Murphi, to be compared with Rumur: local variables are arrays over a scalarset, and as
-- Rumur has no unions, one more node is NULL.

-- shoal: set M=4 verdict=holds

const M: 4;

type Node: scalarset(M + 1);

var
  nil: Node;
  mode: array [Node] of 0..9;
  mutex_head: Node;
  mutex_tail: Node;
  empty_head: Node;
  empty_tail: Node;
  full_head: Node;
  full_tail: Node;
  mutex: 0..10;
  empty: 0..10;
  full: 0..10;
  count: 0..5;
  next: array [Node] of Node;
  prev: array [Node] of Node;
  blocked: array [Node] of 0..1;

ruleset n: Node do startstate "start"
  var left: 0..M;
begin
  nil := n;
  left := (M + 1) / 2;          -- so many begin in the first mode; which ones does not matter
  mutex_head := n;
  mutex_tail := n;
  empty_head := n;
  empty_tail := n;
  full_head := n;
  full_tail := n;
  mutex := 1;
  empty := 5;
  full := 0;
  count := 0;
  for p: Node do
    next[p] := n;
    prev[p] := n;
    blocked[p] := 0;
    if p != n & left > 0 then mode[p] := 0; left := left - 1;
    elsif p != n then mode[p] := 5;
    else mode[p] := 0; end;
  end;
end; end;

ruleset p: Node do
  rule "0 to 1" p != nil & mode[p] = 0 & blocked[p] = 0 & empty > 0 ==>
  begin empty := empty - 1; mode[p] := 1;
  end;

  rule "0 to 1" p != nil & mode[p] = 0 & blocked[p] = 0 & empty = 0 & empty_tail = nil ==>
  begin empty_head := p; empty_tail := p; next[p] := nil; blocked[p] := 1; mode[p] := 1;
  end;

  rule "0 to 1" p != nil & mode[p] = 0 & blocked[p] = 0 & empty = 0 & empty_tail != nil ==>
  begin prev[p] := empty_tail; next[p] := nil; next[empty_tail] := p; empty_tail := p; blocked[p] := 1; mode[p] := 1;
  end;

  rule "1 to 2" p != nil & mode[p] = 1 & blocked[p] = 0 & mutex > 0 ==>
  begin mutex := mutex - 1; mode[p] := 2;
  end;

  rule "1 to 2" p != nil & mode[p] = 1 & blocked[p] = 0 & mutex = 0 & mutex_tail = nil ==>
  begin mutex_head := p; mutex_tail := p; next[p] := nil; blocked[p] := 1; mode[p] := 2;
  end;

  rule "1 to 2" p != nil & mode[p] = 1 & blocked[p] = 0 & mutex = 0 & mutex_tail != nil ==>
  begin prev[p] := mutex_tail; next[p] := nil; next[mutex_tail] := p; mutex_tail := p; blocked[p] := 1; mode[p] := 2;
  end;

  rule "2 to 3" p != nil & mode[p] = 2 & blocked[p] = 0 ==>
  begin count := count + 1; mode[p] := 3;
  end;

  rule "3 to 4" p != nil & mode[p] = 3 & blocked[p] = 0 & mutex_head = nil ==>
  begin mutex := mutex + 1; mode[p] := 4;
  end;

  rule "3 to 4" p != nil & mode[p] = 3 & blocked[p] = 0 & mutex_head != nil & mutex_head = mutex_tail ==>
  begin blocked[mutex_head] := 0; mutex_head := nil; mutex_tail := nil; mode[p] := 4;
  end;

  rule "3 to 4" p != nil & mode[p] = 3 & blocked[p] = 0 & mutex_head != nil & mutex_head != mutex_tail ==>
  begin blocked[mutex_head] := 0; prev[next[mutex_head]] := nil; mutex_head := next[mutex_head]; mode[p] := 4;
  end;

  rule "4 to 0" p != nil & mode[p] = 4 & blocked[p] = 0 & full_head = nil ==>
  begin full := full + 1; mode[p] := 0;
  end;

  rule "4 to 0" p != nil & mode[p] = 4 & blocked[p] = 0 & full_head != nil & full_head = full_tail ==>
  begin blocked[full_head] := 0; full_head := nil; full_tail := nil; mode[p] := 0;
  end;

  rule "4 to 0" p != nil & mode[p] = 4 & blocked[p] = 0 & full_head != nil & full_head != full_tail ==>
  begin blocked[full_head] := 0; prev[next[full_head]] := nil; full_head := next[full_head]; mode[p] := 0;
  end;

  rule "5 to 6" p != nil & mode[p] = 5 & blocked[p] = 0 & full > 0 ==>
  begin full := full - 1; mode[p] := 6;
  end;

  rule "5 to 6" p != nil & mode[p] = 5 & blocked[p] = 0 & full = 0 & full_tail = nil ==>
  begin full_head := p; full_tail := p; next[p] := nil; blocked[p] := 1; mode[p] := 6;
  end;

  rule "5 to 6" p != nil & mode[p] = 5 & blocked[p] = 0 & full = 0 & full_tail != nil ==>
  begin prev[p] := full_tail; next[p] := nil; next[full_tail] := p; full_tail := p; blocked[p] := 1; mode[p] := 6;
  end;

  rule "6 to 7" p != nil & mode[p] = 6 & blocked[p] = 0 & mutex > 0 ==>
  begin mutex := mutex - 1; mode[p] := 7;
  end;

  rule "6 to 7" p != nil & mode[p] = 6 & blocked[p] = 0 & mutex = 0 & mutex_tail = nil ==>
  begin mutex_head := p; mutex_tail := p; next[p] := nil; blocked[p] := 1; mode[p] := 7;
  end;

  rule "6 to 7" p != nil & mode[p] = 6 & blocked[p] = 0 & mutex = 0 & mutex_tail != nil ==>
  begin prev[p] := mutex_tail; next[p] := nil; next[mutex_tail] := p; mutex_tail := p; blocked[p] := 1; mode[p] := 7;
  end;

  rule "7 to 8" p != nil & mode[p] = 7 & blocked[p] = 0 ==>
  begin count := count - 1; mode[p] := 8;
  end;

  rule "8 to 9" p != nil & mode[p] = 8 & blocked[p] = 0 & mutex_head = nil ==>
  begin mutex := mutex + 1; mode[p] := 9;
  end;

  rule "8 to 9" p != nil & mode[p] = 8 & blocked[p] = 0 & mutex_head != nil & mutex_head = mutex_tail ==>
  begin blocked[mutex_head] := 0; mutex_head := nil; mutex_tail := nil; mode[p] := 9;
  end;

  rule "8 to 9" p != nil & mode[p] = 8 & blocked[p] = 0 & mutex_head != nil & mutex_head != mutex_tail ==>
  begin blocked[mutex_head] := 0; prev[next[mutex_head]] := nil; mutex_head := next[mutex_head]; mode[p] := 9;
  end;

  rule "9 to 5" p != nil & mode[p] = 9 & blocked[p] = 0 & empty_head = nil ==>
  begin empty := empty + 1; mode[p] := 5;
  end;

  rule "9 to 5" p != nil & mode[p] = 9 & blocked[p] = 0 & empty_head != nil & empty_head = empty_tail ==>
  begin blocked[empty_head] := 0; empty_head := nil; empty_tail := nil; mode[p] := 5;
  end;

  rule "9 to 5" p != nil & mode[p] = 9 & blocked[p] = 0 & empty_head != nil & empty_head != empty_tail ==>
  begin blocked[empty_head] := 0; prev[next[empty_head]] := nil; empty_head := next[empty_head]; mode[p] := 5;
  end;
end;

invariant "one at a time"
  forall p: Node do forall q: Node do p != nil & q != nil & p != q -> !((mode[p] = 2 | mode[p] = 7) & blocked[p] = 0 & (mode[q] = 2 | mode[q] = 7) & blocked[q] = 0) end end;
