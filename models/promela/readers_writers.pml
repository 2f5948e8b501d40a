// shoal: verdict=holds states=116
//
// Readers share, a writer is alone, and a writer that waits keeps new readers out.

#define READERS 3
#define WRITERS 2

byte reading, writing, waiting;

active [READERS] proctype reader() {
	do
	:: atomic { writing == 0 && waiting == 0 -> reading++ };
		assert(writing == 0);
		reading--
	od
}

active [WRITERS] proctype writer() {
	do
	:: waiting++;
		atomic { reading == 0 && writing == 0 -> writing++; waiting-- };
		assert(writing == 1 && reading == 0);
		writing--
	od
}

ltl writers_are_alone { [] (writing == 0 || reading == 0) }
