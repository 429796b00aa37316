// SPDX-License-Identifier: Apache-2.0
/* Runs the cases, and says on stdout what happened: the same with and without unweave. */
#include <cstring>

#include "oracle.hpp"

int main(int argc, char **argv)
{
	struct {
		const char *name;
		void (*run)();
	} const files[] = {
		{"lazy", lazy_cases},     {"eager", eager_cases},   {"generators", generator_cases},
		{"odd", odd_cases},       {"shared", shared_cases}, {"pool", pool_cases},
		{"random", random_cases},
	};

	for (const auto &file : files)
		if (argc < 2 || !std::strcmp(argv[1], file.name))
			file.run();
	if (failures)
		std::fprintf(stderr, "%d chains are wrong\n", failures.load());
	return failures != 0;
}
