A[] forall (i : id_t) forall (j : id_t) P(i).In && P(j).In imply i == j
E<> exists (i : id_t) P(i).In
