-- shoal: verdict=holds states=87 full=4096
-- shoal: set ROWS=4 verdict=holds states=317 full=65536
-- shoal: set ROWS=2 verdict=holds states=22 full=256
--
-- Orbit counting: boolean matrices with two independent scalarsets.
--
-- Rows and columns may be permuted independently of each other, so the group
-- is a product of two symmetric groups and both must be canonicalised
-- together. Orbits of 3 by 4 matrices: 87; of 3 by 3: 36; of 4 by 4: 317
-- (OEIS A028657).
--
-- Symmetric: the rows and, independently, the columns. Checked: nothing but
-- the count.

const
  ROWS: 3;
  COLUMNS: 4;

type
  row: scalarset(ROWS);
  column: scalarset(COLUMNS);

var
  bit: array [row] of array [column] of boolean;

startstate "all false"
begin
  for r: row do
    for c: column do
      bit[r][c] := false;
    end;
  end;
end;

ruleset r: row; c: column do
  rule "flip"
    true
  ==>
  begin
    bit[r][c] := !bit[r][c];
  end;
end;
