A[] forall (i : train_t) forall (j : train_t) Train(i).Bridge && Train(j).Bridge imply i == j
A[] not deadlock
E<> Train(0).Bridge && Box.waiting == N
E<> Train(1).Halted
