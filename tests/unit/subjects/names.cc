// SPDX-License-Identifier: Apache-2.0
// A program with the names that C++ makes: templates, namespaces, lambdas, local classes.
#include <cstdio>
#include <string>
#include <vector>

namespace loom
{
template <typename T, int N> struct thread {
	T values[N];

	__attribute__((noinline)) T sum() const
	{
		T all{};

		for (const T &value : values)
			all += value;
		return all;
	}

	T twice() const
	{
		return sum() + sum();
	}
};

namespace
{
__attribute__((noinline)) int hidden(int value)
{
	return value * 3 + 1;
}
}

__attribute__((noinline)) int weave(const std::vector<std::string> &words)
{
	struct counter {
		int count = 0;

		__attribute__((noinline)) void add(const std::string &word)
		{
			count += (int)word.size();
		}
	} local;
	auto each = [&](const std::string &word) __attribute__((noinline)) { local.add(word); };

	for (const auto &word : words)
		each(word);
	return hidden(local.count);
}

__attribute__((noinline)) int operator+(const thread<int, 3> &left, const thread<int, 3> &right)
{
	return left.twice() + right.twice();
}
}

int main(int argc, char **argv)
{
	std::vector<std::string> words(argv, argv + argc);
	loom::thread<int, 3> three = {{argc, 2, 3}};
	loom::thread<double, 5> five = {{1.0 * argc, 2, 3, 4, 5}};

	std::printf("%d %d %f\n", loom::weave(words), three + three, five.twice());
	return 0;
}
