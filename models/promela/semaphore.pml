// shoal: verdict=violated property="progress_for_both" depth=6
//
// A semaphore that is not fair: one user may take it again and again while the other waits for ever.

mtype = { p, v };
chan semaphore = [0] of { mtype };
byte served[2];

active proctype guard() {
end:	do
	:: semaphore!p; semaphore?v
	od
}

active [2] proctype user() {
	byte me = _pid - 1;
end:	do
	:: semaphore?p;
		served[me] = 1;
critical:	skip;
		semaphore!v
	od
}

ltl progress_for_both { <> (served[0] == 1) && <> (served[1] == 1) }
