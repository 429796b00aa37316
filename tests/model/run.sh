#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Has spin search every state of the hand-off and of the ring of samples, once for each
# configuration, and then with one thing wrong at a time, which it must find. Prints TAP.
#
#     run.sh              everything
#     run.sh --story N    how test N fails, store by store, by a short way
#
# shellcheck disable=SC2086 # flags come in lists
set -u

here=$(cd "$(dirname "$0")" && pwd)
self=$here/$(basename "$0")

DROP=-DPOLICY=DROP
OVERWRITE=-DPOLICY=OVERWRITE
BLOCK=-DPOLICY=BLOCK
EXITS='-DENDING=EXITS -DLIVES=2'
KILLED=-DENDING=KILLED
TWO='-DWRITERS=2 -DOTHER_RECORDS=2'
HEIR=-DDRAIN_DEATHS=1
NO_HEIR='-DDRAIN_DEATHS=1 -DDRAINS=1'
ONE_MORE='-DRECORDS=2 -DOTHER_RECORDS=1'

# holds SENTENCE FLAG... and breaks MUTANT SENTENCE FLAG...: one test each. The long ones first.
tests()
{
	model=handoff
	holds 'overwrite: thread and drain never both have the oldest chunk' $OVERWRITE
	holds 'two threads that overwrite contend for chunks' $TWO $OVERWRITE -DRECORDS=2
	holds 'two threads that drop contend for chunks' $TWO $DROP -DRECORDS=3
	holds 'two threads that block contend for chunks' $TWO $BLOCK -DRECORDS=3
	holds 'drop: what is taken and what is lost is all that was tried' $DROP -DRECORDS=6
	holds 'drop: it works with a single chunk' $DROP -DRECORDS=6 -DCHUNKS=1
	holds 'drop: it works with three chunks' $DROP -DRECORDS=5 -DCHUNKS=3
	holds 'overwrite: a stream restarts in its only chunk' $OVERWRITE -DCHUNKS=1
	holds 'block: nothing is lost and nobody waits for ever' $BLOCK -DRECORDS=6
	holds 'block: nothing is lost with a single chunk' $BLOCK -DRECORDS=6 -DCHUNKS=1
	holds 'drop: a line is used again after its thread exits' $DROP $EXITS -DRECORDS=4
	holds 'overwrite: a line is used again after its thread exits' $OVERWRITE $EXITS -DRECORDS=3
	holds 'drop: a killed program loses nothing whose hook returned' $DROP $KILLED
	holds 'overwrite: a killed program loses nothing uncounted' $OVERWRITE $KILLED -DRECORDS=4
	holds 'block: a killed program loses nothing whose hook returned' $BLOCK $KILLED
	holds 'drop: a new drain goes on where a dead one stopped' $DROP $HEIR -DRECORDS=4
	holds 'overwrite: a new drain goes on where a dead one stopped' $OVERWRITE $HEIR -DRECORDS=4
	holds 'block: a new drain goes on where a dead one stopped' $BLOCK $HEIR -DRECORDS=4
	holds 'a new drain finishes the burial of a thread' $DROP $EXITS $HEIR -DRECORDS=3
	holds 'a new drain takes what a killed program left' $DROP $KILLED $HEIR -DRECORDS=3
	holds 'drop: a thread never waits, though the drain is dead' $DROP $NO_HEIR
	holds 'overwrite: a thread never waits, though the drain is dead' \
		$OVERWRITE $NO_HEIR -DRECORDS=4
	holds 'block: a thread does not wait for a drain that is dead' $BLOCK $NO_HEIR

	breaks NO_RELEASE_AT 'A: at is released' $DROP
	breaks NO_ACQUIRE_AT 'A: at is acquired' $DROP
	breaks NO_RELEASE_NEXT 'B: next is released' $DROP
	breaks NO_ACQUIRE_NEXT 'B: next is acquired' $DROP
	breaks NO_RELEASE_START 'B: start is released' $DROP $EXITS -DRECORDS=3
	breaks FREE_BEFORE_COPY 'C: the drain has read a chunk before it is free' $DROP
	breaks NO_RELEASE_TAKEN 'D: the thread releases taken' $OVERWRITE
	breaks NO_ACQUIRE_TAKEN 'D: the drain acquires taken' $OVERWRITE
	breaks NO_RELEASE_OWNER 'D: the thread releases a new label' $OVERWRITE
	breaks NO_ACQUIRE_OWNER 'D: the drain acquires the label' $OVERWRITE
	breaks TAKE_BEFORE_COPY 'D: the copy comes before the move of taken' $OVERWRITE
	breaks STORE_BEFORE_MOVE 'D: stores come after the move of taken' $OVERWRITE -DCHUNKS=1
	breaks NO_REVALIDATE 'D: a copy counts only if taken has not moved' $OVERWRITE
	breaks NO_OWNER_CHECK 'D: a pass looks whose the chunk is' $OVERWRITE
	breaks NO_RELEASE_EXITED 'F: EXITED is released' $DROP $EXITS -DRECORDS=3
	breaks EXITED_BEFORE_LAST_RECORD 'F: EXITED comes last' $DROP $EXITS -DRECORDS=3
	breaks AT_AFTER_OWNER 'a restart takes at back before it shows its label' \
		$OVERWRITE -DCHUNKS=1
	breaks NO_RESTART_WHEN_TAKEN 'a chunk that is all taken starts over' $TWO $BLOCK -DRECORDS=3
	breaks NO_ATTEMPTS_AT_RESTART 'overwrite: a restart tells its attempts' $OVERWRITE $KILLED
	breaks NO_ATTEMPTS_AT_RESTART 'drop: a restart tells its attempts' \
		$DROP $KILLED $HEIR -DRECORDS=3
	breaks WRITE_AFTER_LOSS 'after a loss comes a new chunk' $DROP
	breaks HINT_CLEARED_LATE 'a hint is cleared before the swap of owner' $DROP $HEIR
	breaks NO_HEARTBEAT 'who blocks looks after the drain' $BLOCK $NO_HEIR
	breaks LINE_FREE_BEFORE_RESET 'a line is free after its fields are' $DROP $EXITS -DRECORDS=3
	breaks LINE_FREE_BEFORE_WRITTEN 'a line is free after its records are in a file' \
		$DROP $EXITS $HEIR -DRECORDS=3
	breaks WRITTEN_RESET_FIRST 'written is reset last' $DROP $EXITS $HEIR -DRECORDS=3
	breaks NO_NUMBER_CHECK 'a new drain frees only what lies before taken' $DROP $HEIR
	breaks NO_TAKEN_CHECK 'a new drain leaves the chunk that taken is in' $DROP $HEIR -DCHUNKS=1
	breaks RECOVER_WITHOUT_SWAP 'a new drain frees a chunk by a swap' \
		$OVERWRITE $HEIR -DRECORDS=4
	breaks RELABEL_WITHOUT_SWAP 'a thread labels the oldest chunk by a swap' \
		$OVERWRITE $HEIR $TWO -DOTHER_RECORDS=1 -DRECORDS=3
	breaks NO_HINTS_AT_ATTACH 'a new drain gives the hints that were not given' $DROP $HEIR
	breaks NOTHING_FREED_AT_ATTACH 'a new drain frees what was left behind' $DROP $HEIR

	model=ring
	holds 'the ring: two threads sample' -DRECORDS=2
	holds 'the ring: three threads sample' -DWRITERS=3 -DRECORDS=1
	holds 'the ring: it goes round more than once' -DWRITERS=1 -DRECORDS=5
	holds 'the ring: a killed program leaves nothing torn' -DKILLED=1 $ONE_MORE
	holds 'the ring: a new recorder goes on where a dead one stopped' -DDEATHS=1 $ONE_MORE
	holds 'the ring: and so does the next' -DDEATHS=2 -DWRITERS=1 -DRECORDS=3

	breaks NO_RELEASE_HEADER 'G: the header is released' $ONE_MORE
	breaks NO_ACQUIRE_HEADER 'G: the header is acquired' $ONE_MORE
	breaks NO_RELEASE_PADDING 'G: the header of padding is released' -DRECORDS=2
	breaks NO_RELEASE_TAIL 'H: tail is released' $ONE_MORE
	breaks NO_ACQUIRE_TAIL 'H: tail is acquired' $ONE_MORE
	breaks TAIL_BEFORE_ZEROS 'H: the zeros come before the move of tail' $ONE_MORE
	breaks TAIL_BEFORE_COPY 'H: the copy comes before the move of tail' $ONE_MORE
	breaks HEADER_BEFORE_BODY 'the header is stored last' $ONE_MORE
	breaks NO_SWAP 'room is taken by a swap of head' $ONE_MORE
	breaks NO_LIMIT 'a writer looks whether there is room' $ONE_MORE
	breaks PADDING_NOT_COUNTED 'there is room for the padding too' $ONE_MORE
	breaks PADDING_NOT_PUBLISHED 'padding is published' $ONE_MORE
	breaks WRAPS 'there is padding' $ONE_MORE
	breaks REFUSES_AT_ONCE 'a writer that finds no room looks again at head' -DRECORDS=2
	breaks BODY_NOT_ZEROED 'a record is filled with zeros' $ONE_MORE
	breaks PADDING_NOT_ZEROED 'padding is filled with zeros' -DRECORDS=2
	breaks NOT_SAID_WHAT_IS_TAKEN 'a recorder says what it takes' -DDEATHS=1 $ONE_MORE
	breaks SAID_TOO_LATE 'it says so before the first zero' -DDEATHS=1 $ONE_MORE
	breaks HEIR_STARTS_OVER 'a new recorder goes on' -DDEATHS=1 -DRECORDS=2
}

