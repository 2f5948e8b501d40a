A[] Leader.Counting imply heard == 3
E<> Leader.Counting && heard == 3
E<> Leader.Counting && heard == 0
A[] forall (i : int[0,2]) Listener(i).Answering imply Listener(i).x <= 9
