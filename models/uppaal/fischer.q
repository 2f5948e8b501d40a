/* At most one process is in its critical section. */
A[] forall (i : pid_t) forall (j : pid_t) P(i).cs && P(j).cs imply i == j
E<> exists (i : pid_t) P(i).cs
