// shoal: verdict=holds states=13
// shoal: set N=any verdict=unknown
//
// A lock that is taken by testing and setting a bit, by any number of processes.
//
// Nothing asks which process is which, so `active [N]` may be any number of them
// (`shoal check --set N=any --deadlock off`; that there is no deadlock is not
// proved for any number).
//
// Checked: at most one process is in its critical section.

#define N 3

bool lock = false;
byte inside = 0;

active [N] proctype thread() {
	do
	:: atomic { !lock -> lock = true };
	   inside++;
	   assert(inside == 1);
	   inside--;
	   lock = false
	od
}
