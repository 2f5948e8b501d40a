// shoal: verdict=violated property="assertions" depth=8
//
// Two clerks book on the same account: each reads it, and writes what it has read and its own sum. One booking can be
// lost.

byte account = 10, done;

proctype clerk(byte sum) {
	byte seen;
	seen = account;
	account = seen + sum;
	done++
}

init {
	atomic { run clerk(5); run clerk(7) };
	done == 2;
	assert(account == 22)
}
