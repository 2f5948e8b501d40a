-- The election of leaders with a mistake: also who has a parent offers to be one, so two may become each other's parents.

-- shoal: set M=3 verdict=violated property="there is a root"

const M = 4;

global pointer respond_id;
local pointer parent;

process node : M {
  mode 0 { when true may parent = NULL; goto 1; }
  mode 1 { when respond_id == NULL may respond_id = P; goto 1;
           when respond_id != NULL and respond_id != P and parent == NULL may
             parent = respond_id; respond_id = NULL; goto 1; }
}

initially zero;

safe "there is a root": exists p (mode[p] == 0 or parent[p] == NULL);