# search CC_FLAGS PAN_FLAGS MODEL_FLAGS: leaves what spin found in the file `verdict`.
# Not optimized: that takes 3 s more to compile, and few searches are as long.
search()
{
	spin -a $3 "$here/$model.pml" >spin.out 2>&1 &&
		${CC:-cc} -O0 -w -DSAFETY -DCOLLAPSE -DVECTORSZ=1024 -DMEMLIM=1024 $1 \
			-o pan pan.c >cc.out 2>&1 &&
		./pan -m50000 $2 >verdict 2>&1
	[ -f verdict ] || cat spin.out cc.out 2>/dev/null >verdict
}

result()
{
	echo "$1 $number - $2"
	# What spin found, or why it did not end, and its size.
	grep -E '^pan|rror:|states, stored|memory usage$|not completed' verdict | sed 's/^/#  /'
}

holds()
{
	number=$((number + 1))
	[ "$number" = "$wanted" ] || return 0
	sentence=$1
	shift
	flags=$*
	found=$model
	search '' '' "$flags"
	if grep -q 'errors: 0' verdict && ! grep -qE '^error|not completed' verdict; then
		result ok "$sentence"
	else
		result 'not ok' "$sentence"
		echo "#  $self --story $number tells how"
	fi
}

breaks()
{
	number=$((number + 1))
	[ "$number" = "$wanted" ] || return 0
	sentence="it fails unless $2 ($1)"
	mutant=-DMUTANT=$1
	shift 2
	flags="$mutant $*"
	found=$model
	# What breaks is mostly tried late: begin there.
	search '-DREVERSE -DT_REVERSE' '' "$flags"
	# A queue of the model that is too short is no find, nor is a search that gave up.
	if grep -qE '^pan:1: (assertion violated|invalid end state)' verdict &&
		! grep -qE 'length<|array index' verdict; then
		result ok "$sentence"
	else
		result 'not ok' "$sentence"
	fi
}

