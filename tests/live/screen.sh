# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154 # work, lively and unweave are of the script that reads this
# For scripts that drive `unweave top` in a terminal of tmux's: keys go in, text comes out.
# Nothing here sleeps and hopes: what should be seen is waited for.

PATIENCE=${PATIENCE:-30} # seconds that something may take on a machine with much else to do

export TMUX_TMPDIR=$work LC_ALL=C.UTF-8
unset TMUX NO_COLOR TERM UNWEAVE_TRACE UNWEAVE_DISABLE
UNWEAVE_DIR=$(mktemp -d /dev/shm/unweave-live-XXXXXX) || exit 1
export UNWEAVE_DIR
printf 'set -g default-terminal screen-256color\nset -g status off\nset -sg escape-time 0\n' >"$work/tmux.conf"

# mux COMMAND [ARGUMENT...]: for the terminal of `unweave top`.
mux()
{
	local command=$1
	shift
	tmux "$command" -t top "$@"
}

clean_up()
{
	tmux kill-server 2>/dev/null
	[ -z "${pid:-}" ] || kill -KILL "$pid" 2>/dev/null
	rm -rf "$work" "$UNWEAVE_DIR"
}
trap clean_up EXIT

# The server stays, whatever becomes of the terminals.
start_terminals()
{
	command -v tmux >/dev/null && tmux -f "$work/tmux.conf" new-session -d -s server 'exec sleep 1000'
}

# eventually COMMAND...: until it succeeds, or patience ends.
eventually()
{
	local end=$((SECONDS + PATIENCE))
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.05
	done
}

# begin PROGRAM [ARGUMENT...]: one to be watched.
begin()
{
	rm -f "$work/ready"
	mkfifo "$work/ready"
	"$@" >"$work/ready" &
	pid=$!
	read -r _ <"$work/ready"
}

end()
{
	kill -KILL "$pid" 2>/dev/null && wait "$pid" 2>/dev/null
	pid=
}

# open_screen WIDTHxHEIGHT ARGUMENT...: `unweave top` in a terminal of this size. SETTINGS go
# into its environment. How it ended is said then, by a shell that takes commands.
open_screen()
{
	local size=$1
	shift
	close_screen
	rm -f "$work/words"
	printf 'echo $$ >"%s/top"\nexec env %s "%s" top -d 0.2 %s 2>"%s/words"\n' \
		"$work" "${SETTINGS:-}" "$unweave" "$*" "$work" >"$work/launch"
	tmux new-session -d -s top -x "${size%x*}" -y "${size#*x}" \
		"set -m; sh '$work/launch'; echo left \$?; while read -r line; do \$line; echo left \$?; done"
}

# Whether a process is no more, but for somebody who asks how it ended.
ended()
{
	[ ! -e "/proc/$1/status" ] || grep -q '^State:.*Z' "/proc/$1/status" 2>/dev/null
}

# Takes the terminal away, and waits until `unweave top` has noticed.
close_screen()
{
	tmux has-session -t top 2>/dev/null || return 0
	mux kill-session
	eventually ended "$(cat "$work/top")"
}

# A signal, to `unweave top`.
signal_top()
{
	kill "-$1" "$(cat "$work/top")"
}

screen()
{
	mux capture-pane -p
}

# With the colours and styles, as a terminal is told them.
screen_styles()
{
	mux capture-pane -pe
}

on_screen()
{
	screen | grep -Eq -- "$1"
}

# Each is a regular expression that a line must match.
sees()
{
	local wanted
	for wanted; do
		eventually on_screen "$wanted" || {
			echo "not seen: $wanted"
			screen
			cat "$work/words"
			return 1
		}
	done
}

not_on_screen()
{
	! on_screen "$1"
}

loses()
{
	eventually not_on_screen "$1" || { echo "still seen: $1" && screen && return 1; }
}

press()
{
	mux send-keys "$@"
}

# click X Y: the left button, pressed and released, as the terminal tells it.
click()
{
	local x y
	x=$(printf '%02x' $((33 + $1))) y=$(printf '%02x' $((33 + $2)))
	mux send-keys -H 1b 5b 4d 20 "$x" "$y" 1b 5b 4d 23 "$x" "$y"
}
