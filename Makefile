# SPDX-License-Identifier: Apache-2.0
# The front door. The build itself is Meson's: see meson.build.

PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 60

.DEFAULT_GOAL := all
MAKEFLAGS += --no-print-directory
.PHONY: all help demo check check-fresh bench bench-packages asan tsan fuzz amalgamation install format clean

packages-%:
	@tools/install-packages $(subst -, ,$*)

build/build.ninja: | packages-build
	@meson setup build >/dev/null || { cat build/meson-logs/meson-log.txt; exit 1; }

all: packages-build build/build.ninja ## build everything under build/, the tool as build/unweave
	@if [ -t 1 ]; then ninja -C build; else ninja --quiet -C build; fi

demo: all ## record two servers under load, report what they did, draw their flame graphs
	build/unweave record -F 499 -o build/demo.unw -- build/examples/server --load 3
	build/unweave report build/demo.unw
	build/unweave flame build/demo.unw -o build/demo.html
	@echo; echo 'The second one is plain libuv, and knows nothing of unweave:'; echo
	build/unweave record -F 499 -o build/demo-libuv.unw -- build/adapters/libuv/libuv-example 8 400
	build/unweave report build/demo-libuv.unw
	build/unweave report build/demo-libuv.unw activities
	build/unweave flame build/demo-libuv.unw -o build/demo-libuv.html

check: packages-build-check ## build and pass every test
	@tools/unpack-packages
	@tools/run-checks

check-fresh: packages-fresh ## make demo and make check in a minimal Debian 12 (root only)
	@tools/check-fresh

bench: packages-build-bench all ## measure against the budgets; writes build/bench.json
	@# LTTng may have been missing when the build was set up.
	@[ -e build/bench/bench_lttng.so ] || { meson setup --reconfigure build >/dev/null && ninja -C build; }
	@build/bench/bench

bench-packages: packages-build-check all ## what recording takes from programs of Debian packages, under load
	@tools/unpack-packages
	@tests/packages/measure.py build/unweave build/tests/packages/load build/packages build/tests/packages/count.so

asan: packages-build-check ## the tests under AddressSanitizer and UBSan
	@tools/run-checks asan

tsan: packages-build-check ## the tests under ThreadSanitizer
	@tools/run-checks tsan

fuzz: packages-build-check ## each fuzzer for FUZZ_SECONDS
	@tools/run-fuzzers $(FUZZ_SECONDS)

amalgamation: all ## the library as build/amalgamation/unweave.c and unweave.h
	@ninja --quiet -C build amalgamation

install: all ## install under PREFIX (/usr/local), inside of DESTDIR
	@meson configure build -Dprefix="$(PREFIX)"
	@ninja -C build >/dev/null
	@meson install -C build --no-rebuild $(if $(DESTDIR),--destdir "$(abspath $(DESTDIR))")

format: packages-check ## give the sources their format
	@tools/check-format --fix

clean: ## remove build/
	@rm -rf --one-file-system build

help: ## show this
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' Makefile | expand -t 16