in_scratch()
{
	scratch=$(mktemp -d "${TMPDIR:-/tmp}/unweave-model.XXXXXX") || exit 1
	trap 'rm -rf "$scratch"' EXIT
	trap 'exit 1' HUP INT TERM
	cd "$scratch" || exit 1
}

count()
{
	number=0
	wanted=0
	tests
	echo "$number"
}

if ! command -v spin >/dev/null || ! command -v "${CC:-cc}" >/dev/null; then
	echo '1..0 # SKIP spin or a C compiler is not installed'
	exit 0
fi

case ${1-} in
--one)
	mkdir "$3/$2" && cd "$3/$2" || exit 1
	number=0
	wanted=$2
	tests >../"$2".tap
	rm -rf "${3:?}/$2"
	;;
--story)
	in_scratch
	number=0
	wanted=$2
	tests
	model=$found
	# Without merging of statements, which a replay gets wrong.
	search '-O1 -DREACH' -I "-o3 $flags -DTELL"
	spin -o3 -t -T $flags -DTELL -k "$model.pml.trail" "$here/$model.pml" |
		grep -E '^ *(thread|the drain|another drain|the recorder) |assert|invalid'
	;;
*)
	in_scratch
	total=$(count)
	echo "1..$total"
	# A search takes up to 0.6 GB.
	jobs=$(nproc 2>/dev/null || echo 2)
	[ "$jobs" -le 4 ] || jobs=4
	seq "$total" | xargs -P "$jobs" -I '{}' sh "$self" --one '{}' "$scratch"
	failed=0
	for i in $(seq "$total"); do
		cat "$i.tap" 2>/dev/null || echo "not ok $i - it did not run"
		grep -q '^ok' "$i.tap" 2>/dev/null || failed=1
	done
	exit $failed
	;;
esac
